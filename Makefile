# Everything on a fresh machine with Python >= 3.11 and git: `make demo`, `make test`.
# With a C++ compiler the kernels are compiled; without one everything is pure Python.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
KERNELS := $(wildcard src/bckm/kernels/*/*.[ch]pp)
SOURCES := pyproject.toml CMakeLists.txt $(KERNELS)

.PHONY: demo app test test-full test-browser test-gpu lint lint-page docs kernels pure sanitize campaign campaign-page bench bench-limits bench-startup bench-rules bench-metric bench-sizes bench-large bench-gpu bench-search regression dist experiments clean

demo: $(VENV)/.installed
	$(BIN)/bckm demo

app: $(VENV)/.app-installed  # the page in the browser: make app TABLE=stops.xlsx
	$(BIN)/bckm app $(TABLE)

# Tests start many processes, which would compile every module again
test test-full test-browser pure: export PYTHONDONTWRITEBYTECODE :=

test: lint  # what a person runs
	$(BIN)/pytest -q -n 2

# Everything: what `make test` leaves out, and a part of it all without the compiled kernels
test-full: test
	$(BIN)/pytest -q -n 2 -m "full and not slow"
	BCKM_PURE=1 $(BIN)/pytest -q -n 2 -m "not slow" \
	  tests/assign/test_engines.py tests/assign/test_lagrangian.py tests/certificate/test_certify.py \
	  $(addprefix tests/,archive constraints construct core estimator fit problem storage)

# The page of `bckm app` in a browser of the system, which is installed where that is possible
test-browser: $(VENV)/.dev-installed
	@command -v chromium chromium-browser google-chrome > /dev/null || [ "$$(id -u)" != 0 ] \
	  || ! command -v apt-get > /dev/null || apt-get install -y -q chromium || true
	$(BIN)/pytest -q -m browser tests/browser

# The kernels on a GPU, by the Python that has CuPy (and PyTorch and JAX, for their arrays); with
# SANITIZER=memcheck or racecheck through NVIDIA's compute-sanitizer, on few rows
GPU_PYTHON ?= $(BIN)/python
test-gpu:
	@$(GPU_PYTHON) -c 'import cupy' || { echo "GPU_PYTHON=... has no CuPy: pip install 'bckm[gpu]'"; exit 1; }
	$(if $(SANITIZER),compute-sanitizer --tool $(SANITIZER) --error-exitcode 9) $(GPU_PYTHON) -m pytest \
	  -q -c tests/gpu/pytest.ini $(OPTIONS) tests/gpu$(if $(SANITIZER),/test_gpu_small.py)

lint: $(VENV)/.dev-installed build/.tidy lint-page
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $(KERNELS)

# The page's modules: their types and how they are written, where there is npm
NPM := build/npm/node_modules/.bin
lint-page:
	@if [ ! -e $(NPM)/prettier ] && command -v npm > /dev/null; then mkdir -p build/npm && npm install \
	  --prefix build/npm --no-save --no-audit --no-fund --silent typescript@7.0.2 prettier@3.9.10; fi || true
	@if [ -e $(NPM)/prettier ]; then $(NPM)/tsc --project jsconfig.json && \
	  $(NPM)/prettier --check --log-level warn src/bckm/app/static; \
	  else echo "Note: without npm the modules of the page are not checked."; fi

# clang-tidy, again only when a kernel has changed; the compiler's commands are those of the last
# build, so nothing is done where there is no compiler
build/.tidy: .clang-tidy $(KERNELS) | $(VENV)/.dev-installed
	@for commands in build/*/compile_commands.json; do \
	  [ ! -e "$$commands" ] || $(BIN)/clang-tidy --quiet -p "$${commands%/*}" $(filter %.cpp,$^) \
	    > $@.txt 2>&1 || { cat $@.txt; exit 1; }; done
	@mkdir -p build && touch $@

# The pages of docs/ into build/docs, the examples run for their gallery; any warning is an error
docs: $(VENV)/.docs-installed
	rm -rf build/docs build/doctrees docs/generated/api
	$(BIN)/sphinx-build --builder html --fail-on-warning --keep-going --nitpicky --quiet \
	  --doctree-dir build/doctrees docs build/docs
	@echo "Open build/docs/index.html"

kernels: $(VENV)/.installed  # compile them and show what the compiler says
	$(BIN)/python -m pip install --verbose --no-deps --no-build-isolation --editable .

pure: $(VENV)/.dev-installed  # the tests without the compiled kernels
	BCKM_PURE=1 $(BIN)/pytest -q -n 2 -m "not slow and not gpu"

# The tests of the kernels, and those that drive them through whole steps and searches, under the
# address and undefined-behavior sanitizers of GCC. The instrumented build has an environment of its
# own, which borrows all other packages from $(VENV).
SANITIZE := build/sanitize
DRIVERS := $(addprefix tests/,problem/test_cliques.py feasibility/test_whole_samples.py \
  assign/test_linked_transport.py assign/test_sums.py blocks/test_look.py \
  fit/search/test_annealing.py fit/search/test_local_search.py)
PACKAGES := python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
LIBRARY = $$($${CXX:-g++} -print-file-name=$(1))
sanitize: $(VENV)/.dev-installed
	$(PYTHON) -m venv $(SANITIZE)/venv
	$(BIN)/$(PACKAGES) > "$$($(SANITIZE)/venv/bin/$(PACKAGES))/borrowed.pth"
	$(SANITIZE)/venv/bin/python -m pip install --quiet --no-deps --no-build-isolation \
	  --force-reinstall -C build-dir=$(SANITIZE)/cmake -C cmake.build-type=Debug \
	  -C cmake.define.BCKM_SANITIZE=ON -C cmake.define.BCKM_DEVELOP=ON .
	export LD_PRELOAD="$(call LIBRARY,libasan.so) $(call LIBRARY,libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0; \
	$(SANITIZE)/venv/bin/python -m pytest -q -m "not slow" tests/kernels && \
	$(SANITIZE)/venv/bin/python -m pytest -q $(DRIVERS)

# The reliability campaign, into results/: all parts in about half an hour on two cores, or one of
# them: PART=labels COUNT=1000 SEED=3, and CASE=17 to repeat one case; SHARE=0.02 for a part of each
campaign: $(VENV)/.dev-installed
	$(BIN)/python -m campaign $(PART) $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(CASE),--case $(CASE)) $(if $(SHARE),--share $(SHARE))

