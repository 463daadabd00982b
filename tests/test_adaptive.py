"""What the data choose: what is maximised is what it should be, and it tells kinds of truth from each other."""

import json
import sys
import warnings
from dataclasses import replace
from itertools import product
from math import isclose, log

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cslearn import Chains, CStree, CStreeLearner, random_cstree
from cslearn.cli import main
from cslearn.errors import ConvergenceWarning, DataWarning, InputError
from cslearn.orders import (
    FIRST_ESS,
    adapted_ess,
    adapted_prior,
    adapted_prior_of_scores,
    chains,
    order_problem,
    with_prior,
)
from cslearn.orders.adaptive import ESS_VALUES, STRENGTH, VALUES
from cslearn.priors import TreePrior
from cslearn.scores import Scores
from problems import rows_of, tables

PROBABILITIES = st.floats(0.01, 0.99)


def log_beta_densities(prior):
    """The log-density of the choice before data, written out."""
    return STRENGTH * (
        0.8 * log(prior.root) + 0.2 * log(1 - prior.root)
        + 0.3 * log(prior.split) + 0.7 * log(1 - prior.split)
        + 0.1 * log(prior.same) + 0.9 * log(1 - prior.same)
    )  # fmt: skip


def objective(scores, order, prior):
    return scores.with_prior(prior).order_score([scores.table.variables[i] for i in order]) + log_beta_densities(prior)


@given(table=tables(min_p=2, max_p=4), root=PROBABILITIES, split=PROBABILITIES, same=PROBABILITIES)
def test_order_scores_for_any_probabilities_equal_the_sum_over_all_stagings(table, root, split, same):
    """A change of the prior in a problem gives what the prior's definition does."""
    from cslearn._kernels.levels import new_state
    from cslearn._kernels.relocation import rescore, set_order

    rows, weights = rows_of(table)
    prior = TreePrior(root, split, same)
    expected = 0.0
    for target in range(table.p):
        level = [v for v in range(target) if table.cards[v] > 1]
        terms = []
        for value, staging in naive.log_joint_terms(rows, weights, table.cards, target, level, 2, 1.0, "tree"):
            other = naive.tree_prior(len(level), staging, 2, root, split, same)
            terms.append(value - log(naive.tree_prior(len(level), staging)) + log(other))
        expected += naive.log_sum(terms)
    problem = order_problem(Scores(table, prior="sparse"))
    state = new_state(problem)
    set_order(problem, state, np.arange(table.p))
    rescore(with_prior(problem, prior), state)
    assert isclose(state.score.sum(), expected, rel_tol=1e-9, abs_tol=1e-9)


def test_beyond_two_context_variables_the_data_choose_how_often_splits_go_on():
    table = random_cstree([2] * 6, random_state=3).sample_table(1000, random_state=4)
    order = [table.variables[i] for i in range(6)]
    two, three = (adapted_prior_of_scores(Scores(table, beta=beta, ess=5.0), order) for beta in (2, 3))
    # With a bound of two nothing tells of it; the truth has no contexts of three.
    assert two.deeper == TreePrior().deeper
    assert three.deeper < 0.2
    scores = Scores(table, beta=3, ess=5.0)

    def value(prior):
        own = 0.3 * log(prior.deeper) + 0.7 * log(1 - prior.deeper)
        return scores.with_prior(prior).order_score(order) + log_beta_densities(prior) + STRENGTH * own

    assert all(value(replace(three, deeper=other)) <= value(three) + 1e-7 for other in VALUES)


