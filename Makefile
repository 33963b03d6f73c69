# Every target works on a fresh machine with Python 3.11+, a C compiler and make: it creates .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
FAMILY ?= overview
FILES ?= 10000
SEEDS ?= 1
TESTS ?=
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)

# Pools that spin while another works cost more than they give; must be set before Python starts.
export OMP_WAIT_POLICY := passive
# Array API checks of scikit-learn run only with this, and it must be set before SciPy is imported.
test portable check: export SCIPY_ARRAY_API := 1

.PHONY: help compare test test-debug generated portable verify bench fuzz check clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

compare: $(VENV)/.kernels ## compare every suitable model on a bundled real table
	$(BIN)/margin compare breast-cancer --out runs/compare-breast-cancer

test: $(VENV)/.dev ## all tests, in parallel, one thread per worker
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=2 MARGIN_NUM_THREADS=1 \
		$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

# What NumPy may use of AVX-512 by name; the list differs between its versions.
AVX512 = $(BIN)/python -c 'from numpy._core._multiarray_umath import __cpu_dispatch__ as found; \
	print(*(name for name in found if name.startswith("AVX512") or name == "X86_V4"))'

portable: $(VENV)/.dev ## TESTS=path: the tests as on a machine with AVX2 only, then with OpenBLAS of 2008 (SSE)
	for core in Haswell Nehalem; do \
		OPENBLAS_CORETYPE=$$core NPY_DISABLE_CPU_FEATURES="$$($(AVX512))" ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 \
		NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES= NUMBA_CACHE_DIR=$(CURDIR)/.portable_cache \
		OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=2 MARGIN_NUM_THREADS=1 \
			$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(TESTS) || exit 1; \
	done

test-debug: export MARGIN_KERNELS := debug
test-debug: $(VENV)/.dev ## TESTS=path: tests of kernels with every index checked
	$(COMPILE)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MARGIN_NUM_THREADS=2 \
		$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(or $(TESTS),tests/compiled)

generated: $(VENV)/.dev ## write what is made from the code: the stub of the package, the references of commands and functions
	$(BIN)/python -m margin.stub > build/stub.pyi && mv build/stub.pyi src/margin/__init__.pyi
	$(BIN)/python -m margin.cli.reference > build/cli.md && mv build/cli.md docs/cli.md
	$(BIN)/python -m margin.service.public_functions > build/functions.md && mv build/functions.md docs/functions.md

verify: $(VENV)/.kernels ## SEEDS=5: run every statement of the notes, then the cited code beside independent implementations
	$(BIN)/margin verify --built --seeds $(SEEDS)
	$(BIN)/python -m tests.oracles --seeds $(SEEDS)

bench: $(VENV)/.bench ## FAMILY=a,b: time ours against its peers, side by side
	$(BIN)/python -m benchmarks $(FAMILY)

fuzz: $(VENV)/.dev ## FILES=n: mutated model files may be refused, but never crash, hang, start or touch anything
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=2 MARGIN_NUM_THREADS=1 \
		$(BIN)/python -m fuzz --files $(FILES)

check: $(VENV)/.dev ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean: ## remove the environment and caches
	rm -rf $(VENV) .portable_cache .mypy_cache .ruff_cache .hypothesis build dist src/margin/compiled/*/

# One stamp per set of extras: a second call installs nothing until the requirements change.
$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Margin needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

# What kernels are compiled of; an edit compiles one module again. Without isolation the compiler is the one that is pinned.
KERNELS := setup.py $(shell find src -name '*_kernels.py' -o -name 'kernel_types.py' -o -name 'kernel_source.py' -o -name '*.pxd')
COMPILE = $(BIN)/python setup.py --quiet build_ext --inplace
# An extra by its requirements alone: the package itself is installed, and installing it again would compile it again.
EXTRA = $(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$(1)"], sep="\n")' \
	> $(VENV)/$(1).txt && $(PIP) -r $(VENV)/$(1).txt

$(VENV)/.base: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) 'setuptools>=77' 'cython>=3.1' 'scipy>=1.14'
	@echo "compiling the kernels, once"
	$(PIP) --no-build-isolation -e .
	touch $@ $(VENV)/.kernels

$(VENV)/.kernels: $(VENV)/.base $(KERNELS)
	$(COMPILE)
	touch $@

$(VENV)/.dev: $(VENV)/.kernels
	$(call EXTRA,dev)
	touch $@

$(VENV)/.bench: $(VENV)/.kernels
	$(call EXTRA,bench)
	touch $@
