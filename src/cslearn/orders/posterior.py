"""What the sampled orders say about the order posterior."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from cslearn._checked import checked
from cslearn.errors import FileError, InputError, MissingExtraError
from cslearn.orders.chains import Chain
from cslearn.orders.diagnostics import Quantities, Verdict, diagnose
from cslearn.orders.files import read_arrays, write_arrays

if TYPE_CHECKING:
    import pandas as pd

    from cslearn.plots._figure import Picture

__all__ = ["OrderPosterior"]

# Pairs of variables that are diagnosed, and how many at a time, which bounds the memory.
MAX_PAIRS = 5000
PAIRS_AT_ONCE = 50
SCORE_DECIMALS = 4

KIND = "order posterior"
SCALARS = {"best_log_score": float, "moved": int, "start_log_score": float}
PARTS = ("orders", "log_scores", "trace", "best_order", *SCALARS)


@checked
@dataclass(frozen=True)
class OrderPosterior:
    """Orders drawn from their posterior by one or more chains.

    Parameters
    ----------
    variables : tuple of str
        Names of the columns that the chains' orders are made of.
    chains : sequence of Chain
    settings : mapping of str to JSON values, optional
        How the draws were made; kept in files.

    Examples
    --------
    >>> from cslearn import Chains, CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> learner = CStreeLearner(search=Chains(n_iter=500)).fit(chickenpox_model().sample(1000, random_state=0))
    >>> learner.posterior_
    CStreePosterior(4 chains, 1600 draws of 4 variables)
    >>> list(learner.posterior_.precedence().columns)
    ['background', 'diagnosis', 'exposed', 'carrier']
    """

    variables: tuple[str, ...]
    chains: Sequence[Chain]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def orders(self) -> NDArray[np.int32]:
        """The draws of all chains, as columns of the data, shape (draws, p)."""
        return np.concatenate([chain.orders for chain in self.chains])

    @property
    def log_scores(self) -> NDArray[np.float64]:
        """The log order scores of the draws."""
        return np.concatenate([chain.log_scores for chain in self.chains])

    @property
    def best(self) -> Chain:
        """The chain that met the best order."""
        return max(self.chains, key=lambda chain: chain.best_log_score)

    def order_names(self, order: NDArray[np.integer]) -> tuple[str, ...]:
        """Return an order of columns as an order of names."""
        if order.ndim != 1 or sorted(order.tolist()) != list(range(len(self.variables))):
            raise InputError(
                f"an order is each of the columns 0 to {len(self.variables) - 1} once, not {order.tolist()}"
            )
        return tuple(self.variables[column] for column in order)

    def precedence(self) -> pd.DataFrame:
        """Return the share of the draws in which the variable of the row comes before that of the column."""
        import pandas as pd

        return pd.DataFrame(self.precedence_shares(), index=self.variables, columns=self.variables)

    def precedence_shares(self) -> NDArray[np.float64]:
        """Return :meth:`precedence` as an array, shape (p, p)."""
        positions = np.argsort(self.orders, axis=1)
        if not len(positions):
            return np.full((len(self.variables), len(self.variables)), np.nan)
        # One variable at a time: all pairs of all draws would take much memory.
        return np.array([(column[:, None] < positions).mean(axis=0) for column in positions.T])

    def plot_trace(self) -> Picture:
        """Draw the log order score of each chain: see :func:`cslearn.plots.plot_trace`."""
        from cslearn.plots import plot_trace

        return plot_trace(self)

    def plot_precedence(self) -> Picture:
        """Draw :meth:`precedence` as a heat map: see :func:`cslearn.plots.plot_precedence`."""
        from cslearn.plots import plot_precedence

        return plot_precedence(self)

    # ------------------------------------------------------------ can the draws be trusted?
    def diagnostics(self) -> pd.DataFrame:
        """Return how well the chains agree and how many independent draws theirs are worth.

        Returns
        -------
        DataFrame
            A row for the log order score and one for each pair of variables, whether the first comes before the second
            (at most 5000 pairs, taken at random but always the same), with the columns ``kind``, ``quantity``,
            ``mean``, ``r_hat``, ``ess`` and ``standard_error``, that of the mean. With the scores at hand, as after a
            fit, a row follows for each edge whose probability given the order varies from draw to draw, unless there
            are too many variables for that, which the ``note`` of :attr:`verdict` says. See
            :func:`cslearn.orders.r_hat` and :func:`cslearn.orders.effective_sample_size`.
            All three are not a number for what is the same in all draws.

        Examples
        --------
        >>> from cslearn import CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> posterior = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).posterior_
        >>> posterior.diagnostics()["quantity"].head(2).tolist()
        ['log score', 'background before diagnosis']
        >>> posterior.converged
        True
        """
        return diagnose(self._quantities()).to_frame()

    @cached_property
    def verdict(self) -> Verdict:
        """What the diagnostics say, in a sentence."""
        return self._verdict()

    @property
    def converged(self) -> bool:
        """Whether the diagnostics give no reason to doubt the draws."""
        # The score comes first, is quickly judged, and is often reason enough.
        return self._judge(islice(self._quantities(), 1)).converged and self.verdict.converged

    def _verdict(self) -> Verdict:
        return self._judge(self._quantities())

    def _judge(self, blocks: Iterable[Quantities]) -> Verdict:
        n_draws = min(len(chain.orders) for chain in self.chains)
        return Verdict.of(diagnose(blocks), len(self.chains), n_draws, **self._standards())

    def _standards(self) -> dict[str, Any]:
        """Return what a verdict depends on besides the diagnostics."""
        return {}

    def _quantities(self) -> Iterator[Quantities]:
        """Give the quantities that are diagnosed."""
        log_scores, positions = self._stacked()
        # Orders of equal score differ by rounding errors, which ranks would blow up.
        yield Quantities("score", ["log score"], np.round(log_scores[:, :, None], SCORE_DECIMALS))
        first, second = np.triu_indices(len(self.variables), 1)
        if len(first) > MAX_PAIRS:
            chosen = np.sort(np.random.default_rng(0).choice(len(first), MAX_PAIRS, replace=False))
            first, second = first[chosen], second[chosen]
        for begin in range(0, len(first), PAIRS_AT_ONCE):
            a, b = first[begin : begin + PAIRS_AT_ONCE], second[begin : begin + PAIRS_AT_ONCE]
            names = [f"{self.variables[i]} before {self.variables[j]}" for i, j in zip(a, b, strict=True)]
            yield Quantities("precedence", names, positions[:, :, a] < positions[:, :, b])

    def _stacked(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return log scores and places of the variables by chain and draw.

        Chains that were interrupted differ in length: the beginning of the longer ones is left out.
        """
        n = min(len(chain.orders) for chain in self.chains)
        log_scores = np.stack([chain.log_scores[len(chain.log_scores) - n :] for chain in self.chains])
        orders = np.stack([chain.orders[len(chain.orders) - n :] for chain in self.chains])
        return log_scores, np.argsort(orders, axis=2)

    # ------------------------------------------------------------ elsewhere
    def to_frame(self) -> pd.DataFrame:
        """Return the draws as a frame: ``chain``, ``draw``, ``log_score`` and ``order``, which is a tuple of names.

        Examples
        --------
        >>> from cslearn import Chains, CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> learner = CStreeLearner(search=Chains(n_iter=500)).fit(chickenpox_model().sample(1000, random_state=0))
        >>> draws = learner.posterior_.to_frame()
        >>> draws.columns.tolist()
        ['chain', 'draw', 'log_score', 'order']
        >>> sorted(draws["order"][0])
        ['background', 'carrier', 'diagnosis', 'exposed']
        """
        import pandas as pd

        lengths = [len(chain.orders) for chain in self.chains]
        return pd.DataFrame(
            {
                "chain": np.repeat(np.arange(len(lengths)), lengths),
                "draw": np.concatenate([np.arange(length) for length in lengths]),
                "log_score": self.log_scores,
                "order": pd.Series([self.order_names(order) for order in self.orders], dtype=object),
            }
        )

    def to_arviz(self) -> Any:
        """Return the draws for ArviZ: a tree of datasets whose group ``posterior`` has ``log_score`` and ``before``.

        ``before`` has the dimensions ``variable`` and ``other`` and tells whether the one comes before the other.
        Chains are cut to the same length, at their beginning. Needs the extra ``cslearn[arviz]``.

        Examples
        --------
        >>> from cslearn import Chains, CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> learner = CStreeLearner(search=Chains(n_iter=500)).fit(chickenpox_model().sample(1000, random_state=0))
        >>> learner.posterior_.to_arviz().posterior["before"].dims
        ('chain', 'draw', 'variable', 'other')
        """
        try:
            from arviz_base import from_dict
        except ImportError as error:
            raise MissingExtraError(
                "ArviZ is not installed; it comes with the extra: pip install cslearn[arviz]"
            ) from error
        log_scores, positions = self._stacked()
        before = positions[..., :, None] < positions[..., None, :]
        return from_dict(
            {"posterior": {"log_score": log_scores, "before": before}},
            coords={"variable": list(self.variables), "other": list(self.variables)},
            dims={"before": ["variable", "other"]},
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the draws to a NumPy archive (.npz) with the names of the variables and the settings.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from cslearn import Chains, CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> from cslearn.orders import OrderPosterior
        >>> learner = CStreeLearner(search=Chains(n_iter=500)).fit(chickenpox_model().sample(1000, random_state=0))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     learner.posterior_.save(pathlib.Path(folder, "draws.npz"))
        ...     again = OrderPosterior.load(pathlib.Path(folder, "draws.npz"))
        >>> bool((again.orders == learner.posterior_.orders).all())
        True
        """
        arrays = {
            f"{c}.{name}": np.asarray(getattr(chain, name)) for c, chain in enumerate(self.chains) for name in PARTS
        }
        header = {"variables": list(self.variables), "chains": len(self.chains), "settings": dict(self.settings)}
        write_arrays(path, KIND, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote. Nothing in the file is executed."""
        header, arrays = read_arrays(path, KIND)
        try:
            variables = tuple(header["variables"])
            chains = []
            for c in range(header["chains"]):
                parts = {name: arrays[f"{c}.{name}"] for name in PARTS}
                draws, p = parts["orders"].shape
                if p != len(variables) or parts["log_scores"].shape != (draws,) or parts["best_order"].shape != (p,):
                    raise ValueError("the sizes of its arrays differ")
                rows = np.vstack([parts["orders"], parts["best_order"]])
                if not (np.sort(rows, axis=1) == np.arange(p)).all():
                    raise ValueError("a row is no order of the variables")
                scalars = {name: convert(parts[name]) for name, convert in SCALARS.items()}
                chains.append(Chain(**{**parts, **scalars}))
            return cls(variables, chains, header["settings"])
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(f"{os.fspath(path)} is damaged: {error}") from error

    def __repr__(self) -> str:
        draws, p = self.orders.shape
        return f"OrderPosterior({len(self.chains)} chains, {draws} draws of {p} variables)"
