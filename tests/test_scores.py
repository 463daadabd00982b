"""CS-BDeu: contexts, local order scores, orders, CStrees, against plain enumeration."""

import pickle
from collections import Counter
from itertools import combinations, permutations
from math import inf, isclose, lgamma, log, prod

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cslearn import Chains, CStree, CStreeLearner, random_cstree
from cslearn.counts import joint_counts
from cslearn.counts.bits import CELLS_BY_BITS
from cslearn.data import Table, as_table
from cslearn.datasets import chickenpox_model
from cslearn.errors import InputError
from cslearn.orders import FIRST_ESS
from cslearn.priors import PRIORS
from cslearn.scores import Scores
from cslearn.stagings import Context, Staging, listing
from plain_counts import PlainTable
from problems import random_table, rows_of, tables


def close(a, b):
    return isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def named(table, context):
    return {table.variables[v]: table.states[v][x] for v, x in context.items()}


@given(table=tables(), ess=st.sampled_from([0.1, 1.0, 7.5]), data=st.data())
def test_log_z_of_any_context(table, ess, data):
    rows, weights = rows_of(table)
    target = data.draw(st.integers(0, table.p - 1))
    others = [1 if v == target else d for v, d in enumerate(table.cards)]
    context = data.draw(st.sampled_from(list(naive.contexts(others, 3))))
    expected = naive.log_z(rows, weights, table.cards, target, context, ess)
    assert close(Scores(table, ess=ess).log_z(table.variables[target], named(table, context)), expected)


def test_a_context_without_data_scores_zero():
    table = Table([[0, 0], [0, 1]], ["a", "b"], [[0, 1], [0, 1]])
    assert Scores(table).log_z("b", {"a": 1}) == 0.0


@pytest.mark.parametrize("kind", [as_table, PlainTable])
@given(
    table=tables(),
    beta=st.integers(0, 2),
    ess=st.sampled_from([0.5, 1.0, 4.0]),
    prior=st.sampled_from(["uniform", "sparse", "tree"]),
    data=st.data(),
)
def test_local_order_scores_equal_the_sum_over_all_stagings(kind, table, beta, ess, prior, data):
    rows, weights = rows_of(table)
    target = data.draw(st.integers(0, table.p - 1))
    others = [v for v in range(table.p) if v != target]
    candidates = data.draw(st.sets(st.sampled_from(others))) if others else set()
    before = data.draw(st.sets(st.sampled_from(others))) if others else set()
    name = table.variables[target]
    sets = {name: [table.variables[c] for c in candidates]}
    scores = Scores(kind(table), beta=beta, ess=ess, prior=prior, candidates=sets)
    level = sorted(candidates & before)
    terms = naive.log_joint_terms(rows, weights, table.cards, target, level, beta, ess, prior)
    predecessors = [table.variables[v] for v in sorted(before)]
    assert close(scores.local_order_score(name, predecessors), naive.log_sum(value for value, _ in terms))
    best, staging = scores.best_staging(name, predecessors)
    assert close(best, max(value for value, _ in terms))
    assert close(scores.staging_score(name, staging), best)


@pytest.mark.parametrize("prior", list(PRIORS))
def test_the_prior_sums_to_one_over_the_stagings_of_a_level(prior):
    cards = np.array([2, 3, 2])
    table = Table(np.zeros((0, 4), dtype=int), ["a", "b", "c", "t"], [range(d) for d in (2, 3, 2, 2)])
    scores = Scores(table, prior=prior)
    scope = {name: table.states[i] for i, name in enumerate("abc")}
    total = naive.log_sum(scores.staging_score("t", staging) for staging in listing(scope, 2))
    assert close(total, 0.0)
    assert PRIORS[prior].log_normaliser(cards, 2) == PRIORS[prior].log_normaliser(cards[::-1], 2)


def test_the_sparse_prior_weighs_a_full_split_by_the_number_of_parent_sets():
    split = Staging.full_split([2, 3, 4], [1, 2])
    assert close(PRIORS["sparse"].log_weight(split, 10, 2), -log(45))
    assert close(PRIORS["sparse"].log_weight(Staging.full_split([2, 3, 4], [0]), 10, 2), -log(10))
    assert PRIORS["sparse"].log_weight(Staging([2, 3, 4], [{}]), 10, 2) == 0.0


