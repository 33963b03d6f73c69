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
test cluster-test portable check: export SCIPY_ARRAY_API := 1

.PHONY: help compare lab test cluster-test test-debug lowest generated docs docs-serve portable verify bench fuzz check dist clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

compare: $(VENV)/.kernels ## compare every suitable model on a bundled real table
	$(BIN)/margin compare breast-cancer --out runs/compare-breast-cancer

lab: $(VENV)/.lab ## the lab: the methods of the notes in the browser
	$(BIN)/margin lab

test: $(VENV)/.dev ## all tests, in parallel, one thread per worker
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 MARGIN_NUM_THREADS=1 \
		$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

cluster-test: $(VENV)/.dev ## the long tests of several processes: torchrun, Dask, killed ones
	MARGIN_CLUSTER_TESTS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MARGIN_NUM_THREADS=1 \
		$(BIN)/python -m pytest tests/processes

# What NumPy may use of AVX-512 by name; the list differs between its versions.
AVX512 = $(BIN)/python -c 'from numpy._core._multiarray_umath import __cpu_dispatch__ as found; \
	print(*(name for name in found if name.startswith("AVX512") or name == "X86_V4"))'

portable: $(VENV)/.dev ## TESTS=path: the tests as on a machine with AVX2 only, then with OpenBLAS of 2008 (SSE)
	for core in Haswell:v3 Nehalem:baseline; do \
		OPENBLAS_CORETYPE=$${core%:*} MARGIN_KERNELS=$${core#*:} NPY_DISABLE_CPU_FEATURES="$$($(AVX512))" ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 \
		OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 MARGIN_NUM_THREADS=1 \
			$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(TESTS) || exit 1; \
	done

# The sanitizer's library must be in the process before the first module that is compiled for it.
SANITIZED = LD_PRELOAD="$$($(or $(CC),cc) -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc
test-debug: $(VENV)/.dev ## TESTS=path: tests of kernels with every index checked, then under the address sanitizer
	MARGIN_KERNELS=debug $(COMPILE)
	MARGIN_KERNELS=debug OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MARGIN_NUM_THREADS=2 \
		$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(or $(TESTS),tests/compiled)
	MARGIN_KERNELS=sanitized $(COMPILE)
	$(SANITIZED) MARGIN_KERNELS=sanitized OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MARGIN_NUM_THREADS=2 \
		$(BIN)/python -m pytest -p no:cacheprovider $(or $(TESTS),tests/compiled)

# The oldest versions that pyproject.toml allows, in an environment of their own.
LOWEST := .venv-lowest
lowest: $(LOWEST)/.ready ## TESTS=path: the tests with the oldest version of every dependency that pyproject.toml allows
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 MARGIN_NUM_THREADS=1 \
		$(LOWEST)/bin/python -m pytest -n $(JOBS) --dist worksteal $(TESTS)

$(LOWEST)/.ready: pyproject.toml compiling/floors.py
	$(PYTHON) -m venv $(LOWEST)
	$(PYTHON) compiling/floors.py > $(LOWEST)/floors.txt
	$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["dev"], sep="\n")' \
		> $(LOWEST)/dev.txt
	$(LOWEST)/bin/python -m pip --disable-pip-version-check install --quiet 'setuptools>=77' \
		-r $(LOWEST)/floors.txt -r $(LOWEST)/dev.txt -c $(LOWEST)/floors.txt
	$(LOWEST)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation -e .
	touch $@

generated: $(VENV)/.dev ## write what is made from the code: the stub of the package, the references of commands and functions
	$(BIN)/python -m margin.stub > build/stub.pyi && mv build/stub.pyi src/margin/__init__.pyi
	$(BIN)/python -m margin.stub compare > build/calling.pyi && mv build/calling.pyi src/margin/service/comparison/calling.pyi
	$(BIN)/python -m margin.stub rules > build/rules.py && mv build/rules.py src/margin/optimize/rules/__init__.py
	$(BIN)/python -m margin.cli.reference > build/cli.md && mv build/cli.md docs/cli.md
	$(BIN)/python -m margin.service.public_functions > build/functions.md && mv build/functions.md docs/functions.md

docs: $(VENV)/.docs ## the site in docs/_build/html: every claim and experiment is run, every warning is an error
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MARGIN_NUM_THREADS=1 $(BIN)/python -m docs.generators
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

docs-serve: docs ## the site at http://127.0.0.1:8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory docs/_build/html 8000

verify: $(VENV)/.kernels ## SEEDS=5: run every statement of the notes, then the cited code beside independent implementations
	$(BIN)/margin verify --built --seeds $(SEEDS)
	$(BIN)/python -m tests.oracles --seeds $(SEEDS)

bench: $(VENV)/.bench ## FAMILY=a,b: time ours against its peers, side by side
	$(BIN)/python -m benchmarks $(FAMILY)

fuzz: $(VENV)/.dev ## FILES=n: mutated model files may be refused, but never crash, hang, start or touch anything
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MARGIN_NUM_THREADS=1 \
		$(BIN)/python -m fuzz --files $(FILES)

check: $(VENV)/.dev ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

dist: $(VENV)/.kernels ## source archive and, made from it alone, a wheel, which is installed and used without a compiler
	rm -rf dist build/unpacked
	$(BIN)/python -c 'from setuptools.build_meta import build_sdist; build_sdist("dist")'
	mkdir -p build/unpacked && tar -xzf dist/margin-*.tar.gz -C build/unpacked --strip-components 1
	cd build/unpacked && $(CURDIR)/$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation -w $(CURDIR)/dist .
	$(BIN)/python -m compiling.try_wheel dist

clean: ## remove the environment and caches
	rm -rf $(VENV) $(LOWEST) .mypy_cache .ruff_cache .hypothesis build dist src/margin/compiled/*/

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

$(VENV)/.lab: $(VENV)/.kernels
	$(call EXTRA,lab)
	touch $@

$(VENV)/.bench: $(VENV)/.kernels
	$(call EXTRA,bench)
	touch $@

$(VENV)/.docs: $(VENV)/.kernels
	$(call EXTRA,docs)
	touch $@
