"""The command line."""

import os
import signal
import sys
from typing import Any, NoReturn

__all__ = ["main"]

INTERRUPTED = "interrupted: nothing was written"


def main() -> None:
    """Run the command line; an interrupt while it is being loaded ends it as quietly as a later one."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_at_once)
    try:
        from cslearn.cli.commands import main as run

        signal.signal(signal.SIGINT, usual)
        run()
    except KeyboardInterrupt:
        print(INTERRUPTED, file=sys.stderr)
        sys.exit(130)


def _end_at_once(number: int, frame: Any) -> NoReturn:
    """End the process: an exception within the import system may be lost in one of its callbacks."""
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(130)
