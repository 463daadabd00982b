"""From logarithms to the numbers that levels are made of."""

from math import exp, floor, inf, log

from cslearn._kernels import inner, outer
from cslearn._kernels.wide_numbers import LOG_BASE

__all__ = ["scale_target"]

# The largest logarithm of a sum over stagings, relative to the whole level, for which doubles will do.
LIGHT = 650.0


@inner
def _scaled(value, light):
    if light:
        return exp(value), 0
    exponent = floor(value / LOG_BASE + 0.5)
    return exp(value - exponent * LOG_BASE), exponent


@outer
def scale_target(beta, may_be_light, stop, single, pair, cards, root, root_e, split, split_e):
    """Fill mantissas and exponents of one target, `cards` being those of its candidates; tell whether it is light.

    ``root[k]`` is the product over x of z(x_k = x) relative to the whole level, and ``split[j, k, x]`` is w(k, x, j)
    relative to z(x_k = x).
    """
    m = len(cards)
    largest = 0.0
    for k in range(m):
        gain = -stop
        for x in range(cards[k]):
            gain += single[k, x]
        alone = gain
        for x in range(cards[k]):
            best = 0.0
            if beta >= 2:
                for j in range(m):
                    best = max(best, pair[j, k, x] - single[k, x])
            gain += best + log(m)
        # A root that is worse than the whole level may stand in a product with large splits.
        largest = max(largest, gain - min(alone, 0.0))
    light = may_be_light and largest < LIGHT
    for k in range(m):
        value = -stop
        for x in range(cards[k]):
            value += single[k, x]
        root[k], root_e[k] = _scaled(value, light)
    if beta >= 2:
        for j in range(m):
            for k in range(m):
                for x in range(cards[k]):
                    if pair[j, k, x] == -inf:
                        split[j, k, x], split_e[j, k, x] = 0.0, 0 if light else -(2**14)
                    else:
                        split[j, k, x], split_e[j, k, x] = _scaled(pair[j, k, x] - single[k, x], light)
    return light
