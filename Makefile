# One command per chore; each sets up what it needs in .venv and skips that when nothing changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: help audit gallery test base lint docs format bench coverage clean
.DEFAULT_GOAL := help

help:  ## Show the chores
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 10

audit: $(VENV)/installed  ## Audit the shipped model and write a page; ARGS="MODEL --out DIR" audits another
	$(BIN)/offscript audit $(ARGS)

test: $(VENV)/installed-dev  ## Run the tests; ARGS="-k name" picks some
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses logical --dist loadfile $(ARGS)

base:  ## Run the documentation's commands on a fresh base install, without any extra
	$(PYTHON) tools/check_base_install.py $(ARGS)

lint: $(VENV)/installed-dev  ## Check style, types and the order of the packages
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: $(VENV)/installed-dev  ## Build the documentation into site/; broken links and references fail
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: $(VENV)/installed-dev  ## Rewrite the code in the project's style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/installed-dev  ## Run every benchmark in turn
	@set -e; for script in benchmarks/[!_]*.py; do echo "== $$script"; $(BIN)/python $$script; done

coverage: $(VENV)/installed-dev  ## Measure how often every interval covers, and write docs/coverage.md
	$(BIN)/python tools/coverage_table.py --out docs/coverage.md

gallery: $(VENV)/installed  ## Make the docs' gallery of real pages; ARGS="--pages pair" makes one
	$(BIN)/python tools/gallery.py $(ARGS)

clean:  ## Remove the environment and what tools leave behind; results stay
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/installed: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	@touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[test,lint,docs]"
	@touch $@ $(VENV)/installed
