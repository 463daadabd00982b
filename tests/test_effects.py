"""Effects: risks when an exposure is set, by brute force; intervals, by simulation; and what is said of them."""

from math import exp, isclose

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from benchmarks.prior_draws import draw_from_prior
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln
from scipy.stats import beta, binomtest

import naive_graphs
import naive_inference
from cslearn import CStree, CStreeLearner, random_cstree
from cslearn.data import Table
from cslearn.datasets import chickenpox_model, load_dataset
from cslearn.errors import InputError, LimitError
from cslearn.inference import DIRECTIONS, effect, risks
from cslearn.inference.completed import rows_for_model
from cslearn.inference.stage_evidence import StageEvidence, merged
from cslearn.orders import ExactOrders, SubsetScores
from cslearn.posterior import CStreePosterior
from cslearn.scores import Scores

MEASURES = {
    "rd": lambda p, q: p - q,
    "rr": lambda p, q: p / q,
    "or": lambda p, q: p / (1 - p) / (q / (1 - q)),
}


# ---------------------------------------------------------------- equal to brute force
@given(
    st.lists(st.integers(2, 3), min_size=3, max_size=5),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["rd", "rr", "or"]),
    st.integers(0, 2),
)
def test_effects_are_those_of_the_truncated_factorisation(cards, seed, measure, n_given):
    tree = random_cstree(cards, random_state=seed)
    rng = np.random.default_rng(seed)
    names = [str(v) for v in rng.permutation(tree.variables)]
    outcome, of, *strata = names[: 2 + n_given]
    state, against = tree.states[outcome][-1], tree.states[of][-1]
    found = effect(tree, outcome, of=of, given=strata, state=state, against=against, measure=measure)
    for row in found.rows:
        given_ = tuple(v for v, _ in row.stratum)
        expected = naive_inference.set_risks(tree, of, outcome, given_)
        key = tuple(x for _, x in row.stratum)
        risk, base = (expected[x, key][state] for x in (row.exposure, against))
        assert isclose(row.risk, risk, rel_tol=1e-9, abs_tol=1e-12)
        if row.exposure == against:
            assert row.estimate is None
        elif abs(risk - base) > 1e-9:
            assert isclose(row.estimate, MEASURES[measure](risk, base), rel_tol=1e-6)
        else:
            backward = nx.has_path(tree.to_dag(), outcome, of)
            assert (row.estimate, row.no_effect) == (0.0 if measure == "rd" else 1.0, None if backward else 1.0)
            assert row.says == ("the model has the outcome before the exposure" if backward else "no effect")
    n_strata = int(np.prod([len(tree.states[v]) for v in strata]))
    assert len(found.rows) == len(tree.states[of]) * (n_strata + 1 if strata else 1)


def batch(tree, draws, rng):
    """Several random sets of parameters for one structure, and a CStree with each."""
    parameters = {
        v: np.array([rng.dirichlet(np.ones(p.shape[1]), size=len(p)) for _ in range(draws)])
        for v, p in tree.parameters.items()
    }
    trees = [tree.with_parameters({v: p[b] for v, p in parameters.items()}) for b in range(draws)]
    return {tree.variables.index(v): p for v, p in parameters.items()}, trees


@pytest.mark.parametrize("seed", range(4))
def test_many_draws_at_once_and_simulated_rows_give_the_same(seed, monkeypatch):
    tree, rng = random_cstree([2, 3, 2, 2, 3], random_state=seed), np.random.default_rng(seed)
    of, outcome, given_ = 1, 4, [0, 2]
    parameters, trees = batch(tree, 5, rng)
    monkeypatch.setattr(risks, "CHUNK", 64)  # in several parts
    joint, exact = risks.joint_risks(tree, of, outcome, given_, parameters)
    assert exact
    for b, each in enumerate(trees):
        expected = naive_inference.set_risks(each, tree.variables[of], tree.variables[outcome])
        for x, label in enumerate(tree.states[tree.variables[of]]):
            row = joint[b, x].sum(axis=0)
            assert np.allclose(row, list(expected[label, ()].values()))
    monkeypatch.setattr(risks, "TABLES", 0)
    monkeypatch.setattr(risks, "SIMULATED", 5 * 40_000)
    simulated, exact = risks.joint_risks(tree, of, outcome, given_, parameters)
    assert not exact
    assert np.abs(simulated - joint).max() < 0.015


