"""Which variables matter to another only three at a time.

A pass with two context variables does not see a parity of three, nor anything else that no two variables tell of. With
all variables as candidates the rows in each context of three are counted by bits, and the log score of the full split
on a triple is set beside that of the best staging with two context variables, whichever they are. There are ``C(m, 3)``
triples of `m` candidates, each as probable as the next before the data: a gain of ``log C(m, 3)`` makes for even odds.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from math import comb, fsum, log

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from cslearn._numerics import n_threads
from cslearn.scores import Scores, log_gamma_tables

__all__ = ["triple_probabilities"]

# Beyond this number of words of 64 rows to be counted, some ten seconds, triples are not looked at. What else is done
# for a cell of counts takes as long as so many words.
MOST_WORDS = 2e10
WORDS_OF_A_CELL = 10
MOST_LOOKED_UP = 3e7


def triple_probabilities(scores: Scores, targets: Iterable[str] | None = None) -> NDArray[np.float64]:
    """Return how probable it is that a variable is one of three that only together tell of another.

    Parameters
    ----------
    scores : Scores
        With a context bound of two.
    targets : iterable of str, optional
        Those that are looked at; all by default.

    Returns
    -------
    ndarray, shape (p, p)
        For the variable of the row with that of the column as target. Zeros for other targets, if rows have weights,
        and if there are too many triples.

    Examples
    --------
    >>> import numpy as np
    >>> from cslearn.candidates import triple_probabilities
    >>> from cslearn.scores import Scores
    >>> rows = np.random.default_rng(0).integers(2, size=(500, 6))
    >>> rows[:, 5] = rows[:, 0] ^ rows[:, 1] ^ rows[:, 2]
    >>> triple_probabilities(Scores(rows))[:, 5].round(2)
    array([1., 1., 1., 0., 0., 0.])
    """
    from cslearn._kernels.contexts import pack
    from cslearn._kernels.triples import scores_of_triples

    table, p = scores.table, scores.table.p
    found = np.zeros((p, p))
    cards = np.array(table.cards, dtype=np.int64)
    chosen = set(table.variables if targets is None else targets)
    wanted = [i for i in range(p) if table.variables[i] in chosen and cards[i] > 1 and len(scores.candidates[i]) >= 3]
    cells = {i: comb(len(scores.candidates[i]), 3) * cards[scores.candidates[i]].mean() ** 3 * cards[i] for i in wanted}
    work = sum(cells.values()) * (table.n / 64 + WORDS_OF_A_CELL)
    sizes = {int(d) for d in cards if d > 1}
    products = np.array(sorted({a * b * c for a in sizes for b in sizes for c in sizes}), dtype=np.int64)
    looked_up = 2 * len(products) * len(sizes) * (table.n + 1) + int(products.max(initial=0))
    if table.weights is not None or scores.beta < 2 or work > MOST_WORDS or looked_up > MOST_LOOKED_UP:
        return found
    starts = np.concatenate([[0], np.cumsum(cards)[:-1]])
    entry = np.zeros(int(products.max(initial=0)) + 1, dtype=np.int64)
    entry[products] = np.arange(len(products))
    log_gammas = {int(d): log_gamma_tables(table.n, scores.ess, products, int(d)) for d in set(table.cards)}
    tables = {id(scores.counted(i)): scores.counted(i) for i in wanted}
    packed = {key: pack(own.codes, cards, starts) for key, own in tables.items()}

    def fill(i: int) -> None:
        own = scores.candidates[i]
        name, best = table.variables[i], np.empty(len(own))
        words = packed[id(scores.counted(i))]
        scores_of_triples(words, starts, cards, i, own, log_gammas[table.cards[i]], entry, best)
        _, staging = scores.best_staging(name, [v for v in table.variables if v != name])
        two = fsum(scores.log_z(name, context) for context in staging.contexts)
        found[own, i] = expit(best - two - log(comb(len(own), 3)))

    with ThreadPoolExecutor(n_threads(scores.n_jobs)) as pool:
        list(pool.map(fill, wanted))
    return found
