# One command per chore; each sets up what it needs in .venv and skips that when nothing changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: help audit gallery papers test base wheel sbom lock lint docs format bench coverage fuzz mutants kills clean
.DEFAULT_GOAL := help

help:  ## Show the chores
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 10

audit: $(VENV)/installed  ## Audit the shipped model and write a page; ARGS="MODEL --out DIR" audits another
	$(BIN)/offscript audit $(ARGS)

test: $(VENV)/installed-dev  ## Run the tests; ARGS="-k name" picks some
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses logical --dist loadfile --no-loadscope-reorder $(ARGS)

base: wheel  ## Run the documentation's commands on a fresh install of the wheel, without any extra
	$(BIN)/python tools/check_base_install.py --wheel dist/offscript-*.whl --sbom dist/offscript.cdx.json $(ARGS)

wheel: $(VENV)/installed-dev  ## Build the wheel into dist/
	@rm -f dist/offscript-*.whl
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

sbom: wheel  ## Write dist/offscript.cdx.json: all packages that the wheel brings (CycloneDX)
	$(BIN)/python tools/check_base_install.py --wheel dist/offscript-*.whl --sbom dist/offscript.cdx.json --install-only

lock: $(VENV)/installed-dev  ## Write requirements.lock: the tested versions with hashes; ARGS="--find-links DIR" names wheels
	@mkdir -p build && $(BIN)/python -m pip install --quiet uv
	$(BIN)/python -m pip freeze --exclude-editable | grep -v " @ " > build/tested.txt
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile pyproject.toml --quiet --generate-hashes --no-annotate \
		--extra all --extra test --extra lint --extra docs --python $(BIN)/python \
		-c constraints.txt -c build/tested.txt -o requirements.lock $(ARGS)

lint: $(VENV)/installed-dev  ## Check style, types and the order of the packages
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: $(VENV)/installed-dev  ## Build the documentation into site/, with its notebooks run; broken links fail
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python tools/check_links.py site

format: $(VENV)/installed-dev  ## Rewrite the code in the project's style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/installed-dev  ## Run every benchmark in turn
	@set -e; for script in benchmarks/[!_]*.py; do echo "== $$script"; $(BIN)/python $$script; done

coverage: $(VENV)/installed-dev  ## Measure how often every interval covers, and write docs/coverage.md
	PYTHONPATH=tools $(BIN)/python -m coverage_table --out docs/coverage.md $(ARGS)

SECONDS ?= 60
fuzz: $(VENV)/installed-dev  ## Damaged inputs for every reader and command, for SECONDS=60; ARGS="--only index" picks some
	PYTHONPATH=tools $(BIN)/python -m fuzzing --seconds $(SECONDS) $(ARGS)

mutants: $(VENV)/installed-dev  ## Change the code a little, 150 times, and count how often the tests notice; ARGS="--only means"
	OMP_NUM_THREADS=1 PYTHONPATH=tools $(BIN)/python -m mutants $(ARGS)

kills: $(VENV)/installed-dev  ## Kill training, audits, indexing, sweeps and studies 200 times, and compare what they end with
	OMP_NUM_THREADS=1 $(BIN)/python tools/kills.py $(ARGS)

gallery: $(VENV)/installed  ## Make the docs' gallery of real pages; ARGS="--pages pair" makes one
	$(BIN)/python tools/gallery.py $(ARGS)

papers: $(VENV)/installed  ## Write docs/papers.md; ARGS="--take runs/reproduce" takes new results first
	$(BIN)/python tools/write_papers.py $(ARGS)

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
