"""Settings that all tests share, the command line, a model in a file, and the browser that some of them need."""

import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest
from hypothesis import settings

from cslearn.cli import main
from cslearn.datasets import chickenpox_model

# What runs in the background ignores interrupts, and so does what it starts; some tests are about them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The first call of a kernel compiles it, so no example has a deadline; failures print how to reproduce them. The same
# few examples are tried in every run, so that a change is to blame for what fails and the run is short; `make
# test-slow` looks for new ones, and for more. The profile says how many, not each test.
settings.register_profile("cslearn", deadline=None, print_blob=True, derandomize=True, max_examples=20)
settings.register_profile("new-examples", deadline=None, print_blob=True, max_examples=100)
settings.load_profile("cslearn")

# Small fits that between them call most kernels.
COMPILE = """
import warnings
from cslearn import Chains, CStreeLearner, random_cstree
warnings.simplefilter("ignore")
table = random_cstree(17, random_state=0).sample_table(100, random_state=0)
short = Chains(n_iter=2, n_chains=1)
for settings in ({}, {"beta": 2}, {"beta": 3, "candidates": {"X1": ["X2", "X3", "X4"]}}):
    CStreeLearner(search=short, **settings).fit(table)
CStreeLearner().fit(table.select(table.variables[:4]))
"""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """Compile the inner loops once, where they are not on disk yet, before every worker does so for itself."""
    subprocess.run([sys.executable, "-c", COMPILE], check=False)


FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium():
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    return os.environ.get("CSLEARN_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    if path is None:
        pytest.skip("no Chromium on the PATH: install it, or name it in CSLEARN_CHROMIUM, to run these tests")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command; return its exit code, output and errors."""

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["cslearn", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "120")
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return command


@pytest.fixture
def model(tmp_path):
    """The path of a saved model."""
    path = tmp_path / "model.json"
    chickenpox_model().save(path)
    return path
