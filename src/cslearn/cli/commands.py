"""All commands: importing this module registers them."""

from cslearn.cli import discretize, effects, exchange, packing, plot, report, using  # noqa: F401
from cslearn.cli.app import app, main

__all__ = ["app", "main"]