@pytest.mark.parametrize("late", [False, True])
def test_simulated_rows_give_no_difference_where_there_is_none(late, monkeypatch):
    """The same random numbers are used for each state of the exposure, also where a stratum comes after the outcome."""
    monkeypatch.setattr(risks, "TABLES", 0)
    tree = chickenpox_model()
    found = effect(tree, "diagnosis", of="background", given="carrier" if late else None)
    assert found.rows[1].estimate == 0.0
    assert found.rows[1].no_effect == 1.0
    assert "simulated" in " ".join(found.notes)
    assert isclose(found.rows[0].risk, tree.query("diagnosis")["yes"], abs_tol=0.01)


def test_the_cost_does_not_grow_with_the_product_of_cardinalities():
    """A variable whose hundred stages ask for sixty others: the table of its parents would have 4^60 entries."""
    names = [f"v{i}" for i in range(60)]
    states = {**dict.fromkeys(names, tuple("abcd")), "y": ("no", "yes")}
    contexts = [{names[i]: x, **{names[j]: "a" for j in range(i)}} for i in range(60) for x in "bcd"]
    contexts.append(dict.fromkeys(names, "a"))
    rng = np.random.default_rng(0)
    parameters = {v: [np.full(4, 0.25)] for v in names} | {"y": rng.dirichlet([1, 1], size=len(contexts))}
    tree = CStree([*names, "y"], {**{v: [{}] for v in names}, "y": contexts}, parameters, states=states)
    found = effect(tree, "y", of="v0", given="v1", against="a", data=tree.sample_table(300, random_state=0), n_draws=4)
    assert "simulated" in " ".join(found.notes)
    row = next(row for row in found.rows if row.exposure == "b" and not row.stratum)
    assert isclose(row.risk, parameters["y"][0][1], abs_tol=1e-9)


# ---------------------------------------------------------------- uncertainty
def test_with_the_posterior_means_the_draws_are_from_the_posterior_of_the_parameters():
    data = pd.DataFrame({"x": ["no"] * 60 + ["yes"] * 40, "y": ["a"] * 50 + ["b"] * 10 + ["a"] * 5 + ["b"] * 35})
    tree = CStree.from_contexts(
        {"x": [""], "y": ["x=no", "x=yes"]}, states={"x": ["no", "yes"], "y": ["a", "b"]}
    ).fit_parameters(data, ess=4.0)
    found = effect(tree, "y", of="x", data=data, ess=4.0, n_draws=20_000, interval=0.9)
    no, yes = beta(11, 51), beta(36, 6)  # four prior counts, one for each cell
    reference, row = found.rows
    assert (reference.n, row.n) == (60, 40)
    assert (reference.observed, row.observed) == (10 / 60, 35 / 40)
    assert isclose(row.risk, yes.mean())
    assert np.allclose([row.risk_lower, row.risk_upper], yes.ppf([0.05, 0.95]), atol=0.01)
    assert np.allclose([reference.risk_lower, reference.risk_upper], no.ppf([0.05, 0.95]), atol=0.01)
    draws = yes.rvs(100_000, random_state=0) - no.rvs(100_000, random_state=1)
    assert np.allclose([row.lower, row.upper], np.quantile(draws, [0.05, 0.95]), atol=0.01)
    assert row.says == "higher"
    # The Bayes factor against one stage, with even odds: Beta functions of counts.
    apart = betaln(51, 11) - betaln(1, 1) + betaln(6, 36) - betaln(1, 1)
    together = betaln(57, 47) - betaln(2, 2)
    assert isclose(row.no_effect, 1 / (1 + exp(apart - together)), abs_tol=1e-3)


