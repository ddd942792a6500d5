# arbor: `make demo` shows it, `make test` proves it. Needs make and Python 3.11 or newer, nothing else.

VENV    := .venv
BIN     := $(VENV)/bin
WORKERS ?= 2

# The newest Python that is new enough and can make a virtual environment; `make PYTHON=/path/to/python3` overrides it.
FIND_PYTHON = for python in $(PYTHON) python3.15 python3.14 python3.13 python3.12 python3.11 python3 python; do \
	"$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	python=; \
done; \
if [ -z "$$python" ]; then \
	echo 'error: no Python 3.11 or newer with the venv module was found' >&2; \
	echo 'hint: install python3 and python3-venv, or name one: make PYTHON=/path/to/python3' >&2; \
	exit 1; \
fi

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv check format test test-fast explore bench demo clean

help:
	@echo 'make demo       install arbor into $(VENV) and walk through it'
	@echo 'make test       run every test'
	@echo 'make test-fast  run the tests that are not marked slow'
	@echo 'make explore    the tests of properties on many new random examples; takes long'
	@echo 'make check      lint, types, layer rules'
	@echo 'make format     let ruff lay out the code'
	@echo 'make bench      measure; BENCH="ingest search" picks, BENCH=--full is the large run'
	@echo 'make clean      remove what the other targets made'

$(BIN)/python:
	@$(FIND_PYTHON); echo "$$("$$python" --version) -> $(VENV)"; "$$python" -m venv --clear $(VENV)

# arbor alone, for the demo.
$(VENV)/.installed: pyproject.toml $(BIN)/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# arbor with what the tests and checks need.
$(VENV)/.installed-dev: pyproject.toml $(BIN)/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.installed

venv: $(VENV)/.installed-dev

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/architecture

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: $(VENV)/.installed-dev
	$(BIN)/pytest -n $(WORKERS) -m 'not bench'

test-fast: $(VENV)/.installed-dev
	$(BIN)/pytest -n $(WORKERS) -m 'not bench and not slow'

explore: $(VENV)/.installed-dev
	$(BIN)/pytest -n $(WORKERS) -m 'not bench' --hypothesis-profile explore

bench: $(VENV)/.installed-dev
	$(BIN)/python -m tests.benchmarks $(BENCH)

demo: $(VENV)/.installed
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh docs/demo.sh

clean:
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find arbor tests -name __pycache__ -type d -prune -exec rm -rf {} +
