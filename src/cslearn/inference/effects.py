"""Effects of an exposure on an outcome: risk difference, risk ratio and odds ratio, overall and by stratum.

The risk of an outcome when the exposure is set to a state is that of :mod:`cslearn.inference.risks`. How sure it is
comes from draws: of CStrees from the posterior, which differ in order, stagings and parameters; or, with one model and
data, of the parameters of its stages from their Dirichlet distributions. The latter take the structure as it is. How
probable it is that there is no effect at all is then told by :mod:`cslearn.inference.stage_evidence`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from cslearn._checked import checked
from cslearn._numerics import RandomState, as_generator
from cslearn._wording import offers, option
from cslearn.errors import InputError, LimitError
from cslearn.inference.adjustment import adjustment_sets
from cslearn.inference.completed import ModelRows, rows_for_model
from cslearn.inference.effect_table import (
    IGNORED,
    NO_EFFECT,
    NOTHING,
    OPEN,
    OUTCOME_FIRST,
    SURE,
    TOO_FEW,
    Effect,
    EffectRow,
    Measure,
    verdict,
)
from cslearn.inference.evidence import Coder
from cslearn.inference.factors import Floats, Pairs
from cslearn.inference.risks import joint_risks, relevant_columns
from cslearn.inference.stage_evidence import StageEvidence

if TYPE_CHECKING:
    from cslearn.cstree import CStree

__all__ = ["effect"]

N_DRAWS = 400
MOST_STRATA = 1000
# Risks that differ by less are equal: sums of the same numbers in another order.
ROUNDING = 1e-10


@checked
def effect(
    model: Any,
    outcome: str,
    *,
    of: str,
    given: str | Sequence[str] | None = None,
    state: Any = None,
    against: Any = None,
    measure: Measure = "rd",
    data: Any = None,
    interval: float = 0.95,
    ess: float | None = None,
    n_draws: int = N_DRAWS,
    random_state: RandomState = 0,
) -> Effect:
    """Return the effect of an exposure on the risk of an outcome, overall and by stratum.

    The risks are those after setting the exposure (:meth:`cslearn.CStree.do`): confounding by other variables of the
    model is adjusted for. They are effects in the world only if the arrows of the model are causal: see
    the page on effects.

    Parameters
    ----------
    model : fitted CStreeLearner, CStreePosterior or CStree
        With a learner or a posterior the intervals cover all that the data leave open: order, stagings and parameters.
        With a CStree they need `data`, and take its structure as it is.
    outcome : str
    of : str
        The exposure.
    given : str or sequence of str, optional
        Variables whose states make the strata: an effect that differs between them is modified by these.
    state : state of the outcome, optional
        Whose probability is the risk; by default the second of two.
    against : state of the exposure, optional
        The reference that all others are compared with; by default the first.
    measure : {"rd", "rr", "or"}
        Risk difference, risk ratio or odds ratio.
    data : Table, frame, array, path or whatever :func:`cslearn.data.as_table` reads, optional
        For observed proportions, and with a CStree for intervals. A posterior has its own.
    interval : float
        Posterior probability of the intervals, with equal tails.
    ess : float, optional
        With a CStree: equivalent sample size of the Dirichlet priors; by default that of the fit, or else 1.
    n_draws : int
    random_state : int, Generator or None

    Returns
    -------
    Effect

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.inference import effect
    >>> tree = chickenpox_model()
    >>> found = effect(tree, "carrier", of="exposed", data=tree.sample(1000, random_state=0))
    >>> row = found.rows[1]
    >>> row.exposure, round(row.risk, 3), round(row.estimate, 3), row.says
    ('yes', 0.623, 0.603, 'higher')
    """
    if measure not in get_args(Measure):
        raise InputError(f"measure is 'rd', 'rr' or 'or', not {measure!r}")
    if not 0 < interval < 1:
        raise InputError(
            f"{option('interval')} is a probability between 0 and 1, not {interval!r}", parameter="interval"
        )
    if isinstance(n_draws, bool) or not isinstance(n_draws, int | np.integer) or n_draws < 1:
        raise InputError(f"n_draws is a whole number, at least 1, not {n_draws!r}")
    rng = as_generator(random_state)
    posterior = getattr(model, "posterior_", None if hasattr(model, "stagings") else model)
    if not hasattr(model, "stagings") and not hasattr(posterior, "edge_probabilities"):
        kind = type(model).__name__
        raise InputError(f"an effect is asked of a fitted CStreeLearner, a CStreePosterior or a CStree, not of {kind}")
    trees = [] if posterior is None else posterior.sample(int(n_draws), random_state=rng)
    tree = model if posterior is None else getattr(model, "cstree_", trees[0])
    question = _Question(tree, outcome, of, given, state, against)
    of_fit = data is None
    data = posterior.scores.table if data is None and posterior is not None else data
    read = None if data is None else rows_for_model(tree, data)
    table = None if read is None else read.table
    evidence = None
    if read is not None:
        gamma = (tree.learning or {}).get("settings", {}).get("gamma", 1.0)
        evidence = StageEvidence(tree, read, _ess(tree, ess), question.exposure, question.targets, gamma)
    none: dict[tuple[int, int], float] | None = None
    if trees:
        answers = [_of_tree(drawn, question, len(trees)) for drawn in trees]
        draws, exact = np.concatenate([joint for joint, _ in answers]), all(exact for _, exact in answers)
        modelled: Floats = draws.mean(axis=0)
    else:
        if evidence is not None and tree.parameters is None:
            tree = tree.fit_parameters(table, ess=_ess(tree, ess))
        draws, exact = _of_tree(tree, question, 1)
        modelled = draws[0]
        if evidence is not None:
            parameters = evidence.draws(tree.needed_parameters(), int(n_draws), rng)
            draws, exact = joint_risks(tree, question.exposure, question.outcome, question.given, parameters)
            none = {
                (s, x): evidence.chance_of_none(question.outcome, stratum, (question.base, x), rng)
                for s, stratum in enumerate(question.strata)
                for x in question.compared
            }
    first = [drawn.order.index(of) < drawn.order.index(outcome) for drawn in trees]
    rows = _rows(question, measure, question.risks(modelled), question.risks(draws), none, read, interval, first)
    if evidence is not None:
        rows = [_checked(row, question, evidence) for row in rows]
    import networkx as nx

    backward = np.mean([outcome in nx.ancestors(drawn.to_dag(), of) for drawn in trees or [tree]])
    if backward > 1 - SURE:
        # That nothing follows when the exposure is set is then what the direction says, not what the data say.
        rows = [replace(row, no_effect=None, says=OUTCOME_FIRST) if row.says == NO_EFFECT else row for row in rows]
    notes = _notes(question, tree if not trees or tree is not trees[0] else None, exact, len(draws))
    if of_fit and (tree.learning or {}).get("rows_with_gaps"):
        notes.append("Proportions and n are of rows completed by the model; for observed ones give the data (data=).")
    elif read is not None and read.expected:
        notes.append(
            f"{read.n_gappy:,} of {len(read.codes):,} rows have missing cells. Observed proportions use the rows in"
            " which exposure, outcome and stratum are known; intervals use, for each stage, the rows in which all"
            " variables of the stage are known."
        )
    told = outcome, question.outcome_state, of, question.reference, measure, float(interval)
    return Effect(*told, tuple(rows), tuple(notes))


class _Question:
    """What is asked, as columns and codes; strata are pairs of column and code, the first for everyone."""

    def __init__(self, tree: CStree, outcome: str, of: str, given: Any, state: Any, against: Any) -> None:
        coder = Coder(tree)
        self.tree = tree
        self.outcome, self.exposure = coder.variable(outcome), coder.variable(of)
        if outcome == of:
            raise InputError(f"{of!r} is both exposure and outcome")
        names = [] if given is None else [given] if isinstance(given, str) else list(given)
        self.given = [coder.variable(name) for name in names]
        for name, column in zip(names, self.given, strict=True):
            if column in (self.outcome, self.exposure) or self.given.count(column) > 1:
                what = "given twice" if self.given.count(column) > 1 else "the outcome or the exposure"
                raise InputError(f"{name!r} makes no strata: it is {what}")
        states = tree.states[outcome]
        if state is None and len(states) != 2:
            how = (
                "say by state= which one's risk is meant, of" if offers("state") else "write OUTCOME=STATE, with one of"
            )
            raise InputError(f"{outcome!r} has {len(states)} states: {how} {', '.join(map(repr, states))}")
        self.state = 1 if state is None else coder.state(outcome, state)
        self.outcome_state = states[self.state]
        self.base = 0 if against is None else coder.state(of, against)
        self.reference = tree.states[of][self.base]
        cards = [len(tree.states[name]) for name in names]
        if prod(cards) > MOST_STRATA:
            raise LimitError(f"{', '.join(names)} make {prod(cards):,} strata, and the limit is {MOST_STRATA:,}")
        self.strata: list[Pairs] = [()]
        if names:
            self.strata += [tuple(zip(self.given, codes, strict=True)) for codes in product(*map(range, cards))]

    @property
    def targets(self) -> list[int]:
        """The columns whose joint distribution is asked for."""
        return [*self.given, self.outcome]

    @property
    def compared(self) -> list[int]:
        """The codes of the exposure that are compared with the reference."""
        return [x for x in range(len(self.tree.states[self.tree.variables[self.exposure]])) if x != self.base]

    def coded(self, row: EffectRow) -> tuple[int, Pairs, tuple[int, int]]:
        """Return what a row is about as codes: the outcome, the stratum, and the two states of the exposure."""
        stratum = next(pairs for pairs in self.strata if self.named(pairs) == row.stratum)
        code = self.tree.states[self.tree.variables[self.exposure]].index(row.exposure)
        return self.outcome, stratum, (self.base, code)

    def named(self, pairs: Pairs) -> tuple[tuple[str, Any], ...]:
        """Return pairs of column and code in the words of the user."""
        names, states = self.tree.variables, self.tree.states
        return tuple((names[v], states[names[v]][x]) for v, x in pairs)

    def risks(self, joint: Floats) -> Floats:
        """Return the risk in each stratum, everyone first, from the joint distribution: NaN where it is impossible."""
        if self.given:
            joint = np.concatenate([joint.sum(axis=-2, keepdims=True), joint], axis=-2)
        total = joint.sum(axis=-1)
        return np.where(total > 0, joint[..., self.state] / np.where(total > 0, total, 1.0), np.nan)


def _of_tree(tree: CStree, question: _Question, n_draws: int) -> tuple[Floats, bool]:
    """Return the joint risks of a CStree with its own parameters."""
    values = tree.needed_parameters()
    columns = relevant_columns(tree, question.exposure, question.targets)
    parameters = {v: values[tree.variables[v]][None] for v in columns}
    return joint_risks(tree, question.exposure, question.outcome, question.given, parameters, n_draws=n_draws)


def _ess(tree: CStree, ess: float | None) -> float:
    value = (tree.learning or {}).get("settings", {}).get("ess", 1.0) if ess is None else ess
    if not isinstance(value, int | float) or not 0 < value < np.inf:
        raise InputError(f"ess is a positive number, not {value!r}")
    return float(value)


# ---------------------------------------------------------------- the table
def _measured(measure: Measure, risk: Floats, reference: Floats) -> Floats:
    """Return an effect measure: exactly that of no effect where the two risks are equal but for rounding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if measure == "rd":
            value = risk - reference
        else:
            value = risk / reference if measure == "rr" else risk * (1 - reference) / ((1 - risk) * reference)
    return np.where(np.abs(risk - reference) <= ROUNDING, NOTHING[measure], value)


