"""Contexts, stages, stagings: values, counts, lists, weighted sums, maxima and draws."""

import random
import re
from collections import Counter
from itertools import islice
from math import exp, inf, isclose, log, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import naive
from cslearn import count_cstrees, stagings
from cslearn.errors import InputError, LimitError
from cslearn.stagings import Context, Staging
from cslearn.stagings.cover_weights import cover_fits

SMALL_CARDS = st.lists(st.integers(2, 4), min_size=0, max_size=4).filter(lambda cards: prod(cards) <= 36)


NAMED = re.compile(r"outcomes? .*?with (.*?)(?: are both|$)")


def keys(listing):
    return [naive.as_key(staging.contexts) for staging in listing]


# ---------------------------------------------------------------- values
def test_contexts_are_equal_whatever_the_order_of_their_variables():
    assert Context({"a": 1, "b": 2}) == Context([("b", 2), ("a", 1)])
    assert len({Context({"a": 1, "b": 2}), Context({"b": 2, "a": 1})}) == 1


def test_a_context_assigns_a_variable_once():
    with pytest.raises(InputError, match="'a' is assigned twice"):
        Context([("a", 1), ("a", 2)])


def test_joining_contexts():
    assert Context({"a": 1}) | {"b": 2} == Context({"a": 1, "b": 2})
    with pytest.raises(InputError, match="contradict"):
        Context({"a": 1}) | {"a": 2}


def test_a_staging_knows_its_stages_and_outcomes():
    staging = Staging({"a": 2, "b": 3}, [{"a": 0}, {"a": 1, "b": 0}, {"a": 1, "b": 1}, {"a": 1, "b": 2}])
    assert staging.cards == {"a": 2, "b": 3}
    assert staging.bound == 2
    assert [stage.size for stage in staging.stages] == [3, 1, 1, 1]
    assert [stage.is_singleton for stage in staging.stages] == [False, True, True, True]
    assert sum(stage.share for stage in staging.stages) == 1
    assert staging.stage_of({"a": 1, "b": 2}) == 3
    assert staging.stage_of({"a": 0}) == 0
    with pytest.raises(InputError, match="in no stage"):
        staging.stage_of({"a": 1})


def test_overlapping_stages_are_refused_with_the_outcomes():
    with pytest.raises(InputError, match=r"overlap: the outcomes with a=0, b=1 .* \(a=0\) .* \(b=1\)"):
        Staging({"a": 2, "b": 2}, [{"a": 0}, {"b": 1}])
    with pytest.raises(InputError, match="overlap"):
        Staging({"a": 2}, [{}, {"a": 1}])


def test_holes_are_refused_with_the_outcomes():
    with pytest.raises(InputError, match=r"hole: 2 of 6 outcomes .* such as those with a=1, b=0"):
        Staging({"a": 2, "b": 3}, [{"a": 0}, {"a": 1, "b": 2}])
    with pytest.raises(InputError, match=r"hole: 6 of 6 outcomes .* any state"):
        Staging({"a": 2, "b": 3}, [])


def test_unknown_variables_and_states_are_named():
    with pytest.raises(InputError, match=r"'c', which is not a variable of this level \(a, b\)"):
        Staging({"a": 2, "b": 3}, [{"c": 0}])
    with pytest.raises(InputError, match=r"'b' has no state 3 \(it has 0, 1, 2\)"):
        Staging({"a": 2, "b": 3}, [{"b": 3}])


@given(cards=SMALL_CARDS, beta=st.integers(0, 3), data=st.data())
def test_a_set_of_contexts_is_a_staging_exactly_when_it_partitions_the_level(cards, beta, data):
    everything = list(naive.contexts(cards, beta))
    chosen = data.draw(st.lists(st.sampled_from(everything), max_size=5, unique_by=lambda c: tuple(c.items())))
    if naive.is_staging(cards, chosen):
        assert len(Staging(cards, chosen)) == len(chosen)
    else:
        with pytest.raises(InputError):
            Staging(cards, chosen)


