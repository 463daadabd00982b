"""Missing cells: expectation-maximisation and imputation."""

import warnings
from itertools import product
from math import isclose, log, prod

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_inference as naive
from cslearn import Chains, CStreeLearner, kl_divergence, random_cstree
from cslearn.data import as_table
from cslearn.datasets import chickenpox_model
from cslearn.errors import ConvergenceWarning, DataWarning, EstimateWarning, InputError, LimitError
from cslearn.inference import compiled, em, gaps
from cslearn.inference.rows import Rows


def with_holes(data, share, seed):
    data = data.astype(object)
    return data.mask(np.random.default_rng(seed).random(data.shape) < share)


def known(row):
    return {v: x for v, x in row.items() if not pd.isna(x)}


@st.composite
def problems(draw):
    """A model and few rows with gaps; some blocks are listed or fit into tables, and some do not."""
    cards = draw(st.lists(st.integers(1, 3), min_size=2, max_size=5))
    seed = draw(st.integers(0, 2**32 - 1))
    tree = random_cstree(cards, random_state=seed)
    data = with_holes(
        tree.sample(draw(st.integers(2, 25)), random_state=seed), draw(st.sampled_from([0, 0.3, 0.6])), seed
    )
    return tree, data, draw(st.sampled_from([1, 4, 1000]))


# ---------------------------------------------------------------- expectation
@given(problems())
def test_one_round_is_the_expected_counts_over_all_completions(problem):
    """Expected counts by listing every outcome of the model for every row."""
    tree, data, listed = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "ROW_TABLE", listed)
        machine = gaps._EM(tree, gaps.incomplete_codes(data, tree.states), np.ones(len(data)), "mle", 1.0)
        parameters = [tree.parameters[v] for v in tree.variables]
        counts, log_likelihood = machine.expectation(parameters)
    outcomes = naive.joint(tree)
    expected = {v: np.zeros_like(tree.parameters[v]) for v in tree.variables}
    total = 0.0
    for row in data.to_dict("records"):
        weights = [chance * naive.weight(outcome, known(row)) for outcome, chance in outcomes]
        total += log(sum(weights))
        for (outcome, _), weight in zip(outcomes, weights, strict=True):
            for v in tree.variables:
                stage = [all(outcome[u] == x for u, x in c.items()) for c in tree.stagings[v]].index(True)
                expected[v][stage, tree.states[v].index(outcome[v])] += weight / sum(weights)
    assert isclose(log_likelihood, total, rel_tol=1e-9, abs_tol=1e-9)
    for v, found in zip(tree.variables, counts, strict=True):
        assert np.allclose(found, expected[v], atol=1e-9)


def test_dense_models_with_many_gaps_are_summed_row_by_row():
    """Sixty variables with twelve missing cells in each row, which depend on one another."""
    tree = random_cstree(60, random_state=0)
    data = with_holes(tree.sample(30, random_state=0), 0.2, 0)
    machine = gaps._EM(tree, gaps.incomplete_codes(data, tree.states), np.ones(30), "mle", 1.0)
    parameters = [tree.parameters[v] for v in tree.variables]
    counts, log_likelihood = machine.expectation(parameters)
    rows = [known(row) for row in data.to_dict("records")]
    assert isclose(log_likelihood, sum(tree.log_prob_of(row) for row in rows), rel_tol=1e-9)
    for v in tree.order[::7]:
        column = tree.variables.index(v)
        for context, found in zip(tree.stagings[v], counts[column], strict=True):
            for state, count in zip(tree.states[v], found, strict=True):
                asked = {**context, v: state}
                expected = 0.0
                for row in rows:
                    if all(row.get(u, x) == x for u, x in asked.items()):
                        joint = tree.log_prob_of({**row, **asked})
                        expected += np.exp(joint - tree.log_prob_of(row))
                assert isclose(count, expected, rel_tol=1e-8, abs_tol=1e-10)
    assert all(isclose(table.sum(), 30, rel_tol=1e-9) for table in counts)


def test_more_missing_cells_than_can_be_summed_over_are_refused():
    tree = random_cstree(400, random_state=0)
    data = with_holes(tree.sample(1, random_state=0), 0.5, 0)
    with pytest.raises(
        LimitError, match=r"a row has \d+ missing cells that depend on one another, too many.*Leave out"
    ):
        em(tree, data)


