"""The suite's fixtures, and a line for each provider that was not run: nothing is skipped silently."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module

import pytest

from dmsjournal.testing.conformance.harness import FeedSource, Harness, NotHere

OURS = [
    "dmsjournal.testing.conformance.databases:Postgres",
    "dmsjournal.testing.conformance.databases:PostgresWithOptions",
    "dmsjournal.testing.conformance.databases:SqlServer",
    "dmsjournal.testing.conformance.databases:SqlServerWithOptions",
    "dmsjournal.testing.conformance.dynamodb:DynamoDB",
]
_NOT_RUN: dict[str, str] = {}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "harness" in metafunc.fixturenames:
        names = os.environ.get("DMSJOURNAL_FEED_HARNESS", "").split() or OURS
        metafunc.parametrize(
            "harness", names, indirect=True, ids=[name.rpartition(":")[2].lower() for name in names], scope="session"
        )


@pytest.fixture(scope="session")
def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """A started harness, or the reason why it cannot be had."""
    module, _, name = request.param.partition(":")
    made: Harness = getattr(import_module(module), name)()
    try:
        started = made.__enter__()
    except NotHere as error:
        _NOT_RUN[request.param] = str(error)
        pytest.skip(str(error))
    yield started
    made.__exit__(None, None, None)


@pytest.fixture
def source(harness: Harness) -> Iterator[FeedSource]:
    """An empty source."""
    with harness.source() as made:
        yield made


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = {str(report.longrepr[2]) for report in terminalreporter.getreports("skipped") if isinstance(report.longrepr, tuple)}
    for reason in sorted({*_NOT_RUN.values(), *(text.removeprefix("Skipped: ") for text in skipped if "CONFORMANCE" in text)}):
        terminalreporter.line(f"conformance suite: a provider was not run: {reason}")
