"""The compiled loops, one small file each: arrays in and arrays out. Compiled when first used, and kept on disk.

The logger ``cslearn`` tells, at level INFO and once in a process, when a kernel that is not yet on disk is compiled.
"""

import atexit
import logging
import shutil
import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from llvmlite.binding import parse_assembly
from numba import config, njit, types
from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

__all__ = ["inner", "maker", "outer"]


def _use_a_directory_that_can_be_written() -> bool:
    """Where Numba can write neither beside the kernels nor in the user's cache, give it a directory for this process.

    It is a new one, not one that others could have filled: what Numba reads from it is executed. Tells whether what is
    compiled is kept for other processes.
    """
    try:
        njit(cache=True)(_use_a_directory_that_can_be_written)
    except RuntimeError:
        directory = tempfile.mkdtemp(prefix="cslearn-kernels-")
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
        config.CACHE_DIR = directory  # type: ignore[attr-defined]
        return False
    return True


class _Notice(event.Listener):
    """Tells of the first kernel that is compiled; one that is read from disk is no such event."""

    def __init__(self, kept: bool) -> None:
        self.why = "to be kept for the next time" if kept else "as there is no directory where they could be kept"
        self.told = False

    def on_start(self, event: Any) -> None:
        if not self.told and event.data["dispatcher"].py_func.__module__.startswith(__name__):
            self.told = True
            logging.getLogger("cslearn").info("compiling the inner loops, %s; this takes some seconds", self.why)

    def on_end(self, event: Any) -> None:
        """Nothing to tell."""


event.register("numba:compile", _Notice(_use_a_directory_that_can_be_written()))

# What Numba calls the place of what belongs to a function in Python.
_ENV = "NumbaEnv"


class _Linked(JITCodeLibrary):
    """The code of a kernel that only kernels call: it is optimised and made machine code as a part of these alone."""

    def _optimize_final_module(self) -> None:
        """Leave it to the kernels that this one is linked to."""

    def _finalize_final_module(self) -> None:
        self._finalized = True
        environments = [line for line in map(str, self._get_module_for_linking().global_variables) if _ENV in line]
        # Numba writes to that place, so there is one, and nothing else.
        empty = str(self._codegen._create_empty_module(self.name))
        self._final_module = parse_assembly("\n".join([empty, *environments]))
        super()._finalize_final_module()


class _LinkedCompiler(Compiler):
    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile a function for others to be linked to."""
        self.state.library = _Linked(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(func)


# Kernels are called from Python or from other kernels, never from C, and what only kernels call needs no wrapper: one
# takes longer to compile than a small loop does. It is optimised in every kernel that is called from Python and leads
# to it, and there alone: so these are few.
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_NO_WRAPPER: dict[str, Any] = {"no_cpython_wrapper": True, "pipeline_class": _LinkedCompiler}
# What makes no arrays counts no references to them either: to count each use of a field of a named tuple had taken more
# than a third of the time of moves over orders.
_NO_REFERENCES: dict[str, Any] = {"_nrt": False}
# A digest of all kernels: what was compiled from other versions of them is not used, whichever file was changed.
_VERSION = sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).digest()


def _kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that has a function compiled once for each type of its arguments, not for each constant."""

    def decorate(function: Callable[..., Any]) -> Any:
        made = njit(**options)(function)
        typed = made.get_call_template

        def typed_once(args: Any, kws: Any) -> Any:
            found = typed(
                tuple(types.unliteral(kind) for kind in args),
                {name: types.unliteral(kind) for name, kind in kws.items()},
            )
            if "_nrt" in options:
                for signature in made.nopython_signatures:
                    if not _is_plain(signature.return_type):
                        raise TypeError(f"{function.__name__} returns an array, to which its caller counts references")
            return found

        made.get_call_template = typed_once
        made._cache._cache_file._source_stamp = _VERSION
        return made

    return decorate


def _is_plain(kind: types.Type) -> bool:
    """Tell whether values of a type are numbers, or tuples of them."""
    parts: tuple[types.Type, ...] = getattr(kind, "types", (kind,))
    return all(isinstance(part, types.Number | types.Boolean | types.NoneType) for part in parts)


# Called from Python; called from kernels; and called from kernels, and making arrays.
outer = _kernel(**_OPTIONS)
inner = _kernel(**_OPTIONS, **_NO_WRAPPER, **_NO_REFERENCES)
maker = _kernel(**_OPTIONS, **_NO_WRAPPER)
