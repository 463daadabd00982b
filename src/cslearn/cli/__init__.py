"""The command line."""

from cslearn.cli.app import main

__all__ = ["main"]
