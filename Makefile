# Everything a target needs is set up by itself: a Python of 3.11 or later with its venv module, nothing else.

PYTHON ?= python3
BENCH_ARGS ?=
TESTS ?=
BIN := .venv/bin
READY := .venv/.ready

.PHONY: test test-long test-newest test-oldest demo bench twins lock audit clean

# The tests start hundreds of processes: Python keeps what it has compiled, whatever the environment says, for the next one.
test test-long test-newest test-oldest: export PYTHONDONTWRITEBYTECODE :=

test: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist loadgroup

test-long: $(READY)
	$(BIN)/pytest -m long

# The newest versions of everything that pyproject.toml allows; the oldest of what it names. Of TESTS, or of the whole suite.
test-newest: RESOLUTION := highest
test-oldest: RESOLUTION := lowest-direct
test-newest test-oldest: test-%: $(READY)
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-$*
	$(BIN)/uv pip install --quiet --python .venv-$* --resolution $(RESOLUTION) --editable '.[dev]'
	.venv-$*/bin/pytest -n 2 --dist loadgroup $(TESTS)

demo: $(READY)
	$(BIN)/dmsjournal demo

bench: $(READY)
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

# Makes each blocking module anew from the asynchronous one beside it.
twins: $(READY)
	$(BIN)/python -m tools.twins

# Exact versions and hashes, of requirements.lock: pip refuses what does not fit one. What builds the package is in the lock too.
$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "dmsjournal needs Python 3.11 or later, $(PYTHON) is not: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Takes the newest versions that pyproject.toml allows into the lock, then tries them.
lock: $(READY)
	$(BIN)/uv pip compile --quiet --universal --upgrade --generate-hashes --python-version 3.11 --extra dev \
	    --custom-compile-command "make lock" pyproject.toml --output-file requirements.lock
	$(BIN)/uv pip compile --quiet --universal --upgrade --generate-hashes --python-version 3.11 --group audit \
	    --custom-compile-command "make lock" --output-file requirements-audit.lock
	$(MAKE) test

# Licences and known vulnerabilities of what requirements.lock installs; fails where the vulnerability database cannot be reached.
audit: $(READY) .venv-audit/.ready
	.venv-audit/bin/python .ci/audit.py $(BIN)/python

.venv-audit/.ready: requirements-audit.lock | $(READY)
	$(BIN)/python -m venv --clear .venv-audit
	.venv-audit/bin/python -m pip install --quiet --require-hashes --requirement requirements-audit.lock
	@touch $@

clean:
	rm -rf .venv .venv-newest .venv-oldest .venv-audit build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
