"""The command line."""

from cslearn.cli import plot, using  # noqa: F401  (register their commands)
from cslearn.cli.app import main

__all__ = ["main"]
