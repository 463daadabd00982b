"""The compiled loops, one small file each: arrays in and arrays out. Compiled when first used, and kept on disk."""

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Any

from numba import config, njit

__all__ = ["are_compiled", "inner", "outer"]


def _use_a_directory_that_can_be_written() -> None:
    """Where Numba can write neither beside the kernels nor in the user's cache, give it a directory for this process.

    It is a new one, not one that others could have filled: what Numba reads from it is executed.
    """
    try:
        njit(cache=True)(_use_a_directory_that_can_be_written)
    except RuntimeError:
        directory = tempfile.mkdtemp(prefix="cslearn-kernels-")
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
        config.CACHE_DIR = directory  # type: ignore[attr-defined]


_use_a_directory_that_can_be_written()

# Kernels are called from Python or from other kernels; what only kernels call needs no wrapper, which takes longer to
# compile than a small loop does. Each kernel is optimised once more in every kernel that calls it: where that takes
# long there are few calls and few layers.
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
_NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
outer = njit(**_OPTIONS)
inner = njit(**_OPTIONS, **_NO_WRAPPERS)


def are_compiled() -> bool:
    """Tell whether the kernels of the order search have been compiled on this machine before."""
    from cslearn._kernels import relocation

    return any(Path(str(relocation.run.stats.cache_path)).glob("relocation.run-*.nbi"))
