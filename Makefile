# One line for each habit; .ci/run calls the same targets, so a local run cannot differ.
#
#   make          build in place      make test        all tests
#   make demo     the main job        make test-quick  those of seconds
#   make bench    README's table      make gate        speed against the installed NumPy
#   make asan     tests under ASan and UBSan           make tsan   those of threads
#   make test-pythons  the quick tests on the newest Python here, and on NumPy 2.0
#   make test-peers    others' own tests, answered by pyscatter (test_peer_*.py)
#   make test-adapters  those of adapters, with torch, TensorFlow, Keras, JAX, autograd
#   make coverage, make format, make lint, make clean
#
# Tests of threads, signals and forks run alone, the others in a process for each core,
# file by file: what a file builds or runs for all of its tests is made once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
BUILT := build/built
SOURCES := setup.py $(wildcard csrc/*/*.c csrc/*/*.h)
JOBS ?= $(shell nproc 2>/dev/null || echo 1)
PYTEST := $(BIN)/python -m pytest
SPREAD := -n $(JOBS) --dist loadfile
FORMATTED := $(wildcard csrc/base/*.[ch] csrc/kernels/*.[ch] csrc/ops/*.[ch] csrc/python/*.[ch])

.PHONY: all demo test test-quick test-pythons test-peers test-adapters bench gate asan \
	tsan coverage format lint clean
all: $(BUILT)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet numpy "setuptools>=77" --group test --group lint
	touch $@

$(BUILT): $(STAMP) $(SOURCES)
	PYSCATTER_WERROR=1 $(BIN)/python setup.py -q build_ext --inplace
	touch $@

demo: $(BUILT)
	$(BIN)/python -m pyscatter.demo

test: $(BUILT)
	$(PYTEST) -m alone
	$(PYTEST) $(SPREAD) -m "not alone"

test-quick: $(BUILT)
	$(PYTEST) -m "alone and not slow"
	$(PYTEST) $(SPREAD) -m "not alone and not slow"

test-pythons: $(BUILT)
	bash tests/isolated/pythons.sh

# Some of the others are large: an environment of their own keeps the plain one small.
PEERS := build/peers
$(PEERS)/installed: pyproject.toml
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(PEERS)/bin/python -m pip install --quiet numpy --group test --group peers
	touch $@

test-peers: $(BUILT) $(PEERS)/installed
	$(PEERS)/bin/python -m pytest $(wildcard tests/*/test_peer_*.py)

ADAPTERS := build/adapters
$(ADAPTERS)/installed: tests/adapters/environment.sh
	PYTHON=$(PYTHON) bash $< $(ADAPTERS)
	touch $@

test-adapters: $(BUILT) $(ADAPTERS)/installed
	JAX_PLATFORMS=cpu TF_CPP_MIN_LOG_LEVEL=3 PYTHONPATH=$(CURDIR) \
		$(ADAPTERS)/bin/python -m pytest -q $(SPREAD) tests/compat tests/adapters

bench: $(BUILT)
	$(BIN)/python -m benchmarks.report

gate: $(BUILT)
	$(BIN)/python -m benchmarks.gate

# Instrumented builds live in a copy of the tree, so that the plain one stays as it is.
asan: $(STAMP)
	bash tests/isolated/sanitize.sh address

tsan: $(STAMP)
	bash tests/isolated/sanitize.sh thread

coverage: $(STAMP)
	bash tests/isolated/sanitize.sh coverage

format: $(STAMP)
	$(BIN)/clang-format -i $(FORMATTED)
	$(BIN)/ruff format --quiet pyscatter tests benchmarks examples setup.py
	$(BIN)/ruff check --quiet --fix pyscatter tests benchmarks examples setup.py

lint: $(STAMP)
	$(BIN)/clang-format --dry-run --Werror $(FORMATTED)
	$(BIN)/ruff format --quiet --check pyscatter tests benchmarks examples setup.py
	$(BIN)/ruff check --quiet pyscatter tests benchmarks examples setup.py

clean:
	rm -rf build pyscatter/*.so
