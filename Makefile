# From a fresh clone, on a machine that has only Python (>= 3.11) and make:
#   make demo    sets everything up, tips a service over and says where the report is
#   make test    sets everything up, then lints, type-checks, checks the layers and runs every test
#   make results works out every number of the sources again, into docs/results (some minutes)
#   make bench   measures the target, the generator against Locust and bare gevent sockets, and the
#                simulation against SimPy, Ciw and a plain heap
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.installed

.PHONY: help setup demo test lint types layers tests bench results lock clean

help:
	@sed -n 's/^#   //p' Makefile

setup: $(SETUP)

$(SETUP): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: setup
	$(BIN)/tipover run demo --out runs/demo --replace

test: lint types layers tests

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports

tests: setup
	$(BIN)/pytest

bench: setup
	$(BIN)/python -m tests.bench.target
	$(BIN)/python -m tests.bench.generator
	$(BIN)/python -m tests.bench.budgets
	$(BIN)/python -m tests.bench.simulation

# A refuted claim exits 1: that is a finding about its source, and no failure of ours.
results: setup
	$(BIN)/tipover validate all --out docs/results || test $$? -eq 1

# Renews the exact pins from the ranges in pyproject.toml.
lock:
	rm -rf .lock-venv && $(PYTHON) -m venv .lock-venv
	.lock-venv/bin/python -m pip install --quiet --disable-pip-version-check ".[dev]"
	.lock-venv/bin/python -m pip freeze --exclude tipover > requirements.lock
	rm -rf .lock-venv

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
