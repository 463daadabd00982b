"""Models in the formats of other programs, both ways. Knows nothing of learning.

BIF, XMLBIF, pgmpy and pyAgrum hold Bayesian networks: probabilities, but no contexts. GraphML, networkx and the
language of dosearch hold LDAGs: contexts, but no probabilities. :data:`FORMATS` says what each format keeps.
"""

from cslearn.formats.adjacency import adjacency_matrix, read_adjacency, write_adjacency
from cslearn.formats.benchpress import read_trajectory, write_benchpress_graph, write_trajectory
from cslearn.formats.bif import from_bif, read_bif, to_bif, write_bif
from cslearn.formats.convert import FORMATS, Format, format_of, read_model, write_model
from cslearn.formats.cstrees import from_cstrees_table, read_cstrees, to_cstrees_table, write_cstrees
from cslearn.formats.dosearch import from_dosearch, read_dosearch, to_dosearch, write_dosearch
from cslearn.formats.graphml import from_networkx, read_graphml, write_graphml
from cslearn.formats.pgmpy import from_pgmpy, to_pgmpy
from cslearn.formats.pyagrum import from_pyagrum, to_pyagrum
from cslearn.formats.stagedtrees import (
    read_stagedtrees_table,
    to_stagedtrees,
    write_stagedtrees,
    write_stagedtrees_table,
)
from cslearn.formats.xmlbif import from_xmlbif, read_xmlbif, to_xmlbif, write_xmlbif

__all__ = [
    "FORMATS",
    "Format",
    "adjacency_matrix",
    "format_of",
    "from_bif",
    "from_cstrees_table",
    "from_dosearch",
    "from_networkx",
    "from_pgmpy",
    "from_pyagrum",
    "from_xmlbif",
    "read_adjacency",
    "read_bif",
    "read_cstrees",
    "read_dosearch",
    "read_graphml",
    "read_model",
    "read_stagedtrees_table",
    "read_trajectory",
    "read_xmlbif",
    "to_bif",
    "to_cstrees_table",
    "to_dosearch",
    "to_pgmpy",
    "to_pyagrum",
    "to_stagedtrees",
    "to_xmlbif",
    "write_adjacency",
    "write_benchpress_graph",
    "write_bif",
    "write_cstrees",
    "write_dosearch",
    "write_graphml",
    "write_model",
    "write_stagedtrees",
    "write_stagedtrees_table",
    "write_trajectory",
    "write_xmlbif",
]