@pytest.mark.parametrize("cards", [[2] * 6, [2, 3, 2, 4, 3]])
@pytest.mark.parametrize("beta", [0, 1, 2])
def test_no_change_of_one_probability_is_better_than_the_choice(cards, beta):
    table = random_cstree(cards, random_state=3).sample_table(300, random_state=4)
    scores, order = Scores(table, beta=beta, ess=5.0), np.arange(len(cards))
    prior = adapted_prior(order_problem(scores), order)
    best = objective(scores, order, prior)
    for value in VALUES:
        assert objective(scores, order, TreePrior(value, prior.split, prior.same)) <= best + 1e-7
        assert objective(scores, order, TreePrior(prior.root, value, prior.same)) <= best + 1e-7
        assert objective(scores, order, TreePrior(prior.root, prior.split, value)) <= best + 1e-7
    assert best > objective(scores, order, TreePrior()) or prior == TreePrior()


def test_the_choice_is_near_the_best_of_all():
    table = random_cstree(8, random_state=1).sample_table(500, random_state=1)
    scores, order = Scores(table, ess=5.0), np.arange(8)
    found = objective(scores, order, adapted_prior(order_problem(scores), order))
    best = max(objective(scores, order, TreePrior(*values)) for values in product(VALUES[::2], repeat=3))
    assert found > best - 0.1


def test_what_cannot_be_learned_stays_as_it_was():
    table = random_cstree(6, random_state=1).sample_table(500, random_state=1)
    assert adapted_prior(order_problem(Scores(table, beta=0)), np.arange(6)) == TreePrior()
    one = random_cstree(1, random_state=1).sample_table(50, random_state=1)
    assert adapted_prior(order_problem(Scores(one)), np.arange(1)) == TreePrior()


# ---------------------------------------------------------------- the equivalent sample size
@given(table=tables(min_p=2, max_p=4), beta=st.integers(0, 3))
def test_the_equivalent_sample_size_is_the_best_of_all_for_the_best_stagings(table, beta):
    scores = Scores(table, prior="tree", beta=beta)
    order = table.variables
    stagings = {v: scores.best_staging(v, order[:t])[1] for t, v in enumerate(order)}
    tree = CStree(order, stagings, states=table.state_map)

    def value(ess):
        other = Scores(table, prior="tree", beta=beta, ess=ess)
        return other.log_marginal_likelihood(tree) - log(ess / 5) ** 2 / 2

    found = adapted_ess(scores, order)
    assert found in ESS_VALUES
    assert all(value(other) <= value(found) + 1e-9 for other in ESS_VALUES)


@pytest.mark.parametrize("beta", [2, 3])
def test_scores_with_another_equivalent_sample_size_are_those_made_with_it(beta):
    table = random_cstree([2, 3, 2, 2], random_state=1).sample_table(60, random_state=2)
    first, other = Scores(table, beta=beta), Scores(table, beta=beta, ess=7.0)
    before = first.order_score(table.variables)
    assert first.with_ess(7.0).order_score(table.variables) == other.order_score(table.variables) != before
    assert first.order_score(table.variables) == before
    with pytest.raises(InputError, match="positive number up to .*, not 0"):
        first.with_ess(0)


