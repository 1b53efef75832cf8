# Everything a target needs is set up by itself: a Python of 3.11 or later with its venv module, nothing else.

PYTHON ?= python3
BENCH_ARGS ?=
BIN := .venv/bin
READY := .venv/.ready

.PHONY: test test-long demo bench clean

test: $(READY)
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist loadgroup

test-long: $(READY)
	$(BIN)/pytest -m long

demo: $(READY)
	$(BIN)/dmsjournal demo

bench: $(READY)
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "dmsjournal needs Python 3.11 or later, $(PYTHON) is not: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