campaign-page: $(VENV)/.installed  # the last full run into docs/reliability.md
	$(BIN)/python -m campaign.summary

bench: $(VENV)/.dev-installed
	$(BIN)/python benchmarks/exact_step.py

# Do time limits hold? Problems of every kind, each under several limits, into results/
bench-limits: $(VENV)/.dev-installed
	$(BIN)/python -m benchmarks.limits $(OPTIONS)

# CPU time until the command line answers
bench-startup: $(VENV)/.dev-installed
	$(BIN)/python benchmarks/startup.py $(OPTIONS)

# Capacities and links of 100,000 samples against the fit without rules
bench-rules: $(VENV)/.dev-installed
	$(BIN)/python benchmarks/rules.py $(OPTIONS)

# What the metric learned from links gains, and that it does not hurt, on the data sets of a folder
bench-metric: $(VENV)/.dev-installed
	$(BIN)/python -m benchmarks.metric $(OPTIONS)

# Size bounds against other libraries, into results/; MODE=quick|step|million|...|all
bench-sizes: $(VENV)/.dev-installed
	$(INSTALL) '.[bench]'
	$(BIN)/python -m benchmarks.sizes $(or $(MODE),main)

# Large data: how time grows with the rows (the largest file has 3.2 GB), embeddings, unequal blobs;
# faiss is a peer where it is installed, dask-ml has an environment of its own
PEER := build/dask-ml
bench-large: $(VENV)/.dev-installed
	[ -e $(PEER)/bin/python ] || $(PYTHON) -m venv $(PEER)
	$(PEER)/bin/python -m pip install --quiet dask-ml
	export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1; \
	$(BIN)/python -m benchmarks.large.growth $(or $(ROWS),1e6 1e7 5e7) --dask-ml $(PEER)/bin/python && \
	$(BIN)/python -m benchmarks.large.unequal && \
	$(BIN)/python -m benchmarks.large.embeddings

