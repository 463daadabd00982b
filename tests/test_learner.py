"""The learner: from a table to a model."""

import json
import pickle
import warnings
from itertools import permutations
from math import isclose

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import naive
from cslearn import PC, All, Chains, CStree, CStreeLearner, GRaSP, Screen, random_cstree
from cslearn.data import as_table
from cslearn.datasets import chickenpox_model
from cslearn.errors import ConvergenceWarning, DataWarning, FileError, InputError, LimitError
from cslearn.estimators import Auto, Given
from cslearn.estimators.plan import exact_memory
from cslearn.orders.summary import summarise
from cslearn.scores import Scores
from problems import random_table, rows_of

QUICK = {"beta": 2, "search": Chains(n_iter=300), "random_state": 0}


# ---------------------------------------------------------------- exactness
def test_the_order_is_the_best_of_an_exact_search_and_a_central_one_of_chains():
    table = random_cstree(8, random_state=0).sample_table(100, random_state=0)
    settings = {"beta": 2, "search": Chains(n_iter=200), "random_state": 0}
    for changed in ({}, {**settings, "estimate": "best"}):
        learner = CStreeLearner(**changed).fit(table)
        assert learner.order_ == learner.posterior_.order_names(learner.posterior_.best.best_order)
        assert learner.log_order_score_ == learner.posterior_.best.best_log_score
    for changed in (settings, {"beta": 2, "estimate": "central"}):
        learner = CStreeLearner(**changed).fit(table)
        posterior = learner.posterior_
        assert learner.order_ == learner.cstree_.order == posterior.central_tree().order
        assert learner.order_ != posterior.order_names(posterior.best.best_order)
        assert learner.log_order_score_ < posterior.best.best_log_score
        assert isclose(learner.log_order_score_, posterior.scores.order_score(learner.order_), rel_tol=1e-12)
    with pytest.raises(InputError, match='estimate is "auto", "best" or "central", not \'middle\''):
        CStreeLearner(beta=2, estimate="middle").fit(table)


@pytest.mark.parametrize("search", ["exact", Chains(n_iter=50)])
@pytest.mark.parametrize("nothing", [{}, Auto(alpha=0)])
@pytest.mark.parametrize("p", [4, 16])
def test_without_candidates_all_variables_are_independent(search, nothing, p):
    table = random_cstree(p, random_state=0).sample_table(100, random_state=0)
    beta = 2 if search == "exact" else 3
    learner = CStreeLearner(beta=beta, search=search, candidates=nothing, random_state=0).fit(table)
    assert learner.cstree_.n_stages == p
    assert not learner.cstree_.to_dag().edges
    assert not learner.posterior_.edge_probabilities().to_numpy().any()


def test_an_interrupt_after_the_search_keeps_the_fit(monkeypatch):
    table = random_cstree(8, random_state=0).sample_table(100, random_state=0)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    for place in ("cslearn.posterior.CStreePosterior.central_tree", "cslearn.estimators.learner.averaged_parameters"):
        with monkeypatch.context() as patch, pytest.warns(DataWarning, match="interrupted after"):
            patch.setattr(place, interrupted)
            learner = CStreeLearner(beta=2, search=Chains(n_iter=200), random_state=0).fit(table)
        assert learner.interrupted_
        assert np.isfinite(learner.score(table))
        if "central" in place:
            assert learner.estimate_ == "best"
            assert learner.log_order_score_ == learner.posterior_.best.best_log_score


def test_the_record_says_which_order_was_taken():
    table = random_cstree(8, random_state=0).sample_table(100, random_state=0)
    for changed, taken in (
        ({}, "best"),
        ({"search": Chains(n_iter=200)}, "central"),
        ({"search": Chains(n_iter=200), "estimate": "best"}, "best"),
    ):
        learner = CStreeLearner(**changed, random_state=0).fit(table)
        assert learner.cstree_.learning["settings"]["estimate"] == learner.estimate_ == taken


@pytest.mark.parametrize("prior", ["uniform", "sparse", "tree"])
@pytest.mark.parametrize("cards", [[2, 3, 2], [3, 2, 2, 2]])
def test_small_problems_are_solved_exactly(prior, cards):
    """All orders and all stagings, listed one by one."""
    table = random_table(cards, 40, np.random.default_rng(sum(cards)))
    rows, weights = rows_of(table)
    terms = {}
    for order in permutations(range(table.p)):
        for position, target in enumerate(order):
            level = frozenset(order[:position])
            if (target, level) not in terms:
                terms[target, level] = naive.log_joint_terms(
                    rows, weights, table.cards, target, sorted(level), 2, 1.0, prior
                )
    scores = {
        order: sum(naive.log_sum(v for v, _ in terms[t, frozenset(order[:i])]) for i, t in enumerate(order))
        for order in permutations(range(table.p))
    }
    learner = CStreeLearner(prior=prior, ess=1.0, estimate="best", **QUICK).fit(table)
    found = tuple(table.variables.index(v) for v in learner.order_)
    constant = sum(np.log(np.arange(1, table.p + 1)))
    assert isclose(scores[found], max(scores.values()), rel_tol=1e-12)
    assert isclose(learner.log_order_score_, scores[found] - constant, rel_tol=1e-9)
    best = sum(max(v for v, _ in terms[t, frozenset(found[:i])]) for i, t in enumerate(found))
    assert isclose(learner.log_score_, best - constant, rel_tol=1e-9)