@pytest.mark.parametrize(
    ("cards", "beta"), [([2], 2), ([2, 3], 2), ([2, 2, 3], 1), ([3, 2, 2, 2], 2), ([2, 3, 2], 3), ([2, 2, 2, 2], 3)]
)
def test_the_tree_prior_is_a_distribution_without_normalising(cards, beta):
    trees = [s for s in naive.stagings(cards, beta) if naive.is_tree(s)]
    assert close(sum(naive.tree_prior(len(cards), s, beta) for s in trees), 1.0)
    assert close(PRIORS["tree"].log_normaliser(np.array(cards), beta), 0.0)
    for plain in trees if len(trees) < 500 else trees[::50]:
        log_weight = PRIORS["tree"].log_weight(Staging(cards, plain), len(cards), beta)
        assert close(log_weight, log(naive.tree_prior(len(cards), plain, beta)))


@given(table=tables(min_p=2), data=st.data())
def test_a_full_split_scores_as_the_bdeu_family(table, data):
    rows, weights = rows_of(table)
    target = data.draw(st.integers(0, table.p - 1))
    parents = data.draw(st.sets(st.sampled_from([v for v in range(table.p) if v != target])))
    scores = Scores(table, ess=2.0)
    scope = {table.variables[v]: table.states[v] for v in range(table.p) if v != target}
    staging = Staging.full_split(scope, [table.variables[v] for v in sorted(parents)])
    score = sum(scores.log_z(table.variables[target], context) for context in staging)
    assert close(score, naive.bdeu_family(rows, weights, table.cards, target, sorted(parents), 2.0))


@given(table=tables(min_p=2, max_p=3), prior=st.sampled_from(["uniform", "sparse", "tree"]))
def test_the_order_score_is_the_sum_over_all_cstrees_with_that_order(table, prior):
    rows, weights = rows_of(table)
    order = table.variables[::-1]
    scores = Scores(table, prior=prior)
    expected = -lgamma(table.p + 1)
    for position, name in enumerate(order):
        target, level = table.variables.index(name), [table.variables.index(v) for v in order[:position]]
        expected += naive.local_order_score(rows, weights, table.cards, target, level, 2, 1.0, prior)
    assert close(scores.order_score(order), expected)


def test_the_score_of_a_cstree_is_the_sum_of_its_stages_and_priors():
    table = random_table([2, 3, 2], 40, np.random.default_rng(0))
    tree = random_cstree(dict(zip(table.variables, table.cards, strict=True)), random_state=4)
    scores = Scores(table, prior="sparse")
    local = sum(scores.staging_score(v, tree.stagings[v]) for v in tree.order)
    assert close(scores.cstree_score(tree), local - log(6))
    stages = sum(scores.log_z(v, context) for v in tree.order for context in tree.stagings[v])
    assert close(scores.log_marginal_likelihood(tree), stages)


def test_a_staging_beyond_the_bounds_has_prior_zero():
    table = random_table([2, 2, 2], 20, np.random.default_rng(0))
    scope = {"v0": (0, 1), "v1": (0, 1)}
    assert Scores(table, beta=1).staging_score("v2", Staging.full_split(scope, ["v0", "v1"])) == -inf
    assert Scores(table, candidates={"v2": ["v1"]}).staging_score("v2", Staging.full_split(scope, ["v0"])) == -inf


# ---------------------------------------------------------------- Markov equivalence
def marginal_likelihoods(trees, n=200):
    table = trees[0].with_parameters(None)
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(len(table.states[v]), size=n) for v in table.variables])
    scores = Scores(Table(codes, table.variables, [table.states[v] for v in table.variables]), ess=3.0)
    return [scores.log_marginal_likelihood(tree) for tree in trees]


def assert_equivalent(trees):
    first, *rest = marginal_likelihoods(trees)
    assert rest
    assert all(isclose(first, other, rel_tol=0, abs_tol=1e-9) for other in rest)