ODD = [{0: 0, 1: 0, 2: 0}, {0: 1, 1: 1, 2: 1}, {0: 0, 1: 1}, {1: 0, 2: 1}, {0: 1, 2: 0}]  # that no tree draws


def nearly_a_partition(rng):
    """Cardinalities and contexts: those of a decision tree, or more often than not something wrong with them."""
    cards = rng.choices([1, 2, 2, 3, 4], k=rng.randint(3, 8))
    contexts = [{}]
    if rng.random() < 0.3:
        cards[:3] = [2, 2, 2]
        contexts = [dict(context) for context in ODD]
    for _ in range(rng.randint(0, 12)):
        context = contexts.pop(rng.randrange(len(contexts)))
        variable = rng.randrange(len(cards))
        states = [context[variable]] if variable in context else range(cards[variable])
        contexts += [{**context, variable: state} for state in states]
    for change in rng.choices(["drop", "repeat", "shorten", "move"], k=rng.choice([0, 0, 1, 2])):
        context = contexts.pop(rng.randrange(len(contexts)))
        variable = rng.choice([*context, 0])
        if change == "repeat":
            contexts += [context, dict(context)]
        elif change == "shorten":
            contexts.append({v: s for v, s in context.items() if v != variable})
        elif change == "move":
            contexts.append({**context, variable: rng.randrange(cards[variable])})
        contexts = contexts or [{}]
    rng.shuffle(contexts)
    return cards, contexts


def test_faults_of_a_partition_are_those_that_comparing_all_pairs_finds():
    met = Counter()
    for seed in range(1000):
        cards, contexts = nearly_a_partition(random.Random(seed))
        fault = naive.fault(cards, contexts)
        met[fault, bool(set(contexts[0]).intersection(*contexts))] += 1
        if fault is None:
            assert Counter(map(Context, contexts)) == Counter(Staging(cards, contexts).contexts)
            continue
        with pytest.raises(InputError) as caught:
            Staging(cards, contexts)
        assert fault in str(caught.value)
        words = NAMED.search(str(caught.value))[1]
        named = dict(map(int, pair.split("=")) for pair in words.split(", ") if "=" in pair)
        meeting = sum(all(named.get(v, s) == s for v, s in context.items()) for context in contexts)
        assert (meeting == 0) if fault == "hole" else (meeting >= 2)
        if fault == "hole" and prod(cards) <= 500:
            lacking = sum(not any(naive.agrees(o, c) for c in contexts) for o in naive.outcomes(cards))
            assert f"hole: {lacking} of {prod(cards)} outcomes" in str(caught.value)
    assert len(met) == 6  # each kind, with and without a variable that is in all contexts
    assert min(met.values()) >= 10


def test_many_contexts_that_no_decision_tree_draws():
    squared = [{**one, **{v + 3: s for v, s in other.items()}} for one in ODD for other in ODD]
    assert len(Staging([2] * 6, squared)) == 25
    with pytest.raises(InputError, match="overlap"):
        Staging([2] * 6, [*squared[:-1], {v: s for v, s in squared[-1].items() if v != 0}])
    many = [{v: s, v + 1: 1 - s} for v in range(20_000) for s in (0, 1)]
    with pytest.raises(LimitError, match="no decision tree draws"):
        Staging([2] * 20_001, many)


def test_deep_stagings_and_holes_of_large_levels():
    chain = [{**dict.fromkeys(range(k), 0), k: 1} for k in range(1200)]
    staging = Staging([2] * 1200, [*chain, dict.fromkeys(range(1200), 0)])
    assert (len(staging), staging.bound) == (1201, 1200)
    with pytest.raises(InputError, match=r"a share of 0.5 of the outcomes is in no stage, such as those with 0=0$"):
        Staging([2] * 1200, [{0: 1}])


def test_equal_stagings_are_equal_and_print_alike():
    first = Staging({"a": 2, "b": 2}, [{"b": 1}, {"a": 0, "b": 0}, {"a": 1, "b": 0}])
    second = Staging({"a": 2, "b": 2}, [{"b": 0, "a": 1}, {"b": 0, "a": 0}, {"b": 1}])
    assert first == second
    assert hash(first) == hash(second)
    assert str(first) == str(second) == "b=0, a=0 | b=0, a=1 | b=1"


