# Everything on a fresh machine with Python >= 3.11 and git: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint campaign bench bench-sizes experiments clean

demo: $(VENV)/.installed
	$(BIN)/python -m bckm.demo

test: lint
	$(BIN)/pytest -q -n 2

lint: $(VENV)/.dev-installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

campaign: $(VENV)/.dev-installed  # the long tests, about a quarter of an hour
	$(BIN)/pytest -q -n 2 -m slow

bench: $(VENV)/.dev-installed
	$(BIN)/python benchmarks/exact_step.py

# Size bounds against other libraries, into results/; MODE=quick|step|million|...|all
bench-sizes: $(VENV)/.dev-installed
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks.sizes $(or $(MODE),main)

# The paper's experiments into results/; DATA=folder of .npz files for its table, QUICK=1 for a part
experiments: $(VENV)/.dev-installed
	$(BIN)/python -m experiments all $(if $(DATA),--data $(DATA)) $(if $(QUICK),--quick)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "bckm needs Python 3.11 or newer; try: make PYTHON=python3.12 demo"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev-installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.installed