def _rows(
    question: _Question,
    measure: Measure,
    modelled: Floats,
    drawn: Floats,
    none: Mapping[tuple[int, int], float] | None,
    data: ModelRows | None,
    interval: float,
    first: list[bool],
) -> list[EffectRow]:
    """Return the rows of the table; `first` says in which draws the exposure comes before the outcome."""
    tails = (1 - interval) / 2, (1 + interval) / 2
    states = question.tree.states[question.tree.variables[question.exposure]]
    rows = []
    for s, stratum in enumerate(question.strata):
        for x in [question.base, *question.compared]:
            n, observed = (None, None) if data is None else _observed(question, data, stratum, x)
            row = EffectRow(question.named(stratum), states[x], n, observed, float(modelled[x, s]))
            risks, reference = drawn[:, x, s], drawn[:, question.base, s]
            # A stratum that is impossible in some of the draws is judged by the others.
            known = np.isfinite(risks) & np.isfinite(reference)
            if not known.any():
                rows.append(row)
                continue
            if len(drawn) > 1:
                lower, upper = _ends(risks[known], tails)
                row = replace(row, risk_lower=lower, risk_upper=upper)
            if x != question.base:
                of_model = modelled[x : x + 1, s], modelled[question.base : question.base + 1, s]
                row = replace(row, estimate=float(_measured(measure, *of_model)[0]))
                those = known & np.array(first) if first else known
                effects, nothing = _measured(measure, risks, reference), NOTHING[measure]
                row = _judged(row, effects, nothing, known, those, tails, None if none is None else none[s, x])
            rows.append(row)
    return rows


