"""Positive numbers that span more orders of magnitude than a double holds.

Such a number is a pair of a double, the mantissa, and an integer exponent to the base 2^128. Mantissas of factors lie
within 2^-64 and 2^64, so that of two numbers whose exponents differ by more than one the smaller does not matter.
"""

from math import log

from cslearn._kernels import inner

__all__ = [
    "BASE",
    "INVERSE",
    "LARGE",
    "LOG_BASE",
    "SMALL",
    "SMALLEST_REST",
    "STOP",
    "ZERO_EXPONENT",
    "lost",
    "minus",
    "normal",
    "plus",
]

BASE = 2.0**128
INVERSE = 2.0**-128
LARGE = 2.0**64
SMALL = 2.0**-64
LOG_BASE = 128 * log(2.0)
ZERO_EXPONENT = -(2**28)

# Where a subtraction would leave less than this part of a sum the level is made anew, so that rounding errors stay
# small. Sums are added to a stop that is worth at least STOP in the same unit; what is small beside it does not matter.
SMALLEST_REST = 1e-3
STOP = 0.5


@inner
def plus(a, a_e, b, b_e):
    """Add two numbers, of which the smaller may be negative."""
    if a_e == b_e:
        return a + b, a_e
    if a_e < b_e:
        a, a_e, b, b_e = b, b_e, a, a_e
    return (a + b * INVERSE, a_e) if a_e == b_e + 1 else (a, a_e)


@inner
def minus(a, a_e, b, b_e):
    """Subtract the smaller number b."""
    if a_e == b_e:
        return a - b, a_e
    if a_e == b_e + 1:
        return a - b * INVERSE, a_e
    if a_e + 1 == b_e:
        return a * INVERSE - b, b_e
    return a, a_e


@inner
def normal(a, a_e):
    """Bring the mantissa of a product of two factors back into its range."""
    if a > LARGE:
        return a * INVERSE, a_e + 1
    if a < SMALL and a > 0.0:
        return a * BASE, a_e - 1
    return a, a_e


@inner
def lost(rest, rest_e, total, total_e):
    """Tell whether too little is left of a sum for a subtraction to be trusted."""
    if total_e < 0:
        return False
    if total_e > 0:
        return rest_e != total_e or rest < SMALLEST_REST * total
    return rest + STOP < SMALLEST_REST * total
