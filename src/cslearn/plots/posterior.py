"""Charts of the order posterior: traces, precedence, and probabilities of edges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from cslearn._checked import checked
from cslearn.errors import InputError
from cslearn.plots._extra import figures

if TYPE_CHECKING:
    import pandas as pd

    from cslearn.orders import OrderPosterior
    from cslearn.plots._figure import Picture

__all__ = ["plot_edge_probabilities", "plot_precedence", "plot_trace"]

# Okabe and Ito, the dark ones, for lines.
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#1F2933")
POINTS = 2000  # drawn of a trace
WRITTEN = 14  # variables up to which numbers are written into a heat map
NAMED = 150  # variables up to which the axes have names


@checked
def plot_trace(posterior: OrderPosterior) -> Picture:
    """Draw the log order score of each chain against its moves, with the best order that was met.

    Chains that mix look alike and flat; a chain that still climbs, or sits lower than another, has not arrived.

    Parameters
    ----------
    posterior : OrderPosterior

    Returns
    -------
    Picture

    Examples
    --------
    >>> from cslearn import Chains, CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.plots import plot_trace
    >>> learner = CStreeLearner(search=Chains(n_iter=500), random_state=0)
    >>> learner = learner.fit(chickenpox_model().sample(500, random_state=0))
    >>> plot_trace(learner.posterior_).axes[0].get_ylabel()
    'log order score'
    """
    draw = figures()
    if not any(len(chain.trace) for chain in posterior.chains):
        raise InputError("there is no trace to draw: the chains made no moves")
    with draw.charts((460.0, 230.0)) as (figure, ax):
        for number, chain in enumerate(posterior.chains):
            # Many moves are drawn as the range of each run of moves, so that no peak is lost.
            run = max(1, len(chain.trace) // POINTS)
            moves = np.arange(1, len(chain.trace) + 1)
            colour = LINES[number % len(LINES)]
            style = ("-", "--", ":", "-.")[number // len(LINES) % 4]
            if run == 1:
                ax.plot(moves, chain.trace, style, color=colour, linewidth=0.8, label=f"chain {number + 1}")
            else:
                blocks = chain.trace[: len(chain.trace) // run * run].reshape(-1, run)
                at = moves[run - 1 :: run][: len(blocks)]
                ax.fill_between(at, blocks.min(axis=1), blocks.max(axis=1), color=colour, alpha=0.3, linewidth=0)
                ax.plot(at, blocks.mean(axis=1), style, color=colour, linewidth=0.9, label=f"chain {number + 1}")
        best = max(chain.best_log_score for chain in posterior.chains)
        ax.axhline(best, color=draw.FAINT, linewidth=0.8, linestyle=(0, (4, 3)), label=f"best, {best:,.1f}")
        ax.set_xlabel("move")
        ax.set_ylabel("log order score")
        ax.ticklabel_format(axis="y", useOffset=False)
        ax.margins(x=0.01)
        shown, labels = ax.get_legend_handles_labels()
        if len(shown) > 12:
            shown, labels = [*shown[:11], shown[-1]], [*labels[:11], labels[-1]]
        ax.legend(shown, labels, frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


@checked
def plot_precedence(posterior: OrderPosterior) -> Picture:
    """Draw in which share of the sampled orders the variable of the row comes before that of the column.

    Variables are sorted by their mean place, so an order that the data settle is blue above the diagonal.

    Parameters
    ----------
    posterior : OrderPosterior

    Returns
    -------
    Picture

    Examples
    --------
    >>> from cslearn import Chains, CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.plots import plot_precedence
    >>> learner = CStreeLearner(search=Chains(n_iter=500), random_state=0)
    >>> learner = learner.fit(chickenpox_model().sample(500, random_state=0))
    >>> plot_precedence(learner.posterior_).axes[0].get_ylabel()
    'comes before'
    """
    frame = posterior.precedence()
    ranked = frame.sum(axis=1).sort_values(ascending=False, kind="stable").index
    frame = frame.loc[ranked, ranked]
    return _heat_map(frame, "PuOr", "share of the sampled orders", rows="comes before")


@checked
def plot_edge_probabilities(frame: pd.DataFrame, *, order: Iterable[Any] | None = None) -> Picture:
    """Draw the probabilities of edges as a heat map.

    Parameters
    ----------
    frame : pandas.DataFrame
        Probabilities; rows are parents and columns children.
    order : sequence of names, optional
        The order of rows and columns; by default that of the frame.

    Returns
    -------
    Picture

    Examples
    --------
    >>> import pandas as pd
    >>> from cslearn.plots import plot_edge_probabilities
    >>> frame = pd.DataFrame([[0.0, 0.9], [0.1, 0.0]], index=["a", "b"], columns=["a", "b"])
    >>> plot_edge_probabilities(frame).axes[0].get_xlabel()
    'child'
    """
    if list(frame.index) != list(frame.columns):
        raise InputError("the rows and columns of edge probabilities are the same variables, in the same order")
    if order is not None:
        if sorted(map(repr, order)) != sorted(map(repr, frame.index)):
            raise InputError("the order must name each variable of the frame once")
        frame = frame.loc[list(order), list(order)]
    values = frame.to_numpy(dtype=float)
    known = values[~np.eye(len(values), dtype=bool)]
    off = known[~(np.isnan(known) | ((known >= 0) & (known <= 1)))]
    if len(off):
        raise InputError(f"probabilities are between 0 and 1, but one is {off[0]}")
    return _heat_map(frame, "Blues", "probability of the edge", rows="parent", columns="child")


def _heat_map(frame: pd.DataFrame, colours: str, title: str, rows: str, columns: str = "") -> Picture:
    draw = figures()
    values = frame.to_numpy(dtype=float).copy()
    np.fill_diagonal(values, np.nan)
    p = len(values)
    cell = 30.0 if p <= WRITTEN else max(4.0, min(14.0, 900.0 / p))
    names = [draw.plain(str(name)) for name in frame.index]
    beside = min(max((draw.text_size(name, 9.0)[0] for name in names), default=0.0), 160.0) if p <= NAMED else 20.0
    side = max(p * cell, 90.0)
    with draw.charts((side + beside + 110.0, side + beside + 60.0)) as (figure, ax):
        image = ax.imshow(values, cmap=colours, vmin=0.0, vmax=1.0, interpolation="nearest")
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        if p <= NAMED:
            size = min(9.0, max(3.5, 0.8 * cell))
            draw.names_on_axis(ax.xaxis, list(frame.columns), rotation=90, fontsize=size)
            draw.names_on_axis(ax.yaxis, list(frame.index), fontsize=size)
        else:
            ax.set_xticks([])
            ax.set_yticks([])
        if p <= WRITTEN:
            for i in range(p):
                for j in range(p):
                    if i != j and not np.isnan(values[i, j]):
                        red, green, blue, _ = image.cmap(image.norm(values[i, j]))
                        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
                        ax.text(
                            j, i, f"{values[i, j]:.2f}", ha="center", va="center", fontsize=7.5,
                            color="white" if dark else draw.INK,
                        )  # fmt: skip
        ax.set_ylabel(rows)
        ax.set_xlabel(columns)
        bar = figure.colorbar(image, ax=ax, shrink=min(1.0, 150.0 / side + 0.4), aspect=18)
        bar.set_label(title)
        bar.outline.set_visible(False)
    return figure