def test_the_learned_model_is_consistent():
    tree = random_cstree([2, 3, 2, 4, 2], random_state=1)
    data = tree.sample(500, random_state=2)
    learner = CStreeLearner(parameters="mean", **QUICK).fit(data)
    scores = Scores(data, prior=learner.prior_, ess=learner.ess_)
    assert learner.cstree_.order == learner.order_
    assert isclose(learner.log_order_score_, scores.order_score(learner.order_), rel_tol=1e-9)
    assert isclose(learner.log_score_, scores.cstree_score(learner.cstree_), rel_tol=1e-9)
    assert learner.cstree_.fit_parameters(data, ess=learner.ess_) == learner.cstree_
    assert set(learner.timings_) == {"data", "candidates", "scores", "prior", "orders", "stagings", "parameters"}
    assert learner.posterior_.best.best_log_score == learner.log_order_score_
    assert learner.n_iter_ == 1200
    assert isclose(learner.score(data), learner.score_samples(data).mean())
    assert [list(data.columns), 5] == [list(learner.feature_names_in_), learner.n_features_in_]


@pytest.mark.parametrize("beta", [0, 1, 2])
def test_the_bounds_hold(beta):
    data = random_cstree(8, random_state=1).sample(500, random_state=2)
    tree = CStreeLearner(candidates=All(alpha=3), **{**QUICK, "beta": beta}).fit(data).cstree_
    assert all(staging.bound <= beta for staging in tree.stagings.values())
    learner = CStreeLearner(candidates=All(alpha=3), **{**QUICK, "beta": beta}).fit(data)
    assert all(len(candidates) <= 3 for candidates in learner.candidates_.sets.values())
    assert all(set(tree.parents[v]) <= set(learner.candidates_.sets[v]) for v in tree.order)
    assert learner.candidates_.dropped


def test_knowledge_holds_in_the_model():
    data = chickenpox_model().sample(2000, random_state=0)
    tiers = [["background"], ["diagnosis"], ["exposed"], ["carrier"]]
    learner = CStreeLearner(knowledge={"tiers": tiers}, **QUICK).fit(data)
    assert learner.order_ == ("background", "diagnosis", "exposed", "carrier")
    learner = CStreeLearner(knowledge={"forbidden": [("exposed", "carrier"), ("carrier", "exposed")]}, **QUICK).fit(
        data
    )
    dag = learner.cstree_.to_dag()
    assert not dag.has_edge("exposed", "carrier")
    assert not dag.has_edge("carrier", "exposed")
    learner = CStreeLearner(knowledge={"required": [("carrier", "background")]}, candidates=All(alpha=1), **QUICK).fit(
        data
    )
    assert learner.order_.index("carrier") < learner.order_.index("background")
    assert learner.candidates_.sets["background"] == ("carrier",)


@pytest.mark.parametrize("method", ["pc", "grasp"])
def test_candidates_of_phase_1(method):
    data = chickenpox_model().sample(1000, random_state=0)
    learner = CStreeLearner(candidates=method, **QUICK).fit(data)
    assert learner.candidates_.method == method
    assert ("exposed" in learner.candidates_.sets["carrier"]) or ("carrier" in learner.candidates_.sets["exposed"])


def test_candidates_from_the_skeleton():
    data = chickenpox_model().sample(1000, random_state=0)
    sets = CStreeLearner(candidates=PC(graph="skeleton", level=0.01), **QUICK).fit(data).candidates_.sets
    assert all(v in sets[u] for v in sets for u in sets[v])


def test_candidates_of_the_users():
    data = chickenpox_model().sample(1000, random_state=0)
    tree = CStreeLearner(candidates=nx.DiGraph([("exposed", "carrier")]), **QUICK).fit(data).cstree_
    assert set(tree.to_dag().edges) == {("exposed", "carrier")}


