"""How probable each context variable is, given an order."""

from math import isnan

import numpy as np

from cslearn._kernels import outer
from cslearn._kernels.levels import fill, sum_of_stagings
from cslearn._kernels.wide_numbers import BASE, INVERSE

__all__ = ["edges_of_orders"]


@outer
def edges_of_orders(problem, state, orders, edges):
    """Fill ``edges[draw, j, i]`` with the probability that j is in a context of i.

    It is one minus the share of the stagings that leave j out. O(|L|^2 d) for a level ``L``.
    """
    p = len(state.order)
    for draw in range(len(orders)):
        for t in range(p):
            state.order[t] = orders[draw, t]
            state.position[state.order[t]] = t
        for i in range(p):
            fill(problem, i, state, i, state.position[i], np.int64(-1))
            m = state.size[i]
            total, total_e = sum_of_stagings(problem, i, state, i, np.int64(-1), np.int64(0), m)
            for t in range(m):
                v = state.members[i, t]
                rest, rest_e = sum_of_stagings(problem, i, state, i, v, np.int64(-1), m)
                if isnan(rest):
                    fill(problem, i, state, p, state.position[i], v)
                    rest, rest_e = sum_of_stagings(problem, i, state, p, np.int64(-1), np.int64(0), m)
                unused = rest / total
                if rest_e != total_e:
                    unused = unused * INVERSE if rest_e == total_e - 1 else unused * BASE if rest_e > total_e else 0.0
                edges[draw, problem.columns[i, v], i] = max(0.0, 1.0 - unused)