def _judged(
    row: EffectRow,
    effects: Floats,
    nothing: float,
    known: NDArray[np.bool_],
    first: NDArray[np.bool_],
    tails: tuple[float, float],
    none: float | None,
) -> EffectRow:
    """Return a row with the interval of its effect, the probability of none, and what they say."""
    equal = effects[known] == nothing
    if len(effects) == 1:
        return replace(row, no_effect=1.0 if equal.all() else None, says=NO_EFFECT if equal.all() else "")
    no_effect = 1.0 if equal.all() else float(equal.mean()) if none is None else none
    lower, upper = _ends(effects[known], tails)
    says = verdict(lower, upper, nothing, no_effect)
    if says == TOO_FEW and first.any() and verdict(*_ends(effects[first], tails), nothing, None) != TOO_FEW:
        says = OPEN  # more rows would not help: it is the direction that is open
    return replace(row, lower=lower, upper=upper, no_effect=no_effect, says=says)


def _checked(row: EffectRow, question: _Question, evidence: StageEvidence) -> EffectRow:
    """Return a row that does not blame the effect or the rows where it is the model that leaves a difference out."""
    if row.says in (NO_EFFECT, TOO_FEW) and evidence.speaks_for_split(*question.coded(row)):
        return replace(row, says=IGNORED)
    return row


