"""Whether chains agree, and how much their draws are worth.

Both figures are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and
localization: an improved R-hat". Each chain is cut into two halves, so that a drift within a chain shows as a
disagreement between chains, and values are replaced by the normal quantiles of their ranks, so that heavy tails do no
harm.

With ``m`` halves of ``n`` draws, ``W`` the mean of their variances and ``B / n`` the variance of their means, an
estimate of the variance of the draws that is too large while the halves disagree is ``V = (n - 1) / n W + B / n``, and
``R-hat = sqrt(V / W)``. The largest of that for the ranks and for the ranks of the distances from the median, which
tells chains of different spread apart, is reported; it approaches 1 from above.

The effective sample size is ``m n / tau`` with ``tau = 1 + 2 sum of rho_t``, where the autocorrelation at lag ``t`` is
``rho_t = 1 - (W - C_t) / V`` with ``C_t`` the mean autocovariance of the halves. The sum ends where pairs of neighbours
``rho_2t + rho_2t+1`` turn negative, and the pairs are made to decrease (Geyer's initial monotone sequence).

An indicator has two values, and its ranks, folded or not, are a linear function of it. So its figures are those of its
plain values, and those of thousands of indicators are computed at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cslearn.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Figures", "Quantities", "Verdict", "diagnose", "effective_sample_size", "error_of", "r_hat"]

Floats = NDArray[np.float64]

# With many indicators the largest R-hat is some way above 1 even if all chains have converged.
MAX_R_HAT = 1.01
MAX_R_HAT_OF_MANY = 1.05
MIN_ESS_OF_A_CHAIN = 100
# Probabilities of edges are right to about two digits where moves take so little time that this can be had. Elsewhere
# they are as good as so many independent draws would make them if each draw said yes or no.
MAX_ERROR = 0.01


def error_of(n_chains: int) -> float:
    """Return the largest standard error of a probability that is as good as 100 independent draws of each chain.

    Examples
    --------
    >>> error_of(4)
    0.025
    """
    return float(0.5 / np.sqrt(MIN_ESS_OF_A_CHAIN * n_chains))


class Quantities(NamedTuple):
    """What is diagnosed: quantities of one kind, and their draws, of shape (chains, draws, quantities).

    The kind is ``"score"``, ``"precedence"`` or ``"edge"``.
    """

    kind: str
    names: list[str]
    draws: NDArray[Any]


class Figures(NamedTuple):
    """What is found of each quantity, a value for each in every field. Arrays, as the import of pandas takes long."""

    kind: NDArray[np.object_]
    quantity: NDArray[np.object_]
    mean: Floats
    r_hat: Floats
    ess: Floats
    standard_error: Floats

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with a row for each quantity and a column for each field."""
        import pandas as pd

        return pd.DataFrame({name: pd.Series(list(values)) for name, values in self._asdict().items()})


def r_hat(draws: ArrayLike) -> float | Floats:
    """Return the rank-normalised split R-hat: near 1 if the chains agree, larger if they do not.

    Parameters
    ----------
    draws : array-like, shape (chains, draws) or (chains, draws, quantities)
        One quantity, or several; booleans are fine. One chain will do, as its halves are compared, but several are
        needed to notice that each sits in a place of its own.

    Returns
    -------
    float, or ndarray of shape (quantities,)
        Infinity if no chain ever changes and they differ. Not a number if all draws are equal, or if there are fewer
        than four of a chain: then there is nothing to compare.

    Examples
    --------
    >>> import numpy as np
    >>> from cslearn.orders import r_hat
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))
    >>> round(r_hat(draws), 2)
    1.0
    >>> draws[0] += 3  # one of the chains is somewhere else
    >>> r_hat(draws) > 1.3
    True
    """
    array, shape = _quantities(draws)
    result = np.full(array.shape[2], np.nan)
    if array.shape[1] >= 4:
        halves = _split(array)
        median = np.median(halves, axis=(0, 1))
        with np.errstate(invalid="ignore"):
            result = np.fmax(_plain_r_hat(_normal_scores(halves)), _plain_r_hat(_normal_scores(abs(halves - median))))
    return _shaped(result, shape)


def effective_sample_size(draws: ArrayLike) -> float | Floats:
    """Return the bulk effective sample size: the number of independent draws that would tell the mean as well.

    Parameters
    ----------
    draws : array-like, shape (chains, draws) or (chains, draws, quantities)

    Returns
    -------
    float, or ndarray of shape (quantities,)
        Not a number if all draws are equal, or if there are fewer than four of a chain.

    Examples
    --------
    >>> import numpy as np
    >>> from cslearn.orders import effective_sample_size
    >>> steps = np.random.default_rng(0).normal(size=(4, 1000))
    >>> 3500 < effective_sample_size(steps) < 4500
    True
    >>> effective_sample_size(steps.cumsum(axis=1)) < 40  # a random walk goes nowhere soon
    True
    """
    array, shape = _quantities(draws)
    result = np.full(array.shape[2], np.nan)
    if array.shape[1] >= 4:
        result = _plain_size(_normal_scores(_split(array)))
    return _shaped(result, shape)


