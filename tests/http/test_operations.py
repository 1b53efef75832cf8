"""Health, readiness, metrics, and the envelope of each response."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

import dmsjournal as dj
from tests.helpers import STUDENT, document, write
from tests.http.conftest import in_process, settings_of


def test_it_lives_and_is_ready_without_a_token(client: TestClient) -> None:
    for path in ("/healthz", "/readyz"):
        assert client.get(path, headers={"Authorization": ""}).status_code == 200


def test_it_lives_and_is_not_ready_without_a_database(url: str) -> None:
    nowhere = url.rsplit("/", 1)[0] + "/nowhere"
    with in_process(settings_of(nowhere)) as client:
        assert client.get("/healthz").status_code == 200
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:dmsjournal:problem:database-refused")
    assert "nowhere" not in answer.text


def test_it_is_not_ready_without_a_journal(postgres_server: object) -> None:
    with postgres_server.fresh_database() as url, in_process(settings_of(url)) as client:  # type: ignore[attr-defined]
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:dmsjournal:problem:not-installed")
    assert answer.headers["retry-after"] == "1"


def test_versions(client: TestClient, db: dj.Journal) -> None:
    assert client.get("/changeQueries/v1/availableChangeVersions").json() == {"oldestChangeVersion": 0, "newestChangeVersion": 0}
    write(db, document(STUDENT, 1), document(STUDENT, 2))
    assert client.get("/changeQueries/v1/availableChangeVersions").json() == {"oldestChangeVersion": 0, "newestChangeVersion": 2}
    db.prune(through=1)
    assert client.get("/changeQueries/v1/availableChangeVersions").json() == {"oldestChangeVersion": 2, "newestChangeVersion": 2}


def test_metrics_can_be_read(client: TestClient) -> None:
    client.get("/changeQueries/v1/availableChangeVersions")
    client.get("/nothing")
    families = {family.name: family for family in text_string_to_metric_families(client.get("/metrics").text)}
    samples = [s for s in families["dmsjournal_http_requests"].samples if s.labels["route"] != "none"]
    assert [(s.labels["method"], s.labels["status"], s.value) for s in samples] == [("GET", "200", 1)]
    assert "dmsjournal_horizon_lag_seconds" in families
    assert families["dmsjournal_http_waiting_requests"].samples[0].value == 0


@pytest.mark.parametrize("path", ["/healthz", "/nothing", "/metrics"])
def test_every_response_has_an_id_and_the_headers_of_safety(client: TestClient, path: str) -> None:
    answer = client.get(path, headers={"Authorization": "", "X-Request-ID": "mine-1"})
    assert answer.headers["x-request-id"] == "mine-1"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "access-control-allow-origin" not in answer.headers
    forged = client.get(path, headers={"X-Request-ID": "a\tb"}).headers["x-request-id"]
    assert forged != "a\tb"


def test_cors_lets_in_the_named_origin_alone(url: str) -> None:
    with in_process(settings_of(url, origins=("https://good.example",))) as client:
        asked = "/changeQueries/v1/availableChangeVersions"
        good = client.get(asked, headers={"Origin": "https://good.example"})
        bad = client.get(asked, headers={"Origin": "https://bad.example"})
    assert good.headers["access-control-allow-origin"] == "https://good.example"
    assert "access-control-allow-origin" not in bad.headers