def test_ties_go_to_fewer_stages():
    """Two equal columns, and a context that never occurs."""
    rows = [{"a": x, "b": x, "c": y} for x, y in [(0, 0), (0, 0), (1, 1), (1, 1), (0, 1), (1, 0)] * 10]
    tree = CStreeLearner(knowledge={"tiers": [["a"], ["b"], ["c"]]}, **QUICK).fit(rows).cstree_
    assert len(tree.stagings["c"]) <= 2
    assert tree == CStreeLearner(knowledge={"tiers": [["a"], ["b"], ["c"]]}, **QUICK).fit(rows).cstree_


def test_relations_come_with_their_evidence():
    data = chickenpox_model().sample(5000, random_state=0)
    learner = CStreeLearner(knowledge={"tiers": [[v] for v in chickenpox_model().order]}, **QUICK).fit(data)
    assert [r.relation for r in learner.relations_] == sorted(
        learner.cstree_.csi_relations(), key=[r.relation for r in learner.relations_].index
    )
    factors = [r.log_bayes_factor for r in learner.relations_]
    assert factors == sorted(factors, reverse=True)
    assert all(factor > 0 for factor in factors)
    top = next(r for r in learner.relations_ if r.relation.target == "exposed")
    assert str(top.relation) == "exposed _||_ background | diagnosis=yes"
    assert top.n_rows == (data["diagnosis"] == "yes").sum()
    scores = Scores(data, ess=learner.ess_)
    whole = scores.log_z("exposed", {"diagnosis": "yes"})
    split = sum(scores.log_z("exposed", {"diagnosis": "yes", "background": b}) for b in ("rural", "urban"))
    assert isclose(top.log_bayes_factor, whole - split, rel_tol=1e-9)


# ---------------------------------------------------------------- reproducibility
def test_the_same_data_and_seed_give_the_same_model_however_they_come(tmp_path):
    tree = random_cstree({"a": 2, "b": ["x", "y", "z"], "c": 3, "d": 2}, random_state=3)
    frame = tree.sample(300, random_state=1)
    frame = frame.astype(dict.fromkeys(frame, object))
    frame.to_csv(tmp_path / "data.csv", index=False)
    records = np.rec.fromrecords(frame.to_records(index=False).tolist(), names=list(frame.columns))
    sources = {
        "pandas": frame,
        "polars": pl.DataFrame({v: frame[v].tolist() for v in frame}),
        "NumPy": records,
        "CSV": tmp_path / "data.csv",
        "list of dicts": frame.to_dict("records"),
    }
    models = {name: CStreeLearner(**QUICK).fit(source).cstree_ for name, source in sources.items()}
    assert all(model == models["pandas"] for model in models.values()), models


def test_the_number_of_workers_does_not_matter():
    data = random_cstree(10, random_state=3).sample(300, random_state=1)
    one = CStreeLearner(n_jobs=1, **QUICK).fit(data)
    four = CStreeLearner(n_jobs=4, **QUICK).fit(data)
    assert one.cstree_ == four.cstree_
    assert np.array_equal(one.posterior_.orders, four.posterior_.orders)


def test_weighted_rows_learn_as_repeated_rows():
    data = chickenpox_model().sample(200, random_state=0)
    weights = np.arange(200) % 4
    weighted = CStreeLearner(**QUICK).fit(data, sample_weight=weights)
    repeated = CStreeLearner(**QUICK).fit(data.loc[data.index.repeat(weights)])
    assert weighted.cstree_.stagings == repeated.cstree_.stagings
    assert isclose(weighted.log_score_, repeated.log_score_, rel_tol=1e-9)


def test_renamed_states_and_permuted_columns_learn_the_same_structure():
    tree = random_cstree(6, random_state=5)
    data = tree.sample(1000, random_state=1)
    renamed = data.astype(object).replace({0: "zero", 1: "one"})[list(data.columns[::-1])]
    first, second = (CStreeLearner(beta=2, search=Chains(n_iter=2000)).fit(rows) for rows in (data, renamed))
    assert isclose(first.log_order_score_, second.log_order_score_, rel_tol=1e-9)


# ---------------------------------------------------------------- odd data
def test_where_all_columns_are_constant_chains_do_not_go_on():
    """All orders are equally probable then, and no number of moves would make precedences agree."""
    from cslearn.orders.chains import default_n_iter

    data = pd.DataFrame({f"v{j}": ["x"] * 10 for j in range(30)})
    with pytest.warns(DataWarning, match="single state"):
        learner = CStreeLearner(beta=2, random_state=0).fit(data)
    assert learner.n_iter_ <= 4 * default_n_iter(30)
    assert learner.cstree_.n_stages == 30


def test_constant_columns_stay_in_the_model_and_are_no_contexts():
    data = chickenpox_model().sample(300, random_state=0).assign(site="here")
    with pytest.warns(DataWarning, match="site"):
        tree = CStreeLearner(**QUICK).fit(data).cstree_
    assert tree.states["site"] == ("here",)
    assert all("site" not in parents for parents in tree.parents.values())
    assert np.isfinite(tree.log_prob(data)).all()


