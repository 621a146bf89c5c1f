# Two commands matter: `make demo` and `make test`; `make docs` builds the site. Each makes .venv and installs what it
# needs, and again only when something that is installed has changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGE := $(shell find src -type f -not -path '*/__pycache__/*')

# A build of its own in which kernels watch every access to memory, and numbers that do not fit; gcc or clang on Linux.
SANITIZED := .venv-sanitized
SANITIZERS := -Csetup-args=-Dbuildtype=debugoptimized -Csetup-args=-Db_sanitize=address,undefined \
  -Csetup-args=-Db_lundef=false -Csetup-args=-Dc_args=-fsanitize=float-cast-overflow
WATCHED := tests/kernels tests/measures tests/design tests/optimise tests/cuts tests/io tests/test_hard_edges.py

# An environment of its own with the oldest versions that pyproject.toml allows.
LOWEST := .venv-lowest

# An environment of its own with PyTorch and JAX. PyTorch takes gigabytes of what graphics cards need unless a build for
# processors is named: TORCH is what pip is given, options such as --find-links among it.
NETWORKS := .venv-networks
TORCH ?= torch

.PHONY: demo paper test coverage test-networks test-thorough test-portable test-browser browser test-sanitized test-lowest lint docs bench clean
.DELETE_ON_ERROR:

demo: $(VENV)/installed
	$(BIN)/smoothperf demo

# One process runs all tests of a file, so what they share is set up once.
test: $(VENV)/installed-test
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --doctest-modules --pyargs smoothperf reproduction tests

# Which lines and branches of the package the tests run, and which they do not; slower than `make test`. One test limits
# the size of files, of which what is counted is one.
coverage: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --group coverage
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --cov --cov-report= \
	  --deselect tests/io/store/test_store_file.py::test_a_limit_of_the_system \
	  --doctest-modules --pyargs smoothperf reproduction tests
	$(BIN)/python -m coverage report

# The losses for networks, which `make test` leaves out.
test-networks: $(NETWORKS)/installed
	$(NETWORKS)/bin/python -m pytest tests/test_losses.py tests/test_torch.py tests/test_jax.py
	$(NETWORKS)/bin/python -m pytest --doctest-modules --pyargs smoothperf.losses smoothperf.torch smoothperf.jax

# Certificates of 2,000 generated problems, of which `make test` looks at a few dozen, and 25 times as many generated
# cases of everything else; many minutes.
test-thorough: $(VENV)/installed-dev
	THOROUGH=15 FUZZ_PROBLEMS=2000 $(BIN)/python -m pytest -n auto --dist loadfile tests

# The sensitive part of the tests with the kernels of BLAS, NumPy and the C library for other processors, with other
# threads, cores, seeds, languages and homes: tests/portable.py has the kinds, of which KIND="nehalem seed-1" names some.
test-portable: $(VENV)/installed-test
	$(BIN)/python tests/portable.py $(KIND)

# The page that `smoothperf report` writes, in a browser: that of $CHROME, one that is installed, or one that is got now,
# by apt for root and by playwright's download for others. `make test` gets none: it uses the one that it finds, if any.
test-browser: browser
	REQUIRE_BROWSER=1 $(BIN)/python -m pytest tests/report/test_browser.py

browser: $(VENV)/installed-dev
	$(BIN)/python tests/browsers.py

# Slow, so neither part of `make test` nor of what every change must pass: for changes of kernels. Python itself loses
# memory when it ends, so leaks are not looked for. One test limits memory, of which the sanitizers need more.
test-sanitized: $(SANITIZED)/installed
	LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" PYTHONMALLOC=malloc \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	$(SANITIZED)/bin/python -m pytest -n auto $(WATCHED) \
	  --deselect tests/io/store/test_fit.py::test_memory_does_not_grow_with_the_store