# ---------------------------------------------------------------- counting and listing
@pytest.mark.parametrize("cards", [[2], [2, 2], [2, 3], [3, 3]])
@pytest.mark.parametrize("beta", [0, 1, 2])
def test_the_naive_list_holds_every_set_of_contexts_that_is_a_staging(cards, beta):
    assert Counter(map(naive.as_key, naive.stagings_by_subsets(cards, beta))) == Counter(
        map(naive.as_key, naive.stagings(cards, beta))
    )


@given(cards=SMALL_CARDS, beta=st.integers(0, 2), data=st.data())
def test_listing_and_count_equal_brute_force_up_to_two_context_variables(cards, beta, data):
    candidates = data.draw(st.sets(st.sampled_from(range(len(cards))))) if cards else set()
    expected = Counter(map(naive.as_key, naive.stagings(cards, beta, sorted(candidates))))
    assert Counter(keys(stagings.listing(cards, beta, candidates))) == expected
    assert stagings.count(cards, beta, candidates) == expected.total()


@pytest.mark.parametrize(
    ("cards", "beta"), [([2, 2, 2], 3), ([2, 2, 2], 4), ([2, 2, 3], 3), ([2, 3, 3], 3), ([2, 2, 2, 2], 3)]
)
def test_listing_and_count_equal_brute_force_beyond(cards, beta):
    expected = Counter(map(naive.as_key, naive.stagings(cards, beta)))
    assert Counter(keys(stagings.listing(cards, beta))) == expected
    assert stagings.count(cards, beta) == expected.total()


TREE_LEVELS = [([2, 2, 2], 3), ([2, 2, 3], 3), ([2, 3, 3], 4), ([2, 2, 2, 2], 3), ([2, 2], 4), ([3], 3), ([], 3)]


@pytest.mark.parametrize(("cards", "beta"), TREE_LEVELS)
def test_listing_and_count_of_trees_equal_brute_force(cards, beta):
    expected = Counter(naive.as_key(s) for s in naive.stagings(cards, beta) if naive.is_tree(s))
    assert Counter(keys(stagings.listing(cards, beta, kind="tree"))) == expected
    assert stagings.count(cards, beta, kind="tree") == expected.total()


@pytest.mark.parametrize(
    ("cards", "beta", "total"),
    [((2, 2, 3, 3), 3, 143_781), ((2, 3, 4), 3, 24_898), ((2,) * 4, 4, 61_712), ((2,) * 8, 3, 767_461)],
)
def test_known_totals_of_trees(cards, beta, total):
    assert stagings.count(cards, beta, kind="tree") == total


def test_trees_of_large_levels_are_counted_listed_and_drawn():
    cards = [2, 3, 4] * 10
    assert stagings.count(cards, 2, kind="tree") == stagings.count(cards, 2)
    assert stagings.count(cards, 5, kind="tree") > 10**100
    first = list(islice(stagings.listing(cards, 5, kind="tree"), 200))
    assert len(set(keys(first))) == 200
    drawn = stagings.draw(cards, 4, kind="tree", size=3, random_state=0)
    assert all(naive.is_tree([dict(c) for c in s]) for s in drawn)
    with pytest.raises(InputError, match="no stagings of the kind 'some'"):
        stagings.count(cards, 3, kind="some")
    assert isclose(stagings.log_sum(cards, 5, kind="tree"), log(stagings.count(cards, 5, kind="tree")), rel_tol=1e-12)
    with pytest.raises(LimitError, match="contexts of up to 5 of 30 variables with up to 4 states"):
        stagings.log_sum(cards, 5, lambda _: 0.0, kind="tree")


def test_every_staging_listed_is_one():
    for staging in stagings.listing([2, 3, 2], 3):
        assert naive.is_staging([2, 3, 2], staging.contexts)


