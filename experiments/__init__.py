"""The experiments of the paper, redone: ``python -m experiments --quick`` or ``--full``."""
