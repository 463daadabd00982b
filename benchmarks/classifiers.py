"""The classifier beside scikit-learn's, on small real data sets from the directory that CSLEARN_DATA names."""

import argparse
import os
import warnings
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import confusion_matrix, log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from benchmarks.report import publish, table
from cslearn import Chains, CStreeClassifier, CStreeLearner
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
# One short chain: the classifier of the mushrooms is learned twenty times, and longer chains do not predict better.
MOVES = 300


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
        "cslearn": CStreeClassifier(CStreeLearner(n_jobs=1, random_state=0)),
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


def mushrooms(n_splits: int) -> str:
    """Return what was measured on all mushrooms: accuracy with and without gaps, confusions, time of prediction."""
    data = pd.read_csv(Path(os.environ["CSLEARN_DATA"]) / "mushroom.csv.gz", dtype=str, keep_default_na=False)
    X, y = data.drop(columns="class"), data["class"]
    labels = sorted(set(y))
    scores: dict[str, list[float]] = {"all cells": [], "30 % of the cells removed": []}
    confusions = {name: np.zeros((len(labels), len(labels)), dtype=int) for name in scores}
    seconds: dict[str, list[float]] = {"fit": [], "complete": [], "gaps": []}
    short = CStreeLearner(search=Chains(n_iter=MOVES, n_chains=1), n_jobs=1, random_state=0)
    for split in range(n_splits):
        rng = np.random.default_rng(split)
        train = rng.permutation(len(data)) < 0.7 * len(data)
        begin = process_time()
        classifier = CStreeClassifier(short).fit(X[train], y[train])
        seconds["fit"].append(process_time() - begin)
        holes = X[~train].mask(rng.random(X[~train].shape) < 0.3)
        for name, test in zip(scores, (X[~train], holes), strict=True):
            found = classifier.predict(test)
            scores[name].append(float((found == y[~train]).mean()))
            confusions[name] += confusion_matrix(y[~train], found, labels=labels)
        many = X.sample(10_000, replace=True, random_state=split)
        for name, rows in (("complete", many), ("gaps", many.mask(rng.random(many.shape) < 0.3))):
            begin = process_time()
            classifier.predict(rows)
            seconds[name].append(process_time() - begin)
    accuracy = [
        [name, f"{100 * np.mean(found):.2f}", f"{100 * np.min(found):.2f}", f"{100 * np.max(found):.2f}"]
        for name, found in scores.items()
    ]
    blocks = [table(["test rows", "mean accuracy %", "lowest", "highest"], accuracy)]
    for name, counts in confusions.items():
        rows = [[f"is {label}", *row] for label, row in zip(labels, counts.tolist(), strict=True)]
        blocks.append(f"Confusions with {name}, of the rows of all splits together:")
        blocks.append(table(["", *(f"predicted {label}" for label in labels)], rows))
    mean = {name: float(np.median(values)) for name, values in seconds.items()}
    blocks.append(
        f"A fit took {mean['fit']:.1f} s of processor time. 10,000 rows, drawn with repetition, were predicted in"
        f" {mean['complete']:.2f} s of processor time if complete, and in {mean['gaps']:.2f} s with 30 % of the cells"
        " removed, where nearly every row has gaps of its own (medians over the splits)."
    )
    return "\n\n".join(blocks)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--mushroom-splits", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="one split of few sets, to see that it works; no page")
    options = parser.parse_args(arguments)
    sets = ["lizards.csv", "monks1.csv"] if options.quick else list(TARGETS)
    if options.quick:
        options.splits, options.mushroom_splits = 1, 1
    warnings.simplefilter("ignore", DataWarning)
    warnings.filterwarnings("ignore", module="sklearn")
    rows: list[list[object]] = []
    best = {measure: {} for measure in ("accuracy", "log-loss", "Brier")}
    for name in sets:
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

On how many of the {len(sets)} sets each model is best, alone or together with others:

{table(["model", "accuracy", "log-loss", "Brier"], wins)}

{table(headers, rows)}

## All mushrooms

All 8,124 rows of the mushroom data, 70 % of them for training, {options.mushroom_splits} random splits, one chain of
{MOVES} moves. Cells are removed from the test rows completely at random; the missing ones are summed out.

{mushrooms(options.mushroom_splits)}"""
    publish("classifiers", "Classifiers", text, quick=options.quick)


if __name__ == "__main__":
    main()
