# `make demo` and `make test` need Python 3.11 or newer and nothing else: the rest is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
BENCH_PARTS := bench-use bench-search bench-accuracy bench-large

.PHONY: demo test test-slow test-lowest test-package coverage lint bench $(BENCH_PARTS) reproduce reproduce-quick docs clean

# pip runs again only when the dependencies change; the package itself is installed editable.
.venv/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "cslearn needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[plots]'
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: .venv/installed
	$(BIN)/cslearn demo

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest -m 'not slow' -n 2 --dist loadfile

test-slow: .venv/installed-dev
	$(BIN)/pytest -m slow -n 2
	$(BIN)/pytest -m 'hypothesis and not slow' -n 2 --hypothesis-profile=new-examples

# The lowest versions that pyproject.toml declares, in an environment of their own. Old packages warn of what will change.
test-lowest:
	$(PYTHON) -m venv build/lowest
	$(PYTHON) tests/lowest.py > build/lowest/constraints.txt
	build/lowest/bin/python -m pip install --quiet --constraint build/lowest/constraints.txt --editable '.[test]'
	build/lowest/bin/pytest -m 'not slow' -n 2 -W ignore::DeprecationWarning -W ignore::FutureWarning

# Wheel and source distribution, built, installed elsewhere and run.
test-package:
	$(PYTHON) -m venv build/package
	build/package/bin/python -m pip install --quiet build
	build/package/bin/python -m build --outdir build/package/dist .
	$(PYTHON) -m venv build/package/wheel && build/package/wheel/bin/python -m pip install --quiet build/package/dist/*.whl
	$(PYTHON) -m venv build/package/sdist && build/package/sdist/bin/python -m pip install --quiet build/package/dist/*.tar.gz
	cd build/package && wheel/bin/cslearn demo && sdist/bin/cslearn demo

coverage: .venv/installed-dev
	$(BIN)/pytest -m 'not slow' -n 2 --dist loadfile --cov --cov-report=term:skip-covered --cov-report=html:build/coverage

# All benchmarks, part by part; each part can be run alone.
bench: $(BENCH_PARTS)

$(BENCH_PARTS): bench-%: .venv/installed-dev
	$(BIN)/python -m benchmarks --peers --part $*

# The experiments of the paper. Both go on where they were ended; the quick one writes to build/reproduction.
reproduce: .venv/installed-dev
	$(BIN)/python -m experiments --full --jobs 2

reproduce-quick: .venv/installed-dev
	$(BIN)/python -m experiments --quick

# The site needs no network once its tools are installed; a warning is an error.
docs: .venv/installed-dev
	$(BIN)/python -m sphinx -q -W --keep-going -E -c docs/site -d build/doctrees . build/site
	@echo "The site is in build/site: open build/site/index.html in a browser."

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
