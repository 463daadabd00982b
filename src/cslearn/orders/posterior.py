"""What the sampled orders say about the order posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cslearn.orders.chains import Chain

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["OrderPosterior"]


@dataclass(frozen=True)
class OrderPosterior:
    """Orders drawn from their posterior by one or more chains.

    Parameters
    ----------
    variables : tuple of str
        Names of the columns that the chains' orders are made of.
    chains : sequence of Chain

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> learner = CStreeLearner(n_iter=500).fit(chickenpox_model().sample(1000, random_state=0))
    >>> learner.posterior_
    OrderPosterior(2 chains, 800 draws of 4 variables)
    >>> list(learner.posterior_.precedence().columns)
    ['background', 'diagnosis', 'exposed', 'carrier']
    """

    variables: tuple[str, ...]
    chains: Sequence[Chain]

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
        return tuple(self.variables[column] for column in order)

    def precedence(self) -> pd.DataFrame:
        """Return the share of the draws in which the variable of the row comes before that of the column."""
        import pandas as pd

        positions = np.argsort(self.orders, axis=1)
        before = (positions[:, :, None] < positions[:, None, :]).mean(axis=0) if len(positions) else np.nan
        return pd.DataFrame(before, index=self.variables, columns=self.variables)

    def __repr__(self) -> str:
        draws, p = self.orders.shape
        return f"OrderPosterior({len(self.chains)} chains, {draws} draws of {p} variables)"