def test_a_state_that_never_occurs():
    data = chickenpox_model().sample(100, random_state=0)
    states = {"carrier": ["no", "maybe", "yes"]}
    tree = CStreeLearner(states=states, **QUICK).fit(data.astype(object)).cstree_
    assert tree.states["carrier"] == ("no", "maybe", "yes")
    assert np.isfinite(
        tree.log_prob([dict.fromkeys(("diagnosis", "exposed"), "no") | {"background": "rural", "carrier": "maybe"}])
    )[0]


@pytest.mark.parametrize(("missing", "rows"), [("drop", 99), ("state", 100)])
def test_missing_values(missing, rows):
    data = chickenpox_model().sample(100, random_state=0).astype(object)
    data.loc[3, "exposed"] = None
    learner = CStreeLearner(missing=missing, **QUICK).fit(data)
    assert ("missing" in learner.cstree_.states["exposed"]) == (missing == "state")
    with pytest.raises(InputError, match="exposed"):
        CStreeLearner(**QUICK).fit(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pd.DataFrame({"a": ["x", "y", "x"]}), "one column"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "one row"),
    ],
)
def test_too_little_data(data, message):
    with warnings.catch_warnings(), pytest.raises(InputError, match=message):
        warnings.simplefilter("ignore", DataWarning)
        CStreeLearner(beta=2).fit(data)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": "three"}, "beta, the largest number of context variables of a stage"),
        ({"beta": {"carrier": 1}}, "is \"auto\" or a whole number of at least 0, not {'carrier': 1}"),
        ({"search": "quick"}, r'search is "auto", "greedy", "exact", "mcmc" or Chains\(...\), not .quick.'),
        ({"search": Chains}, "not <class"),
        ({"search": Chains(checkpoint="run.ckpt"), "missing": "em"}, "a checkpoint holds one search"),
        ({"search": Chains(checkpoint="run.ckpt"), "random_state": None}, "random_state is a number, not None"),
        ({"random_state": -1}, "random_state is a whole number of at least 0, a RandomState or None, not -1"),
        ({"random_state": 1.5}, "random_state is a whole number"),
        ({"random_state": True}, "random_state is a whole number"),
        ({"random_state": "zero"}, "random_state is a whole number .* not 'zero'"),
        ({"prior": "flat"}, 'prior is "adaptive", "tree", "sparse", "uniform" or a Prior, not .flat.'),
        ({"ess": -1}, "ess"),
        ({"parameters": "median"}, 'parameters is "averaged", "mean", "map" or "mle", not .median.'),
        ({"candidates": {"carrier": ["age"]}}, "age"),
        ({"candidates": "magic"}, "magic"),
        ({"candidates": 5}, "candidates is .*, All, Screen, PC, GRaSP or a graph, a mapping or a matrix, not 5"),
        ({"n_jobs": "x"}, "n_jobs is a whole number of at least 1, -1 for all cores or None, not 'x'"),
        ({"n_jobs": 0}, "n_jobs is .* not 0"),
        ({"max_memory": None}, "max_memory is a positive number of bytes, not None"),
        ({"states": 5}, "states is a mapping of variables to lists of their states or None, not 5"),
        ({"callback": 5}, "callback is a function or None, not 5"),
        ({"missing": "guess"}, 'missing is "error", "drop", "state", "em" or a mapping .*, not .guess.'),
        ({"knowledge": ["a"]}, "knowledge is Knowledge, a mapping or None, not"),
        ({"knowledge": {"required": [("carrier", "exposed"), ("exposed", "carrier")]}}, "carrier"),
        ({"knowledge": {"required": [("carrier", "age")]}}, "age"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError, match=message) as refused:
        CStreeLearner(**settings).fit(chickenpox_model().sample(20, random_state=0))
    if len(settings) == 1 and not isinstance(next(iter(settings.values())), dict):
        assert refused.value.parameter == next(iter(settings))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_numpy_matrix_is_refused():
    with pytest.raises(InputError, match=r"Give np.asarray\(X\)"):
        CStreeLearner(beta=2).fit(np.matrix([[0, 1], [1, 0], [1, 1]]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_iter": 0}, 'n_iter is "auto", a whole number of at least 1 or None, not 0'),
        ({"n_iter": True}, "n_iter is .* a whole number of at least 1 .* not True"),
        ({"n_iter": "long"}, "n_iter is .* a whole number of at least 1 .* not 'long'"),
        ({"max_iter": 0}, "max_iter is a whole number of at least 1 or None, not 0"),
        ({"max_iter": 20, "n_iter": 10}, 'max_iter=20 bounds n_iter="auto", but n_iter=10 is given: leave one out'),
        ({"n_chains": None}, "n_chains is a whole number from 1 to 1000, not None"),
        ({"n_temperatures": 0}, "n_temperatures"),
        ({"thin": 2.5}, "thin is a whole number of at least 1 or None, not 2.5"),
        ({"burn_in": 10, "n_iter": 10}, "burn_in=10 leaves no draws of n_iter=10"),
        ({"checkpoint": 5}, "checkpoint is the name of a file or None, not 5"),
        ({"checkpoint_every": -1}, "checkpoint_every is a number of seconds from 0, not -1"),
    ],
)
def test_bad_chains_are_refused_when_they_are_made(settings, message):
    with pytest.raises(InputError, match=message) as refused:
        Chains(**settings)
    assert refused.value.parameter == next(iter(settings))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PC(level=0), "level is a significance level between 0 and 1, such as 0.05, not 0"),
        (lambda: PC(level="5%"), "level is a significance level"),
        (
            lambda: PC(alpha=-1),
            "alpha, the largest number of candidates of a variable, is a whole number of at least 0 or None, not -1",
        ),
        (lambda: GRaSP(graph="dag"), 'graph is "cpdag" or "skeleton", not .dag.'),
        (lambda: All(alpha=1.5), "alpha, .* not 1.5"),
        (lambda: Screen(alpha=True), "alpha, .* not True"),
        (lambda: Given("pc"), "sets is a graph, a mapping or a matrix, not 'pc'"),
    ],
)
def test_bad_selections_are_refused_when_they_are_made(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_scoring_an_unknown_state():
    data = chickenpox_model().sample(50, random_state=0)
    learner = CStreeLearner(**QUICK).fit(data)
    with pytest.raises(InputError, match=r"(?s)carrier.*perhaps"):
        learner.score(data.astype(object).assign(carrier="perhaps"))


def test_an_interrupt_keeps_the_best_model_and_says_so():
    data = chickenpox_model().sample(300, random_state=0)
    calls = []

    def interrupt(phase, progress):
        calls.append(phase)
        if phase == "orders" and progress is not None and calls.count("orders") == 3:
            import _thread

            _thread.interrupt_main()

    with pytest.warns(DataWarning, match=r"interrupted after [\d,]+ moves of 4 chains: this is the best model"):
        learner = CStreeLearner(beta=2, search=Chains(n_iter=50_000_000, thin=1000), callback=interrupt).fit(data)
    assert learner.interrupted_
    assert learner.n_iter_ < 200_000_000
    assert isinstance(learner.cstree_, CStree)
    assert list(dict.fromkeys(calls)) == ["data", "candidates", "scores", "prior", "orders", "stagings", "parameters"]


# ---------------------------------------------------------------- the length of chains
@pytest.mark.slow
def test_chains_go_on_until_they_agree():
    data = random_cstree(8, random_state=1).sample(500, random_state=2)
    learner = CStreeLearner(beta=2, search="mcmc").fit(data)
    assert learner.posterior_.converged
    assert learner.n_iter_ in [4 * 160_000 * 2**k for k in range(4)]
    other = CStreeLearner(beta=2, search="mcmc", n_jobs=1).fit(data)
    assert np.array_equal(other.posterior_.orders, learner.posterior_.orders)


def test_chains_that_do_not_agree_end_at_the_limit():
    with pytest.warns(
        ConvergenceWarning, match=r"after 2,600 moves each: .* give search=.exact., .*, a larger max_iter, more"
    ):
        limited = CStreeLearner(search=Chains(max_iter=2600, n_chains=2), beta=1, random_state=3).fit(
            random_cstree(20, random_state=1).sample(500, random_state=2)
        )
    assert limited.n_iter_ == 5200
    assert not limited.posterior_.converged


def test_short_chains_are_called_short():
    data = chickenpox_model().sample(500, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r'n_iter \(or "auto"\)'):
        learner = CStreeLearner(beta=2, search=Chains(n_iter=30)).fit(data)
    assert learner.n_iter_ == 120
    # What helps is named where it can be had.
    many = random_cstree(24, random_state=1).sample(200, random_state=2)
    for chains, settings, rows, helps in (
        ({}, {}, data, 'give search="exact", which searches all orders, a larger n_iter .*, or several temperatures'),
        ({"n_temperatures": 2}, {}, data, r'all orders, a larger n_iter \(or "auto"\), or more chains \(n_chains'),
        ({}, {"max_memory": 1}, data.iloc[:, :3], "give a larger n_iter"),
        ({}, {}, many, "give a larger n_iter"),
    ):
        with pytest.warns(ConvergenceWarning, match=helps):
            CStreeLearner(search=Chains(n_iter=30, **chains), **settings).fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CStreeLearner(beta=2, search=Chains(n_iter=5000)).fit(data)


def test_too_many_variables_for_an_exact_search_are_refused_before_it_begins():
    data = pd.DataFrame(np.random.default_rng(0).integers(2, size=(50, 40))).add_prefix("x")
    with pytest.raises(LimitError, match="orders of 40 variables goes through 2\\^40 sets"):
        CStreeLearner(beta=2, search="exact", candidates=All(alpha=3)).fit(data)


@pytest.mark.parametrize("search", ["exact", "auto"])
def test_an_exact_search_that_was_asked_for_tells_what_it_will_take_before_it_begins(search):
    told = []
    data = random_cstree(6, random_state=1).sample(200, random_state=2)
    learner = CStreeLearner(beta=2, search=search, callback=lambda *one: told.append(one)).fit(data)
    assert learner.posterior_.exact is not None
    costs = [one for one in told if one[1] is not None]
    if search == "auto":  # a matter of seconds
        assert costs == []
        return
    (cost,) = costs
    assert cost[0] == "orders"
    assert (cost[1].done, cost[1].total) == (0, 2**6)
    assert cost[1].memory == exact_memory(learner.posterior_.scores)
    assert cost[1].seconds > 0
    assert told.index(cost) < told.index(("prior", None))


# ---------------------------------------------------------------- checkpoints
def assert_same_fit(one, other):
    assert one.cstree_ == other.cstree_
    assert one.candidates_.sets == other.candidates_.sets
    assert one.log_order_score_ == other.log_order_score_
    assert one.posterior_.settings == other.posterior_.settings
    for a, b in zip(one.posterior_.chains, other.posterior_.chains, strict=True):
        for name, value in vars(a).items():
            assert np.array_equal(value, getattr(b, name)), name


class Killed(BaseException):
    pass


@pytest.mark.filterwarnings("ignore::cslearn.errors.ConvergenceWarning")
@pytest.mark.parametrize("n_iter", [200, pytest.param("auto", marks=pytest.mark.slow)])
def test_a_fit_may_be_ended_anywhere_and_goes_on(tmp_path, monkeypatch, n_iter):
    from cslearn.orders import checkpoint as module

    table = random_cstree(9, beta=3, concentration=3.0, random_state=4).sample_table(150, random_state=4)
    chains = {"n_iter": n_iter, "thin": 6, "checkpoint_every": 0} | ({"max_iter": 300} if n_iter == "auto" else {})
    settings = {"beta": 3, "random_state": 4, "n_jobs": 1}
    monkeypatch.setattr("cslearn.orders.walks.BLOCK_SECONDS", 0.0)
    write, written, moments = module.write_arrays, [], [None]

    def ending(path, *rest):
        if len(written) == moments[-1]:
            raise Killed
        write(path, *rest)
        written.append(path)

    monkeypatch.setattr(module, "write_arrays", ending)
    of_whole = Chains(n_chains=2, checkpoint=tmp_path / "whole.ckpt", **chains)
    whole = CStreeLearner(search=of_whole, **settings).fit(table)
    assert len(written) > 30
    settings["search"] = of_whole.changed(checkpoint=tmp_path / "run.ckpt")
    for moment in (len(written) // 2, 5):
        moments.append(moment)
        written.clear()
        with pytest.raises(Killed):
            CStreeLearner(**settings).fit(table)
    moments.append(None)
    assert_same_fit(CStreeLearner(**settings).fit(table), whole)
    # Negative control: what the file holds is used.
    (tmp_path / "run.ckpt").write_bytes(b"")
    with pytest.raises(FileError, match=r"run\.ckpt is damaged"):
        CStreeLearner(**settings).fit(table)


def test_a_fit_goes_on_from_its_checkpoint(tmp_path):
    data = random_cstree([2, 3, 2, 2, 3], random_state=1).sample(300, random_state=2)
    whole = CStreeLearner(beta=2, search=Chains(n_iter=1000)).fit(data)
    file = tmp_path / "run.ckpt"
    CStreeLearner(beta=2, search=Chains(n_iter=400, checkpoint=file)).fit(data)
    resumed = CStreeLearner(beta=2, search=Chains(n_iter=1000, checkpoint=file, checkpoint_every=0)).fit(data)
    assert resumed.cstree_ == whole.cstree_
    assert resumed.log_order_score_ == whole.log_order_score_
    assert np.array_equal(resumed.posterior_.orders, whole.posterior_.orders)
    assert resumed.posterior_.settings == whole.posterior_.settings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"beta": 1}, "beta was 2 and is now 1"),
        ({"ess": 1.0}, "ess was [0-9.]+ and is now 1.0"),
        ({"prior": "uniform"}, "prior was 'TreePrior\\(.*\\)' and is now 'UniformPrior\\(\\)'"),
        ({"search__n_chains": 2}, "n_chains was 4 and is now 2"),
        ({"search__n_temperatures": 2}, "n_temperatures was 1 and is now 2"),
        ({"random_state": 1}, "random_state was 0 and is now 1"),
        ({"candidates": All(alpha=1)}, "candidates are not the same"),
        ({"knowledge": {"tiers": [["X1"], ["X2"]]}}, "knowledge is not the same"),
        ({"search__n_iter": 50}, "100 moves of a chain already"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(tmp_path, change, message):
    data = random_cstree([2, 3, 2, 2], random_state=1).sample(300, random_state=2)
    file = tmp_path / "run.ckpt"
    learner = CStreeLearner(beta=2, search=Chains(n_iter=100, checkpoint=file)).fit(data)
    with pytest.raises(FileError, match=f"another search: .*{message}"):
        learner.set_params(**change).fit(data)


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    data = random_cstree([2, 3, 2, 2], random_state=1).sample(300, random_state=2)
    file = tmp_path / "run.ckpt"
    CStreeLearner(beta=2, search=Chains(n_iter=100, checkpoint=file)).fit(data)
    others = {
        "a row less": (data.iloc[1:], None),
        "another name": (data.rename(columns={"X1": "Y"}), None),
        "another label": (data.astype(object).replace({"X1": {1: True, 0: False}}), None),
        "weights": (data, np.ones(300)),
    }
    for rows, weights in others.values():
        with pytest.raises(FileError, match="data are not the same"):
            CStreeLearner(beta=2, search=Chains(n_iter=200, checkpoint=file)).fit(rows, sample_weight=weights)
    with pytest.raises(FileError, match="interventions are not the same"):
        CStreeLearner(beta=2, search=Chains(n_iter=200, checkpoint=file)).fit(
            data, interventions=["X2", None, None] * 100
        )
    CStreeLearner(beta=2, search=Chains(n_iter=200, checkpoint=file)).fit(data.copy())


# ---------------------------------------------------------------- scikit-learn
def test_parameters_are_stored_as_they_are():
    learner = CStreeLearner(beta=1, candidates="pc", random_state=7)
    assert clone(learner).get_params() == learner.get_params()
    assert learner.set_params(beta=2).beta == 2
    assert "CStreeLearner(beta=1" in repr(CStreeLearner(beta=1))


def test_there_are_few_parameters():
    assert set(CStreeLearner(beta=2).get_params()) == {
        "beta", "candidates", "prior", "ess", "parameters", "search", "estimate", "knowledge", "states", "missing",
        "max_memory", "random_state", "n_jobs", "callback",
    }  # fmt: skip


def test_settings_are_values_with_parameters_that_scikit_learn_can_set():
    learner = CStreeLearner(search=Chains(n_iter=50, checkpoint="a"), candidates=PC(level=0.01))
    assert (
        repr(learner)
        == "CStreeLearner(candidates=PC(level=0.01),\n              search=Chains(n_iter=50, checkpoint='a'))"
    )
    assert learner._repr_html_()
    copied = clone(learner)
    assert (copied.search, copied.candidates) == (learner.search, learner.candidates)
    assert learner.get_params()["candidates__level"] == 0.01
    assert learner.get_params()["search__n_iter"] == 50
    learner.set_params(search__n_iter=70, candidates__alpha=2, beta=1)
    assert (learner.search, learner.candidates) == (Chains(n_iter=70, checkpoint="a"), PC(level=0.01, alpha=2))
    assert learner.beta == 1
    assert copied.search == Chains(n_iter=50, checkpoint="a")
    learner.set_params(search=Chains(), search__n_chains=2)
    assert repr(learner.search) == "Chains(n_chains=2)"
    with pytest.raises(InputError, match="Chains has no parameter 'moves'; it has n_iter, max_iter"):
        learner.set_params(search__moves=5)
    with pytest.raises(InputError, match="search is 'auto', which has no parameter 'n_iter'"):
        CStreeLearner(beta=2).set_params(search__n_iter=5)
    with pytest.raises(AttributeError):
        learner.search.n_iter = 3
    assert pickle.loads(pickle.dumps(learner)).search == learner.search


def test_errors_can_be_pickled_with_their_parameter():
    with pytest.raises(InputError) as refused:
        Chains(n_chains=0)
    again = pickle.loads(pickle.dumps(refused.value))
    assert (str(again), again.parameter) == (str(refused.value), "n_chains")


@pytest.mark.parametrize("name", ["auto", "all", "screen"])
def test_a_string_stands_for_the_selection_with_its_defaults(name):
    data = chickenpox_model().sample(200, random_state=0)
    way = {"auto": Auto(), "all": All(), "screen": Screen()}[name]
    one, other = (CStreeLearner(candidates=candidates, **QUICK).fit(data) for candidates in (name, way))
    assert one.candidates_ == other.candidates_
    assert one.cstree_ == other.cstree_


def test_sets_of_ones_own_can_be_bounded():
    data = chickenpox_model().sample(500, random_state=0)
    sets = {"carrier": ["exposed", "background", "diagnosis"]}
    bounded = CStreeLearner(candidates=Given(sets, alpha=1), **QUICK).fit(data).candidates_
    assert bounded.sets["carrier"] == ("exposed",)
    arrow = nx.DiGraph([("exposed", "carrier")])
    found = CStreeLearner(candidates=Given(arrow, graph="skeleton"), **QUICK).fit(data).candidates_
    assert found.sets["exposed"] == ("carrier",)


def test_cross_validation_works():
    from sklearn.model_selection import GridSearchCV, cross_val_score

    data = chickenpox_model().sample(300, random_state=0)
    assert cross_val_score(CStreeLearner(**QUICK), data, cv=3).shape == (3,)
    search = GridSearchCV(CStreeLearner(**QUICK), {"beta": [0, 2]}, cv=2).fit(data)
    assert search.best_params_ == {"beta": 2}


EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "its data are real numbers, all different: nothing categorical",
}