@pytest.mark.parametrize(
    ("cards", "beta", "total"),
    [
        ((2, 2, 3), 3, 706),
        ((3, 3, 3), 3, 14_426),
        ((2, 3, 3), 3, 3_470),
        ((2, 2, 2, 3), 3, 20_563),
        ((2, 2, 3, 3), 3, 162_285),
        ((2, 3, 4), 3, 27_322),
        ((2, 4, 4), 3, 279_226),
        pytest.param((2, 2, 3, 3), 4, 788_113_976, marks=pytest.mark.slow),
        *(((2,) * n, n, total) for n, total in enumerate([1, 2, 8, 154, 89_512, 71_319_425_714])),
        *(((2,) * n, 3, total) for n, total in enumerate([154, 2_283, 17_056, 81_742, 293_728, 864_789], start=3)),
    ],
)
def test_known_totals(cards, beta, total):
    assert stagings.count(cards, beta) == total


@pytest.mark.parametrize("n", [3, 4, 5])
def test_the_closed_form_for_three_binary_context_variables_equals_the_exact_cover(n):
    from cslearn.stagings.cover import BoxCover

    assert stagings.count([2] * n, 3) == BoxCover([2] * n, 3).count()


def test_theorem_1_and_its_remark_on_candidates():
    assert stagings.count([2, 3, 5, 4], 2) == 1 - 6 + 4**2 + 4**3 + 4**5 + 4**4
    assert stagings.count([2, 3, 5, 4], 2, candidates=[1, 3]) == 1 - 1 + 2**3 + 2**4
    assert stagings.count([2] * 300, 2) == 1 - 300 * 299 // 2 + 300**3


def test_a_variable_with_one_state_is_never_a_context_variable():
    assert stagings.count([2, 1, 2], 2) == stagings.count([2, 2], 2)
    assert all(1 not in s.context_variables for s in stagings.listing([2, 1, 2], 2))


def test_lists_are_lazy():
    assert len(list(islice(stagings.listing([9] * 50, 2), 1000))) == 1000


def test_too_large_an_exact_cover_states_the_limit(monkeypatch):
    with pytest.raises(LimitError, match="limited to 1024 outcomes"):
        stagings.count([3] * 9, 3)
    monkeypatch.setattr("cslearn.stagings.cover.PARTIAL_COVER_LIMIT", 10_000)
    with pytest.raises(LimitError, match="10,000 partial covers"):
        stagings.count([4, 4, 4, 4], 4)


def test_an_exact_cover_takes_the_largest_cardinalities_first():
    from cslearn.stagings.cover import BoxCover

    assert BoxCover([3, 3, 2, 2], 3).graph.n_covers < BoxCover([2, 2, 3, 3], 3).graph.n_covers / 10
    assert cover_fits((2, 2, 3, 3), 4) and cover_fits((3, 2, 3, 2), 4)
    assert not cover_fits((3,) * 6, 3)


@pytest.mark.parametrize("beta", [-1, 1.5, True, "2", np.float64(2)])
def test_beta_is_a_whole_number(beta):
    with pytest.raises(InputError, match="beta"):
        stagings.count([2, 2], beta)


def test_whole_numbers_of_numpy_are_bounds():
    assert stagings.count([2, 2, 2], np.int64(3)) == stagings.count([2, 2, 2], 3) == 154


@pytest.mark.parametrize("cards", [[2], [2, 2, 2], [2, 3, 2], [3, 2, 4], [2, 2, 3, 2]])
@pytest.mark.parametrize("beta", [0, 1, 2, 3])
def test_count_cstrees_equals_brute_force(cards, beta):
    assert count_cstrees(cards, beta) == naive.count_cstrees(cards, beta)


def test_count_cstrees_of_a_fixed_order_is_the_product_over_levels():
    cards = {"a": 2, "b": 3, "c": 2}
    assert count_cstrees(cards, 2, order=["b", "c", "a"]) == 1 * 2 * (1 - 1 + 2**3 + 2**2)
    with pytest.raises(InputError, match="not a permutation"):
        count_cstrees(cards, 2, order=["a", "b"])


