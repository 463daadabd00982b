"""The command line."""

from cslearn.cli import plot  # noqa: F401  (registers its command)
from cslearn.cli.app import main

__all__ = ["main"]