@pytest.mark.slow
def test_cells_of_a_dense_model_are_filled_in_by_weighted_draws():
    tree = random_cstree(400, random_state=0)
    data = with_holes(tree.sample(1, random_state=0), 0.9, 0)
    with pytest.warns(EstimateWarning, match="1 row has too many missing cells to be completed exactly"):
        drawn = tree.impute(data, "draw", random_state=0)
    with pytest.warns(EstimateWarning, match="best outcome found"):
        best = tree.impute(data)
    for filled in (drawn, best):
        assert known(data.iloc[0]).items() <= filled.iloc[0].to_dict().items()
    assert tree.log_prob(best)[0] > tree.log_prob(drawn)[0]


@pytest.mark.parametrize("method", ["mle", "mean"])
@pytest.mark.parametrize("seed", range(2))
def test_every_round_improves_the_objective(method, seed):
    tree = random_cstree([2, 3, 2, 2, 3, 2], random_state=seed)
    data = with_holes(tree.sample(300, random_state=seed), 0.35, seed)
    result = em(tree, data, method, tol=1e-9, max_iter=1000)
    assert result.converged
    assert len(result.objective) > 5
    steps = np.diff(result.objective)
    assert (steps >= -1e-8 * abs(result.objective[-1])).all()
    # What it climbs is the likelihood of what is known.
    again = sum(result.tree.log_prob_of(known(row)) for row in data.to_dict("records") if known(row))
    assert isclose(again, result.log_likelihood, rel_tol=1e-4)


@pytest.mark.parametrize("method", ["mle", "mean", "map"])
def test_without_missing_cells_it_is_the_estimate_from_complete_data(method):
    tree = random_cstree([2, 3, 2, 4], random_state=3)
    data = tree.sample(200, random_state=1)
    complete = tree.fit_parameters(data, method, ess=2.0)
    assert tree.fit_parameters(data, method, ess=2.0, missing="em") == complete
    learner = CStreeLearner(beta=2, search=Chains(n_iter=300), missing="em").fit(data)
    plain = CStreeLearner(beta=2, search=Chains(n_iter=300)).fit(data)
    assert learner.cstree_ == plain.cstree_
    assert learner.log_score_ == plain.log_score_


def test_weights_of_rows_are_repeated_rows():
    tree = random_cstree([2, 3, 2], random_state=3)
    data = with_holes(tree.sample(60, random_state=1), 0.3, 0)
    times = np.arange(60) % 3
    weighted = em(tree, data, weights=times).tree
    repeated = em(tree, data.loc[data.index.repeat(times)]).tree
    for v in tree.variables:
        assert np.allclose(weighted.parameters[v], repeated.parameters[v], atol=1e-6)


def test_rounds_that_do_not_suffice_are_told():
    tree = random_cstree(5, random_state=1)
    with pytest.warns(DataWarning, match="not converged in 2 rounds"):
        em(tree, with_holes(tree.sample(200, random_state=0), 0.4, 0), tol=1e-12, max_iter=2)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.2])
def test_em_beats_complete_cases_on_known_structures(share):
    """Divergence from the truth of parameters on the true structure, over ten models."""
    ours, complete = [], []
    for seed in range(10):
        tree = random_cstree([2, 3, 2, 2, 3, 2, 2, 2], random_state=seed)
        data = with_holes(tree.sample(1000, random_state=seed), share, seed)
        ours.append(kl_divergence(tree, tree.fit_parameters(data, missing="em")))
        complete.append(kl_divergence(tree, tree.fit_parameters(data.dropna())))
    assert np.mean(ours) < 0.7 * np.mean(complete)
    assert sum(a < b for a, b in zip(ours, complete, strict=True)) >= 9