@parametrize_with_checks(
    [CStreeLearner(beta=2, search=Chains(n_iter=20, n_chains=1))], expected_failed_checks=lambda _: EXPECTED_FAILURES
)
@pytest.mark.filterwarnings("ignore::cslearn.errors.DataWarning")
def test_scikit_learns_own_checks(estimator, check):
    if (name := check.func.__name__) in EXPECTED_FAILURES:
        pytest.xfail(EXPECTED_FAILURES[name])  # before it is run: it takes long, and its end is known
    check(estimator)


def test_data_are_read_as_a_table_reads_them():
    data = chickenpox_model().sample(100, random_state=0)
    assert CStreeLearner(**QUICK).fit(as_table(data)).cstree_ == CStreeLearner(**QUICK).fit(data).cstree_


# ---------------------------------------------------------------- the record of how the model was learned
def test_the_model_tells_how_it_was_learned_also_after_a_round_trip(tmp_path):
    data = chickenpox_model().sample(300, random_state=0)
    knowledge = {"tiers": [["background"], ["carrier"]]}
    learner = CStreeLearner(beta=1, ess=2, search=Chains(n_iter=600, n_chains=2), knowledge=knowledge, random_state=7)
    tree = learner.fit(data).cstree_
    tree.save(tmp_path / "m.json")
    record = CStree.load(tmp_path / "m.json").learning
    assert record["rows"] == 300
    assert record["log_score"] == learner.log_score_
    assert record["settings"]["beta"] == 1
    assert record["settings"]["seed"] == 7
    assert record["settings"]["knowledge"] == {"tiers": [["background"], ["carrier"]]}
    assert [chain["moves"] for chain in record["orders"]["chains"]] == [600, 600]
    assert json.dumps(dict(record)) == json.dumps(dict(tree.learning))
    assert pickle.loads(pickle.dumps(tree)).learning == tree.learning
    assert tree.fit_parameters(data).learning is None  # other parameters: the record would not be true of them


def test_the_summary_of_the_orders_agrees_with_the_draws():
    learner = CStreeLearner(beta=2, search=Chains(n_iter=900, n_chains=3), random_state=1).fit(
        chickenpox_model().sample(300, random_state=0)
    )
    posterior = learner.posterior_
    summary = summarise(posterior)
    shares = posterior.precedence().to_numpy()
    for i, row in enumerate(summary["precedence"]):
        assert row == pytest.approx(shares[i, i + 1 :], abs=6e-4)
    for chain, kept in zip(posterior.chains, summary["chains"], strict=True):
        every = kept["trace"]["every"]
        assert kept["trace"]["log_scores"] == pytest.approx([chain.trace[t] for t in range(every - 1, 900, every)])
        assert kept["best"] == pytest.approx(chain.best_log_score, abs=1e-3)
    assert summary["verdict"]["converged"] == posterior.converged
    diagnostics = posterior.diagnostics()
    assert summary["verdict"]["r_hat"] == pytest.approx(diagnostics["r_hat"].max(), abs=1e-3)
    sizes = diagnostics.loc[diagnostics["kind"] != "edge", "ess"]
    assert summary["verdict"]["ess"] == pytest.approx(sizes.min(), abs=1e-3)
