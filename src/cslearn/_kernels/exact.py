"""Dynamic programming over the sets of variables that may come first in an order.

A set is a number whose bits are variables. ``values[offset[i] + L]`` is the log local order score of variable i with
the subset L of its candidates; L is found from a set in two look-ups, one for its lower and one for its upper bits.
"""

from collections import namedtuple
from math import exp, inf, log

import numpy as np

from cslearn._kernels import inner, outer

__all__ = ["Orders", "backward", "best_last", "draw_orders", "forward", "probabilities"]

# p variables; lower and upper[i, bits]: the subset of i's candidates; needed[i]: what must come before i.
Orders = namedtuple("Orders", "p half values offset lower upper needed")


@inner
def _score(orders, i, before):
    """Log local order score of variable i after the variables in `before`; minus infinity where that is forbidden."""
    if orders.needed[i] & ~before:
        return -inf
    low = before & ((1 << orders.half) - 1)
    return orders.values[orders.offset[i] + (orders.lower[i, low] | orders.upper[i, before >> orders.half])]


@outer
def forward(orders, ahead):
    """Fill ``ahead[U]`` with the log of the sum, over the orders of the set U, of the products of its scores."""
    p = orders.p
    terms = np.empty(p)
    ahead[0] = 0.0
    for members in range(1, 1 << p):
        top = -inf
        for i in range(p):
            terms[i] = -inf
            if (members >> i) & 1:
                rest = members & ~(1 << i)
                terms[i] = ahead[rest] + _score(orders, i, rest)
                top = max(top, terms[i])
        total = 0.0
        for i in range(p if top > -inf else 0):
            total += exp(terms[i] - top)
        ahead[members] = top + log(total) if top > -inf else -inf


@outer
def backward(orders, behind):
    """Fill ``behind[U]`` with the log of the sum over the orders of all other variables after those in U."""
    p = orders.p
    terms = np.empty(p)
    behind[(1 << p) - 1] = 0.0
    for members in range((1 << p) - 2, -1, -1):
        top = -inf
        for i in range(p):
            terms[i] = -inf
            if not (members >> i) & 1:
                terms[i] = _score(orders, i, members) + behind[members | (1 << i)]
                top = max(top, terms[i])
        total = 0.0
        for i in range(p if top > -inf else 0):
            total += exp(terms[i] - top)
        behind[members] = top + log(total) if top > -inf else -inf


@outer
def probabilities(orders, i, ahead, behind, levels, precedes):
    """Add up, for variable i, the probabilities of its levels and of each other variable to come before it."""
    p = orders.p
    total = ahead[(1 << p) - 1]
    for members in range(1 << p):
        if (members >> i) & 1 or ahead[members] == -inf:
            continue
        chance = exp(ahead[members] + _score(orders, i, members) + behind[members | (1 << i)] - total)
        if chance > 0.0:
            low = members & ((1 << orders.half) - 1)
            levels[orders.lower[i, low] | orders.upper[i, members >> orders.half]] += chance
            for j in range(p):
                if (members >> j) & 1:
                    precedes[j] += chance


@outer
def best_last(orders, best, last):
    """Fill ``best[U]`` with the largest log score of an order of U and ``last[U]`` with its last variable."""
    best[0] = 0.0
    for members in range(1, 1 << orders.p):
        best[members] = -inf
        last[members] = -1
        for i in range(orders.p):
            if (members >> i) & 1:
                rest = members & ~(1 << i)
                value = best[rest] + _score(orders, i, rest)
                if value > best[members]:
                    best[members] = value
                    last[members] = i


@outer
def draw_orders(orders, ahead, draws, found):
    """Draw orders from their last variable to their first, one for each row of uniform numbers."""
    p = orders.p
    for row in range(len(draws)):
        members = (1 << p) - 1
        for t in range(p - 1, -1, -1):
            goal = draws[row, t]
            running = 0.0
            chosen = -1
            for i in range(p):
                if (members >> i) & 1:
                    rest = members & ~(1 << i)
                    chance = exp(ahead[rest] + _score(orders, i, rest) - ahead[members])
                    if chance > 0.0:
                        chosen = i
                        running += chance
                        if running > goal:
                            break
            found[row, t] = chosen
            members &= ~(1 << chosen)
