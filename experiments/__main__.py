"""Run every experiment, one after the other."""

import sys

from experiments import alarm, density, figure2, figure3, learners, mushroom, networks, numbers, r_peers, sachs


def main(argv: list[str] | None = None) -> None:
    argv = sys.argv[1:] if argv is None else argv
    for experiment in (alarm, sachs, mushroom, figure2, figure3, density, r_peers, learners, networks, numbers):
        experiment.main(argv)


if __name__ == "__main__":
    main()
