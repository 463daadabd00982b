"""How much a split of a context on each other variable gains, for contexts of which nothing else is kept."""

from math import lgamma

import numpy as np

from cslearn._kernels import inner, outer

__all__ = ["split_gains"]


@inner
def _log_z(cells, d, a, look_up):
    """Return log z of counts, with the prior count `a`; ``look_up[d, 0 or 1, n]`` has log-gammas of whole counts."""
    total, value = 0.0, 0.0
    for y in range(d):
        total += cells[y]
        value += _rise(look_up[d, 1], a / d, cells[y])
    return value - _rise(look_up[d, 0], a, total)


@inner
def _rise(table, a, count):
    if count < len(table) and count == int(count):
        return table[int(count)]
    return lgamma(a + count) - lgamma(a)


@outer
def split_gains(targets, own, counts, starts, a, look_up, gains):
    """Fill ``gains[r, k]`` with the sum of log z over the parts of context `r` split on `k`, minus its own log z.

    `own` and `counts` are those of :meth:`cslearn.counts.Counts.of`; every stage has the prior count `a`. O(r d D).
    """
    p = len(starts) - 1
    cell, left = np.empty(own.shape[1]), np.empty(own.shape[1])
    for r in range(len(targets)):
        d = starts[targets[r] + 1] - starts[targets[r]] + 1
        seen, total = 0, 0.0
        for y in range(d):
            seen += own[r, y] > 0
            total += own[r, y]
        gains[r] = 0.0
        if seen < 2:
            continue
        z = _log_z(own[r], d, a, look_up)
        for k in range(p):
            value, rest = -z, total
            for y in range(d):
                left[y] = own[r, y]
            for c in range(starts[k], starts[k + 1]):
                part = 0.0
                for y in range(d):
                    cell[y] = counts[r, y, c]
                    left[y] -= cell[y]
                    part += cell[y]
                if part > 0:
                    value += _log_z(cell, d, a, look_up)
                    rest -= part
            if rest > 0:
                value += _log_z(left, d, a, look_up)
            gains[r, k] = value
