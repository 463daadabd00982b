"""The command line."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; an interrupt while it is being loaded ends it as quietly as a later one."""
    try:
        from cslearn.cli.commands import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        sys.exit(130)
