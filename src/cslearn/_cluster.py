"""Workers of a Dask cluster: waiting for them, and for what they answer."""

from __future__ import annotations

from typing import Any

from cslearn.errors import InputError

__all__ = ["ATTEMPTS", "answer_of", "lost", "need_workers"]

# How often work is given to workers again after they were lost.
ATTEMPTS = 20
# How long a cluster may be without workers.
SECONDS = 60.0


def need_workers(client: Any) -> None:
    """Wait until the cluster has a worker; raise an error when it has had none for :data:`SECONDS`."""
    try:
        client.wait_for_workers(1, timeout=SECONDS)
    except TimeoutError:
        raise InputError(
            f"the Dask cluster had no workers for {SECONDS:g} seconds: start some, and if they have to wait for their"
            " turn call client.wait_for_workers(1) first, which waits for as long as it takes"
        ) from None


def answer_of(client: Any, future: Any) -> Any:
    """Return the result of a future, which may take long, but not without workers."""
    while True:
        try:
            return future.result(timeout=SECONDS)
        except TimeoutError:
            if future.done():  # an error of the work itself
                raise
            need_workers(client)


def lost() -> tuple[type[BaseException], ...]:
    """Return what Dask raises when workers are lost."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm.core import CommClosedError

    return KilledWorker, CancelledError, CommClosedError
