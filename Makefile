# Two commands on a fresh machine: `make demo` and `make test`. Both need Python >= 3.11 and nothing else.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
JOBS   ?= 2

# A file of tests runs in one process, which makes what they share once.
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist loadfile

# The tests start many processes; where the environment forbids it, each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo docs check test test-all test-dbt test-datasets test-docs test-spark dist bench static lint clean

help:  ## Say what there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /  make \1\t/'

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("debatebench needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(PIP) --editable '.[test]'
	touch $@

demo: $(VENV)/.installed  ## Play an offline tournament, build the warehouse, print the leaderboard, render the report
	$(BIN)/debatebench run --run-tag demo --sample-topics 4
	$(BIN)/debatebench show-leaderboard --run-tag demo
	$(BIN)/debatebench report

static: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: static  ## Check style, types and architecture, and run the fast tests: about two minutes
	$(PYTEST) -m "not slow"

test: static  ## Check style and types, then run the tests, without the exhaustive ones: about half an hour
	$(PYTEST) -m "not exhaustive"

test-all: static  ## Check style and types, then run every test with every input: about an hour
	$(PYTEST)

.venv-dbt/.installed: tests/dbt-requirements.txt
	test -x .venv-dbt/bin/python || $(PYTHON) -m venv .venv-dbt
	.venv-dbt/bin/python -m pip --disable-pip-version-check install --quiet --requirement $<
	touch $@

test-dbt: $(VENV)/.installed-test .venv-dbt/.installed  ## Let real dbt build the exported project, and compare every row
	DEBATEBENCH_DBT=$(CURDIR)/.venv-dbt/bin/dbt $(BIN)/python -m pytest -s tests/output/test_export_dbt_build.py

test-datasets: $(VENV)/.installed-test  ## Let Hugging Face's `datasets` and Arrow read what was exported
	$(PIP) --editable '.[datasets]'
	$(BIN)/python -m pytest -s tests/output/test_export_huggingface.py tests/output/test_export.py -k "datasets or arrow"

RUNS ?= all

test-spark: $(VENV)/.installed-test  ## Build on DuckDB and on Apache Spark, and compare every row; Spark needs Java 17
	$(PIP) --editable '.[spark]'
	DEBATEBENCH_SPARK=$(RUNS) $(BIN)/python -m pytest -s tests/transform/test_spark_translation.py tests/transform/test_spark_build.py

.venv-docs/.installed: docs/requirements.txt
	test -x .venv-docs/bin/python || $(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip --disable-pip-version-check install --quiet --requirement $<
	touch $@

docs: $(VENV)/.installed .venv-docs/.installed  ## Write docs/marts.md and what pages show of the demo, then the site build/docs/site/
	$(BIN)/debatebench --root docs docs --format markdown --out-dir docs
	$(BIN)/python docs/build.py
	$(BIN)/python docs/generator/pages.py build/docs
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --quiet --config-file build/docs/mkdocs.yml
	@echo build/docs/site/index.html

test-docs: $(VENV)/.installed-test .venv-docs/.installed  ## Build the documentation site, and try it in a browser
	DEBATEBENCH_MKDOCS=$(CURDIR)/.venv-docs/bin/mkdocs $(BIN)/python -m pytest -s tests/test_documentation_site.py

EFFORT ?= quick

bench: $(VENV)/.installed  ## Measure speed beside peers: five minutes once they are installed; EFFORT=full takes hours
	$(BIN)/python benchmarks/bench.py --effort $(EFFORT)

.venv-dist/.installed: tests/dist-requirements.txt
	test -x .venv-dist/bin/python || $(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip --disable-pip-version-check install --quiet --requirement $<
	touch $@

dist: $(VENV)/.installed-test .venv-dist/.installed  ## Build the wheel and the sdist into dist/, and run the command from them
	rm -rf dist
	.venv-dist/bin/python -m build --no-isolation --outdir dist .
	.venv-dist/bin/python -m twine check --strict dist/*
	.venv-dist/bin/cffconvert --validate -i CITATION.cff
	DEBATEBENCH_DIST=$(CURDIR)/dist $(BIN)/python -m pytest -s tests/test_install_paths.py

lint: $(VENV)/.installed-test  ## Mend style, then check types
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/mypy

clean:  ## Remove what tools have left; journals, imports and the warehouse stay
	rm -rf $(VENV) .venv-dbt .venv-docs .venv-dist .venv-bench build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
