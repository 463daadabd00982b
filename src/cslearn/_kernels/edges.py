"""How probable each context variable is, given an order."""

import numpy as np
from numba import njit

from cslearn._kernels.levels import BASE, INVERSE, sum_of_stagings
from cslearn._kernels.relocation import set_order

__all__ = ["edges_of_orders"]


@njit(cache=True, nogil=True, error_model="numpy")
def edges_of_orders(problem, state, orders, edges):
    """Fill ``edges[draw, j, i]`` with the probability that j is in a context of i.

    It is one minus the share of the stagings that leave j out. O(|L|^2 d) for a level ``L``.
    """
    for draw in range(len(orders)):
        set_order(problem, state, orders[draw])
        for i in range(len(state.order)):
            m = state.size[i]
            total, total_e = sum_of_stagings(problem, i, state, i, np.int64(-1), np.int64(0), m)
            for t in range(m):
                v = state.members[i, t]
                rest, rest_e = sum_of_stagings(problem, i, state, i, v, np.int64(-1), m)
                unused = rest / total
                if rest_e != total_e:
                    unused = unused * INVERSE if rest_e == total_e - 1 else unused * BASE if rest_e > total_e else 0.0
                edges[draw, problem.columns[i, v], i] = max(0.0, 1.0 - unused)