@given(cards=SMALL_CARDS, beta=st.integers(0, 2))
def test_maximum_numbers_of_stages_and_parents_are_attained_and_never_passed(cards, beta):
    everything = list(stagings.listing(cards, beta))
    assert max(len(s) for s in everything) == stagings.max_stages(cards, beta)
    assert max(len(s.context_variables) for s in everything) == stagings.max_parents(cards, beta)


def test_maximum_number_of_parents_with_three_binary_context_variables():
    assert max(len(s.context_variables) for s in stagings.listing([2] * 5, 3)) == 5 == stagings.max_parents([2] * 5, 3)
    assert stagings.max_parents([2] * 100, 3) == 7


# ---------------------------------------------------------------- weights
@st.composite
def weighted_levels(draw, max_beta=2):
    cards = draw(st.lists(st.integers(2, 3), max_size=5).filter(lambda cards: prod(cards) <= 36))
    beta = draw(st.integers(0, max_beta))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    share_of_zeros = draw(st.sampled_from([0.0, 0.1, 0.5]))
    scale = draw(st.sampled_from([0.0, 1.0, 100.0, 3000.0]))
    weights = {
        Context(c): -inf if rng.random() < share_of_zeros else scale * rng.normal() for c in naive.contexts(cards, beta)
    }
    return cards, beta, weights


def enumerated(cards, beta, weights):
    return [(sum(weights[Context(c)] for c in s), s) for s in naive.stagings(cards, beta)]


@given(problem=weighted_levels())
def test_sum_and_maximum_equal_enumeration(problem):
    cards, beta, weights = problem
    values = enumerated(cards, beta, weights)
    total = naive.log_sum(v for v, _ in values)
    assert isclose(stagings.log_sum(cards, beta, weights), total, rel_tol=1e-9, abs_tol=1e-9)
    best = max(v for v, _ in values)
    if best == -inf:
        with pytest.raises(InputError, match="weight zero"):
            stagings.maximum(cards, beta, weights)
    else:
        value, staging = stagings.maximum(cards, beta, weights)
        assert isclose(value, best, rel_tol=1e-9, abs_tol=1e-9)
        assert naive.is_staging(cards, staging.contexts)
        assert isclose(sum(weights[c] for c in staging), best, rel_tol=1e-9, abs_tol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), cards=st.sampled_from([[2, 2, 2], [2, 3, 2], [3, 3], [2, 2, 3]]))
def test_sum_and_maximum_equal_enumeration_with_three_context_variables(seed, cards):
    rng = np.random.default_rng(seed)
    weights = {Context(c): -inf if rng.random() < 0.1 else 30 * rng.normal() for c in naive.contexts(cards, 3)}
    values = enumerated(cards, 3, weights)
    assert isclose(stagings.log_sum(cards, 3, weights), naive.log_sum(v for v, _ in values), rel_tol=1e-9)
    assert isclose(stagings.maximum(cards, 3, weights)[0], max(v for v, _ in values), rel_tol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), level=st.sampled_from(TREE_LEVELS), zeros=st.sampled_from([0.0, 0.2]))
def test_sum_and_maximum_over_trees_equal_enumeration(seed, level, zeros):
    cards, beta = level
    rng = np.random.default_rng(seed)
    weights = {Context(c): -inf if rng.random() < zeros else 3 * rng.normal() for c in naive.contexts(cards, beta)}
    values = [(v, s) for v, s in enumerated(cards, beta, weights) if naive.is_tree(s)]
    found = stagings.log_sum(cards, beta, weights, kind="tree")
    assert isclose(found, naive.log_sum(v for v, _ in values), rel_tol=1e-9, abs_tol=1e-9)
    best = max(v for v, _ in values)
    if best > -inf:
        value, staging = stagings.maximum(cards, beta, weights, kind="tree")
        assert isclose(value, best, rel_tol=1e-9, abs_tol=1e-9)
        assert naive.is_tree([dict(c) for c in staging])
        assert isclose(sum(weights[c] for c in staging), best, rel_tol=1e-9, abs_tol=1e-9)