def _quantities(draws: ArrayLike) -> tuple[Floats, tuple[int, ...]]:
    array = np.asarray(draws, dtype=float)
    if array.ndim not in (2, 3):
        raise InputError(
            f"draws have the shape (chains, draws), or (chains, draws, quantities) for several, not {array.shape}"
        )
    return array[:, :, None] if array.ndim == 2 else array, array.shape[2:]


def _shaped(result: Floats, shape: tuple[int, ...]) -> float | Floats:
    return result if shape else float(result[0])


def _split(array: Floats) -> Floats:
    """Cut each chain into halves; of an odd number of draws the one in the middle is left out."""
    half = array.shape[1] // 2
    return np.concatenate([array[:, :half], array[:, -half:]])


def _normal_scores(halves: Floats) -> Floats:
    """Return the normal quantiles of the ranks of each quantity; plain values where there are at most two."""
    m, n, k = halves.shape
    flat = halves.reshape(m * n, k)
    low, high = flat.min(axis=0), flat.max(axis=0)
    many = ~((flat == low) | (flat == high)).all(axis=0)
    if many.any():
        from scipy.special import ndtri

        flat = flat.copy()
        flat[:, many] = ndtri((_ranks(flat[:, many]) - 0.375) / (m * n + 0.25))
    return flat.reshape(m, n, k)


def _ranks(values: Floats) -> Floats:
    """Return the ranks within each column, from 1; those that are equal share their mean rank.

    SciPy has this too, in a module that takes longer to import than a small fit.
    """
    n, k = values.shape
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    differs, edge = ordered[1:] != ordered[:-1], np.ones((1, k), dtype=bool)
    place = np.arange(n)[:, None]
    first = np.maximum.accumulate(np.where(np.concatenate([edge, differs]), place, 0), axis=0)
    last = np.minimum.accumulate(np.where(np.concatenate([differs, edge]), place, n - 1)[::-1], axis=0)[::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=0)
    return ranks


def _variances(z: Floats) -> tuple[Floats, Floats]:
    """Return the mean variance within the halves, and the estimate of the whole variance."""
    n = z.shape[1]
    within = z.var(axis=1, ddof=1).mean(axis=0)
    return within, (n - 1) / n * within + (z.mean(axis=1).var(axis=0, ddof=1))


def _plain_r_hat(z: Floats) -> Floats:
    within, whole = _variances(z)
    constant = np.ptp(z, axis=(0, 1)) == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(constant, np.nan, np.sqrt(whole / within))