# ---------------------------------------------------------------- learning
@pytest.mark.slow
def test_learning_with_em_beats_complete_cases():
    """Divergence from the truth of learned models, 20 % of the cells missing at random, over four models."""
    ours, complete, everything = [], [], []
    for seed in range(4):
        tree = random_cstree(8, random_state=seed)
        data = tree.sample(1000, random_state=seed)
        holes = with_holes(data, 0.2, seed)
        quick = {"beta": 2, "search": Chains(n_iter=1000, n_chains=1), "random_state": 0}
        learner = CStreeLearner(missing="em", **quick).fit(holes)
        ours.append(kl_divergence(tree, learner.cstree_))
        complete.append(kl_divergence(tree, CStreeLearner(missing="drop", **quick).fit(holes).cstree_))
        everything.append(kl_divergence(tree, CStreeLearner(**quick).fit(data).cstree_))
        assert learner.em_.converged
        assert learner.cstree_.variables == tree.variables
    assert np.mean(ours) < 0.6 * np.mean(complete)
    assert sum(a < b for a, b in zip(ours, complete, strict=True)) == 4
    # The control: what is not missing cannot be worse than what is.
    assert np.mean(everything) < np.mean(ours)


def test_learning_with_em_keeps_names_states_and_settings():
    data = with_holes(chickenpox_model().sample(500, random_state=0), 0.1, 1).assign(weight=1.0)
    data["level"] = np.where(np.arange(500) % 5, np.arange(500) % 3, np.nan)
    knowledge = {"tiers": [["background", "level"], ["diagnosis"], ["exposed"], ["carrier"]]}
    learner = CStreeLearner(beta=2, missing="em", search=Chains(n_iter=200), knowledge=knowledge).fit(
        data, sample_weight="weight"
    )
    assert learner.cstree_.states["level"] == (0, 1, 2)
    assert learner.cstree_.states["exposed"] == ("no", "yes")
    assert learner.order_[-1] == "carrier"
    assert list(learner.feature_names_in_) == ["background", "diagnosis", "exposed", "carrier", "level"]
    same = CStreeLearner(beta=2, missing="em", search=Chains(n_iter=200), knowledge=knowledge).fit(
        data, sample_weight="weight"
    )
    assert same.cstree_ == learner.cstree_
    with pytest.raises(InputError, match="cannot be combined"):
        CStreeLearner(beta=2, missing="em").fit(data.drop(columns="weight"), interventions=[None] * 500)


@pytest.mark.parametrize("other", ["known", "seen"])  # before and after "missing" in the order of states
@pytest.mark.parametrize("gaps", [False, True])
def test_a_state_that_is_called_missing_is_refused_with_em(other, gaps):
    data = pd.DataFrame({"a": ["missing", other] * 30, "b": ["x", "y"] * 30}).astype(object)
    if gaps:
        data.loc[::7, "b"] = None
    with pytest.raises(InputError, match="'a' has a state that is called 'missing'"):
        CStreeLearner(beta=2, missing="em", search=Chains(n_iter=20)).fit(data)
    with pytest.raises(InputError, match="'a' has a state that is called 'missing'"):
        CStreeLearner(
            beta=2, missing="em", search=Chains(n_iter=20), states={"a": ["missing", other], "b": ["x", "y"]}
        ).fit(data)
    renamed = data.assign(a=data["a"].replace("missing", "absent"))
    assert CStreeLearner(beta=2, missing="em", search=Chains(n_iter=20)).fit(renamed).cstree_.states["a"] == tuple(
        sorted(["absent", other])
    )


def test_the_state_missing_of_a_table_stands_for_missing_cells_with_em():
    data = pd.DataFrame({"a": ["x", "y", "z", None] * 20, "b": ["u", "v"] * 40})
    first = data.assign(a=pd.Categorical(data["a"].fillna("missing"), ["missing", "x", "y", "z"]))
    expected = CStreeLearner(beta=2, missing="em", search=Chains(n_iter=20)).fit(data).cstree_
    assert expected.states["a"] == ("x", "y", "z")
    for table in (as_table(data, missing="state"), as_table(first)):
        assert CStreeLearner(beta=2, missing="em", search=Chains(n_iter=20)).fit(table).cstree_ == expected


