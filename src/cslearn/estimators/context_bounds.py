"""Beyond two context variables: which candidates a variable keeps, and where the data ask for a larger bound.

Scores of contexts of three variables and more are kept for a dozen candidates of each variable. They come from the
posterior of a cheaper pass, with two context variables and all candidates: whoever is probably joined to the variable,
in one direction or the other. The rest are then tried beside the most probable ones, with the larger bound, and enter
where they are probably used; this is repeated until none does.

Single variables can be given a larger bound than the rest, such as the class of a classifier. Where the data choose it,
it is raised while the evidence for the variable grows with all others before it, whatever the order: what matters of it
is how it depends on the rest. The others keep two context variables and their most probable candidates.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.candidates import CandidateSets
from cslearn.data import Table
from cslearn.errors import DataWarning, LimitError
from cslearn.orders.subsets import MOST_CANDIDATES, subsets_fit
from cslearn.priors import Prior
from cslearn.scores import Scores

__all__ = ["deeper_scores", "fitting_number", "grown_candidates", "raised_bounds", "used_candidates"]

# The largest bound that is tried where the data choose.
MOST_RAISED = 4
FIRST_RAISED = 3
# Whoever is less probably joined to a variable does not become a candidate.
LEAST_PROBABILITY = 0.01
ROUNDS = 5

Sets = dict[str, tuple[str, ...]]


def fitting_number(cards: tuple[int, ...], beta: int) -> int:
    """Return how many of the candidates with these cardinalities, best first, can be worked on at once."""
    number = 0
    while number < len(cards) and subsets_fit(cards[: number + 1], beta):
        number += 1
    return number


def check_fit(scores: Scores) -> None:
    """Raise an error if a candidate set is too large for its context bound."""
    for name, candidates, beta in zip(scores.table.variables, scores.candidates, scores.betas, strict=True):
        cards = tuple(sorted((int(scores.table.cards[c]) for c in candidates), reverse=True))
        most = fitting_number(cards, beta)
        if beta <= 2 or len(cards) == most:
            continue
        raise LimitError(
            f"{name!r} has {len(cards)} candidates; with beta={beta} there can be {most}. Give alpha={most}, a"
            " smaller beta, or candidates='auto', which selects them."
        )


def _check_bounds(cards: Mapping[str, tuple[int, ...]], bounds: Mapping[str, int]) -> None:
    """Raise an error if fewer candidates can be worked on than a context may have variables."""
    for name, bound in bounds.items():
        number = fitting_number(cards[name], bound)
        if number < min(bound, len(cards[name])) and bound > 2:
            less = bound - 1
            while less > 2 and fitting_number(cards[name], less) < less:
                less -= 1
            raise LimitError(
                f"contexts of {bound} variables need more memory or time than there is: of the {len(cards[name])}"
                f" candidates of {name!r} no more than {number} could be taken. Give beta={less}."
            )


def grown_candidates(
    table: Table,
    allowed: Mapping[str, tuple[str, ...]],
    joined: NDArray[np.float64],
    *,
    beta: int,
    ess: float,
    prior: str | Prior,
    n_jobs: int | None = None,
    interventions: NDArray[np.bool_] | None = None,
) -> Sets:
    """Return the candidates of each variable for a context bound beyond two.

    Parameters
    ----------
    table : Table
    allowed : mapping of variable to tuple of variables
        Where candidates are chosen from.
    joined : ndarray, shape (p, p)
        The probability that two variables are joined by an edge, from a pass with two context variables.
    beta, ess, prior, n_jobs, interventions
        As in :class:`cslearn.scores.Scores`.
    """
    names = table.variables
    common: dict[str, Any] = {
        "ess": ess,
        "prior": prior,
        "n_jobs": n_jobs,
        "interventions": interventions,
    }
    index = {name: i for i, name in enumerate(names)}
    cards = dict(zip(names, table.cards, strict=True))
    chances = {v: {w: float(joined[index[w], index[v]]) for w in allowed[v]} for v in names}

    def best(v: str) -> tuple[str, ...]:
        ranked = sorted((w for w in allowed[v] if cards[w] > 1), key=lambda w: -chances[v][w])
        number = fitting_number(tuple(cards[w] for w in ranked), beta)
        return tuple(w for w in ranked[:number] if chances[v][w] > LEAST_PROBABILITY)

    sets = {v: best(v) for v in names}
    # The more probable half of the places is kept, the rest is used for trials.
    tried: dict[str, set[str]] = {v: set(sets[v]) for v in names}
    for _ in range(ROUNDS):
        entered = False
        while any(set(allowed[v]) - tried[v] for v in names):
            trial: Sets = {}
            for v in names:
                base = sets[v][: MOST_CANDIDATES // 2]
                rest = [w for w in allowed[v] if w not in tried[v] and cards[w] > 1]
                while base and rest and not subsets_fit(tuple(cards[w] for w in (*base, rest[0])), beta):
                    base = base[:-1]
                number = fitting_number(tuple(cards[w] for w in (*base, *rest)), beta)
                trial[v] = (*base, *rest[: max(number - len(base), 1)]) if rest else ()
                tried[v].update(trial[v], () if rest else allowed[v])
            scores = Scores(table, beta=beta, candidates=trial, **common)
            for i, v in enumerate(names):
                if not trial[v]:
                    continue
                columns = scores.candidates[i]
                used = 1 - scores.level_weights(i, np.arange(len(columns))).unused_probabilities()
                # They were tried among few; the prior would have had to choose them among all.
                odds = used / np.maximum(1 - used, 1e-300) * len(columns) / len(allowed[v])
                for column, chance in zip(columns, odds / (1 + odds), strict=True):
                    name = names[column]
                    if name not in sets[v] and chance > LEAST_PROBABILITY:
                        chances[v][name] = max(chances[v][name], float(chance))
                        entered = True
        if not entered:
            break
        grown = {v: best(v) for v in names}
        if grown == sets:
            break
        # Where the most probable ones have changed, all others get another chance.
        for v in names:
            if grown[v][: MOST_CANDIDATES // 2] != sets[v][: MOST_CANDIDATES // 2]:
                tried[v] = set(grown[v])
        sets = grown
    else:
        warnings.warn(
            f"after {ROUNDS} rounds candidates for contexts of more than two variables would still have entered: those"
            " of the last round are taken",
            DataWarning,
            stacklevel=2,
        )
    return sets


def raised_bounds(
    table: Table,
    before: Mapping[str, Sequence[str]],
    sets: Mapping[str, tuple[str, ...]],
    *,
    most: int,
    chosen_from: Mapping[str, int],
    ess: float,
    prior: str | Prior,
    n_jobs: int | None = None,
    interventions: NDArray[np.bool_] | None = None,
) -> dict[str, int]:
    """Return the context bounds of variables, raised above two while the evidence grows with what is before them."""
    cards = dict(zip(table.variables, table.cards, strict=True))
    bounds = dict.fromkeys(before, 2)
    open_for_more = list(before)
    evidence: dict[str, float] = {}
    for beta in range(2, most + 1):
        candidates = {v: sets[v] for v in table.variables}
        bound = {v: beta if v in open_for_more else 1 for v in table.variables}
        scores = Scores(
            table,
            beta=bound,
            ess=ess,
            prior=prior,
            candidates=candidates,
            chosen_from=chosen_from,
            n_jobs=n_jobs,
            interventions=interventions,
        )
        raised = []
        for v in open_for_more:
            if beta > 2 and len(set(sets[v]).intersection(before[v])) < beta:
                continue
            if beta > FIRST_RAISED and fitting_number(tuple(cards[w] for w in sets[v]), beta) < len(sets[v]):
                continue
            value = scores.local_order_score(v, before[v])
            if beta == 2 or value > evidence[v]:
                bounds[v] = beta
                evidence[v] = value
                raised.append(v)
        open_for_more = raised
    return bounds


def _descendants(scores: Scores, order: tuple[str, ...]) -> dict[str, set[str]]:
    """Return each variable with its descendants in the best CStree of an order: all others may come before it."""
    found: dict[str, set[str]] = {}
    children: dict[str, list[str]] = {v: [] for v in order}
    for t, v in enumerate(order):
        for parent in scores.best_staging(v, order[:t])[1].context_variables:
            children[parent].append(v)
    for v in reversed(order):
        found[v] = {v}.union(*(found[child] for child in children[v]))
    return found


def deeper_scores(
    scores: Scores,
    joined: NDArray[np.float64],
    order: tuple[str, ...],
    *,
    beta: int | Mapping[str, int | None] | None,
) -> Scores:
    """Return scores with context bounds beyond two, on candidates chosen by a pass with two.

    If no variable asks for more these are the scores of that pass.

    Parameters
    ----------
    scores : Scores
        Of that pass.
    joined : ndarray, shape (p, p)
        The probability that two variables are joined by an edge.
    order : tuple of str
        The best order of that pass.
    beta : int, None, or mapping of str to int or None
        The bound, of all variables or of some; None raises it while the evidence grows, up to `MOST_RAISED`.
    """
    table, names = scores.rows, scores.table.variables
    allowed = {v: tuple(names[c] for c in own) for v, own in zip(names, scores.candidates, strict=True)}
    common: dict[str, Any] = {
        "ess": scores.ess,
        "prior": scores.prior,
        "n_jobs": scores.n_jobs,
        "interventions": scores.interventions,
    }
    of_some = isinstance(beta, Mapping)
    wanted = dict(beta) if isinstance(beta, Mapping) else dict.fromkeys(names, beta)
    bounds = {v: MOST_RAISED if bound is None else bound for v, bound in wanted.items()}
    most = max(bounds.values())
    cards = dict(zip(names, table.cards, strict=True))
    open_sets = {v: own if v in wanted else () for v, own in allowed.items()}
    sizes = {v: tuple(sorted((cards[w] for w in own), reverse=True)) for v, own in open_sets.items()}
    given_bounds = {v: bound for v, bound in wanted.items() if bound is not None}
    sets: Sets = open_sets
    if not all(fitting_number(sizes[v], most) == len(own) for v, own in open_sets.items()):
        _check_bounds(sizes, given_bounds)
        # More than three for some: only on the candidates for three, if these are few enough.
        given = [FIRST_RAISED, *given_bounds.values()]
        sets = grown_candidates(table, open_sets, joined, beta=max(given) if of_some else most, **common)
    chosen_from = {v: len(own) for v, own in allowed.items()}
    open_bounds = [v for v, bound in wanted.items() if bound is None]
    after = {v: {v} for v in open_bounds} if of_some or not open_bounds else _descendants(scores, order)
    before = {v: [u for u in order if u not in after[v]] for v in open_bounds}
    if before:
        bounds |= raised_bounds(table, before, sets, most=most, chosen_from=chosen_from, **common)
    if max(bounds.values()) <= 2:
        return scores
    for i, v in enumerate(names):
        if v not in wanted:
            bounds[v] = 2
            ranked = sorted((names[c] for c in scores.candidates[i]), key=lambda w: -joined[scores.index[w], i])
            number = fitting_number(tuple(cards[w] for w in ranked), 2)
            least = LEAST_PROBABILITY if number < len(ranked) else -1.0
            sets[v] = tuple(w for w in ranked[:number] if joined[scores.index[w], i] > least)
    found = Scores(table, beta=bounds, candidates=sets, chosen_from=chosen_from, **common)
    check_fit(found)
    return found


def used_candidates(first: CandidateSets, scores: Scores, *, wanted: bool) -> CandidateSets:
    """Return the candidate sets that scores beyond two context variables have, with a note if they are smaller.

    Parameters
    ----------
    first : CandidateSets
        Those of the pass with two.
    scores : Scores
    wanted : bool
        Whether these sets were asked for: then a warning says that they have become smaller.
    """
    names, cards = scores.table.variables, dict(zip(scores.table.variables, scores.table.cards, strict=True))
    sets = {v: tuple(names[c] for c in own) for v, own in zip(names, scores.candidates, strict=True)}
    fewer = [v for v in names if len(sets[v]) < sum(cards[w] > 1 for w in first.sets[v])]
    if not fewer:
        return first
    most = max(len(sets[v]) for v in fewer)
    note = (
        f"for contexts of more than two variables {len(fewer)} of {len(names)} variables keep fewer candidates, at most"
        f" {most}: those that a pass with two makes probable"
    )
    if wanted:
        warnings.warn(f"{note}; learner.candidates_ holds them", DataWarning, stacklevel=4)
    return replace(first, sets=sets, notes=(*first.notes, note))
