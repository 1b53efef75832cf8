"""The OpenAPI document holds: whatever is asked by it or against it, no answer is one that it does not name, and none is a 5xx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

import dmsjournal as dj
from tests.helpers import SCHOOL, STUDENT, document, write
from tests.http.conftest import ADMIN, Running, bearer, settings_of

if TYPE_CHECKING:
    from tests.conftest import PostgresServer

EXCLUDED = [positive_data_acceptance]  # a page's token that nobody gave, an inverted window: no schema can say what is wrong


@pytest.fixture(scope="module")
def described(postgres_server: PostgresServer) -> Iterator[object]:
    """The document of a service with something to tell."""
    with postgres_server.copy_of_template() as url, Running(settings_of(url)) as running:
        with dj.connect(url) as db:
            write(db, *(document(STUDENT, n, body={"n": n}) for n in range(5)), document(SCHOOL, 1))
            with db.write() as tx:
                tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 11})
                tx.delete(STUDENT, {"studentId": 0})
        yield schemathesis.openapi.from_url(f"{running.url}/openapi.json")


schema = schemathesis.pytest.from_fixture("described")


ASKING = {"deadline": None, "suppress_health_check": list(HealthCheck), "phases": [Phase.explicit, Phase.generate]}


@schema.parametrize()
@settings(max_examples=2, **ASKING)
def test_no_answer_is_undocumented(case: schemathesis.Case) -> None:
    check(case)


@pytest.mark.long
@schema.parametrize()
@settings(max_examples=300, **ASKING)
def test_no_answer_is_undocumented_at_length(case: schemathesis.Case) -> None:
    check(case)


def check(case: schemathesis.Case) -> None:
    query = case.query if isinstance(case.query, dict) else {}
    if case.path.endswith("/stream"):
        query |= {"max_seconds": 1, "keep_alive": "false"}
    if "long_poll_ms" in query:
        query["long_poll_ms"] = 1
    case.call_and_validate(headers=bearer(ADMIN), excluded_checks=EXCLUDED)
