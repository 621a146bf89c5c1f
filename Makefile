# Two commands matter: `make demo` and `make test`. Each makes .venv and installs what it needs, and again only when
# something that is installed has changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGE := $(shell find src -type f -not -path '*/__pycache__/*')

.PHONY: demo test test-thorough test-browser lint bench clean
.DELETE_ON_ERROR:

demo: $(VENV)/installed
	$(BIN)/smoothperf demo

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n auto tests
	$(BIN)/python -m pytest --doctest-modules --pyargs smoothperf

# Certificates of 2,000 generated problems, of which `make test` looks at a few dozen; some minutes.
test-thorough: $(VENV)/installed-dev
	FUZZ_PROBLEMS=2000 $(BIN)/python -m pytest -n auto tests/fuzz

# The page that `smoothperf report` writes, in a browser that is downloaded here. `make test` downloads none: it uses
# the Chromium that it finds, if any.
test-browser: $(VENV)/installed-dev
	$(BIN)/python -m playwright install chromium
	REQUIRE_BROWSER=1 $(BIN)/python -m pytest tests/report/test_browser.py

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Real data sets are not part of the project: name their folder with DATA=... (docs/benchmarks.md).
bench: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks $(if $(DATA),--data $(DATA))
	$(BIN)/python -m benchmarks.page

clean:
	rm -rf $(VENV) build demo

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(BIN)/python pyproject.toml meson.build $(PACKAGE)
	$(BIN)/python -m pip install --quiet '.[plots]'
	touch $@

$(VENV)/installed-dev: $(BIN)/python pyproject.toml meson.build $(PACKAGE)
	$(BIN)/python -m pip install --quiet '.[test,lint]'
	touch $@
