"""Print the lowest versions that pyproject.toml declares, as constraints for pip: `make test-lowest` installs them.

Tools of tests and documents are left out: no user runs them, and their lowest versions need not fit together.
"""

import re
import tomllib
from pathlib import Path

TOOLS = ("docs", "test", "dev")
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(?:\[[^\]]*\])?\s*>=\s*(?P<version>[0-9.]+)")


def lowest(project):
    """Return a constraint for each requirement with a lower bound; one without is an error."""
    extras = [needs for extra, needs in project["optional-dependencies"].items() if extra not in TOOLS]
    found = {}
    for requirement in [*project["dependencies"], *(one for needs in extras for one in needs)]:
        match = REQUIREMENT.match(requirement)
        if match is None and not requirement.startswith(f"{project['name']}["):
            raise ValueError(f"{requirement} has no lower bound")
        if match is not None and found.setdefault(match["name"], match["version"]) != match["version"]:
            raise ValueError(f"{match['name']} has two lower bounds, {found[match['name']]} and {match['version']}")
    return [f"{name}=={version}" for name, version in sorted(found.items())]


if __name__ == "__main__":
    with Path(__file__).parents[1].joinpath("pyproject.toml").open("rb") as file:
        print("\n".join(lowest(tomllib.load(file)["project"])))
