"""Models and data to try things on: the examples of the paper, real data sets, and Bayesian networks.

The models of the paper's examples are built in, and so are the Titanic and the monks' problems, which are a table of
counts and three rules. All else is read from the directory that the environment variable ``CSLEARN_DATA`` names, if it
holds the file, and is otherwise fetched from its public origin, once (extra ``cslearn[data]``). Either way the table is
compared with a checksum of its cells. :func:`load_density` has the binary sets of the density-estimation literature.
"""

from __future__ import annotations

from cslearn.datasets.density import Splits, density_names, load_density
from cslearn.datasets.models import chickenpox_model, dense_model, supplement_model
from cslearn.datasets.real import (
    dataset_names,
    load_alarm,
    load_dataset,
    load_mushroom,
    load_network,
    load_sachs,
    network_names,
    true_edges,
)

__all__ = [
    "Splits",
    "chickenpox_model",
    "dataset_names",
    "dense_model",
    "density_names",
    "load_alarm",
    "load_dataset",
    "load_density",
    "load_mushroom",
    "load_network",
    "load_sachs",
    "network_names",
    "supplement_model",
    "true_edges",
]
