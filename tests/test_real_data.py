"""Real data, from the directory that CSLEARN_DATA names."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cslearn import Chains, CStree, CStreeLearner

DATA = Path(os.environ.get("CSLEARN_DATA", ""))
pytestmark = [
    pytest.mark.skipif(not os.environ.get("CSLEARN_DATA"), reason="CSLEARN_DATA names no directory with real data"),
    pytest.mark.filterwarnings("ignore::cslearn.errors.DataWarning"),
]


def read(name):
    return pd.read_csv(DATA / name, dtype=str, keep_default_na=False)


def test_alarm_recovers_the_true_adjacencies():
    search = Chains(n_iter=200, n_chains=1)
    learner = CStreeLearner(beta=2, search=search, random_state=0).fit(read("alarm.csv.gz"))
    edges = pd.read_csv(DATA / "alarm_true_edges.csv")
    true = {frozenset(pair) for pair in edges.iloc[:, :2].itertuples(index=False)}
    assert len(true) == 46
    learned = {frozenset(edge) for edge in learner.cstree_.to_dag().edges}
    assert len(true & learned) >= 44


def test_alarm_with_contexts_without_data(tmp_path):
    data = read("alarm.csv.gz")
    learner = CStreeLearner(beta=2, search=Chains(n_iter=100, n_chains=1), random_state=0).fit(data.head(500))
    for method in ("mean", "map", "mle"):
        tree = learner.cstree_.fit_parameters(learner.cstree_.encode(data.head(500)), method)
        tree.save(tmp_path / "m.json")
        assert CStree.load(tmp_path / "m.json") == tree
    known = np.logical_and.reduce([data[v].isin(learner.cstree_.states[v]) for v in data])
    new = data[known].iloc[500:]
    assert len(new) > 10_000
    assert np.isfinite(learner.score_samples(new)).all()


def test_mushrooms_are_told_edible_or_poisonous():
    data = read("mushroom.csv.gz")
    data = data[~data.eq("?").any(axis=1)].reset_index(drop=True)
    assert len(data) == 5644
    target = data.columns[0]
    train = np.random.default_rng(0).permutation(len(data)) < 0.7 * len(data)
    states = {v: sorted(data[v].unique()) for v in data}
    search = Chains(n_iter=100, n_chains=1)
    learner = CStreeLearner(beta=2, states=states, search=search, random_state=0).fit(data[train])
    held_out = data[~train]
    logs = {state: learner.score_samples(held_out.assign(**{target: state})) for state in states[target]}
    predicted = pd.DataFrame(logs).idxmax(axis=1).to_numpy()
    assert (predicted == held_out[target].to_numpy()).mean() >= 0.99
