"""The command line."""

from cslearn.cli import discretize, exchange, plot, report, using  # noqa: F401  (they register their commands)
from cslearn.cli.app import main

__all__ = ["main"]