def test_all_orders_of_a_complete_model_score_equally():
    states = {"a": (0, 1), "b": (0, 1, 2), "c": (0, 1), "d": (0, 1, 2, 3)}
    dags = [nx.DiGraph((u, v) for i, u in enumerate(o) for v in o[i + 1 :]) for o in permutations(states)]
    assert_equivalent([CStree.from_dag(dag, states=states) for dag in dags])


def test_reversing_a_covered_edge_keeps_the_score_and_an_uncovered_one_does_not():
    states = {"a": (0, 1), "b": (0, 1, 2), "c": (0, 1)}
    covered = [CStree.from_dag(nx.DiGraph(e), states=states) for e in (["ab", "bc"], ["ba", "bc"], ["cb", "ba"])]
    assert_equivalent(covered)
    collider = CStree.from_dag(nx.DiGraph(["ab", "cb"]), states=states)
    chain, other = marginal_likelihoods([covered[0], collider])
    assert abs(chain - other) > 1e-3


def test_reversing_a_covered_edge_below_a_context_keeps_the_score():
    states = {"a": (0, 1), "b": (0, 1), "c": (0, 1, 2)}
    below = ["a=0", "a=1, b=0", "a=1, b=1"]
    assert_equivalent(
        [
            CStree.from_contexts({"a": [""], "b": ["a=0", "a=1"], "c": below}, states=states),
            CStree.from_contexts({"b": [""], "a": ["b=0", "b=1"], "c": below}, states=states),
        ]
    )


def test_chickenpox_in_an_equivalent_form_scores_equally():
    tree = chickenpox_model()
    contexts = {v: tree.stagings[v].contexts for v in ("diagnosis", "background", "exposed", "carrier")}
    assert_equivalent([tree, CStree.from_contexts(contexts, states=tree.states)])


# ---------------------------------------------------------------- invariance
@given(table=tables(weighted="whole", min_p=2))
def test_weighted_rows_score_as_repeated_rows(table):
    repeated = table.take(np.repeat(np.arange(table.n), table.weights.astype(int)))
    repeated = Table(repeated.codes, table.variables, table.states)
    scores, of_repeated = Scores(table), Scores(repeated)
    for order in permutations(table.variables):
        assert close(scores.order_score(order), of_repeated.order_score(order))


@given(table=tables(weighted="real", min_p=2))
def test_fractional_weights_add_up(table):
    halves = Table(np.vstack([table.codes, table.codes]), table.variables, table.states, np.tile(table.weights / 2, 2))
    assert close(Scores(table).order_score(table.variables), Scores(halves).order_score(table.variables))


@given(table=tables(min_p=2), seed=st.integers(0, 1000))
def test_relabelled_states_and_permuted_columns_score_the_same(table, seed):
    rng = np.random.default_rng(seed)
    codes, columns = table.codes.copy(), rng.permutation(table.p)
    for column, d in enumerate(table.cards):
        codes[:, column] = rng.permutation(d)[codes[:, column]]
    other = Table(
        codes[:, columns],
        [table.variables[c] for c in columns],
        [[f"s{x}" for x in table.states[c]] for c in columns],
        table.weights,
    )
    assert close(Scores(table).order_score(table.variables), Scores(other).order_score(table.variables))


