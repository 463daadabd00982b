"""Probabilities of some variables given evidence on others: exact wherever that is feasible, and the answer says so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from math import inf, prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cslearn._checked import checked
from cslearn._numerics import RandomState, log_sum_exp
from cslearn._wording import option
from cslearn.errors import InputError, LimitError
from cslearn.inference.estimates import Estimator, Method, check_method
from cslearn.inference.evidence import Coder, Evidence
from cslearn.inference.factors import (
    TABLE_LIMIT,
    Factor,
    Floats,
    components,
    elimination_order,
    maximise,
    smallest_tables,
    splitting_variable,
    stage_factors,
    sum_out,
    too_large,
)
from cslearn.inference.rows import Rows

if TYPE_CHECKING:
    import pandas as pd

    from cslearn.cstree import CStree

__all__ = ["MostProbable", "Queries"]

# Most cases that a query is divided into where a table would be too large.
CASES = 64
# Draws for an estimate, and draws that a search for the most probable outcome starts from.
N_SAMPLES, N_STARTS = 100_000, 1000
# Reduced factors are remembered up to this number of pairs of a variable and evidence on its parents.
MEMORY = 100_000


T = TypeVar("T")


class MostProbable(NamedTuple):
    """The most probable outcome: a state for each variable, and the log-probability of that outcome.

    `exact` says whether it is proven that there is none more probable; otherwise it is the best of a search.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> found = chickenpox_model().most_probable({"carrier": "yes"})
    >>> found.outcome["exposed"], round(found.log_prob, 3), found.exact
    ('yes', -1.889, True)
    """

    outcome: dict[str, Any]
    log_prob: float
    exact: bool = True


class _Reduced(NamedTuple):
    """What evidence leaves of the distribution of a variable given its parents."""

    factors: list[Factor]
    variables: tuple[int, ...]
    positive: bool


class _Plan(NamedTuple):
    """What is to be summed for an answer.

    Attributes
    ----------
    parts : list of (factors, order)
        Factors that share no variable with those of another part, and the order to eliminate their variables in. The
        last part is that of the targets.
    log_prob : float
        The logarithm of what needs no sum.
    size : float
        The entries of the largest table.
    """

    parts: list[tuple[list[Factor], list[int]]]
    log_prob: float
    size: float


@checked
class Queries:
    """A CStree compiled for many queries.

    ``tree.query`` and its relatives make one when they are first called and keep it, so that there is hardly ever a
    reason to make one by hand.

    Parameters
    ----------
    tree : CStree
        With parameters.
    max_table : int
        Most entries of a table that an exact answer may need; a query that needs more is a LimitError.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.inference import Queries
    >>> queries = Queries(chickenpox_model())
    >>> queries.query(["exposed"], {"carrier": "yes"}).round(3)
    exposed
    no     0.056
    yes    0.944
    Name: probability, dtype: float64
    """

    def __init__(self, tree: CStree, *, max_table: int = TABLE_LIMIT) -> None:
        parameters = tree.needed_parameters()
        self.tree = tree
        self.max_table = max_table
        self.coder = Coder(tree)
        self.cards = [len(tree.states[v]) for v in tree.variables]
        self.stages: list[list[tuple[tuple[tuple[int, int], ...], Floats]]] = []
        for v in tree.variables:
            contexts = [tuple(pairs) for pairs in tree.coded_contexts[v]]
            self.stages.append(list(zip(contexts, parameters[v], strict=True)))
        self.parents = [sorted({u for pairs, _ in stages for u, _ in pairs}) for stages in self.stages]
        self._memory: dict[Any, _Reduced] = {}
        self._indexes: dict[tuple[int, ...], Any] = {}

    @cached_property
    def rows(self) -> Rows:
        """The model compiled for many rows with missing cells."""
        return Rows(self)

    # ------------------------------------------------------------------ what users ask
    def query(
        self,
        targets: str | Sequence[str],
        evidence: Mapping[str, Any] | None = None,
        *,
        method: Method = "auto",
        n_samples: int = N_SAMPLES,
        random_state: RandomState = 0,
    ) -> pd.Series[float]:
        """Return the joint distribution of `targets` given `evidence`; see :meth:`cslearn.CStree.query`."""
        import pandas as pd

        columns = self._targets(targets)
        size = float(prod(self.cards[v] for v in columns))
        if size > self.max_table:
            raise LimitError(
                f"{len(columns)} targets have {size:.3g} joint states and the limit is {self.max_table:,}. Ask for"
                " fewer targets at once, or look at rows drawn with tree.sample or tree.impute."
            )
        estimator = partial(Estimator, self, evidence, n_samples, random_state)
        table, told = self._answer(
            lambda: (self.distribution(columns, evidence), {"exact": True}),
            lambda asked: estimator(asked=asked).shares(columns),
            method,
            "Give evidence on more variables, ask for fewer targets at once, or estimate the answer with"
            f" {option('method', 'sampling')}.",
        )
        answer = pd.Series(table.ravel(), index=self._index(columns), name="probability", copy=False)
        answer.attrs.update(told)
        return answer

    def distribution(self, columns: Sequence[int], evidence: Mapping[str, Any] | None = None) -> Floats:
        """Return the joint distribution of some columns given evidence, one axis for each."""
        coded = self.coder.evidence(evidence, soft=columns)
        table, log_prob = self._solve(columns, coded, everything=False)
        if log_prob == -inf:
            raise self.impossible(evidence or {})
        ascending = sorted(columns)
        return (table / table.sum()).transpose([ascending.index(column) for column in columns])

    def coded_distribution(self, column: int, known: Mapping[int, int]) -> Floats:
        """Return the distribution of a column given the codes of others; NaN if they are impossible."""
        if not 0 <= column < len(self.cards) or column in known:
            raise InputError(f"column is one of 0 to {len(self.cards) - 1} that is not known, not {column}")
        table, log_prob = self._solve([column], Evidence(dict(known), {}, {}), everything=False)
        return table / table.sum() if log_prob > -inf else np.full(self.cards[column], np.nan)

    def coded_log_prob(self, known: Mapping[int, int]) -> float:
        """Return the log-probability of the codes of some columns."""
        return self._solve((), Evidence(dict(known), {}, {}), everything=True)[1]

    def log_prob_of(
        self,
        evidence: Mapping[str, Any],
        *,
        method: Method = "auto",
        n_samples: int = N_SAMPLES,
        random_state: RandomState = 0,
    ) -> float:
        """Return the log-probability of evidence; see :meth:`cslearn.CStree.log_prob_of`."""
        estimator = partial(Estimator, self, evidence, n_samples, random_state)
        return self._answer(
            lambda: self._exact_log_prob(evidence),
            lambda asked: estimator(asked=asked).log_prob(),
            method,
            f"Estimate the probability with {option('method', 'sampling')}.",
        )

    def _exact_log_prob(self, evidence: Mapping[str, Any]) -> float:
        return self._solve((), self.coder.evidence(evidence), everything=True)[1]

    def most_probable(
        self,
        evidence: Mapping[str, Any] | None = None,
        *,
        method: Method = "auto",
        n_samples: int = N_STARTS,
        random_state: RandomState = 0,
    ) -> MostProbable:
        """Return the most probable outcome given evidence; see :meth:`cslearn.CStree.most_probable`."""
        coded = self.coder.evidence(evidence)
        estimator = partial(Estimator, self, evidence, n_samples, random_state)
        (outcome, score), exact = self._answer(
            lambda: (self._maximum(coded), True),
            lambda asked: (estimator(asked=asked).best(), False),
            method,
            f"Give evidence on more variables, or search without a proof with {option('method', 'sampling')}.",
        )
        if score == -inf:
            raise self.impossible(evidence or {})
        for v, row in coded.weights.items():
            score -= float(np.log(row[outcome[v]]))
        codes = {**outcome, **coded.hard}
        states = {name: self.tree.states[name][codes[v]] for v, name in enumerate(self.tree.variables)}
        return MostProbable(states, score, exact)

    def _maximum(self, evidence: Evidence) -> tuple[dict[int, int], float]:
        """Return the most probable outcome as codes, and its log-probability with the weights of soft evidence."""
        factors = list(chain.from_iterable(self._reduced(v, evidence).factors for v in range(len(self.cards))))
        factors += [Factor((v,), row) for v, row in evidence.weights.items()]
        return maximise(factors, elimination_order([f.scope for f in factors], (), self.cards, self.max_table))

    def entropy(
        self,
        targets: str | Sequence[str] | None = None,
        evidence: Mapping[str, Any] | None = None,
        *,
        method: Method = "auto",
        n_samples: int = N_SAMPLES,
        random_state: RandomState = 0,
    ) -> float:
        """Return the entropy of `targets` given `evidence`, in nats; see :meth:`cslearn.CStree.entropy`."""
        columns = self._targets(self.tree.variables if targets is None else targets)
        everything = len({*columns, *self.coder.evidence(evidence).hard}) == len(self.cards)
        estimator = partial(Estimator, self, evidence, n_samples, random_state)
        return self._answer(
            lambda: self._joint_entropy(evidence) if everything else _entropy(self.distribution(columns, evidence)),
            lambda asked: (
                estimator(asked=asked).joint_entropy() if everything else estimator(asked=asked).entropy(columns)
            ),
            method,
            f"Ask for fewer targets at once, or estimate the entropy with {option('method', 'sampling')}.",
        )

    def mutual_information(
        self,
        a: str | Sequence[str],
        b: str | Sequence[str],
        evidence: Mapping[str, Any] | None = None,
        *,
        method: Method = "auto",
        n_samples: int = N_SAMPLES,
        random_state: RandomState = 0,
    ) -> float:
        """Return the mutual information of `a` and `b` given `evidence`, in nats."""
        first, second = self._targets(a), self._targets(b)
        both = set(first) & set(second)
        if both:
            raise InputError(f"{self.tree.variables[min(both)]!r} is on both sides of the mutual information")
        estimator = partial(Estimator, self, evidence, n_samples, random_state)
        return self._answer(
            lambda: self._information(first, second, evidence),
            lambda asked: estimator(asked=asked).information(first, second),
            method,
            f"Ask for fewer variables at once, or estimate the information with {option('method', 'sampling')}.",
        )

    def _information(self, first: Sequence[int], second: Sequence[int], evidence: Mapping[str, Any] | None) -> float:
        joint = self.distribution([*first, *second], evidence)
        joint = joint.reshape(prod(self.cards[v] for v in first), -1)
        independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
        possible = joint > 0
        return max(0.0, float((joint[possible] * np.log(joint[possible] / independent[possible])).sum()))

    def _answer(self, exact: Callable[[], T], estimate: Callable[[bool], T], method: str, advice: str) -> T:
        """Return the exact answer, or an estimate where that is wanted, or where the exact one is too large.

        `estimate` is told whether it was asked for; `advice` is for those who asked for the exact answer in vain.
        """
        check_method(method)
        if method == "sampling":
            return estimate(True)
        try:
            return exact()
        except LimitError as error:
            if method == "exact":
                raise LimitError(f"{error} {advice}") from None
        return estimate(False)

    # ------------------------------------------------------------------ how it is computed
    def _targets(self, targets: str | Sequence[str]) -> tuple[int, ...]:
        if not isinstance(targets, Iterable):
            raise InputError(f"the variables to ask for are a name or a sequence of names, not {targets!r}")
        names = [targets] if isinstance(targets, str) else list(targets)
        if not names:
            raise InputError("there are no targets: name at least one variable")
        columns = tuple(self.coder.variable(name) for name in names)
        if len(set(columns)) < len(columns):
            raise InputError(f"the targets name a variable twice: {', '.join(map(repr, names))}")
        return columns

    def _index(self, columns: tuple[int, ...]) -> Any:
        if columns not in self._indexes:
            import pandas as pd

            names = [self.tree.variables[v] for v in columns]
            if len(self._indexes) >= MEMORY:
                self._indexes.clear()
            levels = [labels_index(self.tree.states[name], name) for name in names]
            self._indexes[columns] = levels[0] if len(levels) == 1 else pd.MultiIndex.from_product(levels, names=names)
        return self._indexes[columns]

    def _reduced(self, v: int, evidence: Evidence) -> _Reduced:
        """Return the factors of a variable that are left by the evidence on it and on its parents."""
        hard, allowed = evidence.hard, evidence.allowed
        known = tuple([(u, hard[u]) for u in self.parents[v] if u in hard])
        limited = tuple([(u, allowed[u]) for u in self.parents[v] if u in allowed]) if allowed else ()
        key = v, hard.get(v), known, limited
        found = self._memory.get(key)
        if found is None:
            if len(self._memory) >= MEMORY:
                self._memory.clear()
            found = self._memory[key] = self._reduce(v, hard.get(v), dict(known), dict(limited))
        return found

    def _reduce(
        self, v: int, own: int | None, hard: Mapping[int, int], allowed: Mapping[int, frozenset[int]]
    ) -> _Reduced:
        stages = []
        for pairs, row in self.stages[v]:
            if all(hard.get(u, x) == x and x in allowed.get(u, (x,)) for u, x in pairs):
                stages.append((tuple([(u, x) for u, x in pairs if u not in hard]), row))
        factors = stage_factors(v, stages, self.cards, largest=self.max_table)
        if own is not None:
            factors = [
                Factor(tuple([u for u in scope if u != v]), np.asarray(table.take(own, axis=scope.index(v))))
                for scope, table in factors
            ]
        variables = tuple({u for scope, _ in factors for u in scope})
        return _Reduced(factors, variables, all(float(table.min()) > 0 for _, table in factors))

    def _solve(self, targets: Sequence[int], evidence: Evidence, *, everything: bool) -> tuple[Floats, float]:
        """Return a multiple of the distribution of the targets and the log-probability of the evidence.

        Without `everything` that probability need not be the true one, but it is minus infinity exactly if the evidence
        is impossible.
        """
        plan = self._plan(targets, evidence, everything)
        if plan.size <= self.max_table:
            return self._sum(plan, targets)
        found = [self._sum(case, targets) for case in self._cases(targets, evidence, plan)]
        log_prob = log_sum_exp([log for _, log in found])
        total = np.zeros([self.cards[t] for t in sorted(targets)])
        for table, log in found:
            if log > -inf:
                total += np.exp(log - log_prob) * table / table.sum()
        return total, log_prob

    def _cases(self, targets: Sequence[int], evidence: Evidence, plan: _Plan) -> list[_Plan]:
        """Divide a sum that is too large by the states of variables, until every part is small enough."""
        cases: list[_Plan] = []
        waiting = [(evidence, plan)]
        while waiting:
            evidence, plan = waiting.pop()
            if plan.size <= self.max_table:
                cases.append(plan)
                continue
            left = CASES - len(cases) - len(waiting)
            scopes = [factor.scope for factors, _ in plan.parts for factor in factors]
            order = list(chain.from_iterable(order for _, order in plan.parts))
            v = splitting_variable(scopes, order, targets, self.cards)
            states = () if v is None else evidence.allowed.get(v, range(self.cards[v]))
            if v is None or left < len(states) or plan.size > self.max_table * left:
                raise too_large(plan.size, self.max_table)
            for x in states:
                case = Evidence({**evidence.hard, v: x}, evidence.weights, evidence.allowed)
                waiting.append((case, self._plan(targets, case, everything=True)))
        return cases

    def _plan(self, targets: Sequence[int], evidence: Evidence, everything: bool) -> _Plan:
        """Return what is to be summed.

        Only the targets, the variables with evidence and their ancestors matter, the others sum to one. What is not
        connected with the targets is a factor that cancels: it is only looked at for the probability of the evidence
        (`everything`) or where it might be zero.
        """
        factors: list[Factor] = []
        log_prob = 0.0
        for v, row in evidence.weights.items():
            if v not in evidence.hard:
                factors.append(Factor((v,), row))
            elif row[evidence.hard[v]] == 0:
                return _Plan([], -inf, 0.0)
            else:
                log_prob += float(np.log(row[evidence.hard[v]]))
        uncertain: set[int] = set()
        seen: set[int] = set()
        waiting = [*targets, *evidence.hard, *evidence.weights]
        while waiting:
            v = waiting.pop()
            if v in seen:
                continue
            seen.add(v)
            reduced = self._reduced(v, evidence)
            waiting += reduced.variables
            for factor in reduced.factors:
                if factor.scope:
                    factors.append(factor)
                    if not reduced.positive:
                        uncertain.add(factor.scope[0])
                elif factor.table == 0:
                    return _Plan([], -inf, 0.0)
                else:
                    log_prob += float(np.log(factor.table))
        home = components(factor.scope for factor in factors)
        needed = {home[t] for t in targets}
        others = set(home.values()) - needed
        if not everything:
            others &= {home[v] for v in uncertain}
        parts: dict[int, list[Factor]] = {h: [] for h in others}
        main: list[Factor] = []
        for factor in factors:
            h = home[factor.scope[0]]
            if h in needed:
                main.append(factor)
            elif h in parts:
                parts[h].append(factor)
        planned, largest = [], 0.0
        for part, keep in [*((part, ()) for part in parts.values()), (main, targets)]:
            order, size = smallest_tables([factor.scope for factor in part], keep, self.cards, self.max_table)
            planned.append((part, order))
            largest = max(largest, size)
        return _Plan(planned, log_prob, largest)

    def _sum(self, plan: _Plan, targets: Sequence[int]) -> tuple[Floats, float]:
        log_prob = plan.log_prob
        for factors, order in plan.parts:
            result, scale = sum_out(factors, order)
            if scale == -inf:
                log_prob = -inf
                break
            log_prob += float(scale) + float(np.log(result.table.sum()))
        if log_prob == -inf:
            return np.zeros([self.cards[t] for t in sorted(targets)]), -inf
        return result.table, log_prob

    def impossible(self, evidence: Mapping[str, Any]) -> InputError:
        """Return an error that names a smallest part of impossible evidence that is impossible on its own."""
        items: dict[str, Any] = {}
        if not self.is_impossible(evidence):
            return InputError(f"the evidence is possible: {dict(evidence)}")
        for name, value in evidence.items():
            items[name] = value
            if self.is_impossible(items):
                break
        last = next(reversed(items))
        for name in [name for name in items if name != last]:
            fewer = {n: value for n, value in items.items() if n != name}
            if self.is_impossible(fewer):
                items = fewer
        said = {name: f"{name}={_said(value)}" for name, value in items.items()}
        rest = [said[name] for name in said if name != last]
        given = f" once {', '.join(rest)}" if rest else ""
        return InputError(
            f"the evidence is impossible: the model gives {said[last]} probability zero{given}. Correct the evidence,"
            " or estimate the model's parameters by 'mean', which leaves nothing impossible."
        )

    def is_impossible(self, evidence: Mapping[str, Any]) -> bool:
        """Tell whether evidence is impossible; False where that would take too much."""
        try:
            return self._exact_log_prob(evidence) == -inf
        except LimitError:
            return False

    def _joint_entropy(self, evidence: Mapping[str, Any] | None) -> float:
        """Return the entropy of all variables given evidence, stage by stage.

        It is the log-probability of the evidence less the expected logarithm of the product of all parameters and
        weights; the expectation is a sum over stages of their probability and the distribution in them.
        """
        coded = self.coder.evidence(evidence)
        # All is planned before anything is summed, so that what is too large is told at once: the last variables of
        # the order have most ancestors.
        plans: list[tuple[list[int], _Plan, Floats]] = []
        work = 0.0
        for name in reversed(self.tree.order):
            v = self.coder.column[name]
            free = [] if v in coded.hard else [v]
            cases = [(pairs, np.log(row, out=np.zeros_like(row), where=row > 0)) for pairs, row in self.stages[v]]
            if v in coded.weights:
                cases.append(((), np.log(coded.weights[v], out=np.zeros(self.cards[v]), where=coded.weights[v] > 0)))
            for pairs, logs in cases:
                if any(coded.hard.get(u, x) != x for u, x in pairs):
                    continue
                case = Evidence({**coded.hard, **dict(pairs)}, coded.weights, coded.allowed)
                plan = self._plan(free, case, everything=True)
                work += plan.size
                if plan.size > self.max_table or work > CASES * self.max_table:
                    raise too_large(max(plan.size, work / CASES), self.max_table)
                plans.append((free, plan, logs if free else logs[[coded.hard[v]]]))
        evident = self._solve((), coded, everything=True)[1]
        if evident == -inf:
            raise self.impossible(evidence or {})
        total = evident
        for free, plan, logs in plans:
            table, log_prob = self._sum(plan, free)
            if log_prob > -inf:
                total -= float(np.exp(log_prob - evident) * (table.ravel() @ logs) / table.sum())
        return max(0.0, total)


def labels_index(states: Collection[Any], name: str | None = None) -> Any:
    """Return states as a pandas index, each in its own type."""
    import pandas as pd

    # Left to itself pandas would turn labels of several types into one type.
    dtype = None if len({type(state) for state in states}) == 1 else object
    return pd.Index(list(states), dtype=dtype, name=name)


def _entropy(probabilities: NDArray[np.float64]) -> float:
    positive = probabilities[probabilities > 0]
    return max(0.0, -float((positive * np.log(positive)).sum()))


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({', '.join(f'{state}: {weight}' for state, weight in value.items())})"
    if isinstance(value, Collection) and not isinstance(value, str):
        return " or ".join(map(str, value))
    return str(value)
