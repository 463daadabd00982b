"""Where other programs are: in the environment of this process, or in one of their own, made on the first run."""

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

    That is its own environment if there is one, the one of this process if that has the program in the right version,
    and otherwise, if it may be installed, an environment that is made now.
    """
    if (ENVIRONMENTS / name / "installed").exists():
        return environment(ENVIRONMENTS, name)
    try:
        if f"{name} {version(name)}" == pinned(name):
            return executable
    except PackageNotFoundError:
        pass
    return environment(ENVIRONMENTS, name) if install else None


def pinned(name: str) -> str:
    """Return a program with the version that is installed for it.

    >>> pinned("cegpy")
    'cegpy 1.1.0'
    """
    packages = (re.fullmatch(r"([\w-]+)==([\w.]+)", package) for listed in INSTALL[name] for package in listed)
    found = {match[1]: match[2] for match in packages if match}
    return f"{name} {found[name]}"