def test_the_number_of_threads_does_not_matter():
    table = random_table([2, 3, 2, 4, 2], 300, np.random.default_rng(5))
    one, four = Scores(table, n_jobs=1).tables, Scores(table, n_jobs=4).tables
    assert all(np.array_equal(a, b) for x, y in zip(one, four, strict=True) for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize(
    "settings",
    [{"beta": 2}, {"beta": 2, "search": Chains(n_iter=100)}, {"beta": 3}],
    ids=["exact", "chains", "deep"],
)
def test_a_fit_fills_its_tables_once_for_each_equivalent_sample_size(settings, monkeypatch):
    """Every filling is a pass over the rows. The data choose another equivalent sample size here than the first."""
    passes = Counter()

    def counted(counts, target, sets):
        passes[target, sets.shape, sets.tobytes()] += 1
        return joint_counts(counts, target, sets)

    monkeypatch.setattr("cslearn.scores.joint_counts", counted)
    table = random_cstree(7, concentration=0.2, random_state=0).sample_table(300, random_state=0)
    learner = CStreeLearner(random_state=0, **settings).fit(table)
    assert learner.ess_ != FIRST_ESS
    assert set(passes.values()) == {2}


def test_scores_with_other_priors_share_tables_that_are_filled_later_and_those_with_another_ess_do_not():
    table = random_table([2, 3, 2], 50, np.random.default_rng(0))
    scores = Scores(table)
    others = [scores.with_prior(prior) for prior in ("sparse", "tree")]
    assert others[0].tables is others[1].tables is scores.tables
    assert scores.with_ess(2.0).tables is not scores.tables
    copied = pickle.loads(pickle.dumps(scores))
    assert copied.order_score(table.variables) == scores.order_score(table.variables)


@pytest.mark.parametrize("n", [63, 64, 65, 200])
@pytest.mark.parametrize("cards", [[6, 7, 6, 2], [9, 2, 8, 6], [2, 3, 2, 4]])
def test_contexts_counted_by_bits_and_row_by_row_score_the_same(cards, n):
    """Words of bits hold 64 rows; triples of more than `CELLS_BY_BITS` cells are counted row by row."""
    table = random_table(cards, n, np.random.default_rng(n))
    rows, weights = rows_of(table)
    cells = {prod(d - 1 for d in triple) > CELLS_BY_BITS for triple in combinations(cards, 3)}
    assert cells == ({True, False} if max(cards) > 4 else {False})
    _, single, pair = Scores(table, ess=2.0).tables
    for i in range(table.p):
        others = [j for j in range(table.p) if j != i]
        for (k, a), (j, b) in permutations(enumerate(others), 2):
            for x in range(cards[a]):
                alone = naive.log_z(rows, weights, cards, i, {a: x}, 2.0)
                both = [naive.log_z(rows, weights, cards, i, {a: x, b: y}, 2.0) for y in range(cards[b])]
                assert close(single[i, k, x], alone)
                assert close(pair[i, j, k, x], sum(both))


def test_looked_up_and_computed_log_gammas_agree(monkeypatch):
    table = random_table([2, 3, 2, 4], 500, np.random.default_rng(6))
    looked_up = Scores(table).order_score(table.variables)
    monkeypatch.setattr("cslearn.scores.LOOK_UP_LIMIT", 0)
    assert close(looked_up, Scores(table).order_score(table.variables))


# ---------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ess": 0}, "ess, the equivalent sample size"),
        ({"beta": -1}, "beta, the largest number of context variables"),
        ({"beta": {"v0": 1}}, "beta, the largest number of context variables"),
        ({"prior": "flat"}, "no prior 'flat'; choose one of 'tree', 'sparse', 'uniform'"),
        ({"candidates": {"v0": ["v9"]}}, "no variable 'v9'"),
        ({"candidates": {"v9": ["v0"]}}, "no variable 'v9'"),
    ],
)
def test_bad_settings(arguments, message):
    table = random_table([2, 2], 5, np.random.default_rng(0))
    with pytest.raises(InputError, match=message):
        Scores(table, **arguments)


def test_bad_orders_and_contexts():
    scores = Scores(random_table([2, 2], 5, np.random.default_rng(0)))
    with pytest.raises(InputError, match="not a permutation .* v1"):
        scores.order_score(["v0"])
    with pytest.raises(InputError, match="more than once|stands twice"):
        scores.order_score(["v0", "v1", "v1"])
    with pytest.raises(InputError, match="'v0' has no state 7; it has 0, 1"):
        scores.log_z("v1", Context({"v0": 7}))


def test_the_weight_of_a_tree_with_very_many_states_does_not_underflow():
    scope = {"root": range(300), **{f"v{i}": (0, 1) for i in range(300)}}
    contexts = [{"root": x, f"v{x}": y} for x in range(300) for y in (0, 1)]
    prior = PRIORS["tree"]
    expected = log(prior.split_weight(301, 0, 1, 2)) + 300 * log(prior.split_weight(301, 1, 1, 2))
    assert close(prior.log_weight(Staging(scope, contexts), 301, 2), expected)
