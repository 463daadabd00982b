"""Plain Python without shortcuts for R-hat and the effective sample size of Vehtari et al. (2021)."""

from math import log10, sqrt
from statistics import NormalDist, fmean, median, variance


def halves(chains):
    return [part for chain in chains for part in (chain[: len(chain) // 2], chain[len(chain) - len(chain) // 2 :])]


def normal_scores(parts):
    values = sorted(value for part in parts for value in part)
    size = len(values)

    def score(value):
        below, equal = sum(x < value for x in values), sum(x == value for x in values)
        return NormalDist().inv_cdf((below + (equal + 1) / 2 - 3 / 8) / (size + 1 / 4))

    return [[score(value) for value in part] for part in parts]


def within_and_whole(parts):
    n = len(parts[0])
    within = fmean(variance(part) for part in parts)
    return within, (n - 1) / n * within + variance([fmean(part) for part in parts])


def r_hat(chains):
    parts = halves(chains)
    middle = median(value for part in parts for value in part)
    folded = [[abs(value - middle) for value in part] for part in parts]
    found = []
    for version in (parts, folded):
        if len({value for part in version for value in part}) > 1:
            within, whole = within_and_whole(normal_scores(version))
            found.append(sqrt(whole / within) if within > 1e-20 else float("inf"))
    return max(found, default=float("nan"))


def effective_sample_size(chains):
    parts = normal_scores(halves(chains))
    m, n = len(parts), len(parts[0])
    within, whole = within_and_whole(parts)

    def rho(lag):
        if lag == 0:
            return 1.0
        covariances = []
        for part in parts:
            mean = fmean(part)
            covariances.append(sum((part[t] - mean) * (part[t + lag] - mean) for t in range(n - lag)) / n)
        return 1 - (within - fmean(covariances)) / whole

    tau, smallest = -1.0, float("inf")
    for lag in range(0, n - 1, 2):
        even, odd = rho(lag), rho(lag + 1)
        if even + odd <= 0:
            tau += max(even, 0)
            break
        smallest = min(smallest, even + odd)
        tau += 2 * smallest
    return m * n / max(tau, 1 / log10(m * n))
