"""The CStree: an order of the variables, a staging for each, and the probabilities in each stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import inf
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cslearn._checked import checked
from cslearn._numerics import RandomState, as_generator
from cslearn._parameters import MAPPING, NAMES, STATES, Row, check
from cslearn._wording import option, wording
from cslearn.counts import draw_states, stage_counts, stage_of_rows
from cslearn.cstree.parameters import Method, estimate
from cslearn.data import Table, as_table
from cslearn.data.incomplete import MISSING_STATE
from cslearn.errors import InputError, LimitError
from cslearn.stagings import Context, Staging
from cslearn.stagings.types import frozen

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from cslearn.graphs import LDAG, CSIRelation, MinimalContexts, RelationTable
    from cslearn.inference import MostProbable, Queries
    from cslearn.plots._figure import Picture

__all__ = ["CStree", "check_order_and_states"]

Floats = NDArray[np.float64]

CELL_LIMIT = 1 << 31  # of a table that is drawn: two gigabytes of codes, and several times that as text


ALLOWED = {
    "order": Row(NAMES),
    "stagings": Row(MAPPING),
    "parameters": Row(MAPPING, None),
    "states": Row(STATES),
    "learning": Row(MAPPING, None),
}


@checked
class CStree:
    """A context-specific model of categorical variables.

    Given the variables before it in the order, a variable's distribution depends only on the stage, and so on the
    context, that the outcome is in. A CStree is immutable.

    Parameters
    ----------
    order : sequence of str
        The variables, each after those it may depend on.
    stagings : mapping of str to Staging or to an iterable of contexts
        For each variable, the partition of the outcomes of the variables before it. A context is a
        :class:`~cslearn.stagings.Context` or a mapping of variables to states. The first variable of the order
        may be left out.
    parameters : mapping of str to array of shape (stages, states), optional
        The probabilities of the variable's states in each stage, stages in the order of ``stagings[variable]``.
        Without them the CStree is a structure: it can be drawn and scored, but has no probabilities.
    states : mapping of str to sequence of states
        The states of each variable; the order of the variables here is the order of the columns of a data table.
    learning : mapping, optional
        How the model was learned, as a JSON document: settings, number of rows, scores. It is kept in files and shown
        in reports, and does not count when models are compared.

    Attributes
    ----------
    order : tuple of str
    variables : tuple of str
        The variables in the order of the columns.
    states : mapping of str to tuple
    stagings : mapping of str to Staging
    parameters : mapping of str to ndarray, or None
        Aligned with ``stagings[variable].contexts``; read-only.
    learning : mapping or None

    Examples
    --------
    >>> from cslearn import CStree
    >>> tree = CStree(
    ...     order=["exposed", "carrier"],
    ...     stagings={"carrier": [{"exposed": "no"}, {"exposed": "yes"}]},
    ...     parameters={"exposed": [[0.7, 0.3]], "carrier": [[0.95, 0.05], [0.4, 0.6]]},
    ...     states={"exposed": ["no", "yes"], "carrier": ["no", "yes"]},
    ... )
    >>> print(tree)
    CStree of 2 variables: 3 stages, 3 free parameters
    order: exposed, carrier
    <BLANKLINE>
    exposed          no   yes
      (always)    0.700 0.300
    carrier          no   yes
      exposed=no  0.950 0.050
      exposed=yes 0.400 0.600
    >>> tree.log_prob([{"exposed": "no", "carrier": "no"}]).round(4)
    array([-0.408])
    """

    order: tuple[str, ...]
    variables: tuple[str, ...]
    states: Mapping[str, tuple[Any, ...]]
    stagings: Mapping[str, Staging]
    parameters: Mapping[str, Floats] | None
    learning: Mapping[str, Any] | None

    def __init__(
        self,
        order: Sequence[str],
        stagings: Mapping[str, Staging | Iterable[Any]],
        parameters: Mapping[str, ArrayLike] | None = None,
        *,
        states: Mapping[str, Sequence[Any]],
        learning: Mapping[str, Any] | None = None,
    ) -> None:
        check(ALLOWED, locals())
        labels = {v: tuple(x.item() if isinstance(x, np.generic) else x for x in s) for v, s in states.items()}
        self._set(order=tuple(order), states=MappingProxyType(labels), variables=tuple(labels))
        check_order_and_states(self.order, self.states)
        unknown = set(stagings).difference(self.order)
        if unknown:
            raise InputError(f"there are stagings for {_names(unknown)}, which are not in the order")
        checked: dict[str, Staging] = {}
        aligned: dict[str, Floats] = {}
        for position, variable in enumerate(self.order):
            scope = MappingProxyType({v: self.states[v] for v in self.order[:position]})
            if variable not in stagings and position > 0:
                raise InputError(
                    f"there is no staging for {variable!r}. If it depends on nothing, give it the one stage [{{}}]."
                )
            given = stagings.get(variable, [Context()])
            if isinstance(given, Staging) and dict(given.scope) == dict(scope):
                checked[variable] = given
            else:
                given = [context if isinstance(context, Context) else Context(context) for context in given]
                try:
                    checked[variable] = Staging(scope, given)
                except InputError as error:
                    raise InputError(f"the staging of {variable!r}: {error}") from None
            if parameters is not None:
                aligned[variable] = self._aligned(variable, parameters, list(given), checked[variable])
        self._set(stagings=MappingProxyType(checked), parameters=None)
        self._set(learning=None if learning is None else MappingProxyType(dict(learning)))
        if parameters is not None:
            unknown = set(parameters).difference(self.order)
            if unknown:
                raise InputError(f"there are parameters for {_names(unknown)}, which are not in the order")
            self._set(parameters=MappingProxyType(aligned))

    def _set(self, **attributes: object) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    __setattr__ = frozen

    def _aligned(
        self, variable: str, parameters: Mapping[str, ArrayLike], given: list[Context], staging: Staging
    ) -> Floats:
        """Return the parameters of a variable in the order of its staging, checked and read-only."""
        if variable not in parameters:
            raise InputError(f"there are no parameters for {variable!r}")
        try:
            array = np.array(parameters[variable], dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"the parameters of {variable!r} are not a table of numbers") from None
        shape = (len(staging), len(self.states[variable]))
        if array.shape != shape:
            raise InputError(
                f"the parameters of {variable!r} have shape {array.shape}; {shape[0]} stages and {shape[1]} states"
                f" need {shape}"
            )
        off = ~(np.isfinite(array).all(axis=1) & (array >= 0).all(axis=1) & (abs(array.sum(axis=1) - 1) < 1e-6))
        if off.any():
            row = int(np.flatnonzero(off)[0])
            raise InputError(
                f"the parameters of {variable!r} in the stage ({given[row] or 'always'}) are {array[row].tolist()}:"
                " not probabilities that sum to 1"
            )
        position = {context: row for row, context in enumerate(given)}
        array = array[[position[context] for context in staging.contexts]]
        array.setflags(write=False)
        return array

    # ------------------------------------------------------------------ building
    @classmethod
    def from_contexts(
        cls,
        contexts: Mapping[str, Iterable[Any]],
        *,
        states: Mapping[str, Sequence[Any]],
        order: Sequence[str] | None = None,
        fill: bool = False,
    ) -> CStree:
        """Build a structure from the contexts of each variable, as mappings or as text.

        Parameters
        ----------
        contexts : mapping of str to iterable of Context, mapping or str
            Text such as ``"exposed=yes, diagnosis=no"``; the empty context is ``""``.
        states : mapping of str to sequence of states
        order : sequence of str, optional
            By default the order in which `contexts` names the variables, with variables that it does not name
            before them.
        fill : bool
            Make a stage of its own of every outcome that no context covers, instead of refusing.

        Examples
        --------
        >>> yesno = ["no", "yes"]
        >>> tree = CStree.from_contexts(
        ...     {"exposed": [""], "carrier": ["exposed=no", "exposed=yes"]},
        ...     states={"exposed": yesno, "carrier": yesno},
        ... )
        >>> tree.stagings["carrier"]
        Staging(1 variables, 2 stages: exposed=no | exposed=yes)
        """
        from cslearn.cstree.building import from_contexts

        return from_contexts(contexts, states, order, fill)

    @classmethod
    def from_statements(
        cls, statements: Iterable[str], *, states: Mapping[str, Sequence[Any]], order: Sequence[str] | None = None
    ) -> CStree:
        """Build a structure from CSI statements, written as in the paper.

        A statement ``"target _||_ B1, B2 | C1, S1=x"`` says that the target does not depend on ``B1, B2`` given
        ``C1`` when ``S1`` is ``x``. Together with the target it must name every variable before the target. Outcomes
        that no statement is about are stages of their own.

        Parameters
        ----------
        statements : iterable of str
            ``⊥``, ``⫫`` and ``⊥⊥`` may stand for ``_||_``. Names that hold one of ``, | = "`` or a space at an end
            are written in double quotes.
        states : mapping of str to sequence of states
        order : sequence of str, optional
            By default the order of `states`.

        Examples
        --------
        >>> yesno = ["no", "yes"]
        >>> tree = CStree.from_statements(
        ...     ["carrier _||_ diagnosis | exposed=no"],
        ...     states={"diagnosis": yesno, "exposed": yesno, "carrier": yesno},
        ... )
        >>> print(tree.stagings["carrier"])
        exposed=no | exposed=yes, diagnosis=no | exposed=yes, diagnosis=yes
        """
        from cslearn.cstree.building import from_statements

        return from_statements(statements, states, order)

    @classmethod
    def from_dag(
        cls, dag: nx.DiGraph, *, states: Mapping[str, Sequence[Any]], order: Sequence[str] | None = None
    ) -> CStree:
        """Build the structure of a Bayesian network: every variable splits on all states of its parents.

        Parameters
        ----------
        dag : networkx.DiGraph
            Edges from parent to child; a variable may be left out if it has no edges.
        states : mapping of str to sequence of states
        order : sequence of str, optional
            An order in which parents come before children; by default the first such, by the order of `states`.

        Examples
        --------
        >>> import networkx as nx
        >>> tree = CStree.from_dag(nx.DiGraph([("a", "b")]), states={"b": [0, 1], "a": [0, 1, 2]})
        >>> tree.order, str(tree.stagings["b"])
        (('a', 'b'), 'a=0 | a=1 | a=2')
        """
        from cslearn.cstree.building import from_dag

        return from_dag(dag, states, order)

    @classmethod
    def from_ldag(cls, ldag: LDAG, *, order: Sequence[str] | None = None) -> CStree:
        """Build the CStree that an LDAG represents, if it represents one; an error says where it does not.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> tree = chickenpox_model()
        >>> CStree.from_ldag(tree.to_ldag()).stagings == tree.stagings
        True
        """
        from cslearn.cstree.building import from_ldag

        return from_ldag(ldag, order)

    def with_parameters(self, parameters: Mapping[str, ArrayLike] | None) -> CStree:
        """Return the same structure with other parameters (or, with None, without any)."""
        return CStree(self.order, self.stagings, parameters, states=self.states)

    # ------------------------------------------------------------------ structure
    @cached_property
    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """Context variables of each variable in all its stages together: its parents in the DAG and the LDAG."""
        return MappingProxyType({v: self.stagings[v].context_variables for v in self.variables})

    @property
    def n_stages(self) -> int:
        """Number of stages of all variables together."""
        return sum(map(len, self.stagings.values()))

    @property
    def n_free_parameters(self) -> int:
        """Number of free parameters: for each stage, one less than the target has states."""
        return sum(len(staging) * (len(self.states[v]) - 1) for v, staging in self.stagings.items())

    def to_dag(self) -> nx.DiGraph:
        """Return the minimal I-MAP: the DAG with an edge to each variable from each of its context variables.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> sorted(chickenpox_model().to_dag().in_edges("exposed"))
        [('background', 'exposed'), ('diagnosis', 'exposed')]
        """
        import networkx as nx

        dag = nx.DiGraph()
        dag.add_nodes_from(self.variables)
        dag.add_edges_from((parent, v) for v in self.order for parent in self.parents[v])
        return dag

    def to_ldag(self) -> LDAG:
        """Return the LDAG: the DAG with, on each edge, the contexts of the other parents in which it vanishes.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> ldag = chickenpox_model().to_ldag()
        >>> [str(context) for context in ldag.labels["background", "exposed"]]
        ['diagnosis=yes']
        """
        from cslearn.graphs import LDAG

        return LDAG.from_cstree(self)

    def csi_relations(self) -> list[CSIRelation]:
        """Return the context-specific relations of the stages that no DAG can say.

        A stage whose context leaves out some of the variable's parents says that the variable does not depend on
        these in that context.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> for relation in chickenpox_model().csi_relations():
        ...     print(relation)
        exposed _||_ background | diagnosis=yes
        carrier _||_ background, diagnosis | exposed=no
        carrier _||_ background | exposed=yes, diagnosis=no
        """
        from cslearn.graphs.relations import defining_relations

        return defining_relations(self)

    def relation_table(self) -> RelationTable:
        """Return :meth:`csi_relations` with the evidence for them that was found when the model was learned.

        The strongest come first. Each has a verdict: the data support it, leave it undecided, or speak against it and
        the model ignores that. A model that was not learned has no evidence;
        :func:`cslearn.estimators.relation_table` finds it in any data.

        Examples
        --------
        >>> from cslearn import CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> data = chickenpox_model().sample(2000, random_state=1)
        >>> print(CStreeLearner(beta=2, random_state=0).fit(data).cstree_.relation_table())
        relation                                   verdict  log Bayes factor   rows
        exposed _||_ background | diagnosis=yes  supported               2.8    588
        carrier _||_ diagnosis | exposed=no      supported               1.9  1,270
        """
        from cslearn.graphs.evidence import recorded_relations

        return recorded_relations(self)

    def implies(self, relation: CSIRelation | str) -> bool:
        """Tell whether the structure entails a CSI relation: whether it holds for all parameters.

        Parameters
        ----------
        relation : CSIRelation or str
            A text is read by :meth:`cslearn.graphs.CSIRelation.parse`.

        Raises
        ------
        LimitError
            If that cannot be decided. Relations that follow from separation in the graphs of contexts are found in
            models of any size. All others are decided while the tables that this takes, over the variables of the
            relation and those that link them, have at most four million cells; so in all models of up to 22 binary
            variables. See :mod:`cslearn.graphs.entailment`.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> tree = chickenpox_model()
        >>> tree.implies("background _||_ diagnosis")
        True
        >>> tree.implies("background _||_ carrier | exposed=no")
        True
        >>> tree.implies("background _||_ carrier | exposed")
        False
        """
        from cslearn.graphs.entailment import implies

        return implies(self, relation)

    def minimal_contexts(self) -> MinimalContexts:
        """Return the minimal contexts of the structure, each with its graph.

        In these contexts relations hold that do not hold without any part of the context. The graph of a context
        shows what holds there. For up to 12 binary variables; see :mod:`cslearn.graphs.minimal_contexts`.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> print(chickenpox_model().minimal_contexts())
        (always): background -> exposed, background -> carrier, diagnosis -> exposed, diagnosis -> carrier,
            exposed -> carrier
        diagnosis=no: background -> exposed, exposed -> carrier
        diagnosis=yes: background -> carrier, exposed -> carrier
        exposed=no: background -> diagnosis
        """
        from cslearn.graphs.minimal_contexts import minimal_contexts

        return minimal_contexts(self)

    def is_markov_equivalent(self, other: CStree) -> bool:
        """Tell whether two structures stand for the same set of distributions, so that no data can tell them apart.

        Both must have the same variables and states. It is decided by entailment, with the same limits as
        :meth:`implies`.

        Examples
        --------
        >>> import networkx as nx
        >>> states = {"a": (0, 1), "b": (0, 1), "c": (0, 1)}
        >>> chain, fork, collider = (
        ...     CStree.from_dag(nx.DiGraph(edges), states=states)
        ...     for edges in (["ab", "bc"], ["ba", "bc"], ["ab", "cb"])
        ... )
        >>> chain.is_markov_equivalent(fork), chain.is_markov_equivalent(collider)
        (True, False)
        """
        from cslearn.graphs.minimal_contexts import is_markov_equivalent

        return is_markov_equivalent(self, other)

    # ------------------------------------------------------------------ probability
    @cached_property
    def coded_contexts(self) -> dict[str, list[list[tuple[int, int]]]]:
        """The contexts of each variable as lists of (column, code) pairs, in the order of its staging."""
        column = {v: c for c, v in enumerate(self.variables)}
        code = {v: {state: x for x, state in enumerate(states)} for v, states in self.states.items()}
        return {
            v: [[(column[u], code[u][state]) for u, state in context.items()] for context in staging]
            for v, staging in self.stagings.items()
        }

    def needed_parameters(self) -> Mapping[str, Floats]:
        """Return the parameters; an error says what to do if there are none."""
        if self.parameters is None:
            remedy = wording(
                "estimate them with tree.fit_parameters(data)", "`cslearn fit` writes models that have them"
            )
            raise InputError(f"this CStree has no parameters: {remedy}")
        return self.parameters

    def encode(self, data: Any, **options: Any) -> Table:
        """Return `data` as a table with the variables and states of the model.

        Missing cells of variables that have the state ``"missing"`` are in that state; `options` are those of
        :func:`cslearn.data.as_table`.
        """
        policy = options.pop("missing", "error")
        gaps: dict[str | None, str] = {v: "state" for v, labels in self.states.items() if MISSING_STATE in labels}
        missing = {**gaps, None: policy} if gaps else policy
        return as_table(data, variables=self.variables, states=dict(self.states), missing=missing, **options)

    def log_prob(self, data: Any) -> Floats:
        """Return the log-probability of every row.

        Parameters
        ----------
        data : Table, frame, array, path or whatever :func:`cslearn.data.as_table` reads
            Must have a column for every variable, with known states; further columns are ignored.

        Returns
        -------
        ndarray, shape (n,)
            Natural logarithms; minus infinity for an outcome of probability zero. O(n) for each stage.
        """
        self.needed_parameters()
        return self.log_prob_of_codes(self.encode(data).codes)

    def log_prob_of_codes(self, codes: NDArray[np.integer]) -> Floats:
        """Return the log-probability of every row of codes; see :meth:`log_prob`."""
        parameters = self.needed_parameters()
        if codes.ndim != 2 or codes.shape[1] != len(self.variables):
            raise InputError(
                f"codes have a column for each of {len(self.variables)} variables, not shape {codes.shape}"
            )
        total = np.zeros(len(codes))
        for column, variable in enumerate(self.variables):
            with np.errstate(divide="ignore"):
                logs = np.log(parameters[variable])
            total += logs[stage_of_rows(codes, self.coded_contexts[variable]), codes[:, column]]
        return total

    def sample(self, n: int, random_state: RandomState = None) -> pd.DataFrame:
        """Draw `n` rows.

        Returns
        -------
        pandas.DataFrame
            One categorical column for each variable, with all its states as categories.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> chickenpox_model().sample(2, random_state=0)
          background diagnosis exposed carrier
        0      urban        no     yes     yes
        1      rural        no     yes     yes
        """
        return self.sample_table(n, random_state).to_frame()

    def sample_table(self, n: int, random_state: RandomState = None) -> Table:
        """Draw `n` rows as an encoded table. O(n) for each stage."""
        parameters = self.needed_parameters()
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise InputError(f"the number of rows to draw is 0, 1, 2, ..., not {n!r}")
        if n * len(self.variables) > CELL_LIMIT:
            raise LimitError(
                f"{n:,} rows of {len(self.variables)} variables are more than {CELL_LIMIT:,} cells, the most that are"
                " drawn at once: draw fewer rows, or several tables with different seeds"
            )
        rng = as_generator(random_state)
        widest = max(map(len, self.states.values()))
        codes = np.zeros((n, len(self.variables)), dtype=np.uint8 if widest <= 256 else np.uint16, order="F")
        column = {v: c for c, v in enumerate(self.variables)}
        for variable in self.order:
            stage = stage_of_rows(codes, self.coded_contexts[variable])
            codes[:, column[variable]] = draw_states(stage, parameters[variable], rng)
        return Table(codes, self.variables, tuple(self.states[v] for v in self.variables))

    def fit_parameters(
        self,
        data: Any,
        method: Method = "mean",
        *,
        ess: float = 1.0,
        gamma: float = 1.0,
        interventions: NDArray[np.bool_] | None = None,
        missing: Literal["error", "em"] = "error",
    ) -> CStree:
        """Return the same structure with parameters estimated from data.

        Parameters
        ----------
        data : Table, frame, array, path or whatever :func:`cslearn.data.as_table` reads
        method : {"mean", "map", "mle"}
            Posterior mean, posterior mode, or relative frequencies. A stage without data gets the uniform
            distribution; see :func:`cslearn.cstree.parameters.estimate` for the borderline cases.
        ess : float
            Equivalent sample size of the Dirichlet priors (not used by ``mle``).
        interventions : ndarray of bool, shape (n, variables), optional
            Where a variable was set from outside: such a row does not count for the parameters of that variable.
        missing : {"error", "em"}
            Refuse missing cells, or estimate by expectation-maximisation; see :func:`cslearn.inference.em`, which
            also tells how the likelihood grew.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> tree = chickenpox_model()
        >>> fitted = tree.fit_parameters(tree.sample(10_000, random_state=0), "mle")
        >>> fitted.parameters["carrier"][0].round(2)
        array([0.98, 0.02])
        """
        if missing == "em":
            from cslearn.inference import em

            if interventions is not None:
                raise InputError(f"interventions cannot be combined with {option('missing', 'em')}")
            return em(self, data, method, ess=ess).tree
        if missing != "error":
            raise InputError(f'missing must be "error" or "em", not {missing!r}')
        table = self.encode(data)
        if interventions is not None and (interventions.shape != table.codes.shape or interventions.dtype != bool):
            raise InputError(
                f"interventions are True or False for each of {table.n:,} rows and {table.p} variables, not an array of"
                f" {interventions.dtype} of shape {interventions.shape}",
                parameter="interventions",
            )
        cards = np.array(table.cards)
        parameters = {}
        for column, variable in enumerate(self.variables):
            contexts = self.coded_contexts[variable]
            shares = [1 / np.prod([cards[c] for c, _ in pairs], initial=1) for pairs in contexts]
            counted = table if interventions is None else table.take(~interventions[:, column])
            counts = stage_counts(counted, column, contexts)
            parameters[variable] = estimate(counts, ess * np.array(shares) ** gamma, method)
        return self.with_parameters(parameters)

    def bic(self, data: Any) -> float:
        """Return the Bayesian information criterion of the structure on `data`; smaller is better.

        It is ``k log(n) - 2 log L`` with ``k`` free parameters, `n` rows and the maximal likelihood ``L``.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> tree = chickenpox_model()
        >>> round(tree.bic(tree.sample(1000, random_state=0)), 1)
        4297.4
        """
        return self.bic_of_counts(self.count_stages(data))

    def count_stages(self, data: Any) -> dict[str, Floats]:
        """Return for each variable how often it is in which state, shape (stages, states); counts of batches add up."""
        table = self.encode(data)
        return {v: stage_counts(table, j, self.coded_contexts[v]) for j, v in enumerate(self.variables)}

    def bic_of_counts(self, counts: Mapping[str, Floats]) -> float:
        """Return the Bayesian information criterion from what :meth:`count_stages` gave; see :meth:`bic`."""
        if set(counts) != set(self.order):
            raise InputError("the counts are not those of the variables of the model, each once")
        log_likelihood = 0.0
        for cells in counts.values():
            shares = cells / np.maximum(cells.sum(axis=1, keepdims=True), np.finfo(float).tiny)
            log_likelihood += float((cells * np.log(np.where(cells > 0, shares, 1.0))).sum())
        weight = next(iter(counts.values())).sum()
        return self.n_free_parameters * float(np.log(weight)) - 2 * log_likelihood

    # ------------------------------------------------------------------ queries
    @cached_property
    def queries(self) -> Queries:
        """The model compiled for queries, which the methods below use; made when it is first needed."""
        from cslearn.inference import Queries

        return Queries(self)

    def query(
        self,
        targets: str | Sequence[str],
        evidence: Mapping[str, Any] | None = None,
        *,
        method: Literal["auto", "exact", "sampling"] = "auto",
        n_samples: int = 100_000,
        random_state: RandomState = 0,
    ) -> pd.Series[float]:
        """Return the joint distribution of some variables given evidence on others.

        Parameters
        ----------
        targets : str or sequence of str
        evidence : mapping of str to evidence, optional
            For each variable with evidence: its state; a collection of states, one of which it is in; or a mapping of
            states to weights, the likelihood of what was seen in each state (states that it leaves out have weight 0).
        method : {"auto", "exact", "sampling"}
            ``sampling`` estimates the answer from weighted draws; see :mod:`cslearn.inference.sampling`. ``auto`` does
            so, with an :class:`~cslearn.errors.EstimateWarning`, where the variables depend on each other too densely
            for the exact answer, which ``exact`` refuses to give then.
        n_samples : int
            Only for an estimate: the number of draws. Where too few of them agree with the evidence the answer is from
            a tenth as many, which are moved until they do.
        random_state : int, Generator or None
            Only for an estimate: the seed.

        Returns
        -------
        pandas.Series
            Probabilities, with the states of the target as index, or of the targets as a MultiIndex. Its ``attrs`` say
            whether it is ``exact``; an estimate has the largest ``standard_error`` there, and how many independent
            draws would tell as much (``effective_draws``; a warning says so if these are fewer than 100).

        Raises
        ------
        InputError
            If the evidence is impossible; the message says which part of it.
        LimitError
            If the exact answer needs too large a table, and no other is wanted; if the targets have too many joint
            states for any answer.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> tree = chickenpox_model()
        >>> tree.query(["carrier"], evidence={"exposed": "yes"})
        carrier
        no     0.377
        yes    0.623
        Name: probability, dtype: float64
        >>> tree.query(["exposed", "carrier"], {"background": "urban", "diagnosis": {"no": 0.9, "yes": 0.2}}).round(3)
        exposed  carrier
        no       no         0.548
                 yes        0.011
        yes      no         0.105
                 yes        0.336
        Name: probability, dtype: float64
        """
        return self.queries.query(targets, evidence, method=method, n_samples=n_samples, random_state=random_state)

    def log_prob_of(
        self,
        evidence: Mapping[str, Any],
        *,
        method: Literal["auto", "exact", "sampling"] = "auto",
        n_samples: int = 100_000,
        random_state: RandomState = 0,
    ) -> float:
        """Return the log-probability of evidence on any variables, minus infinity if it is impossible.

        Parameters
        ----------
        evidence : mapping of str to evidence
            As for :meth:`query`; for weights it is the logarithm of the expected weight.
        method, n_samples, random_state
            As for :meth:`query`. An estimate is a float with its ``standard_error`` as an attribute.

        Examples
        --------
        >>> from math import exp
        >>> from cslearn.datasets import chickenpox_model
        >>> round(exp(chickenpox_model().log_prob_of({"exposed": "yes", "carrier": "yes"})), 3)
        0.218
        """
        return self.queries.log_prob_of(evidence, method=method, n_samples=n_samples, random_state=random_state)

    def most_probable(
        self,
        evidence: Mapping[str, Any] | None = None,
        *,
        method: Literal["auto", "exact", "sampling"] = "auto",
        n_samples: int = 1000,
        random_state: RandomState = 0,
    ) -> MostProbable:
        """Return the most probable outcome of all variables given evidence (the most probable explanation).

        Parameters
        ----------
        evidence : mapping of str to evidence, optional
            As for :meth:`query`.
        method : {"auto", "exact", "sampling"}
            ``sampling`` searches from draws; see :func:`cslearn.inference.sampling.best_outcome`. ``auto`` does so,
            with an :class:`~cslearn.errors.EstimateWarning`, where the exact answer would need too large a table.
        n_samples : int
            Only for a search: the number of draws that it starts from.
        random_state : int, Generator or None
            Only for a search: the seed.

        Returns
        -------
        MostProbable
            `outcome`, the state of each variable; `log_prob`, the log-probability of that outcome; and `exact`, whether
            it is proven that there is none more probable.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> chickenpox_model().most_probable({"carrier": "yes"}).outcome
        {'background': 'urban', 'diagnosis': 'no', 'exposed': 'yes', 'carrier': 'yes'}
        """
        return self.queries.most_probable(evidence, method=method, n_samples=n_samples, random_state=random_state)

    def entropy(
        self,
        targets: str | Sequence[str] | None = None,
        evidence: Mapping[str, Any] | None = None,
        *,
        method: Literal["auto", "exact", "sampling"] = "auto",
        n_samples: int = 100_000,
        random_state: RandomState = 0,
    ) -> float:
        """Return the entropy of the joint distribution of `targets` (all variables by default) given evidence, in nats.

        Parameters
        ----------
        targets : str or sequence of str, optional
        evidence : mapping of str to evidence, optional
            As for :meth:`query`.
        method, n_samples, random_state
            As for :meth:`query`. An estimate is a float with its ``standard_error`` as an attribute.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> tree = chickenpox_model()
        >>> round(tree.entropy(["carrier"]), 3), round(tree.entropy(["carrier"], {"exposed": "no"}), 3)
        (0.541, 0.098)
        """
        return self.queries.entropy(targets, evidence, method=method, n_samples=n_samples, random_state=random_state)

    def mutual_information(
        self,
        a: str | Sequence[str],
        b: str | Sequence[str],
        evidence: Mapping[str, Any] | None = None,
        *,
        method: Literal["auto", "exact", "sampling"] = "auto",
        n_samples: int = 100_000,
        random_state: RandomState = 0,
    ) -> float:
        """Return the mutual information of two (sets of) variables given evidence, in nats.

        Parameters
        ----------
        a, b : str or sequence of str
        evidence : mapping of str to evidence, optional
            As for :meth:`query`.
        method, n_samples, random_state
            As for :meth:`query`. An estimate is a float with its ``standard_error`` as an attribute.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> tree = chickenpox_model()
        >>> round(tree.mutual_information("background", "carrier"), 4)
        0.0153
        >>> tree.mutual_information("background", "carrier", {"exposed": "no"}) < 1e-12
        True
        """
        return self.queries.mutual_information(
            a, b, evidence, method=method, n_samples=n_samples, random_state=random_state
        )

    def predict_proba(
        self,
        data: Any,
        target: str,
        *,
        method: Literal["auto", "exact", "sampling"] = "auto",
        n_samples: int = 10_000,
        random_state: RandomState = 0,
        **options: Any,
    ) -> pd.DataFrame:
        """Return the distribution of one variable given the others, for every row.

        Parameters
        ----------
        data : frame, array, path or whatever :func:`cslearn.data.as_table` reads
            Missing cells, and columns that are not there, are summed out. A state that the model does not know counts
            as missing, with a warning. A column for the target itself is not looked at.
        target : str
        method, n_samples, random_state
            As for :meth:`query`, for each row.
        **options
            `na_values` and `sep` of :func:`cslearn.data.as_table`.

        Returns
        -------
        pandas.DataFrame
            A row for each row, a column for each state of the target. A row that is impossible under the model gets
            the target's distribution without evidence, with a warning.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> rows = [{"exposed": "yes", "diagnosis": "no"}, {"exposed": None, "diagnosis": "no"}]
        >>> chickenpox_model().predict_proba(rows, target="carrier").round(3)
        carrier     no    yes
        0        0.200  0.800
        1        0.707  0.293
        """
        from cslearn.inference.prediction import predict_proba

        return predict_proba(
            self, data, target, method=method, n_samples=n_samples, random_state=random_state, **options
        )

    def predict(self, data: Any, target: str, **options: Any) -> pd.Series[Any]:
        """Return the most probable state of one variable given the others, for every row.

        Parameters
        ----------
        data, target, **options
            As for :meth:`predict_proba`.

        Returns
        -------
        pandas.Series
            Categorical, with all states of the target as categories. Of equally probable states it is the first.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> rows = [{"exposed": "yes", "diagnosis": "no"}, {"exposed": "no"}]
        >>> chickenpox_model().predict(rows, target="carrier").tolist()
        ['yes', 'no']
        """
        from cslearn.inference.prediction import predict

        return predict(self, data, target, **options)

    def impute(
        self,
        data: Any,
        method: Literal["mode", "draw"] = "mode",
        random_state: RandomState = None,
        **options: Any,
    ) -> pd.DataFrame:
        """Return the data with missing cells filled in.

        Parameters
        ----------
        data : frame, array, path or whatever :func:`cslearn.data.as_table` reads
            States that the model does not know count as missing, with a warning; so do variables without a column.
        method : {"mode", "draw"}
            ``mode``: the jointly most probable completion of each row. ``draw``: one drawn from the distribution of the
            missing cells given the known ones; several such tables show how uncertain the cells are.
        random_state : int, Generator or None
            Seed of the draws.
        **options
            `na_values` and `sep` of :func:`cslearn.data.as_table`.

        Returns
        -------
        pandas.DataFrame
            The variables of the model as categorical columns with all states; other columns are as they were.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> rows = [{"background": "urban", "diagnosis": "no", "exposed": None, "carrier": "yes"}]
        >>> chickenpox_model().impute(rows)
          background diagnosis exposed carrier
        0      urban        no     yes     yes
        """
        from cslearn.inference.gaps import impute

        return impute(self, data, method, random_state, **options)

    # ------------------------------------------------------------------ interventions
    def do(self, interventions: Mapping[str, Any]) -> CStree:
        """Return the model in which variables are set from outside.

        The staging of a variable that is set becomes a single stage with a point mass; all others stay. This is what
        would happen if the model is a causal one: see :mod:`cslearn.inference.causal`.

        Parameters
        ----------
        interventions : mapping of str to state, or to a mapping of state to weight
            The state that each variable is set to, or the odds by which it is drawn.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> tree = chickenpox_model()
        >>> tree.query("exposed", {"carrier": "yes"})["yes"].round(3)
        np.float64(0.944)
        >>> tree.do({"carrier": "yes"}).query("exposed")["yes"].round(3)  # carrying it does not expose a child to it
        np.float64(0.35)
        """
        from cslearn.inference.causal import do

        return do(self, interventions)

    def causal_effect(self, treatment: str, outcome: str, evidence: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return the distribution of `outcome` when `treatment` is set to each of its states.

        Parameters
        ----------
        treatment, outcome : str
        evidence : mapping of str to evidence, optional
            What is seen after the intervention, as for :meth:`query`.

        Returns
        -------
        pandas.DataFrame
            A row for each state of the treatment, a column for each of the outcome.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> chickenpox_model().causal_effect("exposed", "carrier").round(3)
        carrier     no    yes
        exposed
        no       0.980  0.020
        yes      0.377  0.623
        """
        from cslearn.inference.causal import causal_effect

        return causal_effect(self, treatment, outcome, evidence)

    def average_causal_effect(
        self,
        treatment: str,
        outcome: str,
        change: tuple[Any, Any],
        value: Any = None,
        evidence: Mapping[str, Any] | None = None,
    ) -> float:
        """Return by how much the mean of `outcome` changes when `treatment` is set to another state.

        Parameters
        ----------
        treatment, outcome : str
        change : pair of states of the treatment
            From which state to which.
        value : state, or mapping of state to number, optional
            The state of the outcome whose probability is meant, or the number that each state counts for. Without it
            the states themselves are the numbers.
        evidence : mapping of str to evidence, optional
            What is seen after the intervention, as for :meth:`query`.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> tree = chickenpox_model()
        >>> round(tree.average_causal_effect("exposed", "carrier", change=("no", "yes"), value="yes"), 3)
        0.603
        """
        from cslearn.inference.causal import average_causal_effect

        return average_causal_effect(self, treatment, outcome, change, value, evidence)

    # ------------------------------------------------------------------ tables and files
    def to_frame(self) -> pd.DataFrame:
        """Return one row for each variable, stage and state: ``variable, context, state, probability``.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> chickenpox_model().to_frame().tail(3)
           variable                                       context state  probability
        15  carrier  exposed=yes, diagnosis=yes, background=rural   yes         0.15
        16  carrier  exposed=yes, diagnosis=yes, background=urban    no         0.75
        17  carrier  exposed=yes, diagnosis=yes, background=urban   yes         0.25
        """
        import pandas as pd

        rows = []
        for variable in self.order:
            for stage, context in enumerate(self.stagings[variable]):
                for x, state in enumerate(self.states[variable]):
                    value = np.nan if self.parameters is None else self.parameters[variable][stage, x]
                    rows.append((variable, str(context), state, value))
        return pd.DataFrame(rows, columns=["variable", "context", "state", "probability"])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a JSON file, atomically. :meth:`load` gives the same model back."""
        from cslearn.cstree.files import save

        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> CStree:
        """Read a model from a JSON file that :meth:`save` wrote.

        Raises
        ------
        FileError
            If the file is missing, damaged, of a newer version, or not a model.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from cslearn.datasets import chickenpox_model
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
        >>> chickenpox_model().save(path)
        >>> CStree.load(path) == chickenpox_model()
        True
        """
        from cslearn.cstree.files import load

        return load(path)

    # ------------------------------------------------------------------ pictures
    def plot(self, kind: Literal["ldag", "staged-tree"] = "ldag", **options: Any) -> Picture:
        """Draw the model. Needs the extra ``cslearn[plots]``.

        Parameters
        ----------
        kind : {"ldag", "staged-tree"}
            The staged tree is for few variables: it has a leaf for each outcome of all of them.
        **options
            Those of :func:`cslearn.plots.plot_ldag` or :func:`cslearn.plots.plot_staged_tree`. ``strength=True`` stands
            for :func:`cslearn.plots.edge_strengths`: thick edges where the parent changes much.

        Returns
        -------
        Picture
            A matplotlib figure that notebooks show and ``savefig`` writes.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> picture = chickenpox_model().plot(strength=True)
        >>> picture = chickenpox_model().plot("staged-tree", probabilities=True)
        """
        from cslearn.plots import edge_strengths, plot_ldag, plot_staged_tree

        if kind == "staged-tree":
            return plot_staged_tree(self, **options)
        if kind != "ldag":
            raise InputError(f"kind is 'ldag' or 'staged-tree', not {kind!r}")
        if options.get("strength") is True:
            options["strength"] = edge_strengths(self)
        return plot_ldag(self.to_ldag(), **options)

    def to_dot(self, **options: Any) -> str:
        """Return the staged tree for Graphviz; `options` are those of :func:`cslearn.plots.staged_tree_to_dot`.

        The LDAG is ``tree.to_ldag().to_dot()``.
        """
        from cslearn.plots import staged_tree_to_dot

        return staged_tree_to_dot(self, **options)

    def to_tikz(self, **options: Any) -> str:
        """Return the staged tree for LaTeX; `options` are those of :func:`cslearn.plots.staged_tree_to_tikz`.

        The LDAG is ``tree.to_ldag().to_tikz()``.
        """
        from cslearn.plots import staged_tree_to_tikz

        return staged_tree_to_tikz(self, **options)

    def _repr_svg_(self) -> str | None:
        from cslearn.plots.graph import NOTEBOOK_NODES

        return self.to_ldag()._repr_svg_() if len(self.order) <= NOTEBOOK_NODES else None

    # ------------------------------------------------------------------ comparison and printing
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CStree):
            return NotImplemented
        if (self.order, self.variables) != (other.order, other.variables):
            return False
        if dict(self.states) != dict(other.states) or dict(self.stagings) != dict(other.stagings):
            return False
        mine, theirs = self.parameters, other.parameters
        if mine is None or theirs is None:
            return mine is theirs
        return all(np.array_equal(mine[v], theirs[v]) for v in self.order)

    def __hash__(self) -> int:
        return hash((self.order, *(self.stagings[v] for v in self.order)))

    def __reduce__(self) -> tuple[Any, ...]:
        parameters = None if self.parameters is None else dict(self.parameters)
        learning = None if self.learning is None else dict(self.learning)
        return _restored, (self.order, dict(self.stagings), parameters, dict(self.states), learning)

    def __repr__(self) -> str:
        lacking = "" if self.parameters is not None else ", no parameters"
        return f"CStree({len(self.order)} variables, {self.n_stages} stages{lacking})"

    def __str__(self) -> str:
        from cslearn.cstree.text import describe

        head = (
            f"CStree of {len(self.order)} variables: {self.n_stages} stages, {self.n_free_parameters} free parameters"
        )
        return "\n".join([head, "order: " + ", ".join(self.order), "", describe(self)])


def _restored(order: Any, stagings: Any, parameters: Any, states: Any, learning: Any = None) -> CStree:
    """Build a pickled CStree again."""
    return CStree(order, stagings, parameters, states=states, learning=learning)


def check_order_and_states(order: Sequence[str], states: Mapping[str, Sequence[Any]]) -> None:
    """Refuse an order that does not name each variable once, or states that cannot be those of variables."""
    if not order:
        raise InputError("a CStree has at least one variable, but the order is empty")
    for variable in [*order, *states]:
        if not isinstance(variable, str) or not variable:
            raise InputError(f"variables are named by non-empty strings, not {variable!r}")
    twice = {v for v in order if order.count(v) > 1}
    if twice:
        raise InputError(f"the order names {_names(twice)} more than once")
    if set(order) != set(states):
        lacking, extra = set(states) - set(order), set(order) - set(states)
        what = f"lacks {_names(lacking)}" if lacking else f"has {_names(extra)}, whose states are not given"
        raise InputError(f"the order {what}")
    for variable, labels in states.items():
        if not labels:
            raise InputError(f"{variable!r} has no states")
        odd = [x for x in labels if not isinstance(x, str | bool | int | float) or x != x or x in (inf, -inf)]
        if odd:
            raise InputError(f"the states of {variable!r} are strings, numbers or booleans, not {odd[0]!r}")
        if len(set(labels)) != len(labels):
            raise InputError(f"{variable!r} has a state twice: {list(labels)}")


def _names(variables: Iterable[str]) -> str:
    return ", ".join(repr(v) for v in sorted(variables))
