"""What is around each route: HEAD, CORS, compression, limits that clients name, and files that are read again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import msgspec
import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.http import security
from dmsjournal.http.settings import Settings
from tests.helpers import STUDENT, document, write
from tests.http.conftest import ADMIN, NOWHERE, READ, STUDENTS, TOKENS, Running, bearer, in_process, settings_of, until

GET = [
    *("/healthz", "/readyz", "/metrics", "/status", "/", "/changefeed", "/changefeed/stats", "/changefeed/stream", "/feed"),
    *(
        "/feed/partitions",
        "/changeQueries/v1/availableChangeVersions",
        "/data/v3/ed-fi/students",
        "/data/v3/ed-fi/students/deletes",
    ),
]


@pytest.mark.parametrize("path", GET)
def test_head_is_get_without_its_body(url: str, journal: dj.Journal, path: str) -> None:
    write(journal, document(STUDENT, 1))
    with Running(settings_of(url)) as running, running.client(ADMIN) as client:
        asked = client.head(path, timeout=10)
        assert (asked.status_code, asked.content) == (200, b"")
        if path != "/changefeed/stream":
            assert asked.headers["content-type"] == client.get(path).headers["content-type"]


def test_head_of_what_is_not_there_or_not_allowed(quiet: TestClient) -> None:
    assert quiet.head("/nothing").status_code == 404
    assert quiet.head("/feed", headers={"Authorization": ""}).status_code == 401


@pytest.mark.parametrize("origin", ["https://app.example/", "https://app.example/path", "app.example", "*", "null", "ftp://x", ""])
def test_what_no_browser_sends_as_an_origin_is_refused_at_the_start(origin: str) -> None:
    with pytest.raises(dj.InvalidRequest, match="as a browser sends it"):
        Settings(NOWHERE, origins=(origin,))


def test_a_page_of_another_origin_can_read_what_was_refused(url: str) -> None:
    page = {"Origin": "https://app.example"}
    with in_process(settings_of(url, origins=("https://app.example",))) as client:
        for asked in (
            client.get("/feed", headers=page | {"Authorization": ""}),
            client.get("/feed", headers=page | bearer(STUDENTS)),
            client.post("/changefeed/retention", content=b"x" * 100_000, headers=page),
            client.get("/feed", params={"limit": -1}, headers=page),
        ):
            assert 400 <= asked.status_code < 500
            assert asked.headers["access-control-allow-origin"] == "https://app.example", asked.status_code
    with in_process(settings_of(url, tokens=(), origins=("https://app.example",))) as client:
        asked = client.get("/feed", headers=page | {"Host": "evil.example"})
        assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (403, "https://app.example")


def test_json_is_compressed_for_who_takes_it_and_streams_are_not(url: str, journal: dj.Journal) -> None:
    write(journal, *(document(STUDENT, number, body={"name": "Ada"}) for number in range(100)))
    with Running(settings_of(url)) as running, running.client() as client:
        packed = client.get("/data/v3/ed-fi/students", params={"limit": 100}, headers={"Accept-Encoding": "gzip"})
        plain = client.get("/data/v3/ed-fi/students", params={"limit": 100}, headers={"Accept-Encoding": "identity"})
        assert (packed.headers["content-encoding"], packed.headers["vary"]) == ("gzip", "Accept-Encoding")
        assert packed.json() == plain.json()
        assert int(packed.headers["content-length"]) < len(plain.content) / 2
        with client.stream("GET", "/changefeed/stream", headers={"Accept-Encoding": "gzip"}) as stream:
            assert "content-encoding" not in stream.headers
            assert next(stream.iter_bytes())


@pytest.mark.parametrize("path", ["/changefeed", "/data/v3/ed-fi/students", "/data/v3/ed-fi/students/deletes"])
def test_a_limit_above_the_largest_is_refused_and_named(url: str, journal: dj.Journal, path: str) -> None:
    """Cut in silence, a page of 3 looks like the last one to a client that asked for 5 and counts."""
    write(journal, *(document(STUDENT, number) for number in range(5)))
    with in_process(settings_of(url, largest_page=3)) as client:
        refused = client.get(path, params={"limit": 5})
        assert (refused.status_code, refused.json()["parameter"]) == (400, "limit")
        assert "3 at most" in refused.json()["detail"]
        assert client.get(path, params={"limit": 3}).status_code == 200
        assert client.get(path).status_code == 200


@pytest.mark.parametrize("limit", [0, 5])
def test_a_page_of_the_feed_holds_what_the_service_allows(url: str, journal: dj.Journal, limit: int) -> None:
    """Its clients go by the token and `idle`: the published feed clamps a size, and takes 0 for the provider's own."""
    write(journal, *(document(STUDENT, number) for number in range(5)))
    with in_process(settings_of(url, largest_page=3)) as client:
        first = client.get("/feed", params={"limit": limit}).json()
        assert (first["count"], first["idle"]) == (3, False)
        assert client.get("/feed", params={"token": first["token"]}).json()["count"] == 2