def test_no_effect_is_probable_in_proportion_to_a_bayes_factor():
    """Rows that leave it open, so that the probability is neither zero nor one; and it is that of Beta functions."""
    data = pd.DataFrame({"x": ["no"] * 20 + ["yes"] * 20, "y": ["a"] * 12 + ["b"] * 8 + ["a"] * 8 + ["b"] * 12})
    tree = CStree.from_contexts(
        {"x": [""], "y": ["x=no", "x=yes"]}, states={"x": ["no", "yes"], "y": ["a", "b"]}
    ).fit_parameters(data, ess=4.0)
    row = effect(tree, "y", of="x", data=data, ess=4.0).rows[1]
    apart = betaln(13, 9) + betaln(9, 13)
    together = betaln(22, 22) - betaln(2, 2)
    assert isclose(row.no_effect, 1 / (1 + exp(apart - together)), abs_tol=0.02)
    assert row.says == "too few rows to tell"


@given(st.integers(0, 2**32 - 1))
def test_merged_stages_are_the_finest_that_do_not_depend_on_a_variable(seed):
    """By listing the outcomes: stages are joined where changing the variable leads from one to another."""
    tree = random_cstree([2, 3, 2, 2], random_state=seed)
    target = tree.order[-1]
    staging = tree.stagings[target]
    contexts = [tuple(pairs) for pairs in tree.coded_contexts[target]]
    for u in tree.order[:-1]:
        joined = {k: {k} for k in range(len(contexts))}
        scope = {v: tree.states[v] for v in tree.order[:-1]}
        for outcome in naive_graphs.outcomes(scope):
            for state in scope[u]:
                a, b = staging.stage_of(outcome), staging.stage_of({**outcome, u: state})
                both = joined[a] | joined[b]
                for k in both:
                    joined[k] = both
        expected = {frozenset(group) for group in joined.values()}
        assert {frozenset(group) for group in merged(contexts, tree.variables.index(u))} == expected


def test_with_a_posterior_no_effect_is_the_share_of_models_without_one():
    data = chickenpox_model().sample(200, random_state=0)
    posterior = CStreeLearner(beta=2, search="exact").fit(data).posterior_
    row = effect(posterior, "carrier", of="background", n_draws=300, random_state=1).rows[1]
    trees = posterior.sample(300, random_state=1)
    each = np.array([t.average_causal_effect("background", "carrier", ("rural", "urban"), "yes") for t in trees])
    assert isclose(row.no_effect, np.mean(np.abs(each) < 1e-12))
    assert isclose(row.estimate, each.mean(), abs_tol=1e-9)
    assert row.lower <= np.quantile(each, 0.03)
    assert row.upper >= np.quantile(each, 0.97)


def test_an_open_direction_is_not_blamed_on_the_rows():
    data = chickenpox_model().sample(300, random_state=0)
    says = [
        effect(CStreeLearner(beta=2, knowledge=knowledge).fit(data), "carrier", of="exposed").rows[1].says
        for knowledge in (None, {"tiers": [["background", "diagnosis", "exposed"], ["carrier"]]})
    ]
    assert says == ["depends on the direction, which is open", "higher"]


def test_a_difference_that_the_data_show_is_not_called_no_effect():
    """On the Titanic, first-class men were saved twice as often; two context variables leave no room for it."""
    titanic = load_dataset("titanic")
    tiers = {"tiers": [["Age", "Sex"], ["Class"], ["Survived"]]}
    two, three = (CStreeLearner(beta=beta, knowledge=tiers).fit(titanic).cstree_ for beta in (2, 3))
    for tree, expected in ((two, "the data show a difference that the model leaves out"), (three, "higher")):
        found = effect(tree, "Survived", of="Class", given="Sex", against="3rd", data=titanic)
        row = next(r for r in found.rows if r.stratum == (("Sex", "Male"),) and r.exposure == "1st")
        assert row.says == expected
    # Where the data agree that there is none, it is said.
    tree = chickenpox_model()
    found = effect(tree, "diagnosis", of="background", data=tree.sample(2000, random_state=1))
    assert found.rows[1].says == "no effect"


def test_no_effect_is_not_said_where_arrows_lead_from_the_outcome_to_the_exposure():
    """Data say that the two are joined; that setting the one does nothing is what the direction says."""
    tree = chickenpox_model()
    data = tree.sample(2000, random_state=1)
    learner = CStreeLearner(knowledge={"tiers": [["exposed"], ["carrier"], ["background", "diagnosis"]]}).fit(data)
    for model, table in ((tree, None), (tree, data), (learner, None)):
        row = effect(model, "exposed", of="carrier", data=table).rows[1]
        assert (row.no_effect, row.says) == (None, "the model has the outcome before the exposure")
    assert effect(tree, "carrier", of="exposed", data=data).rows[1].says == "higher"


