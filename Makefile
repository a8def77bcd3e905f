# From a fresh clone, on a machine that has only Python (>= 3.11) and make:
#   make demo    sets everything up, tips a service over and says where the report is
#   make test    sets everything up, then lints, type-checks, checks the layers and runs every test
#   make stack   builds the containers of compose/, starts them and tests them (ten minutes; needs Docker)
#   make cases   tests every victim of the trigger test, and prints the table of docs/trigger.md (ten minutes)
#   make results works out every number of the sources again, into docs/results (some minutes)
#   make bench   measures the target, the generator against Locust and bare gevent sockets, the meter, and
#                the simulation against SimPy, Ciw and a plain heap
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.installed

.PHONY: help setup demo test lint types layers gateways tests stack cases bench results lock clean

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

test: lint types layers gateways tests

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports

# HAProxy and nginx stand before a victim in some tests, and Prometheus (with promtool) reads what is counted;
# they are no Python packages. Where they cannot be installed those tests are skipped, and say so.
gateways:
	@for program in haproxy nginx prometheus; do \
	  PATH="$$PATH:/usr/sbin" command -v $$program >/dev/null && continue; \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$program) \
	      >/dev/null 2>&1 || echo "$$program could not be installed: its tests are skipped"; \
	  else echo "$$program is not installed: its tests are skipped"; fi; \
	done

# What uses real sockets and clocks has the machine for itself.
tests: setup
	$(BIN)/pytest -n 2 --dist loadfile -m "not sockets"
	$(BIN)/pytest -m sockets

# The same test is part of `tests` where a Docker engine answers.
stack: setup
	$(BIN)/pytest -s tests/compose/test_stack.py

cases: setup gateways
	$(BIN)/python -m tests.victims.cases

bench: setup
	$(BIN)/python -m tests.bench.target
	$(BIN)/python -m tests.bench.generator
	$(BIN)/python -m tests.bench.budgets
	$(BIN)/python -m tests.bench.meter
	$(BIN)/python -m tests.bench.meter_counts
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
