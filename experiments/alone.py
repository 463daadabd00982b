"""A function of a task in a process of its own, so that its memory and its CPU seconds are its own."""

import json
import resource
import signal
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from experiments.common import ROOT


def alone(function: Any, task: dict[str, Any], limit: float) -> dict[str, Any]:
    """Return what a function says of a task, or ``{"stopped": limit}`` if it takes more CPU seconds than that."""
    module = function.__globals__["__spec__"].name  # not `__main__`
    command = [sys.executable, "-m", "experiments.alone", module, function.__name__, str(int(limit))]
    run = subprocess.run([*command, json.dumps(task)], capture_output=True, text=True, cwd=ROOT)
    if run.returncode == -signal.SIGXCPU:
        return {"stopped": limit}
    if run.returncode:
        raise RuntimeError(f"{task} failed:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def peak_mb() -> float:
    """Return the most memory in MB that this process has had; what it was forked from does not count."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def main() -> None:
    module, name, limit, task = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 10))
    warnings.simplefilter("ignore")
    print(json.dumps(getattr(import_module(module), name)(json.loads(task))))


if __name__ == "__main__":
    main()
