# The short list of commands a person types. Each is a thin layer over `python -m ...`.
#
#   make demo    build, then show market ticks going through a cluster
#   make test    build, then run all tests, including those on a real Kafka, which is fetched and started
#
# PYTHON names another interpreter to make the virtual environment with (default python3), VENV another folder for it.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PY = $(BIN)/python
PYTEST_ARGS ?=
export PYTHONPATH := src:.

GROUPS_OF = $(PY) -m pip install --quiet --disable-pip-version-check $(foreach group,$(1),--group $(group))
CORE_SOURCES = $(wildcard src/cykafka/_rdkafka/*.p* src/cykafka/_rdkafka/*.h librdkafka/*.py librdkafka/pin.json librdkafka/patches/* yyjson/vendor.py yyjson/pin.json) \
	$(filter-out src/cykafka/_rdkafka/core.c,$(wildcard src/cykafka/_rdkafka/*.c)) setup.py

.PHONY: demo test test-slow bench lint format types docs wheel build dev debug asan requirements clean help

help:
	@sed -n 's/^#   make/make/p' Makefile
	@echo "also: test-slow bench lint format types docs wheel build dev debug asan clean"

$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) not found: install Python 3.10 or later" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "error: Python 3.10 or later is needed" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || ./wheels/install-packages.sh python3-venv
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.group-%: $(VENV)/.made pyproject.toml
	$(call GROUPS_OF,$*)
	@touch $@

# System headers that librdkafka needs: installed where that is possible, else the build names the command.
requirements:
	@packages="$$($(PYTHON) librdkafka/build.py --requirements)"; \
	if [ -n "$$packages" ]; then ./wheels/install-packages.sh $${packages#*install -y }; fi

build: $(VENV)/.built

$(VENV)/.built: $(VENV)/.group-build $(CORE_SOURCES)
	@$(MAKE) --no-print-directory requirements
	$(PY) setup.py --quiet build_ext --inplace
	@touch $@

dev:
	CYKAFKA_DEV=1 $(MAKE) build

debug: $(VENV)/.group-build
	CYKAFKA_DEBUG=1 $(PY) setup.py --quiet build_ext --inplace --force --build-temp build/debug
	@touch $(VENV)/.built

# The mock suite under AddressSanitizer, in a tree of its own so that the normal build stays.
asan: $(VENV)/.group-build $(VENV)/.group-test
	CYKAFKA_SANITIZE=address CYKAFKA_DEV=1 $(PY) setup.py --quiet build_ext --force --build-lib build/asan --build-temp build/asan-temp
	cp -r src/cykafka/. build/asan/cykafka/
	./tests/asan.sh $(PY)

demo: build $(VENV)/.group-demo
	$(PY) demo/ticks.py

test: build $(VENV)/.group-test
	$(PY) -m pytest -m "not slow and not benchmark" $(PYTEST_ARGS)

test-slow: build $(VENV)/.group-test
	$(PY) -m pytest -m "slow" $(PYTEST_ARGS)

bench: build $(VENV)/.group-test $(VENV)/.group-bench
	$(PY) -m tests.benchmarks
	$(PY) -m pytest tests/benchmarks -o addopts="--strict-markers" -m benchmark

lint: $(VENV)/.group-lint
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint src/cykafka/_rdkafka/*.pyx src/cykafka/_rdkafka/*.pxd

format: $(VENV)/.group-lint
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

types: build $(VENV)/.group-lint $(VENV)/.group-test
	$(PY) -m mypy
	$(PY) -m mypy.stubtest cykafka._rdkafka.core --allowlist tests/stubtest-allowlist.txt

docs: build $(VENV)/.group-docs
	$(PY) -m sphinx -W --keep-going -b html docs docs/_build/html

wheel: $(VENV)/.group-build
	$(PY) -m pip wheel --no-deps --wheel-dir dist .

clean:
	rm -rf build dist $(VENV)/.built docs/_build src/*.egg-info
	rm -f src/cykafka/_rdkafka/core.c src/cykafka/_rdkafka/core.*.so