@given(problem=weighted_levels())
def test_ties_go_to_the_fewest_stages(problem):
    cards, beta, weights = problem
    rounded = {c: 0.0 if w == -inf else float(np.sign(w)) for c, w in weights.items()}
    values = enumerated(cards, beta, rounded)
    best = max(v for v, _ in values)
    _, staging = stagings.maximum(cards, beta, rounded)
    assert len(staging) == min(len(s) for v, s in values if v == best)


@given(problem=weighted_levels())
def test_a_sum_with_equal_weights_counts(problem):
    cards, beta, _ = problem
    assert isclose(exp(stagings.log_sum(cards, beta)), stagings.count(cards, beta), rel_tol=1e-9)


@pytest.mark.parametrize(
    ("cards", "beta", "kind"),
    [
        ([2, 2, 2], 2, "all"),
        ([2, 3], 2, "all"),
        ([2, 2, 3], 2, "all"),
        ([2, 2, 2], 3, "all"),
        ([2, 2, 2], 3, "tree"),
        ([3, 2], 1, "all"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_draws_have_the_right_frequencies(cards, beta, kind, weighted):
    rng = np.random.default_rng(7)
    weights = {Context(c): float(rng.normal()) if weighted else 0.0 for c in naive.contexts(cards, beta)}
    values = [(v, s) for v, s in enumerated(cards, beta, weights) if kind == "all" or naive.is_tree(s)]
    total = naive.log_sum(v for v, _ in values)
    expected = {naive.as_key(s): exp(v - total) for v, s in values}
    n = 5000
    chosen = weights if weighted else None
    drawn = Counter(keys(stagings.draw(cards, beta, chosen, kind=kind, size=n, random_state=3)))
    assert set(drawn) <= set(expected)
    observed = np.array([drawn[key] for key in expected])
    assert chisquare(observed, n * np.array(list(expected.values()))).pvalue > 1e-3
    # The test can fail: it tells these draws from draws with other weights.
    other = np.roll(observed, 1) if weighted else observed + np.arange(len(observed)) * (n // 25)
    assert chisquare(other, other.sum() * np.array(list(expected.values()))).pvalue < 1e-3


def test_draws_are_reproducible_and_skip_zero_weights():
    assert stagings.draw([2] * 6, 2, size=5, random_state=1) == stagings.draw([2] * 6, 2, size=5, random_state=1)
    only = {Context(c): 0.0 if c in ({1: 0}, {1: 1}) else -inf for c in naive.contexts([2, 2, 2], 2)}
    assert {str(s) for s in stagings.draw([2, 2, 2], 2, only, size=20)} == {"1=0 | 1=1"}
    with pytest.raises(InputError, match="weight zero"):
        stagings.draw([2, 2], 2, lambda context: -inf)


def test_infinite_weights_are_refused():
    with pytest.raises(InputError, match="below infinity"):
        stagings.log_sum([2, 2], 2, lambda context: inf)
    with pytest.raises(InputError, match="below infinity"):
        stagings.log_sum([2, 2], 2, lambda context: float("nan"))


def test_labels_reach_the_weights():
    scope = {"exposed": ("no", "yes"), "age": ("young", "old")}
    value, staging = stagings.maximum(scope, 1, lambda c: log(2) if c == Context({"age": "old"}) else 0.0)
    assert isclose(value, log(2))
    assert str(staging) == "age=young | age=old"


@given(
    cards=st.lists(st.integers(1, 3), max_size=4),
    seed=st.integers(0, 99),
)
def test_a_full_split_is_written_as_any_staging_is(cards, seed):
    rng = np.random.default_rng(seed)
    chosen = [k for k in rng.permutation(len(cards)).tolist() if rng.random() < 0.6]
    split = Staging.full_split(cards, chosen)
    shuffled = [split.contexts[i] for i in rng.permutation(len(split))]
    again = Staging(split.scope, shuffled)
    assert [list(c.items()) for c in again] == [list(c.items()) for c in split]