def _ends(values: Floats, tails: tuple[float, float]) -> tuple[float, float]:
    return _quantile(values, tails[0]), _quantile(values, tails[1])


def _quantile(values: Floats, tail: float) -> float:
    # No mean of two draws, as one of them may be infinite.
    return float(np.quantile(values, tail, method="inverted_cdf"))


def _observed(question: _Question, data: ModelRows, stratum: Pairs, x: int) -> tuple[float, float | None]:
    """Return the number (or weight) of rows with a state of the exposure in a stratum, and their share of outcomes.

    Rows of which the outcome is not known do not count.
    """
    # Completed rows are no observations.
    codes, weights = (data.codes, data.weights) if data.expected else (data.table.codes, data.table.weights)
    rows: NDArray[np.bool_] = (codes[:, question.exposure] == x) & (codes[:, question.outcome] >= 0)
    for v, code in stratum:
        rows &= codes[:, v] == code
    weights = np.ones(len(codes)) if weights is None else weights
    n = float(weights[rows].sum())
    cases = float(weights[rows & (codes[:, question.outcome] == question.state)].sum())
    return n, cases / n if n > 0 else None


def _notes(question: _Question, tree: CStree | None, exact: bool, draws: int) -> list[str]:
    """Return what a reader has to know beside the numbers; `tree` is the model whose arrows are meant, if it is one."""
    import networkx as nx

    names, notes = question.tree.variables, []
    exposure, outcome = names[question.exposure], names[question.outcome]
    if tree is not None:
        dag = tree.to_dag()
        after = nx.descendants(dag, exposure)
        if outcome not in after:
            notes.append(
                f"No arrows lead from {exposure} to {outcome}: in this model {exposure} has no effect on {outcome}."
            )
        else:
            confounders = next(iter(adjustment_sets(dag, exposure, outcome, limit=1)), ())
            notes.append(
                f"Adjusted for {', '.join(confounders)}."
                if confounders
                else f"The model has no confounder of {exposure} and {outcome}: nothing is adjusted for."
            )
        late = [names[v] for v in question.given if names[v] in after]
        if late:
            notes.append(
                f"{', '.join(late)}: affected by {exposure} in this model. Within such strata part of the effect may be"
                " gone, and new confounding may arise."
            )
    if draws == 1:
        notes.append("One model and no data: no intervals.")
    if not exact:
        notes.append("Exact sums would take too large tables: risks are estimated from simulated rows.")
    return notes
