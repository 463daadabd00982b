"""Where other programs are: each in an environment of its own, made on the first run."""

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from sys import executable

from benchmarks.peers import INSTALL, environment

from experiments.common import ROOT

ENVIRONMENTS = ROOT / ".venv-peers"


@cache
def python_of(name: str, install: bool = True) -> str | None:
    """Return the Python of another program, or None if it is not there.

    If it may not be installed, as in quick runs, its own environment is taken if it is there, and the one of this
    process otherwise if that has the program in the right version.
    """
    if install or (ENVIRONMENTS / name / "installed").exists():
        return environment(ENVIRONMENTS, name)
    try:
        return executable if f"{name} {version(name)}" == pinned(name) else None
    except PackageNotFoundError:
        return None


def pinned(name: str) -> str:
    """Return a program with the version that is installed for it.

    >>> pinned("cegpy")
    'cegpy 1.1.0'
    """
    packages = (re.fullmatch(r"([\w-]+)==([\w.]+)", package) for listed in INSTALL[name] for package in listed)
    found = {match[1]: match[2] for match in packages if match}
    return f"{name} {found[name]}"
