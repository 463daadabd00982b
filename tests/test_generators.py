"""Random CStrees: their distribution, bounds and seeds."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

import naive
from cslearn import random_cstree
from cslearn.errors import InputError, LimitError
from cslearn.stagings import Staging


@pytest.mark.parametrize("beta", [1, 2])
def test_uniform_means_that_every_staging_and_order_is_equally_probable(beta):
    n, cards = 4000, {"a": 2, "b": 3, "c": 2}
    rng = np.random.default_rng(0)
    trees = [random_cstree(cards, beta, concentration=None, random_state=rng) for _ in range(n)]
    orders = Counter(tree.order for tree in trees)
    assert len(orders) == 6
    assert chisquare(list(orders.values())).pvalue > 1e-3
    last = Counter(naive.as_key(tree.stagings["c"]) for tree in trees if tree.order == ("a", "b", "c"))
    assert len(last) == len(naive.stagings([2, 3], beta))
    assert chisquare(list(last.values())).pvalue > 1e-3


@pytest.mark.parametrize(("p_context", "stages"), [(0.0, 1), (1.0, 4)])
def test_split_reaches_from_no_contexts_to_full_ones(p_context, stages):
    tree = random_cstree(8, 2, method="split", p_context=p_context, random_state=0)
    assert len(tree.stagings[tree.order[-1]]) == stages


def test_the_chance_of_a_context_variable_tunes_the_number_of_stages():
    sizes = [random_cstree(30, 2, method="split", p_context=p, random_state=0).n_stages for p in (0.01, 0.05, 0.5)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]


@pytest.mark.parametrize("method", ["uniform", "split"])
@pytest.mark.parametrize("beta", [0, 1, 2])
def test_the_context_bound_holds(method, beta):
    tree = random_cstree([2, 3, 1, 4, 2, 2], beta, method=method, random_state=3)
    assert all(staging.bound <= beta for staging in tree.stagings.values())
    assert all("X3" not in parents for parents in tree.parents.values())


@pytest.mark.parametrize("beta", [0, 3, 10])
def test_grown_stagings_keep_to_their_bounds_and_partition_their_levels(beta):
    cards = [2, 3, 1, 4, 2, 2, 11, 2, 3, 2, 2, 2]
    tree = random_cstree(cards, beta, method="grow", max_stages=30, max_parents=6, random_state=3)
    for staging in tree.stagings.values():
        assert staging.bound <= beta
        assert len(staging) <= 30
        assert len(staging.context_variables) <= 6
        assert Staging(staging.scope, staging.contexts) == staging  # checked anew: no overlap and no hole
    assert (max(staging.bound for staging in tree.stagings.values()) > 3) == (beta == 10)


def test_a_single_stage_is_never_split_beyond_the_most_stages():
    tree = random_cstree([7, 7, 7], 3, method="grow", max_stages=6, random_state=0)
    assert tree.n_stages == 3


def test_larger_bounds():
    assert random_cstree(4, 3, random_state=1).stagings
    assert max(staging.bound for staging in random_cstree(30, 3, random_state=1).stagings.values()) == 3
    tree = random_cstree(40, 5, method="split", p_context=0.1, random_state=1)
    assert max(staging.bound for staging in tree.stagings.values()) == 5
    with pytest.raises(LimitError, match="too many stagings of 39 variables with beta=4 .* method='tree'"):
        random_cstree(40, 4, random_state=1)
    for cards, beta in [(40, 4), ([2, 3, 4, 3, 2, 5], 3)]:
        drawn = random_cstree(cards, beta, method="tree", random_state=1)
        assert max(staging.bound for staging in drawn.stagings.values()) == beta


@pytest.mark.parametrize(("method", "total"), [("uniform", 154), ("tree", 146)])
def test_three_binary_context_variables_are_drawn_uniformly(method, total):
    rng, n = np.random.default_rng(2), 3000
    names = ["a", "b", "c", "d"]
    trees = [
        random_cstree(dict.fromkeys(names, 2), 3, method=method, order=names, concentration=None, random_state=rng)
        for _ in range(n)
    ]
    last = Counter(naive.as_key(tree.stagings["d"]) for tree in trees)
    assert len(last) == total
    assert chisquare(list(last.values())).pvalue > 1e-3
    of_trees = sum(number for staging, number in last.items() if naive.is_tree([dict(c) for c in staging]))
    assert (of_trees == n) == (method == "tree")


def test_seeds_and_sizes():
    assert random_cstree(20, random_state=7) == random_cstree(20, random_state=7)
    assert random_cstree(20, random_state=7) != random_cstree(20, random_state=8)
    tree = random_cstree({"a": ["x", "y"], "b": 3}, order=["b", "a"], random_state=0)
    assert tree.order == ("b", "a")
    assert tree.states == {"a": ("x", "y"), "b": (0, 1, 2)}


def test_concentration():
    even = random_cstree(10, concentration=1e6, random_state=0)
    assert all(np.allclose(rows, 0.5, atol=0.01) for rows in even.parameters.values())
    assert random_cstree(3, concentration=None).parameters is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "some"}, 'method is "uniform", "tree", "split" or "grow", not'),
        ({"method": "grow", "max_stages": 0}, "max_stages"),
        ({"method": "grow", "max_parents": -1}, "max_parents"),
        ({"p_context": 2}, "p_context is a probability"),
        ({"concentration": 0}, "concentration"),
        ({"order": ["X1"]}, "lacks 'X2'"),
        ({"beta": -1}, "beta"),
    ],
)
def test_bad_settings(arguments, message):
    with pytest.raises(InputError, match=message):
        random_cstree(**{"cards": 2, **arguments})
