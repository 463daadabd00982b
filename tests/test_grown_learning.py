"""Learning with deep stagings from end to end: with any number of threads, weights, interventions and tiers."""

import pickle

import numpy as np
import pandas as pd
import pytest

from cslearn import CStree, CStreeLearner, random_cstree
from cslearn.data import Table
from cslearn.errors import InputError
from cslearn.estimators import Chains
from cslearn.grown import GrownScores, greedy_order
from cslearn.posterior import CStreePosterior
from cslearn.priors import ParentsPrior

QUICK = {"search": Chains(n_iter=30, n_chains=2), "random_state": 0}


def data(n=150, seed=0):
    """Five variables; `e` follows three of the others, each in the context of the one before."""
    rng = np.random.default_rng(seed)
    a, b, c, d = (rng.integers(0, k, n) for k in (2, 2, 3, 2))
    e = np.where(a == 0, 0, np.where(b == 0, 1, c == 2)).astype(int)
    e = np.where(rng.random(n) < 0.1, rng.integers(0, 2, n), e)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e})


def check(learner, table, tmp_path):
    """All that a fit gives is there, and is the same when it is loaded again."""
    posterior = learner.posterior_
    assert isinstance(posterior._scores, GrownScores)
    logs = learner.score_samples(table)
    assert np.isfinite(logs).all() and (logs < 0).all()
    edges = posterior.edge_probabilities()
    assert ((edges >= 0) & (edges <= 1)).all(axis=None)
    averaged = posterior.log_prob(table)
    assert np.isfinite(averaged).all() and (averaged < 0).all()
    drawn = posterior.sample(3, random_state=0)
    assert all(sorted(tree.order) == sorted(table.columns) for tree in drawn)
    posterior.save(tmp_path / "posterior")
    again = CStreePosterior.load(tmp_path / "posterior").with_scores(posterior._scores)
    # After an exact search what is written are draws.
    exact = posterior.exact is not None
    np.testing.assert_allclose(again.edge_probabilities(), edges, atol=0.05 if exact else 1e-12)
    np.testing.assert_allclose(again.log_prob(table), averaged, atol=0.05 if exact else 1e-12)
    learner.cstree_.save(tmp_path / "model.json")
    np.testing.assert_allclose(CStree.load(tmp_path / "model.json").log_prob(table), logs, rtol=1e-10)
    # Contexts are not pickled; they are found again.
    unpickled = pickle.loads(pickle.dumps(learner))
    np.testing.assert_allclose(unpickled.posterior_.edge_probabilities(), edges, atol=1e-12)
    return edges


@pytest.mark.parametrize(
    "settings",
    [
        {"beta": "auto", **QUICK},
        {"beta": "auto", "search": "greedy"},
        {"beta": "auto", "search": "exact"},
    ],
    ids=["auto", "greedy", "exact"],
)
def test_deep_stagings_are_learned_from_end_to_end(settings, tmp_path):
    table = data()
    learner = CStreeLearner(**settings).fit(table)
    edges = check(learner, table, tmp_path)
    # What is there is found: the skeleton of e, and nothing of d.
    both = edges.to_numpy() + edges.to_numpy().T
    at = {name: r for r, name in enumerate(edges.columns)}
    assert both[at["a"], at["e"]] > 0.9 and both[at["b"], at["e"]] > 0.9
    assert both[at["d"]].max() < 0.6


def test_the_fit_is_the_same_for_any_number_of_threads():
    table = data(seed=1)
    one, two = (CStreeLearner(beta="auto", n_jobs=n, **QUICK).fit(table) for n in (1, 2))
    assert one.prior_ == two.prior_ and one.ess_ == two.ess_
    assert list(one.cstree_.order) == list(two.cstree_.order)
    assert one.posterior_.orders.tolist() == two.posterior_.orders.tolist()
    np.testing.assert_array_equal(one.posterior_.log_scores, two.posterior_.log_scores)
    np.testing.assert_array_equal(one.posterior_.edge_probabilities(), two.posterior_.edge_probabilities())
    np.testing.assert_array_equal(one.score_samples(table), two.score_samples(table))


@pytest.mark.parametrize("beta", ["auto", 4])
def test_weights_are_rows_that_stand_there_several_times(beta):
    table = data(80, seed=3)
    weights = np.random.default_rng(0).integers(0, 4, len(table))
    weighted = CStreeLearner(beta=beta, **QUICK).fit(table, sample_weight=weights.astype(float))
    repeated = CStreeLearner(beta=beta, **QUICK).fit(table.loc[np.repeat(np.arange(len(table)), weights)])
    assert weighted.prior_ == repeated.prior_ and weighted.ess_ == repeated.ess_
    np.testing.assert_allclose(
        weighted.posterior_.edge_probabilities(), repeated.posterior_.edge_probabilities(), atol=1e-8
    )
    np.testing.assert_allclose(weighted.score_samples(table), repeated.score_samples(table), atol=1e-8)


