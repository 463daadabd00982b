"""Sums and maxima over the stagings of all levels that a candidate set can make, one for each of its subsets.

A subset is a number whose bits are positions in the candidate set. Contexts are numbered through, those of fewer
variables first. The part of the table that begins at ``offset[c]`` belongs to what agrees with context c and may still
be split on the variables of a subset, by the number that is left of the subset without the bits of the context's own
variables. The recursion is that of :mod:`cslearn.stagings.level`: a context is a stage, or is split on a set of
variables.
"""

from collections import namedtuple
from math import exp, inf, log, log1p

import numpy as np

from cslearn._kernels import inner, outer
from cslearn._kernels.log_domain import plus

__all__ = ["Shape", "Weights", "maxima_of_subsets", "sums_of_subsets"]

# What follows from the cardinalities of the candidates and the context bound.
#   held, depth, share[c]    the variables of a context as a subset, their number, and the context's share of the level
#   offset[c]                where its part of the table begins
#   sets, start              the sets that may be split on at once; those of r variables begin at start[r]
#   first[r, k]              ... and those with k as their lowest member at first[r, k]
#   child_at[c, s], child    a split that does not reach the context bound leads to contexts from child[child_at] on,
#   outcomes[s]              of which there are as many as the set has outcomes
#   constant_at[c]           where the constants of splits that reach the bound begin
Shape = namedtuple("Shape", "n beta held depth share offset sets start first child_at child outcomes constant_at")
# The prior's log-weights by the size of the level and the number of context variables: of a stop, of a share of the
# level, and the weights (which may be negative) of splits on 1, 2, ... variables.
Weights = namedtuple("Weights", "stop share split")


@inner
def _squeeze(subset, held):
    """Take the bits of `held` out of a number that has none of them set."""
    while held:
        top = 0
        while held >> (top + 1):
            top += 1
        subset = (subset & ((1 << top) - 1)) | ((subset >> (top + 1)) << top)
        held ^= 1 << top
    return subset


@inner
def _widen(number, held):
    """Do the reverse: put zeros where `held` has bits."""
    position = 0
    while held >> position:
        if (held >> position) & 1:
            number = (number & ((1 << position) - 1)) | ((number >> position) << (position + 1))
        position += 1
    return number


@inner
def _below(shape, table, c, s, level):
    """Sum of the table's values over the contexts that a split of c on set s leads to."""
    value = 0.0
    number = _squeeze(level & ~shape.sets[s], shape.held[c] | shape.sets[s])
    at = shape.child_at[c, s]
    for o in range(shape.outcomes[s]):
        value += table[shape.offset[shape.child[at + o]] + number]
    return value


@outer
def sums_of_subsets(shape, weights, more, scores, constants, table):
    """Fill the table with log sums, from the deepest contexts to the empty one.

    Parameters
    ----------
    shape, weights : Shape, Weights
    more : int
        The prior's weights are those of a level with so many variables besides the subset.
    scores : ndarray, shape (contexts,)
        Log scores of the contexts below the bound.
    constants : ndarray
        Summed log scores over all outcomes of the splits that reach the bound.
    table : ndarray
    """
    beta = shape.beta
    full = np.empty(1 << shape.n)
    terms = np.empty(len(shape.sets))
    for c in range(len(shape.held) - 1, -1, -1):
        t, held = shape.depth[c], shape.held[c]
        reach = beta - t
        before = shape.constant_at[c] - shape.start[reach]
        full[0] = -inf
        for number in range(1 << (shape.n - t)):
            level = _widen(number, held)
            size = 0
            rest = level
            while rest:
                rest &= rest - 1
                size += 1
            # Splits that reach the bound do not depend on the rest of the level: to those of the level without its
            # lowest variable come those that hold it.
            if number > 0:
                low = 0
                while not (level >> low) & 1:
                    low += 1
                total = full[number & (number - 1)]
                for s in range(shape.first[reach, low], shape.first[reach, low + 1]):
                    if shape.sets[s] & ~level == 0:
                        total = plus(total, constants[before + s])
                full[number] = total
            m = size + t + more
            positive = scores[c] + weights.stop[m, t] + weights.share[m, t] * shape.share[c]
            negative = -inf
            for r in range(1, min(reach, size) + 1):
                weight = weights.split[m, t, r - 1]
                if weight == 0.0:
                    continue
                if r == reach:
                    term = full[number] + weights.share[m, beta] * shape.share[c]
                else:
                    found, top = 0, -inf
                    for s in range(shape.start[r], shape.start[r + 1]):
                        if shape.sets[s] & ~level == 0:
                            terms[found] = _below(shape, table, c, s, level)
                            top = max(top, terms[found])
                            found += 1
                    term = 0.0
                    for s in range(found if top > -inf else 0):
                        term += exp(terms[s] - top)
                    term = top + log(term) if top > -inf else -inf
                if weight > 0:
                    positive = plus(positive, term + log(weight))
                else:
                    negative = plus(negative, term + log(-weight))
            table[shape.offset[c] + number] = (
                positive if negative == -inf else positive + log1p(-exp(negative - positive))
            )


@outer
def maxima_of_subsets(shape, weights, full_splits, scores, constants, table):
    """Fill the table with the largest log-weights of stagings.

    ``full_splits[m, t, s]`` is the log-weight of a full split on set s below t variables in a level of m. Where weights
    belong to trees and the bound is beyond two, trees that differ at nested places are not added up, and what is found
    are lower bounds.
    """
    beta = shape.beta
    for c in range(len(shape.held) - 1, -1, -1):
        t, held = shape.depth[c], shape.held[c]
        reach = beta - t
        before = shape.constant_at[c] - shape.start[reach]
        for number in range(1 << (shape.n - t)):
            level = _widen(number, held)
            m = t
            rest = level
            while rest:
                rest &= rest - 1
                m += 1
            best = scores[c] + weights.stop[m, t] + weights.share[m, t] * shape.share[c]
            for s in range(shape.start[reach + 1]):
                if shape.sets[s] & ~level == 0 and full_splits[m, t, s] > -inf:
                    if s >= shape.start[reach]:
                        value = constants[before + s] + weights.share[m, beta] * shape.share[c]
                    else:
                        value = _below(shape, table, c, s, level)
                    best = max(best, value + full_splits[m, t, s])
            table[shape.offset[c] + number] = best