@pytest.mark.parametrize("p", [8, pytest.param(20, marks=pytest.mark.slow)])
def test_the_equivalent_sample_size_follows_the_truth(p):
    """Uneven probabilities, then even ones; exactly and by chains."""
    found = []
    for concentration in (0.2, 1.0, 5.0):
        truth = random_cstree(p, concentration=concentration, random_state=0)
        learner = CStreeLearner(beta=2, search=Chains(n_iter="auto" if p == 8 else 200, n_chains=1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            learner.fit(truth.sample_table(1000, random_state=0))
        assert learner.posterior_.scores.ess == learner.ess_
        assert learner.cstree_.learning["settings"]["ess"] == learner.ess_
        found.append(learner.ess_)
    assert found[0] < found[1] < found[2]


def chosen(tree, n=2000):
    return CStreeLearner(beta=2, search=Chains(n_iter=100, n_chains=1)).fit(tree.sample_table(n, random_state=0)).prior_


def test_the_prior_follows_the_truth():
    """Nothing, few splits, many; and splits of all states on the same variable."""
    nothing, few, many = (
        chosen(random_cstree(25, method="split", p_context=share, random_state=0)) for share in (0.0, 0.03, 1.0)
    )
    assert nothing.root < few.root < many.root
    assert few.split < many.split
    assert chosen(network_of_pairs(25)).same > 0.3 > many.same


def network_of_pairs(p):
    """A Bayesian network of binary variables with two parents each."""
    rng = np.random.default_rng(0)
    graph = nx.DiGraph((f"X{j}", f"X{i}") for i in range(2, p) for j in rng.choice(i, 2, replace=False))
    network = CStree.from_dag(graph, states={f"X{i}": (0, 1) for i in range(p)})
    return network.with_parameters({v: rng.dirichlet([0.7, 0.7], len(network.stagings[v])) for v in network.order})


# ---------------------------------------------------------------- in the learner
def test_the_learner_goes_on_with_the_chosen_prior():
    data = random_cstree(12, random_state=2).sample_table(500, random_state=2)
    learner = CStreeLearner(beta=2, search=Chains(n_iter=200), random_state=0).fit(data)
    assert isinstance(learner.prior_, TreePrior)
    assert learner.prior_ != TreePrior()
    again = CStreeLearner(beta=2, prior=learner.prior_, search=Chains(n_iter=200), random_state=0).fit(data)
    assert again.prior_ == learner.prior_
    assert again.cstree_ == learner.cstree_
    assert again.log_order_score_ == learner.log_order_score_
    assert (
        CStreeLearner(beta=2, prior="tree", search=Chains(n_iter=200), random_state=0).fit(data).prior_ == TreePrior()
    )


def test_scores_do_not_take_the_name_of_a_prior_that_is_not_chosen_yet():
    with pytest.raises(InputError, match=r"chosen while a CStree is learned.*learner\.prior_"):
        Scores([{"a": 0, "b": 1}, {"a": 1, "b": 0}], prior="adaptive")


def test_an_interrupt_while_the_prior_is_chosen_leaves_the_fixed_one(monkeypatch):
    data = random_cstree(6, random_state=2).sample_table(200, random_state=2)
    original, calls = chains.wait, []

    def interrupt_once(*args, **kwargs):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    monkeypatch.setattr(chains, "wait", interrupt_once)
    with pytest.warns(DataWarning, match="interrupted"):
        learner = CStreeLearner(beta=2, search=Chains(n_iter=100)).fit(data)
    assert learner.interrupted_
    assert learner.prior_ == TreePrior()
    assert learner.ess_ == FIRST_ESS
    scores = Scores(data, prior=learner.prior_, ess=learner.ess_)
    assert isclose(learner.log_score_, scores.cstree_score(learner.cstree_), rel_tol=1e-9)


def test_the_command_line_tells_the_prior(monkeypatch, capsys, tmp_path):
    def run_cslearn(*arguments):
        monkeypatch.setattr(sys, "argv", ["cslearn", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
        return capsys.readouterr().out

    path = tmp_path / "data.csv"
    random_cstree(5, random_state=1).sample(300, random_state=1).to_csv(path, index=False)
    out = run_cslearn("fit", path, "-o", tmp_path / "a.json", "--n-iter", 50, "--beta", 2, "-v")
    assert "Prior over stagings: tree (root " in out and "deeper" not in out
    document = json.loads(run_cslearn("fit", path, "-o", tmp_path / "b.json", "--n-iter", 50, "--beta", 2, "--json"))
    assert set(document["prior"]) == {"name", "root", "split", "same", "deeper"}
    learning = json.loads((tmp_path / "b.json").read_text())["learning"]
    assert learning["settings"]["prior"] == "adaptive"
    assert learning["prior"] == document["prior"]
    fixed = run_cslearn("fit", path, "-o", tmp_path / "c.json", "--n-iter", 50, "--prior", "uniform", "-v")
    assert "Prior over stagings: uniform\n" in fixed