def test_rows_in_which_a_variable_was_set_do_not_count_for_it():
    table = data(120, seed=4)
    mask = pd.DataFrame(np.random.default_rng(0).random(table.shape) < 0.25, columns=table.columns)
    learner = CStreeLearner(beta="auto", **QUICK).fit(table, interventions=mask.to_numpy())
    scores = learner.posterior_._scores
    settings = {"ess": scores.ess, "gamma": scores.gamma, "prior": scores.prior, "growth": scores.growth}
    for i, name in enumerate(table.columns):
        # All columns keep their states, also those of which some are not seen in the rows that are left.
        alone = GrownScores(scores.table.take(np.flatnonzero(~mask[name].to_numpy())), **settings)
        others = [v for v in table.columns if v != name]
        assert scores.local_order_score(name, others) == pytest.approx(alone.local_order_score(name, others), rel=1e-10)
        assert scores.best_staging(name, others)[1] == alone.best_staging(name, others)[1], i


@pytest.mark.parametrize("search", [QUICK["search"], "greedy", "exact"], ids=["chains", "greedy", "exact"])
def test_tiers_are_respected(search, tmp_path):
    table = data(seed=5)
    # Against the direction in which the data were made.
    tiers = [["e", "d"], ["a", "b", "c"]]
    learner = CStreeLearner(beta="auto", search=search, random_state=0, knowledge={"tiers": tiers}).fit(table)
    edges = check(learner, table, tmp_path)
    assert (edges.loc[tiers[1], tiers[0]].to_numpy() == 0).all()
    assert edges.loc[tiers[0], tiers[1]].to_numpy().max() > 0.5
    position = {v: t for t, v in enumerate(table.columns)}
    for order in [*learner.posterior_.orders.reshape(-1, 5).tolist(), [position[v] for v in learner.cstree_.order]]:
        names = [table.columns[i] for i in order]
        assert set(names[:2]) == set(tiers[0])


def test_many_variables_with_all_candidates_have_the_order_that_the_largest_gains_ask_for(monkeypatch):
    monkeypatch.setattr("cslearn.estimators.growing.MANY", 13)
    monkeypatch.setattr("cslearn.estimators.plan.MANY", 13)
    table = random_cstree(14, random_state=0).sample_table(500, random_state=1)
    monkeypatch.setattr("cslearn.estimators.growing.PARTNERS", 6)
    learner = CStreeLearner(candidates="all", ess=1.0, prior=ParentsPrior(), random_state=0).fit(table)
    first = greedy_order(learner.posterior_.scores.contexts)
    assert [chain.moved for chain in learner.posterior_.chains] == [0]
    assert learner.order_ == tuple(table.variables[i] for i in first)
    # Chains that are asked for are run.
    assert CStreeLearner(search=Chains(n_iter=5, n_chains=1), random_state=0).fit(table).n_iter_ == 5


# ---------------------------------------------------------------- what a smaller bound would cost
@pytest.mark.parametrize("beta", [0, 1, 2, 3])
def test_the_cost_of_a_smaller_bound_is_that_of_the_rows_under_the_cut_trees(beta):
    data = random_cstree([2, 3, 2, 2, 3, 2, 2], beta=4, method="grow", max_stages=9, random_state=3).sample(
        5000, random_state=1
    )
    learner = CStreeLearner(random_state=0).fit(data)
    tree, (ess, gamma) = learner.cstree_, (learner.ess_, learner.gamma_)
    assert max(staging.bound for staging in tree.stagings.values()) > 2
    stages, lost = 0, 0.0
    for v, staging in tree.stagings.items():
        # In the contexts of a staging variables come in the order of the tree that draws it.
        whole = [tuple(context.items()) for context in staging.contexts]
        for sign, contexts in ((1, set(whole)), (-1, {context[:beta] for context in whole})):
            stages += len(contexts) if sign < 0 else 0
            for context in contexts:
                rows = data[np.all([data[u] == x for u, x in context], axis=0)] if context else data
                outcomes = np.prod([len(tree.states[u]) for u, _ in context])
                a, d = ess * outcomes**-gamma, len(tree.states[v])
                for count in rows[v].value_counts():
                    lost += sign * count * np.log((count + a / d) / (len(rows) + a))
    cost = learner.cost_of_bound(beta)
    assert cost.stages == stages
    assert cost.loss == pytest.approx(lost / len(data), abs=1e-9)


def test_a_bound_that_the_model_keeps_costs_nothing():
    learner = CStreeLearner(random_state=0).fit(random_cstree(6, random_state=0).sample(500, random_state=0))
    assert learner.cost_of_bound(10) == (learner.cstree_.n_stages, 0.0)
    with pytest.raises(InputError, match="beta is a whole number"):
        learner.cost_of_bound(-1)


def test_even_columns_of_many_states_that_say_nothing_of_each_other_are_not_split():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 32, (3000, 3))
    data = Table(codes, ["a", "b", "c"], [[f"s{x}" for x in range(32)]] * 3)
    learner = CStreeLearner(random_state=0).fit(data)
    assert learner.cstree_.n_stages == 3
    assert learner.gamma_ == 1.0
