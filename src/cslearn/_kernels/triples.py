"""What three context variables tell together."""

import numpy as np

from cslearn._kernels import outer
from cslearn._kernels.contexts import popcount

__all__ = ["scores_of_splits", "scores_of_triples"]


@outer
def scores_of_triples(words, starts, cards, target, candidates, log_gammas, entry, best):
    """Fill `best` with the largest log score of a full split on three candidates, over the triples that each is in.

    ``log_gammas[entry[q]]`` is for contexts whose cardinalities multiply to `q`, as in
    :mod:`cslearn._kernels.contexts`. Cost O(m^3 d^3 d_i n / 64).
    """
    m, length, d_i, of_i = len(candidates), words.shape[1], cards[target], starts[target]
    joined = np.empty((d_i, length), np.uint64)
    number, rest, totals = np.empty(d_i, np.int64), np.empty(d_i, np.int64), np.empty(m)
    for a in range(m):
        best[a] = -np.inf
    for a in range(m):
        for b in range(a):
            for c in range(b):
                totals[c] = 0.0
            of_a, of_b = starts[candidates[a]], starts[candidates[b]]
            d_a, d_b = cards[candidates[a]], cards[candidates[b]]
            for cell in range(d_a * d_b):
                x, y = of_a + cell // d_b, of_b + cell % d_b
                for z in range(d_i):
                    number[z] = 0
                    for word in range(length):
                        joined[z, word] = words[x, word] & words[y, word] & words[of_i + z, word]
                        number[z] += popcount(joined[z, word])
                for c in range(b):
                    of_c, d_c = starts[candidates[c]], cards[candidates[c]]
                    exact = log_gammas[entry[d_a * d_b * d_c]]
                    for z in range(d_i):
                        rest[z] = number[z]
                    # The first state has what the others leave.
                    for state in range(d_c - 1, -1, -1):
                        together = 0
                        for z in range(d_i):
                            count = rest[z]
                            if state > 0:
                                count = 0
                                for word in range(length):
                                    count += popcount(joined[z, word] & words[of_c + state, word])
                                rest[z] -= count
                            totals[c] += exact[1, count]
                            together += count
                        totals[c] -= exact[0, together]
            for c in range(b):
                best[a] = max(best[a], totals[c])
                best[b] = max(best[b], totals[c])
                best[c] = max(best[c], totals[c])


@outer
def scores_of_splits(words, starts, cards, target, candidates, log_gammas, entry, out):
    """Fill ``out[j, x, k, y, l]`` with the log scores of the contexts ``jx, ky``, l, summed over the states of l.

    Other parameters and the cost are those of :func:`scores_of_triples`.
    """
    m, length, d_i, of_i = len(candidates), words.shape[1], cards[target], starts[target]
    joined = np.empty((d_i, length), np.uint64)
    number, rest = np.empty(d_i, np.int64), np.empty(d_i, np.int64)
    for a in range(m):
        for b in range(a):
            of_a, of_b = starts[candidates[a]], starts[candidates[b]]
            d_a, d_b = cards[candidates[a]], cards[candidates[b]]
            for x in range(d_a):
                for y in range(d_b):
                    for z in range(d_i):
                        number[z] = 0
                        for word in range(length):
                            joined[z, word] = words[of_a + x, word] & words[of_b + y, word] & words[of_i + z, word]
                            number[z] += popcount(joined[z, word])
                    for c in range(b):
                        of_c, d_c = starts[candidates[c]], cards[candidates[c]]
                        exact = log_gammas[entry[d_a * d_b * d_c]]
                        for z in range(d_i):
                            rest[z] = number[z]
                        # The first state has what the others leave.
                        for w in range(d_c - 1, -1, -1):
                            score, together = 0.0, 0
                            for z in range(d_i):
                                count = rest[z]
                                if w > 0:
                                    count = 0
                                    for word in range(length):
                                        count += popcount(joined[z, word] & words[of_c + w, word])
                                    rest[z] -= count
                                score += exact[1, count]
                                together += count
                            score -= exact[0, together]
                            out[a, x, b, y, c] += score
                            out[b, y, a, x, c] += score
                            out[a, x, c, w, b] += score
                            out[c, w, a, x, b] += score
                            out[b, y, c, w, a] += score
                            out[c, w, b, y, a] += score
