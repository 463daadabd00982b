"""Effects as a value: a table with a row for each state of the exposure in each stratum."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DIRECTIONS", "Effect", "EffectRow", "Measure", "verdict"]

Measure = Literal["rd", "rr", "or"]

# The value of each measure that means no effect.
NOTHING = {"rd": 0.0, "rr": 1.0, "or": 1.0}
MEASURES = {"rd": "risk difference", "rr": "risk ratio", "or": "odds ratio"}
# From this probability on there is said to be no effect.
SURE = 0.95
EVERYONE = "everyone"
# What is said of a row of the table.
NO_EFFECT, TOO_FEW, OPEN = "no effect", "too few rows to tell", "depends on the direction, which is open"
IGNORED = "the data show a difference that the model leaves out"
OUTCOME_FIRST = "the model has the outcome before the exposure"

DIRECTIONS = (
    "An arrow from a to b says that b is predicted from a, in one order of the variables that fits the data well. Often"
    " the data fit the opposite direction equally well, and they never rule out a common cause that was not measured."
    " Read arrows as causes, and what follows from them as effects, only where you know this from elsewhere."
)


@dataclass(frozen=True)
class EffectRow:
    """The risk at one state of the exposure in one stratum, and how it compares with the reference.

    Attributes
    ----------
    stratum : tuple of (variable, state)
        Empty for everyone.
    exposure : state
    n : float or None
        Rows (or their weight) with this state in this stratum.
    observed : float or None
        Share of these rows that have the outcome; not adjusted for anything.
    risk, risk_lower, risk_upper : float
        Modelled probability of the outcome if the exposure were set to the state, with its interval.
    estimate, lower, upper : float or None
        The effect measure, from the risks, and its interval; None at the reference.
    no_effect : float or None
        Probability that the exposure makes no difference at all.
    says : str
        ``"higher"`` or ``"lower"`` if the interval of the effect says so; ``"no effect"`` if that is at least 95%
        probable; otherwise that there are too few rows to tell, or that it depends on a direction that the data leave
        open. Where the data speak for a difference that the stages of the model leave out, perhaps for the bound on
        their contexts, it says that instead; and where arrows lead from the outcome to the exposure, it says this, as
        the model then tells nothing of an effect.
    """

    stratum: tuple[tuple[str, Any], ...]
    exposure: Any
    n: float | None
    observed: float | None
    risk: float
    risk_lower: float | None = None
    risk_upper: float | None = None
    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    no_effect: float | None = None
    says: str = ""


def verdict(lower: float, upper: float, nothing: float, no_effect: float | None) -> str:
    """Return what an interval says; `nothing` is the value of the measure that means no effect."""
    if no_effect is not None and no_effect >= SURE:
        return NO_EFFECT
    return "higher" if lower > nothing else "lower" if upper < nothing else TOO_FEW


@dataclass(frozen=True)
class Effect:
    """The effect of an exposure on the risk of an outcome, overall and by stratum; see :func:`effect`.

    Attributes
    ----------
    outcome, state : str, state
    exposure, reference : str, state
    measure : {"rd", "rr", "or"}
    interval : float
    rows : tuple of EffectRow
        Everyone first, then the strata; in each the reference first.
    notes : tuple of str

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.inference import effect
    >>> tree = chickenpox_model()
    >>> found = effect(tree, "carrier", of="exposed", given="diagnosis", measure="rr")
    >>> found.to_frame()[["diagnosis", "exposed", "risk", "estimate"]].round(3)
      diagnosis exposed   risk  estimate
    0       ...      no  0.020       NaN
    1       ...     yes  0.623     31.15
    2        no      no  0.020       NaN
    3        no     yes  0.800     40.00
    4       yes      no  0.020       NaN
    5       yes     yes  0.210     10.50
    """

    outcome: str
    state: Any
    exposure: str
    reference: Any
    measure: Measure
    interval: float
    rows: tuple[EffectRow, ...]
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each state of the exposure in each stratum.

        Columns are the variables that make the strata (None for everyone), the exposure, and ``n``, ``observed``,
        ``risk``, ``risk_lower``, ``risk_upper``, ``estimate``, ``lower``, ``upper``, ``no_effect``, ``says``.
        """
        import pandas as pd

        given = list(dict.fromkeys(v for row in self.rows for v, _ in row.stratum))
        found = []
        for row in self.rows:
            numbers = {k: v for k, v in asdict(row).items() if k not in ("stratum", "exposure")}
            strata = {**dict.fromkeys(given), **dict(row.stratum)}
            found.append([*strata.values(), row.exposure, *numbers.values()])
        frame = pd.DataFrame(found, columns=[*given, self.exposure, *numbers])
        return frame.astype({name: float for name in numbers if name != "says"})

    def __str__(self) -> str:
        """Return the table as text, with what arrows mean before it."""
        width = f"{100 * self.interval:g}%"
        lines = [
            f"Risk of {self.outcome} = {self.state} if {self.exposure} were set, and the {MEASURES[self.measure]}"
            f" against {self.exposure} = {self.reference}",
            "",
            *(line for text in (DIRECTIONS, *self.notes) for line in wrap(text, 110)),
            "",
        ]
        counted = any(row.n is not None for row in self.rows)
        judged = any(row.no_effect is not None for row in self.rows)
        head = ["stratum", self.exposure, *(["rows", "observed"] if counted else []), "modelled"]
        head += [MEASURES[self.measure], *(["no effect"] if judged else []), ""]
        cells = [head]
        before = None
        for row in self.rows:
            stratum = ", ".join(f"{v}={x}" for v, x in row.stratum) or EVERYONE
            line = ["" if stratum == before else stratum, str(row.exposure)]
            if counted:
                line += ["" if row.n is None else f"{row.n:,.10g}", _number(row.observed)]
            line += [_with_range(row.risk, row.risk_lower, row.risk_upper)]
            line += ["" if row.estimate is None else _with_range(row.estimate, row.lower, row.upper)]
            line += ["" if row.no_effect is None else f"{row.no_effect:.3f}"] if judged else []
            line += [row.says if row.estimate is not None else "reference"]
            cells.append(line)
            before = stratum
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        right = {head.index(name) for name in ("rows", "observed", "no effect") if name in head}
        for line in cells:
            padded = [
                c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))
            ]
            lines.append("  ".join(padded).rstrip())
        if any(row.lower is not None for row in self.rows):
            lines += [
                "",
                f"In brackets: {width} posterior intervals. Observed proportions are not adjusted for anything.",
            ]
        return "\n".join(lines)


def _number(value: float | None) -> str:
    """Return a number with three significant digits."""
    if value is None or value != value:
        return "-"
    if value == 0 or 0.01 <= abs(value) < 1:
        return f"{value:.3f}"
    return f"{value:.2g}" if abs(value) < 0.01 else f"{value:.3g}"


def _with_range(value: float, lower: float | None, upper: float | None) -> str:
    return _number(value) + ("" if lower is None else f" ({_number(lower)} to {_number(upper)})")