# The oldest versions of what is needed to build, to run and to test, with PYTHON=python3.11, the oldest Python: what
# pyproject.toml says of them is true. Old libraries call what newer ones beside them have deprecated.
test-lowest: $(LOWEST)/installed
	$(LOWEST)/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -W ignore::DeprecationWarning \
	  --doctest-modules --pyargs smoothperf reproduction tests

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_docstrings.py

# The site, in docs/_build/html: warnings are errors, examples of the gallery that have changed are run, and links are
# checked. Without the network, but for the packages.
docs: $(VENV)/installed-docs
	rm -rf docs/api
	$(BIN)/python -m sphinx --fresh-env --fail-on-warning --keep-going --quiet docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html
	@echo "Open docs/_build/html/index.html in a browser."

# The paper's experiments, in paper/: half an hour, with QUICK=1 three minutes. Data sets are searched in the folder
# DATA, and where `.venv/bin/python -m reproduction fetch NAME` puts them.
paper: $(VENV)/installed-dev
	$(BIN)/python -m reproduction run $(if $(DATA),--data-dir $(DATA)) $(if $(QUICK),--quick)

# Real data sets are not part of the project: name their folder with DATA=... (docs/benchmarks.md).
bench: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks $(if $(DATA),--data $(DATA))
	$(BIN)/python -m benchmarks.page

clean:
	rm -rf $(VENV) $(SANITIZED) $(LOWEST) $(NETWORKS) build demo paper docs/_build docs/api docs/gallery

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip  # older ones do not know the groups of pyproject.toml

# The package takes two cores to compile, and what the tests need takes as long to unpack: both at once.
MAKEFLAGS += --jobs=2

$(VENV)/wheel: pyproject.toml meson.build $(PACKAGE) | $(BIN)/python
	rm -rf $@
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir $@ .

$(VENV)/packages-test $(VENV)/packages-dev $(VENV)/packages-docs: $(VENV)/packages-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --group $*
	touch $@

$(VENV)/installed-test $(VENV)/installed-dev $(VENV)/installed-docs: $(VENV)/installed-%: $(VENV)/wheel $(VENV)/packages-%
	$(BIN)/python -m pip install --quiet --no-deps --force-reinstall $(VENV)/wheel/*.whl
	touch $@

$(NETWORKS)/installed: $(VENV)/wheel
	test -d $(NETWORKS) || $(PYTHON) -m venv $(NETWORKS)
	$(NETWORKS)/bin/python -m pip install --quiet --upgrade pip
	$(NETWORKS)/bin/python -m pip install --quiet $(TORCH)
	$(NETWORKS)/bin/python -m pip install --quiet --force-reinstall --no-deps $(VENV)/wheel/*.whl
	$(NETWORKS)/bin/python -m pip install --quiet "$$(echo $(VENV)/wheel/*.whl)[torch,jax]" skorch 'pytest>=8.2' 'hypothesis>=6.100'
	touch $@

$(VENV)/installed: $(VENV)/wheel
	$(BIN)/python -m pip install --quiet --no-deps --force-reinstall $(VENV)/wheel/*.whl
	$(BIN)/python -m pip install --quiet "$$(echo $(VENV)/wheel/*.whl)[plots]"
	touch $@

$(SANITIZED)/installed: pyproject.toml meson.build $(PACKAGE)
	test -d $(SANITIZED) || $(PYTHON) -m venv $(SANITIZED)
	$(SANITIZED)/bin/python -m pip install --quiet --upgrade pip
	$(SANITIZED)/bin/python -m pip install --quiet . --group test $(SANITIZERS)
	touch $@

# uv takes the newest tools to build with, unless it is told.
$(LOWEST)/installed: pyproject.toml meson.build $(PACKAGE)
	test -d $(LOWEST) || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet uv
	grep '^requires = ' pyproject.toml | grep -o '[[:alpha:]-]*>=[0-9.]*' | sed 's/>=/==/' > $(LOWEST)/build.txt
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct --reinstall-package smoothperf \
	  --build-constraints $(LOWEST)/build.txt --only-binary :all: --no-binary smoothperf \
	  '.[plots,parquet,excel,dask]' --group test
	touch $@
