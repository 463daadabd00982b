"""Rows in stages, against a search for the one context that each row agrees with."""

import numpy as np
import pytest

from cslearn import random_cstree
from cslearn.counts import BitCounts, joint_counts, stage_counts, stage_of_rows
from cslearn.data import Table
from problems import random_table

# No variable is in all contexts, so that no decision tree draws this staging of three binary variables.
PINWHEEL = [[(0, 0), (1, 1)], [(1, 0), (2, 1)], [(2, 0), (0, 1)], [(0, 0), (1, 0), (2, 0)], [(0, 1), (1, 1), (2, 1)]]


def obvious(codes, contexts):
    """Return the one context that each row agrees with."""
    agreeing = [[k for k, pairs in enumerate(contexts) if all(row[v] == x for v, x in pairs)] for row in codes]
    assert all(len(found) == 1 for found in agreeing)
    return [found[0] for found in agreeing]


@pytest.mark.parametrize("seed", range(5))
def test_deep_stagings_of_any_cardinalities(seed):
    rng = np.random.default_rng(seed)
    cards = [int(d) for d in rng.integers(1, 6, 12)]
    tree = random_cstree(cards, 9, method="grow", max_stages=25, random_state=rng)
    codes = np.column_stack([rng.integers(0, d, 300) for d in cards]).astype(np.uint8)
    for contexts in tree.coded_contexts.values():
        backwards = [pairs[::-1] for pairs in contexts[::-1]]  # variables and stages in an order of no tree
        assert stage_of_rows(codes, contexts).tolist() == obvious(codes, contexts)
        assert stage_of_rows(codes, backwards).tolist() == obvious(codes, backwards)


def test_stagings_that_no_tree_draws():
    codes = np.array(list(np.ndindex(2, 2, 2, 3)))
    deeper = [[(3, 0)], [(3, 1)], *([(3, 2), *pairs] for pairs in PINWHEEL)]
    for contexts in (PINWHEEL, deeper):
        assert stage_of_rows(codes, contexts).tolist() == obvious(codes, contexts)


def test_no_rows_and_one_stage():
    assert stage_of_rows(np.zeros((0, 3), dtype=np.uint8), PINWHEEL).tolist() == []
    assert stage_of_rows(np.zeros((2, 3), dtype=np.uint8), [[]]).tolist() == [0, 0]


def test_counts_are_weighted_and_of_every_stage():
    table = Table(
        np.array([[0, 0], [0, 1], [1, 1]]), ("a", "b"), (("n", "y"), ("n", "y")), weights=np.array([1.0, 2.0, 4.0])
    )
    assert stage_counts(table, 1, [[(0, 0)], [(0, 1)]]).tolist() == [[1.0, 2.0], [0.0, 4.0]]


@pytest.mark.parametrize("cards", [[2, 3, 2, 4, 2], [9, 2, 8, 3, 12], [1, 2, 3, 1, 2]])
@pytest.mark.parametrize("n", [0, 1, 64, 200])
@pytest.mark.parametrize("size", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", ["rows", "weights", "interventions", "both"])
def test_joint_counts_are_those_of_all_contexts(cards, n, size, kind):
    """Of one and two variables by bits or row by row, as they have many states or few, and of more row by row."""
    rng = np.random.default_rng(n)
    weights = rng.integers(0, 5, n).astype(float) if kind in ("weights", "both") else None
    mask = rng.random((n, 5)) < 0.3 if kind in ("interventions", "both") else None
    table = random_table(cards, n, rng, weights)
    counts, weights = BitCounts(table, mask), [1.0] * n if weights is None else weights.tolist()
    for target in range(5):
        others = [k for k in range(5) if k != target]
        # In any order, and one set as often as it is asked for.
        sets = np.array([rng.permutation(others)[:size] for _ in range(7)], dtype=np.intp).reshape(7, size)
        sets = np.concatenate([sets, sets[:2]])
        expected = []
        for columns in sets.tolist():
            found = np.zeros([cards[c] for c in (*columns, target)])
            for r in range(n):
                if mask is None or not mask[r, target]:
                    found[tuple(table.codes[r, [*columns, target]])] += weights[r]
            expected += found.ravel().tolist()
        assert joint_counts(counts, target, sets).tolist() == expected
    assert joint_counts(counts, 0, np.zeros((0, size), dtype=np.intp)).tolist() == []
