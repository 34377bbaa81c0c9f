# The two commands: `make demo` shows what ekss does, `make test` checks everything.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The same environment with what the documentation site needs.
DOCS_STAMP := $(VENV)/.docs
# An environment that has every direct dependency at its lowest version.
LOWEST := .venv-lowest
LOWEST_STAMP := $(LOWEST)/.installed
# OpenBLAS picks its kernels by the CPU; these are an old one, AVX2 and AVX-512.
CPUS := Nehalem Haswell SkylakeX
PYTEST := -m pytest --numprocesses 2 --dist loadfile

.PHONY: help demo test lint types tests tests-cpus tests-lowest
.PHONY: bench bench-scale fuzz publish docs docs-test clean

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 14

# pip older than 25.1 cannot install dependency groups, so pip comes first.
$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	@touch $@

demo: $(STAMP)  ## install into .venv, cluster digits and tracks, write reports to demo/
	$(BIN)/ekss demo --output demo

test: lint types tests  ## lint, types and the whole test suite

lint: $(STAMP)  ## style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## static types
	$(BIN)/mypy

tests: $(STAMP)  ## the test suite alone
	$(BIN)/python $(PYTEST)

tests-cpus: $(STAMP)  ## the test suite with the BLAS kernels of three kinds of CPU
	for cpu in $(CPUS); do \
	  echo "OPENBLAS_CORETYPE=$$cpu"; \
	  OPENBLAS_CORETYPE=$$cpu $(BIN)/python $(PYTEST) || exit 1; \
	done

$(LOWEST_STAMP): pyproject.toml
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python \
	  --resolution lowest-direct --editable ".[all]" --group dev
	@touch $@

tests-lowest: $(LOWEST_STAMP)  ## the test suite with the lowest allowed dependencies
	$(LOWEST)/bin/python $(PYTEST)

bench: $(STAMP)  ## speed as ratios, each against its limit in the same run
	$(BIN)/python benchmarks/speed.py

bench-scale: $(STAMP)  ## time and memory up to a million points, to ekss-results/
	$(BIN)/ekss bench scale

fuzz: $(STAMP)  ## attack everything that takes input, 10 minutes (MINUTES=60 for an hour)
	$(BIN)/python benchmarks/fuzz.py --minutes $(or $(MINUTES),10)

publish: $(STAMP)  ## make pictures and numbers of the README and the docs again, some minutes
	$(BIN)/python benchmarks/publish.py

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

docs: $(DOCS_STAMP)  ## build the documentation site and its gallery into build/docs
	$(BIN)/python -m sphinx -W --keep-going -b html -d build/doctrees docs build/docs
	$(BIN)/python -m pytest -q tests/test_site.py

docs-test: $(DOCS_STAMP)  ## open the built site in Chromium and look for what is broken
	$(BIN)/python -m pytest -q tests/test_site.py

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) $(LOWEST) demo build dist .pytest_cache .ruff_cache .mypy_cache
	rm -rf docs/gallery docs/api/generated docs/api/*.rst
