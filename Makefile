# Everything a developer does with this project. `make` alone lists the targets.
#
#   make demo                     the shortest way to see something
#   make test ARGS="-k sinh"      arguments for pytest
#   make demo PYTHON=python3.13   another Python than the one that is found
#
# All of it lives in .venv: nothing else on the machine is touched, and `make clean` removes it.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test coverage lint format types bench clean FORCE

VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
PYTHON ?= python3 python3.14 python3.13 python3.12 python3.11 python
ARGS ?=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## install pullback into .venv and show what it does
	@$(BIN)/pullback demo

test: $(VENV)/.installed-test ## run the fast tests (ARGS="..." goes to pytest)
	@$(BIN)/python -m pytest -q -n auto $(ARGS)

coverage: $(VENV)/.installed-test ## run every test that can run here; fail under 95 % branch coverage
	@$(BIN)/python -m pytest -q -n auto -m "" --cov --cov-report=term --cov-fail-under=95 $(ARGS)

lint: $(VENV)/.installed-lint ## check style and formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: $(VENV)/.installed-lint ## repair what `make lint` can repair by itself
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(VENV)/.installed-lint ## check the types of the package
	@$(BIN)/mypy

bench: $(VENV)/.installed ## time pullback against hand-written NumPy (and torch, HIPS autograd if .venv has them)
	@$(BIN)/python benchmarks/chain.py
	@$(BIN)/python benchmarks/large.py
	@$(BIN)/python benchmarks/doors.py
	@$(BIN)/python benchmarks/hessian.py
	@$(BIN)/python benchmarks/import_time.py

clean: ## remove .venv, caches and build products
	@[ ! -f $(VENV)/pyvenv.cfg ] || rm -rf $(VENV)
	@rm -rf build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

# ------------------------------------------------------------------ the environment
# The first Python that is new enough makes .venv, and makes it again when the Python behind it is gone.
# A folder is removed only if it is a virtual environment.

$(VENV)/.made: $(shell [ -x $(BIN)/python ] || echo FORCE)
	@python=; for candidate in $(PYTHON); do \
	    if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	        python=$$candidate; break; fi; done; \
	if [ -z "$$python" ]; then \
	    echo "pullback needs Python 3.11 or newer, and none of these is: $(PYTHON). Install one, or name it: make PYTHON=/path/to/python" >&2; \
	    exit 1; fi; \
	[ ! -f $(VENV)/pyvenv.cfg ] || rm -rf $(VENV); \
	echo "Making $(VENV) with $$($$python -c 'import sys; print(sys.executable, sys.version.split()[0])') ..."; \
	if ! $$python -m venv $(VENV) >/dev/null 2>&1; then \
	    [ ! -f $(VENV)/pyvenv.cfg ] || rm -rf $(VENV); \
	    echo "'$$python -m venv $(VENV)' failed: this Python has no working venv (on Debian and Ubuntu: apt install python3-venv), then run make again" >&2; \
	    exit 1; fi
	@touch $@

# Each stamp stands for one set of installed packages; it is renewed when pyproject.toml or .venv is newer.
$(VENV)/.installed: pyproject.toml $(VENV)/.made
	@echo "Installing pullback ..."
	@$(PIP) --editable .
	@$(BIN)/python -m compileall -q src/pullback
	@touch $@

$(VENV)/.installed-test: pyproject.toml $(VENV)/.made
	@echo "Installing pullback and what its tests need ..."
	@$(PIP) --editable '.[test]'
	@touch $(VENV)/.installed $@

$(VENV)/.installed-lint: pyproject.toml $(VENV)/.made
	@echo "Installing pullback, the linter and the type checker ..."
	@$(PIP) --editable '.[lint]'
	@touch $(VENV)/.installed $@