def test_no_effect_is_never_said_where_the_stages_lack_what_the_data_show():
    """Models without any arrows, and data in which the exposure is all that counts."""
    states = {"x": ("no", "yes"), "z": ("a", "b"), "y": ("no", "yes")}
    empty = CStree.from_contexts({"x": [""], "z": [""], "y": [""]}, states=states)
    rng = np.random.default_rng(0)
    x, z = rng.integers(2, size=200), rng.integers(2, size=200)
    for y, said in (
        (x, "the data show a difference that the model leaves out"),
        (rng.integers(2, size=200), "no effect"),
    ):
        table = Table(np.column_stack([x, z, y]), list(states), list(states.values()))
        found = effect(empty, "y", of="x", given="z", data=table, ess=2.0)
        assert {row.says for row in found.rows if row.estimate is not None} == {said}


# ---------------------------------------------------------------- intervals cover, in simulation
def coverage(simulations, make, rows=60, cards=(2, 3, 2, 2), interval=0.8):
    """How often the interval of an effect holds the true one, for models and data from the prior."""
    inside = []
    for seed in range(simulations):
        rng = np.random.default_rng(seed)
        truth = draw_from_prior(list(cards), rng, ess=4.0)
        data = truth.sample_table(rows, random_state=rng)
        options = {"of": "v2", "given": "v3", "state": 1}
        true = effect(truth, "v0", **options).rows
        found = effect(make(truth, data, rng), "v0", **options, interval=interval, n_draws=200, random_state=rng).rows
        pick = int(rng.integers(3))
        t, f = ([row for row in of if row.estimate is not None][pick] for of in (true, found))
        inside.append(f.lower - 1e-9 <= t.estimate <= f.upper + 1e-9)
    return int(np.sum(inside))


def exact_posterior(ess):
    def make(truth, data, rng):
        return CStreePosterior.of_exact(ExactOrders(SubsetScores(Scores(data, ess=ess, prior="tree"))), rng)

    return make


@pytest.mark.slow
def test_intervals_over_the_posterior_hold_the_true_effect_as_often_as_they_say():
    """At least as often: where most models know no effect, the interval is zero, and holds it more often."""
    found = coverage(300, exact_posterior(4.0))
    assert binomtest(found, 300, 0.8, alternative="less").pvalue > 1e-2
    assert found < 300


@pytest.mark.slow
def test_intervals_of_a_wrong_posterior_do_not():
    assert binomtest(coverage(200, exact_posterior(2000.0)), 200, 0.8, alternative="less").pvalue < 1e-3


def of_model(ess, factor, simulations=400):
    """How often intervals of one model with data hold the truth; `factor` is how many rows each is taken for."""
    inside = []
    for seed in range(simulations):
        rng = np.random.default_rng(seed)
        structure = chickenpox_model()
        parameters = {
            v: np.array([rng.dirichlet(np.full(2, 4.0 / 2 ** len(context) / 2)) for context in structure.stagings[v]])
            for v in structure.order
        }
        truth = structure.with_parameters(parameters)
        table = truth.sample_table(100, random_state=rng)
        given_ = ("diagnosis", None)[seed % 2]
        true = effect(truth, "carrier", of="exposed", given=given_).rows[-1].estimate
        fitted = structure.fit_parameters(table, ess=ess)
        weighted = Table(table.codes, table.variables, table.states, np.full(table.n, factor))
        row = effect(fitted, "carrier", of="exposed", given=given_, data=weighted, ess=ess, interval=0.8).rows[-1]
        inside.append(row.lower <= true <= row.upper)
    return int(np.sum(inside))


@pytest.mark.slow
def test_intervals_of_one_model_hold_the_true_effect_as_often_as_they_say():
    assert binomtest(of_model(4.0, 1.0), 400, 0.8).pvalue > 1e-2