# On a GPU, by the Python that has CuPy, PyTorch and Triton: about six minutes without the large part
bench-gpu:
	$(GPU_PYTHON) -m benchmarks.gpu $(OPTIONS)

# Search against best-known values and other libraries, into results/; MODE=known|balanced|table|...
# and the folders of the data, if they are not in ../shared: INSTANCES=folder DATASETS=folder
bench-search: $(VENV)/.dev-installed
	$(INSTALL) '.[bench]'
	$(BIN)/python -m benchmarks.search $(or $(MODE),quick) $(if $(INSTANCES),--instances $(INSTANCES)) \
	  $(if $(DATASETS),--datasets $(DATASETS)) $(OPTIONS)

# Do two versions give the same answers? `make regression OUT=a.json` writes those of this one (about
# three minutes); `make regression COMPARE="a.json b.json"` fails if two such files differ
regression: $(VENV)/.dev-installed
	$(BIN)/python -m benchmarks.regression $(if $(COMPARE),compare $(COMPARE),write \
	  $(or $(OUT),results/regression.json) $(if $(INSTANCES),--instances $(INSTANCES))) $(OPTIONS)

# sdist and wheel into dist/, looked into, installed into fresh environments and tried there
dist: $(VENV)/.dev-installed
	$(BIN)/python release/dist.py

# The paper's experiments into results/; DATA=folder of .npz files for its table, QUICK=1 for a part
experiments: $(VENV)/.dev-installed
	$(BIN)/python -m experiments all $(if $(DATA),--data $(DATA)) $(if $(QUICK),--quick)

clean:
	rm -rf build docs/generated src/bckm/kernels/_native.pyi $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "bckm needs Python 3.11 or newer; try: make PYTHON=python3.12 demo"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# What the build needs goes into the environment itself: an isolated build would have new paths each
# time and compile everything again.
PIP := $(BIN)/python -m pip install --quiet
NEEDED := from tomllib import load; r = load(open("pyproject.toml", "rb"))["build-system"]["requires"]
$(VENV)/.tools: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -c '$(NEEDED); print(*r, sep="\n")' > $@.txt
	$(PIP) -r $@.txt
	@touch $@

# CMake and Ninja come along only if the machine has none. pip is quiet about a package that was
# installed without its kernels, so the package says it itself.
ABSENT := from scikit_build_core.build import get_requires_for_build_editable as r
REMARK := from bckm.kernels import missing; print(end=missing and f"Note: {missing}\n")
define INSTALL
$(BIN)/python -c '$(ABSENT); print(*r(), sep="\n")' > $(VENV)/.absent.txt
$(PIP) -r $(VENV)/.absent.txt
$(PIP) --no-build-isolation --editable
endef

$(VENV)/.installed: $(SOURCES) $(VENV)/.tools
	$(INSTALL) '.[io,plot]'
	@$(BIN)/python -c '$(REMARK)'
	@touch $@

$(VENV)/.dev-installed: $(SOURCES) $(VENV)/.tools
	$(INSTALL) '.[dev]'
	@$(BIN)/python -c '$(REMARK)'
	@touch $@ $(VENV)/.installed

$(VENV)/.app-installed: $(SOURCES) $(VENV)/.tools
	$(INSTALL) '.[app,plot]'
	@touch $@ $(VENV)/.installed

$(VENV)/.docs-installed: $(SOURCES) $(VENV)/.tools
	$(INSTALL) '.[docs]'
	@touch $@ $(VENV)/.installed
