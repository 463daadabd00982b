"""The classifier beside scikit-learn's, on small real data sets from the directory that CSLEARN_DATA names."""

import argparse
import os
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from benchmarks.report import publish, table
from cslearn import CStreeClassifier
from cslearn.errors import DataWarning

# The class of each set.
TARGETS = {
    "mushroom.csv.gz": "class",
    "car.csv": "class",
    "monks1.csv": "class",
    "monks2.csv": "class",
    "monks3.csv": "class",
    "titanic.csv": "Survived",
    "asia.csv": "D",
    "coronary.csv": "Pressure",
    "lizards.csv": "Species",
    "chds.csv": "Admission",
    "st_Asym.csv": "X4",
    "st_PhDArticles.csv": "Articles",
    "alarm.csv.gz": "HYP",
}
MOST_ROWS = 5000


def models(n_features: int) -> dict[str, object]:
    def codes() -> OrdinalEncoder:
        return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)

    class Shifted(CategoricalNB):
        """Naive Bayes that has a state more in each column, for those that were not there in training."""

        def fit(self, X, y):
            self.min_categories = (X.max(axis=0) + 2).astype(int)
            return super().fit(X + 1, y)

        def predict_proba(self, X):
            return super().predict_proba(X + 1)

    return {
        "cslearn": CStreeClassifier(n_jobs=1, random_state=0),
        "CategoricalNB": make_pipeline(codes(), Shifted()),
        "random forest": make_pipeline(
            OneHotEncoder(handle_unknown="ignore"), RandomForestClassifier(300, random_state=0)
        ),
        "gradient boosting": make_pipeline(
            codes(), HistGradientBoostingClassifier(categorical_features=list(range(n_features)), random_state=0)
        ),
    }


def read(name: str) -> tuple[pd.DataFrame, pd.Series]:
    data = pd.read_csv(Path(os.environ["CSLEARN_DATA"]) / name, dtype=str, keep_default_na=False)
    data = data.loc[:, data.nunique() < len(data)]
    target = TARGETS[name]
    if len(data) > MOST_ROWS:
        data = data.sample(MOST_ROWS, random_state=0).reset_index(drop=True)
    return data.drop(columns=target), data[target]


def brier(y: np.ndarray, probabilities: np.ndarray, classes: np.ndarray) -> float:
    return float(((probabilities - (y[:, None] == classes)) ** 2).sum(axis=1).mean())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", DataWarning)
    warnings.filterwarnings("ignore", module="sklearn")
    rows: list[list[object]] = []
    best = {measure: {} for measure in ("accuracy", "log-loss", "Brier")}
    for name in TARGETS:
        X, y = read(name)
        splits = StratifiedShuffleSplit(options.splits, test_size=0.3, random_state=0)
        found: dict[str, list[tuple[float, ...]]] = {}
        for train, test in splits.split(X, y):
            for label, model in models(X.shape[1]).items():
                begin = perf_counter()
                model.fit(X.iloc[train], y.iloc[train])
                fitted = perf_counter()
                probabilities = model.predict_proba(X.iloc[test])
                seconds = perf_counter() - fitted
                truth = y.iloc[test].to_numpy()
                accuracy = float((model.classes_[probabilities.argmax(axis=1)] == truth).mean())
                loss = log_loss(truth, probabilities, labels=model.classes_)
                score = brier(truth, probabilities, model.classes_)
                found.setdefault(label, []).append((accuracy, loss, score, fitted - begin, seconds))
        means = {label: np.mean(values, axis=0) for label, values in found.items()}
        for place, measure in enumerate(best):
            sign = -1 if place == 0 else 1
            values = {label: sign * round(float(mean[place]), 4) for label, mean in means.items()}
            for label, value in values.items():
                best[measure][label] = best[measure].get(label, 0) + (value == min(values.values()))
        for label, mean in means.items():
            short = name.partition(".")[0]
            cells = [f"{100 * mean[0]:.2f}", *(f"{value:.4f}" for value in mean[1:3])]
            rows.append([short, y.name, len(y), label, *cells, *(f"{value:.2f}" for value in mean[3:])])
            print(rows[-1], flush=True)
    wins = [[label, *(best[measure].get(label, 0) for measure in best)] for label in models(1)]
    headers = ["data", "class", "rows", "model", "accuracy %", "log-loss", "Brier", "fit s", "predict s"]
    text = f"""Means over {options.splits} random splits, 70 % of the rows for training; sets of more than {MOST_ROWS:,}
rows are a random part. All models with the settings they come with, 300 trees for the forest; log-loss in nats; the
Brier score is the sum of squares over all classes. cslearn learns the joint model of all variables; all it
is told of the class is that its contexts may have more than two variables. The same model predicts any other variable.
scikit-learn's models are given the class from the start.

On how many of the {len(TARGETS)} sets each model is best, alone or together with others:

{table(["model", "accuracy", "log-loss", "Brier"], wins)}

{table(headers, rows)}"""
    publish("classifiers", "Classifiers", text)


if __name__ == "__main__":
    main()