@pytest.mark.slow
def test_intervals_that_take_each_row_for_ten_do_not():
    assert binomtest(of_model(4.0, 10.0), 400, 0.8).pvalue < 1e-4


# ---------------------------------------------------------------- what is returned, and what is refused
def test_the_text_says_what_arrows_mean_before_any_number():
    tree = chickenpox_model()
    text = str(effect(tree, "carrier", of="exposed", given="diagnosis", data=tree.sample(500, random_state=0)))
    flat = " ".join(text.split())
    assert DIRECTIONS in flat
    assert flat.index(DIRECTIONS) < flat.index("everyone")
    assert "Adjusted for background, diagnosis." in text
    assert [line.split()[0] for line in text.splitlines() if line.startswith(("everyone", "diagnosis="))] == [
        "everyone",
        "diagnosis=no",
        "diagnosis=yes",
    ]


def test_the_frame_has_a_row_for_each_state_of_the_exposure_in_each_stratum():
    tree = chickenpox_model()
    found = effect(tree, "carrier", of="exposed", given=["diagnosis", "background"], measure="or")
    frame = found.to_frame()
    assert frame.columns.tolist()[:3] == ["diagnosis", "background", "exposed"]
    assert len(frame) == 2 * (1 + 4)
    assert frame["estimate"].notna().sum() == 5
    assert frame["lower"].isna().all()


def test_strata_that_come_after_the_exposure_are_told():
    notes = " ".join(effect(chickenpox_model(), "carrier", of="diagnosis", given="exposed").notes)
    assert "exposed: affected by diagnosis in this model" in notes
    notes = " ".join(effect(chickenpox_model(), "diagnosis", of="carrier").notes)
    assert "No arrows lead from carrier to diagnosis" in notes


def test_a_structure_without_parameters_takes_them_from_the_data():
    tree = chickenpox_model()
    data = tree.sample(500, random_state=0)
    bare = tree.with_parameters(None)
    a, b = (effect(t, "carrier", of="exposed", data=data).rows[1].risk for t in (bare, tree.fit_parameters(data)))
    assert isclose(a, b)
    with pytest.raises(InputError, match="no parameters"):
        effect(bare, "carrier", of="exposed")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"of": "carrier"}, "both exposure and outcome"),
        ({"of": "x"}, "no variable 'x'"),
        ({"given": "exposed"}, "'exposed' makes no strata: it is the outcome or the exposure"),
        ({"given": ["diagnosis", "diagnosis"]}, "'diagnosis' makes no strata: it is given twice"),
        ({"state": "maybe"}, "'carrier' has no state 'maybe'"),
        ({"against": "maybe"}, "'exposed' has no state 'maybe'"),
        ({"measure": "hr"}, "measure is 'rd', 'rr' or 'or', not 'hr'"),
        ({"interval": 95}, "between 0 and 1, not 95"),
        ({"n_draws": 0}, "at least 1, not 0"),
        ({"ess": -1.0, "data": chickenpox_model().sample(3, random_state=0)}, "ess is a positive number"),
    ],
)
def test_bad_questions(options, message):
    with pytest.raises(InputError, match=message):
        effect(chickenpox_model(), "carrier", **{"of": "exposed", **options})


def test_questions_that_have_no_answer():
    with pytest.raises(InputError, match="an effect is asked of a fitted CStreeLearner"):
        effect("model.json", "carrier", of="exposed")
    tree = random_cstree([3] * 10, random_state=0)
    with pytest.raises(InputError, match="has 3 states: say by state="):
        effect(tree, tree.variables[0], of=tree.variables[1])
    with pytest.raises(LimitError, match="strata"):
        effect(tree, tree.variables[0], of=tree.variables[1], state=1, given=list(tree.variables[2:]))


@given(st.integers(0, 2**32 - 1))
def test_probabilities_of_no_effect_are_probabilities(seed):
    tree = random_cstree([2, 2, 3, 2], random_state=seed)
    table = tree.sample_table(50, random_state=seed)
    evidence = StageEvidence(tree, rows_for_model(tree, table), 2.0, 2, [0, 3])
    chance = evidence.chance_of_none(3, ((0, 1),), (0, 2), np.random.default_rng(0))
    assert 0 <= chance <= 1