def _fast_length(n: int) -> int:
    """Return the smallest number from `n` on without prime factors above five: Fourier transforms are fast there."""
    odd = (3**b * 5**c for b in range(n.bit_length()) for c in range(n.bit_length()) if 3**b * 5**c < 2 * n)
    return min(part << max(0, (-(-n // part) - 1).bit_length()) for part in odd)


def _plain_size(z: Floats) -> Floats:
    m, n, _ = z.shape
    within, whole = _variances(z)
    constant = np.ptp(z, axis=(0, 1)) == 0
    whole = np.where(constant, 1.0, whole)
    # Autocovariances at all lags at once, their mean over the halves; the padding keeps the ends from meeting.
    length = _fast_length(2 * n - 1)
    centred = np.ascontiguousarray(np.moveaxis(z - z.mean(axis=1, keepdims=True), 1, 2))
    power = (abs(np.fft.rfft(centred, length)) ** 2).mean(axis=0)
    autocovariance = np.fft.irfft(power, length)[:, :n].T / n
    rho = 1 - (within - autocovariance) / whole
    rho[0] = 1.0
    even, odd = rho[: n // 2 * 2 : 2], rho[1 : n // 2 * 2 : 2]
    # The sum goes on while pairs are positive, and each counts no more than those before it. Of the first pair that is
    # not, the first half still counts once, which helps where draws alternate.
    positive = np.logical_and.accumulate(even + odd > 0, axis=0)
    first = positive.sum(axis=0)
    rest = np.where(first < len(even), np.take_along_axis(even, np.minimum(first, len(even) - 1)[None], axis=0)[0], 0.0)
    pairs = np.minimum.accumulate(np.where(positive, even + odd, 0.0), axis=0)
    tau = -1 + 2 * pairs.sum(axis=0) + np.maximum(rest, 0.0)
    # Chains that seem better than independent ones are not believed without end.
    size = m * n / np.maximum(tau, 1 / np.log10(m * n))
    return np.where(constant, np.nan, size)


def diagnose(blocks: Iterable[Quantities]) -> Figures:
    """Return the figures of all quantities.

    Blocks are taken one after the other, so they need not be in memory all at once.
    """
    found = []
    for kind, names, draws in blocks:
        # What never varies has neither figure, and takes no time.
        varies = (draws != draws[:1, :1]).any(axis=(0, 1))
        figures = np.full((2, len(names)), np.nan)
        if varies.any():
            moving = draws[:, :, varies]
            figures[:, varies] = r_hat(moving), effective_sample_size(moving)
        mean = draws.mean(axis=(0, 1))
        spread = np.sqrt(mean * (1 - mean)) if draws.dtype == bool else draws.std(axis=(0, 1))
        labels = np.full(len(names), kind, dtype=object), np.array(names, dtype=object)
        found.append((*labels, mean, *figures, spread / np.sqrt(figures[1])))
    return Figures(*map(np.concatenate, zip(*found, strict=True)))


@dataclass(frozen=True)
class Verdict:
    """What the diagnostics of chains say.

    Attributes
    ----------
    converged : bool
        Whether there is no reason to doubt the draws: R-hat of the log score is at most 1.01, that of the others, of
        which the largest of many is looked at, at most 1.05, and the effective sample size of the log score is at least
        100 for each chain. The probability of each edge is as certain: its standard error is at most that of so many
        independent draws, and at most 0.01 where moves take little time. Where edges are not looked at, the effective
        sample size of each precedence is at least 100 for each chain instead. What never varies in any chain is no
        reason for doubt.
    r_hat, ess : float
        The largest finite R-hat and the smallest effective sample size; not a number if nothing varies.
    reason : str
        What is wrong; empty if nothing is.
    note : str
        What was not looked at, because there are many variables; empty if nothing was left out.
    longer : float
        How many times as many moves would make the sizes and errors what they should be; one if they are, not a number
        if that cannot be told, because chains disagree.
    at_least : float
        How many times as many moves the effective sample size of the log score asks for, whether chains agree or not.
    """

    converged: bool
    r_hat: float
    ess: float
    reason: str
    note: str = ""
    longer: float = 1.0
    at_least: float = 1.0

    @classmethod
    def of(
        cls, diagnostics: Figures, n_chains: int, n_draws: int, *, max_error: float = np.inf, note: str = ""
    ) -> Verdict:
        """Judge what :func:`diagnose` returns, for chains of `n_draws` draws.

        The standard error of the probability of an edge is to be at most `max_error`; if that is infinite, the sizes
        of precedences are judged instead. An order matters for the edges that it allows: where these are told well
        enough, precedences have to agree, but how well each of them is told is of no account.
        """
        if n_draws < 4:
            return cls(False, np.nan, np.nan, f"there are only {n_draws} draws of each chain", note, np.nan)
        found = diagnostics.r_hat
        limits = np.where(diagnostics.kind == "score", MAX_R_HAT, MAX_R_HAT_OF_MANY)
        excess = np.where(np.isnan(found), -np.inf, found - limits)
        worst, wanted = int(excess.argmax()), MIN_ESS_OF_A_CHAIN * n_chains
        of_edges = diagnostics.kind == "edge"
        sizes = np.where(of_edges | np.isnan(diagnostics.ess), np.inf, diagnostics.ess)
        smallest = sizes.min()
        if np.isfinite(max_error):
            sizes = np.where(diagnostics.kind == "score", sizes, np.inf)
        fewest = int(sizes.argmin())
        reasons = []
        if excess[worst] > 0:
            quantity = diagnostics.quantity[worst]
            reasons.append(
                f"R-hat of {quantity!r} is {found[worst]:.3f} and should be at most {limits[worst]:g}"
                if np.isfinite(found[worst])
                else f"{quantity!r} never changes within a chain, and differs between chains"
            )
        if sizes[fewest] < wanted:
            reasons.append(
                f"the effective sample size of {diagnostics.quantity[fewest]!r} is {sizes[fewest]:.0f} and should be"
                f" at least {wanted}"
            )
        errors = np.where(of_edges & ~np.isnan(diagnostics.standard_error), diagnostics.standard_error, -np.inf)
        widest = int(errors.argmax())
        if errors[widest] > max_error:
            reasons.append(
                f"the standard error of the probability of {diagnostics.quantity[widest]!r} is"
                f" {errors[widest]:.3f} and should be at most {max_error:g}"
            )
        # Infinity is no measure of how far chains are apart: the reason says what it stands for.
        largest = float(np.max(found[np.isfinite(found)], initial=-np.inf))
        longer, of_score = np.nan, sizes[diagnostics.kind == "score"].min(initial=np.inf)
        if excess[worst] <= 0:
            longer = max(1.0, wanted / sizes[fewest], (errors[widest] / max_error) ** 2 if errors[widest] > 0 else 0.0)
        return cls(
            not reasons,
            largest if largest > 0 else np.nan,
            float(smallest) if np.isfinite(smallest) else np.nan,
            "; ".join(reasons),
            note,
            float(longer),
            float(max(1.0, wanted / of_score)),
        )
