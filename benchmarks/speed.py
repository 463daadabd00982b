"""Speed and memory of learning random CStrees: seconds by phase, moves per second, growth with p.

Each case has a process of its own, so that its peak memory is its own; the kernels are warm when the clock starts.
"""

import argparse
import json
import subprocess
import sys
from time import process_time

import numpy as np

from benchmarks.report import peak_memory_mb, picture, publish, table
from cslearn import Chains, CStreeLearner, random_cstree

N_ITER = 5000
SIZES, ROWS = (5, 7, 10, 15, 20, 50, 100, 250, 500), (1000, 10_000)
# More than two states, with many rows up to so many variables.
STATES, MOST_WITH_ROWS = (3, 4, 8), 100
PHASES = ("candidates", "scores", "prior", "orders", "stagings", "parameters")


def warm_up() -> None:
    """Compile or load the kernels by small fits: one whose scores are looked up, and one whose scores are kept."""
    for cards in ([2, 3, 2, 3], [2, 3] * 10):
        data = random_cstree(cards, random_state=0).sample_table(50, random_state=0)
        CStreeLearner(beta=2, search=Chains(n_iter=20, n_chains=1), random_state=0).fit(data)


def measure(p: int, n: int, card: int) -> dict[str, object]:
    """Return the least seconds of each phase over a few fits, and the peak memory."""
    data = random_cstree([card] * p, random_state=0).sample_table(n, random_state=1)
    warm_up()
    before = peak_memory_mb()
    runs = []
    for _ in range(3):
        begin = process_time()
        learner = CStreeLearner(beta=2, search=Chains(n_iter=N_ITER, n_chains=1), random_state=0).fit(data)
        runs.append({"cpu": process_time() - begin, **learner.timings_})
        if sum(run["cpu"] for run in runs) > 5:
            break
    taken = max(len(candidates) for candidates in learner.candidates_.sets.values())
    best = {key: min(run[key] for run in runs) for key in runs[0]}
    return {"p": p, "n": n, "card": card, "taken": taken, "before": before, "peak": peak_memory_mb(), **best}


def in_process(p: int, n: int, card: int) -> dict[str, object]:
    """Measure a case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.speed", "--case", str(p), str(n), str(card)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    result = json.loads(done.stdout.splitlines()[-1])
    print(f"p={p} n={n} states={card}: {result['cpu']:.2f} s", file=sys.stderr)
    return result


def row(case: dict[str, object]) -> list[object]:
    total = sum(case[phase] for phase in ("data", *PHASES))
    cells = [case["p"], case["n"], case["card"], case["taken"]]
    cells += [f"{case[phase]:.3f}" for phase in PHASES]
    return [
        *cells,
        f"{total:.2f}",
        f"{case['cpu']:.2f}",
        f"{N_ITER / case['orders']:,.0f}",
        f"{case['before']:.0f}",
        f"{case['peak']:.0f}",
    ]


def exponent(cases: list[dict[str, object]], phase: str) -> str:
    """Return the slope of log seconds, or of the logarithm of the memory that a fit adds, against log p."""
    y = [case["peak"] - case["before"] if phase == "memory" else case[phase] for case in cases]
    slope = np.polyfit(np.log([case["p"] for case in cases]), np.log(np.maximum(y, 1e-4)), 1)[0]
    return f"{slope:.2f}"


def growth(cases: list[dict[str, object]]) -> str:
    """Describe how phases and memory grow over the last points that took all variables as candidates."""
    lines = []
    phases = (*PHASES[1:], "memory")
    for n in sorted({case["n"] for case in cases}):
        last = [case for case in cases if case["n"] == n and case["taken"] == case["p"] - 1][-3:]
        if len(last) == 3:
            lines.append([n, ", ".join(str(case["p"]) for case in last), *(exponent(last, phase) for phase in phases)])
    return table(["n", "p", *("moves" if phase == "orders" else phase for phase in phases)], lines)


def plot(cases: list[dict[str, object]], quick: bool) -> str:
    """Draw seconds against p where all variables are candidates; return the Markdown."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for phase in ("scores", "prior", "orders"):
        for n, style in ((1000, "o-"), (10_000, "s--")):
            some = [case for case in cases if case["n"] == n and case["taken"] == case["p"] - 1]
            axes.loglog([c["p"] for c in some], [c[phase] for c in some], style, label=f"{phase}, n = {n:,}")
    axes.set(xlabel="variables", ylabel="seconds", title=f"{N_ITER:,} moves, binary, all variables as candidates")
    axes.legend(fontsize=8)
    figure.tight_layout()
    return picture(figure, "speed", "Seconds by phase against the number of variables", quick=quick)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few variables, to see that it works; writes no page")
    parser.add_argument("--case", type=int, nargs=3, metavar=("P", "N", "STATES"), help="measure one case only")
    options = parser.parse_args(arguments)
    if options.case:
        print(json.dumps(measure(*options.case)))
        return
    sizes = SIZES[:2] if options.quick else SIZES
    cases = [in_process(p, n, 2) for n in ROWS for p in sizes]
    states = [in_process(p, n, d) for d in STATES for n in ROWS for p in sizes if n == ROWS[0] or p <= MOST_WITH_ROWS]
    headers = ["p", "n", "states", "largest set", *PHASES, "wall", "CPU", "moves per second", "MB before", "MB at peak"]
    text = f"""\
Random CStrees, context bound 2, one chain of {N_ITER:,} moves, `candidates="auto"`. Seconds of wall time,
except *CPU*; the least of three fits (of fewer where they take more than 5 s), with warm kernels, in a process of its
own. *largest set*: of the candidates of a variable; p - 1 where all variables are taken, less where they are screened.
*MB before*: memory of the process before the fit, with its libraries. One model for each size, seed 0.

{table(headers, [row(case) for case in cases])}

## More states

{table(headers, [row(case) for case in states])}

## Growth with p

Slope of log seconds, or of the logarithm of the memory that the fit adds, against log p, over the last points where all
variables are candidates. Scores of contexts of two variables have exponent 3: there are p candidates for each of p
targets, and pairs of them. A move has exponent 2, and somewhat more where the tables leave the caches: the level of
every other variable gains or loses the one that moves, in time proportional to its size, and the moved one's own level
is rebuilt. With a screen it is the sizes of the candidate sets that count, as the moves per second for 500
variables show.

{growth(cases)}

{plot(cases, options.quick)}"""
    publish("speed", "Speed of learning", text, quick=options.quick, paper_bound=True)


if __name__ == "__main__":
    main()