def test_an_empty_last_event_id_is_none(quiet: TestClient) -> None:
    asked = {"params": {"keep_alive": "false"}, "headers": {"Last-Event-ID": ""}}
    assert quiet.get("/changefeed/stream", **asked).status_code == 200


def test_a_body_that_is_announced_as_too_large_is_refused_at_once() -> None:
    head = f"POST /changefeed/retention HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\nContent-Length: 99999999\r\n\r\n"
    with Running(settings_of(NOWHERE, header_seconds=30)) as running, running.connect() as sent:
        sent.settimeout(10)
        sent.sendall(head.encode())  # and nothing of the body
        assert b" 413 " in sent.recv(1000)


def test_a_connection_is_kept_as_long_as_the_setting_says() -> None:
    with Running(settings_of(NOWHERE, keep_alive_seconds=1.0)) as running, running.connect() as kept:
        kept.settimeout(20)
        kept.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while not answer.endswith(b'{"status":"ok"}'):
            answer += kept.recv(5000)
        assert kept.recv(5000) == b""
    assert Settings(NOWHERE).keep_alive_seconds == 75


@pytest.mark.parametrize(
    ("told", "address"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("198.51.100.1, 203.0.113.9", "203.0.113.9"),  # the first is what the client wrote, the last what the proxy saw
        ("198.51.100.1, 203.0.113.9, 10.0.0.7", "203.0.113.9"),  # a proxy behind a proxy
        ("not an address", None),
        ("<script>", None),
    ],
)
def test_the_address_is_the_one_that_a_trusted_proxy_saw(caplog: pytest.LogCaptureFixture, told: str, address: str | None) -> None:
    caplog.set_level("INFO", "dmsjournal.http")
    settings = settings_of(NOWHERE, behind_proxy=True, trusted_proxies=("127.0.0.1", "10.0.0.0/8"))
    with Running(settings) as running, running.client(ADMIN) as client:
        client.get("/healthz", headers={"X-Forwarded-For": told})
        until(lambda: any(getattr(record, "action", "") == "request" for record in caplog.records))
    [record] = [record for record in caplog.records if getattr(record, "action", "") == "request"]
    assert record.client == address


@pytest.mark.parametrize("proxy", ["*", "proxy.example", "10.0.0.1/8", ""])
def test_a_trusted_proxy_is_an_address_or_a_network(proxy: str) -> None:
    with pytest.raises(dj.InvalidRequest, match="trusted_proxy"):
        Settings(NOWHERE, trusted_proxies=(proxy,))


def test_a_token_that_has_ended_is_not_made() -> None:
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    with pytest.raises(dj.InvalidRequest, match="has passed"):
        security.new_token("late", expires=past)
    made = CliRunner().invoke(cli.app, ["token", "late", "--expires", past])
    assert (made.exit_code, "has passed" in made.output) == (1, True)


def test_what_a_token_names_and_the_database_does_not_know_is_told(
    url: str, journal: dj.Journal, caplog: pytest.LogCaptureFixture
) -> None:
    write(journal, document(STUDENT, 1))
    _, wrong = security.new_token("typing error", resources=["ed-fi/studens", "ed-fi/students"])
    with in_process(settings_of(url, tokens=(*TOKENS, wrong))) as client:
        told = {"status": "ready", "revision": client.get("/readyz").json()["revision"]}
        assert client.get("/readyz", params={"verbose": "true"}, headers={"Authorization": ""}).status_code == 401
        assert client.get("/readyz", params={"verbose": "true"}, headers=bearer(STUDENTS)).status_code == 403
        found = client.get("/readyz", params={"verbose": "true"}).json()
        assert found == told | {"unknownResources": {"typing error": ["ed-fi/studens"]}}
        until(lambda: "ed-fi/studens" in caplog.text)


def test_tokens_are_read_again_when_their_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"

    def keep(*tokens: security.Token) -> None:
        file.touch(0o600)
        file.write_bytes(msgspec.json.encode(tokens))

    keep(*TOKENS)
    new, entry = security.new_token("new")
    settings = settings_of(NOWHERE, tokens=security.read_token_file(file), token_file=file)
    with Running(settings) as running:

        def status(token: str) -> int:
            return httpx.get(
                f"{running.url}/openapi.json" if not token else f"{running.url}/feed", headers=bearer(token)
            ).status_code

        assert status(new) == 401
        keep(entry)
        until(lambda: status(new) != 401)
        assert status(READ) == 401
        file.write_text("[")  # makes no sense: nothing changes
        running.server._files.read()
        assert (status(new) != 401, status(READ)) == (True, 401)
