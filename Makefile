# The two commands: `make demo` shows what ekss does, `make test` checks everything.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo test lint types tests bench bench-scale publish clean

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

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
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

bench: $(STAMP)  ## speed as ratios, each against its limit in the same run
	$(BIN)/python benchmarks/speed.py

bench-scale: $(STAMP)  ## time and memory up to a million points, to ekss-results/
	$(BIN)/ekss bench scale

publish: $(STAMP)  ## make pictures and numbers of the README and the docs again, some minutes
	$(BIN)/python benchmarks/publish.py

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) demo build dist .pytest_cache .ruff_cache .mypy_cache