def test_chains_that_have_not_converged_are_told_once():
    data = random_cstree(12, random_state=0).sample(400, random_state=1).astype(object)
    holes = data.mask(np.random.default_rng(0).random(data.shape) < 0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CStreeLearner(beta=2, missing="em", search=Chains(n_iter=20), random_state=0).fit(holes)
    assert [w.category for w in caught] == [ConvergenceWarning]
    assert caught[0].filename == __file__


def test_learning_with_em_where_no_row_is_complete():
    tree = random_cstree(6, random_state=0)
    data = tree.sample(600, random_state=0).astype(object)
    for row in range(600):
        data.iloc[row, row % 6] = None
    assert not data.notna().all(axis=1).any()
    learner = CStreeLearner(beta=2, missing="em", search=Chains(n_iter=500)).fit(data)
    independent = CStreeLearner(missing="em", search=Chains(n_iter=10), beta=0).fit(data)
    assert kl_divergence(tree, learner.cstree_) < 0.3 * kl_divergence(tree, independent.cstree_)


# ---------------------------------------------------------------- imputation
@given(problems())
def test_modes_are_the_most_probable_completions(problem):
    tree, data, listed = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gaps, "LISTED", listed)
        filled = tree.impute(data)
    assert filled.notna().all(axis=None)
    for before, after in zip(data.to_dict("records"), filled.to_dict("records"), strict=True):
        assert known(before).items() <= after.items()
        chance = np.exp(tree.log_prob([after])[0])
        assert isclose(chance, naive.best(tree, known(before)), rel_tol=1e-9)


@pytest.mark.parametrize("listed", [1, 1000])
def test_draws_follow_the_conditional_distribution(listed, monkeypatch):
    monkeypatch.setattr(gaps, "LISTED", listed)
    tree = random_cstree([2, 3, 2, 2], random_state=5)
    row = {tree.order[-1]: tree.states[tree.order[-1]][1]}
    data = pd.DataFrame([row] * 20_000, columns=tree.variables).astype(object)
    drawn = tree.impute(data, "draw", random_state=0)
    free = [v for v in tree.variables if v not in row]
    shares = drawn.value_counts(free, normalize=True)
    exact = tree.query(free, row)
    for states in product(*(tree.states[v] for v in free)):
        assert abs(shares.get(states, 0.0) - exact[states]) < 0.015
    pd.testing.assert_frame_equal(drawn, tree.impute(data, "draw", random_state=0))
    assert not drawn.equals(tree.impute(data, "draw", random_state=1))


def test_other_columns_and_the_index_stay():
    tree = chickenpox_model()
    data = with_holes(tree.sample(10, random_state=0), 0.4, 0).assign(id=range(10)).set_index(pd.Index(range(5, 15)))
    filled = tree.impute(data)
    assert filled["id"].tolist() == list(range(10))
    assert filled.index.tolist() == list(range(5, 15))
    assert list(filled["exposed"].cat.categories) == ["no", "yes"]
    assert data["exposed"].isna().any()
    assert list(tree.impute(data[["carrier"]]).columns) == ["carrier", "background", "diagnosis", "exposed"]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda tree, data: tree.impute(data, "mean"), "no method 'mean' of imputing"),
        (lambda tree, data: tree.fit_parameters(data, missing="drop"), 'missing must be "error" or "em"'),
        (lambda tree, data: tree.fit_parameters(data), "Missing cells"),
    ],
)
def test_bad_wishes(act, message):
    tree = chickenpox_model()
    with pytest.raises(InputError, match=message):
        act(tree, with_holes(tree.sample(20, random_state=0), 0.3, 0))


def test_blocks_are_independent_given_the_known_cells():
    tree = random_cstree(8, random_state=2)
    data = with_holes(tree.sample(50, random_state=1), 0.5, 3)
    codes = gaps.incomplete_codes(data, tree.states)
    jobs = gaps._jobs(Rows(tree.queries), codes)
    covered = np.zeros(codes.shape, dtype=int)
    for job in jobs:
        covered[np.ix_(job.rows, job.block[0])] += 1
    assert np.array_equal(covered, codes < 0)
    row = codes[0]
    mine = [job.block[0] for job in jobs if 0 in job.rows]
    evidence = known(data.iloc[0])
    names = [[tree.variables[v] for v in block] for block in mine]
    joint = tree.query([v for block in names for v in block], evidence).to_numpy()
    parts = [tree.query(block, evidence).to_numpy() for block in names]
    outer = parts[0]
    for part in parts[1:]:
        outer = np.multiply.outer(outer, part).ravel()
    assert np.allclose(joint, outer)
    assert prod(len(tree.states[v]) for block in names for v in block) == len(joint)
    assert (row < 0).sum() == sum(map(len, mine))
