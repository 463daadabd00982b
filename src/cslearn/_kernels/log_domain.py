"""Sums of numbers whose logarithms are known."""

from math import exp, inf, log1p

from cslearn._kernels import inner

__all__ = ["plus"]


@inner
def plus(a, b):
    """Log of the sum of two exponentials."""
    if a < b:
        a, b = b, a
    return a if b == -inf else a + log1p(exp(b - a))
