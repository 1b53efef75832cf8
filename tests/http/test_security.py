"""Who may do what, and what is refused whoever asks."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
import socket
import ssl
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import msgspec
import psutil
import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import errors
from dmsjournal.cli import app as commands
from dmsjournal.http import logs, problems, security, server
from dmsjournal.http.limits import RateLimit
from dmsjournal.http.settings import Settings
from tests.helpers import STUDENT, document, write
from tests.http.conftest import (
    ADMIN,
    EXPIRED,
    NOWHERE,
    READ,
    STUDENTS,
    TOKENS,
    Process,
    Running,
    bearer,
    in_process,
    settings_of,
    until,
)

GUARDED = ["/changefeed", "/changefeed/stream", "/changefeed/stats", "/feed", "/feed/partitions", "/metrics",
           "/changeQueries/v1/availableChangeVersions", "/data/v3/ed-fi/students", "/data/v3/ed-fi/students/deletes"]  # fmt: skip


@pytest.mark.parametrize("path", GUARDED)
def test_each_route_needs_a_valid_token(quiet: TestClient, path: str) -> None:
    for sent in ("", "Bearer ", "Bearer x", f"Basic {READ}", f"Bearer {READ}x", f"Bearer {READ[:-1]}", f"Bearer {EXPIRED}", READ):
        answer = quiet.get(path, headers={"Authorization": sent})
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), sent
        assert answer.json()["type"] == "urn:dmsjournal:problem:unauthorized"


def test_scopes(quiet: TestClient) -> None:
    asked = {"json": {"before_sequence": 1}}
    assert quiet.post("/changefeed/retention", **asked, headers=bearer(READ)).status_code == 403
    assert quiet.post("/changefeed/retention", **asked, headers=bearer(ADMIN)).status_code == 200
    only, kept = security.new_token("only admin", scopes=["admin"])
    with in_process(settings_of(quiet.app.state.service.settings.url, tokens=(kept,))) as client:  # type: ignore[attr-defined]
        assert client.get("/changefeed", headers=bearer(only)).status_code == 403
        assert client.post("/changefeed/retention", **asked, headers=bearer(only)).status_code == 200


def test_without_tokens_who_is_on_this_machine_may_read_and_nothing_else(url: str) -> None:
    with in_process(settings_of(url, tokens=())) as client:
        assert client.get("/changefeed").status_code == 200
        assert client.post("/changefeed/retention", json={"before_sequence": 1}).status_code == 403
        rebound = client.get("/changefeed", headers={"Host": "evil.example"})
        assert (rebound.status_code, rebound.json()["type"]) == (403, "urn:dmsjournal:problem:forbidden")
        for host in ("localhost:8000", "127.0.0.1", "[::1]:8000"):
            assert client.get("/changefeed", headers={"Host": host}).status_code == 200


def test_every_token_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    real = security.hmac.compare_digest
    monkeypatch.setattr(security.hmac, "compare_digest", lambda a, b: (compared.append(b), real(a, b))[1])
    for text in (READ, ADMIN, "none"):
        compared.clear()
        security.found_token(TOKENS, text)
        assert compared == [token.sha256 for token in TOKENS]


def test_tokens_are_kept_as_hashes() -> None:
    text, kept = security.new_token("a", scopes=["admin"])
    assert text not in repr(kept)
    assert security.found_token((kept,), text) == kept
    ends = datetime.now(UTC) + timedelta(seconds=0.2)
    text, kept = security.new_token("b", expires=ends.isoformat())
    assert security.found_token((kept,), text) == kept
    time.sleep(0.3)
    assert security.found_token((kept,), text) is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "[1]", '[{"name": "a"}]', '[{"name": "a", "sha256": "x"}]',
     '[{"name": "a", "sha256": "%s", "scope": 1}]' % ("0" * 64),
     '[{"name": "a", "sha256": "%s", "expires": "2026-01-01T00:00:00"}]' % ("0" * 64),
     '[{"name": "a", "sha256": "%s", "scopes": ["all"]}]' % ("0" * 64),
     '[{{"name": "a", "sha256": "{}"}}, {{"name": "a", "sha256": "{}"}}]'.format("0" * 64, "1" * 64),
     '[{{"name": "a", "sha256": "{0}"}}, {{"name": "b", "sha256": "{0}"}}]'.format("0" * 64),
     '[{"name": "a", "sha256": "%s", "scopes": ["admin"], "resources": ["ed-fi/students"]}]' % ("0" * 64)],
)  # fmt: skip
def test_a_file_of_tokens_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(dj.InvalidRequest) as raised:
        security.read_tokens(text)
    assert "0000" not in str(raised.value)


def test_it_refuses_to_listen_beyond_loopback_without_tokens_and_tls() -> None:
    url = "postgresql://u:p@h/d"
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org", ""):
        with pytest.raises(dj.InvalidRequest, match="give tokens"):
            Settings(url, host=host)
        with pytest.raises(dj.InvalidRequest, match="in the clear"):
            Settings(url, host=host, tokens=TOKENS)
        Settings(url, host=host, tokens=TOKENS, behind_proxy=True)
        Settings(url, host=host, tokens=TOKENS, tls_certificate=Path("c"), tls_key=Path("k"))
        with pytest.raises(dj.InvalidRequest, match="give tokens"):
            Settings(url, host=host, tls_certificate=Path("c"), tls_key=Path("k"))
    for host in ("127.0.0.1", "127.9.9.9", "localhost", "::1"):
        Settings(url, host=host)
    with pytest.raises(dj.InvalidRequest, match="give tokens"):  # the proxy is reached from elsewhere
        Settings(url, behind_proxy=True)
    assert "p@h" not in repr(Settings(url, tokens=TOKENS))


def test_the_command_refuses_too(monkeypatch: pytest.MonkeyPatch) -> None:
    done = CliRunner().invoke(commands, ["serve", "--url", "postgresql://u:secret@h/d", "--host", "0.0.0.0"])
    assert done.exit_code == 1
    assert "give tokens" in done.stderr
    assert "secret" not in done.stderr


def test_the_command_makes_tokens(tmp_path: Path) -> None:
    done = CliRunner().invoke(commands, ["token", "warehouse", "--scope", "read", "--resource", "ed-fi/students"])
    text, entry = done.stdout.splitlines()
    file = tmp_path / "tokens.json"
    file.write_text(f"[{entry}]")
    [kept] = security.read_token_file(file)
    assert security.found_token((kept,), text) == kept
    assert (kept.name, kept.scopes, kept.resources) == ("warehouse", {"read"}, {"ed-fi/students"})
    assert CliRunner().invoke(commands, ["token", "x", "--scope", "all"]).exit_code == 1


def test_a_client_that_asks_too_often_is_told_when_to_come_back(url: str) -> None:
    with in_process(settings_of(url, rate=0.5, burst=3)) as client:
        path = "/changeQueries/v1/availableChangeVersions"
        answers = [client.get(path) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert answers[-1].json()["type"] == "urn:dmsjournal:problem:too-many-requests"
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 2
        assert client.get(path, headers=bearer(ADMIN)).status_code == 200  # another's limit is its own
        guesses = [client.get(path, headers=bearer(f"guess {n}")).status_code for n in range(4)]
        assert guesses == [401, 401, 401, 429]
        assert client.get("/healthz").status_code == 200


def test_rates() -> None:
    now = 0.0
    limit = RateLimit(10, 2, clock=lambda: now)
    limit.take("a")
    limit.take("a")
    with pytest.raises(problems.Refused):
        limit.take("a")
    limit.take("b")
    now = 0.1
    limit.take("a")
    with pytest.raises(problems.Refused):
        limit.take("a")
    for n in range(20_000):
        limit.take(str(n))
    assert len(limit._buckets) <= 10_000


def test_a_tokens_own_limit_of_streams(url: str) -> None:
    text, kept = security.new_token("two", streams=2)
    with in_process(settings_of(url, tokens=(kept,))) as client:
        waiting = client.app.state.service.waiting  # type: ignore[attr-defined]
        asked = {"params": {"long_poll_ms": 50}, "headers": bearer(text)}
        with waiting.one("token two", None):
            assert client.get("/changefeed", **asked).status_code == 200
            with waiting.one("token two", None):
                answer = client.get("/changefeed", **asked)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")


def test_a_body_that_is_too_large_or_late_is_refused() -> None:
    head = f"POST /changefeed/retention HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\nContent-Length: 9\r\n\r\n"
    with Running(settings_of(NOWHERE, header_seconds=0.5)) as running, running.client(ADMIN) as client:
        answer = client.post("/changefeed/retention", content=b"x" * 100_000)
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:dmsjournal:problem:content-too-large")
        with running.connect() as slow:
            slow.sendall(head.encode() + b"{")
            assert b" 408 " in slow.recv(1000)


def test_a_head_that_is_too_large_is_refused() -> None:
    with Running(settings_of(NOWHERE)) as running, running.client() as client:
        for size in (33_000, 60_000, 1_000_000):
            with running.connect() as sent, suppress(ConnectionError):
                sent.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"x" * size + b"\r\n\r\n")
                assert b" 400 " in sent.recv(1000)
        assert client.get("/healthz").status_code == 200


def test_slow_heads_are_cut_off() -> None:
    with Running(settings_of(NOWHERE, header_seconds=0.5)) as running, running.connect() as slow, running.client() as client:
        assert client.get("/healthz").status_code == 200
        began = time.monotonic()
        slow.sendall(b"GET /healthz HTTP/1.1\r\n")
        while not _is_cut_off_at_a_line(slow):
            assert time.monotonic() - began < 9
        assert client.get("/healthz").status_code == 200  # it came in time, each time


def test_a_slow_second_head_on_a_connection_is_cut_off_too() -> None:
    with Running(settings_of(NOWHERE, header_seconds=0.5)) as running, running.connect() as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = b""
        while not answer.endswith(b'{"status":"ok"}'):
            answer += slow.recv(5000)
        slow.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert _is_cut_off(slow)


def test_connections_that_say_nothing_give_way_to_new_ones(url: str) -> None:
    with Running(settings_of(url, sockets=20, header_seconds=60)) as running:
        idle = [running.connect() for _ in range(100)]
        with running.client() as client:
            assert client.get("/changefeed", params={"long_poll_ms": 500}).status_code == 200
        until(lambda: len(running.server.server_state.connections) <= 20)
        for connection in idle:
            connection.close()


def test_a_request_that_came_with_the_one_before_is_not_idle(url: str) -> None:
    with Running(settings_of(url, sockets=5, header_seconds=60)) as running, running.connect() as sent, ExitStack() as opened:
        head = f"Host: localhost\r\nAuthorization: Bearer {READ}\r\n\r\n"
        sent.sendall(f"GET /healthz HTTP/1.1\r\n{head}GET /changefeed?long_poll_ms=1500 HTTP/1.1\r\n{head}".encode())
        until(lambda: running.waiting == 1)
        silent = [opened.enter_context(running.connect()) for _ in range(20)]
        until(lambda: sum(map(_has_ended, silent)) >= 15)
        answer = b""
        while b"latest_sequence" not in answer and (part := sent.recv(5000)):
            answer += part
        assert answer.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.long
def test_ten_thousand_half_open_connections_do_no_harm(process: Process) -> None:
    """In bounded memory, while others are served."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 10_500:
        pytest.skip(f"the system allows {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 10_500), hard))
    assert process.process is not None
    service = psutil.Process(process.process.pid)
    before = service.memory_info().rss
    half_open: list[socket.socket] = []
    try:
        with httpx.Client(base_url=process.url, headers=bearer(READ), timeout=20) as client:
            for n in range(10_000):
                half_open.append(socket.create_connection(("127.0.0.1", process.port)))
                half_open[-1].sendall(b"GET /changefeed HTTP/1.1\r\nX-Half: ")
                if n % 1_000 == 0:
                    assert client.get("/changefeed").status_code == 200
            assert client.get("/changefeed", params={"long_poll_ms": 100}).status_code == 200
            grown = (service.memory_info().rss - before) >> 20
            print(f"\n10,000 half-open connections: {service.num_fds()} files open, {grown} MiB more")
            assert service.num_fds() < 4_500
            assert grown < 200
    finally:
        for connection in half_open:
            connection.close()


def test_what_is_no_http_does_no_harm() -> None:
    wrong = (
        b"\0" * 100,
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    )
    with Running(settings_of(NOWHERE, header_seconds=0.5)) as running, running.client() as client:
        for nonsense in wrong:
            with running.connect() as sent, suppress(ConnectionError):
                sent.sendall(nonsense)
                sent.recv(100)
        assert client.get("/healthz").status_code == 200


def test_tls(tmp_path: Path) -> None:
    certificate, key = _self_signed(tmp_path)
    trusting = ssl.create_default_context(cafile=str(certificate))
    with Running(settings_of(NOWHERE, tls_certificate=certificate, tls_key=key)) as running:
        plain = running.connect()
        with trusting.wrap_socket(plain, server_hostname="localhost") as sent:
            sent.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = sent.recv(5000)
    assert b" 200 " in answer
    assert b"strict-transport-security" in answer.lower()


@pytest.mark.parametrize(("header_seconds", "least"), [(60, 80), (3, 100)])
def test_handshakes_that_do_not_come_do_no_harm(tmp_path: Path, header_seconds: float, least: int) -> None:
    """They give way to new ones where they are too many, and have as long as the head of a request.

    The client does its own handshake in that time, on a machine that may stop for a second.
    """
    certificate, key = _self_signed(tmp_path)
    trusting = ssl.create_default_context(cafile=str(certificate))
    tls = {"tls_certificate": certificate, "tls_key": key}
    with Running(settings_of(NOWHERE, sockets=20, header_seconds=header_seconds, **tls)) as running, ExitStack() as opened:
        silent = [opened.enter_context(running.connect()) for _ in range(100)]
        with httpx.Client(verify=trusting, timeout=5) as client:
            assert client.get(f"https://localhost:{running.port}/healthz").status_code == 200
            until(lambda: sum(map(_has_ended, silent)) >= least, 20)
            assert client.get(f"https://localhost:{running.port}/healthz").status_code == 200


def _has_ended(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def _is_cut_off_at_a_line(connection: socket.socket) -> bool:
    try:
        connection.sendall(b"X: 1\r\n")
    except ConnectionError:
        return True
    time.sleep(0.1)
    return False


def _is_cut_off(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def _self_signed(folder: Path) -> tuple[Path, Path]:
    certificate, key = folder / "cert.pem", folder / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]  # fmt: skip
    try:
        subprocess.run(made, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no openssl here to make a certificate with")
    return certificate, key


def test_logs_have_the_requests_id_and_no_secret(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dmsjournal.http")
    with in_process(settings_of(url)) as client:
        client.get("/changefeed", params={"key_prefix": "students:604822"}, headers={"X-Request-ID": "r-1"})
        client.get("/nothing", headers=bearer("dmsj_guess"))
    [read, none] = [record for record in caplog.records if getattr(record, "action", "") == "request"]
    assert (read.status, read.route, read.token, none.status, none.route) == (200, "/changefeed", "reader", 404, "none")
    logs.request_id.set("r-2")
    written = logs.JsonLines(["s3cret"]).format(logging.makeLogRecord({"msg": "%s %s", "args": (READ, "pw s3cret"), "x": {1}}))
    told = json.loads(written)
    assert (told["message"], told["request_id"]) == ("*** pw ***", "r-2")
    for secret in (READ, "604822", "dmsj_guess"):
        assert secret not in caplog.text


def test_every_error_of_the_tree_is_a_problem() -> None:
    def below(kind: type[errors.JournalError]) -> list[type[errors.JournalError]]:
        return [kind, *(other for sub in kind.__subclasses__() for other in below(sub))]

    examples = [
        dj.InvalidRequest("a", 1, "b"), dj.CheckpointExpired(1, 2), dj.HistoryDiverged(3, 2), dj.UnsupportedCapability("a", "b"),
        dj.NotInstalled(None, "1"), dj.MigrationRefused("a", "b"), dj.AdoptionRefused([]), dj.AdoptionStopped("a", 1, 2, "b"),
        dj.ReferencedDocument("a", "b"), dj.UnknownReference("a", dj.ResourceKey("a", "b", "c"), {}), dj.Unavailable("host secret"),
        dj.DatabaseRefused("1", "secret", "b"), dj.UnreadableEvent(1, "KeyValues", "secret", 2),
    ]  # fmt: skip
    kinds = {type(error) for error in examples}
    not_the_services = {errors.JournalError, errors.ServiceRefused, errors.ReceiverFailed, errors.DeadLettersFull}
    not_the_services |= {errors.CommitUnknown, errors.BodyDoesNotFit, errors.StoreRefused}  # it writes and extracts no documents
    assert kinds == {kind for kind in below(errors.JournalError) if kind.__module__ == "dmsjournal.errors"} - not_the_services
    found = [problems.document_of(error) for error in examples]
    assert len({problem["type"] for problem in found}) == len(examples)
    assert all(problem["status"] >= 400 and problem["title"] and problem["detail"] for problem in found)
    assert "secret" not in json.dumps(found)
    assert problems.document_of(RuntimeError("secret"))["detail"] != "secret"


def test_sql_in_every_parameter_is_text_or_refused(quiet: TestClient) -> None:
    evil = "1'; DROP TABLE dms.Document; --"
    described = quiet.app.openapi()["paths"]  # type: ignore[attr-defined]
    for path, operations in described.items():
        for parameter in operations.get("get", {}).get("parameters", []):
            if parameter["in"] == "query":
                where = path.replace("{project}", "ed-fi").replace("{resource}", "students").replace("{id}", "x")
                asked = {"keep_alive": "false", parameter["name"]: evil} if path.endswith("/stream") else {parameter["name"]: evil}
                assert quiet.get(where, params=asked).status_code in (200, 400, 404), (path, parameter["name"])
        where = path.replace("{project}", evil).replace("{resource}", evil).replace("{id}", evil)
        if where != path:
            assert quiet.get(where).status_code in (400, 404)
    assert quiet.get("/readyz").status_code == 200


def test_a_connection_sends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nagle's algorithm is off: it would hold each body back until the client has acknowledged the head, 40 ms later."""
    seen: list[int] = []
    made = server._Guarded.connection_made

    def noted(self: server._Guarded, transport: asyncio.Transport) -> None:
        seen.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)

    monkeypatch.setattr(server._Guarded, "connection_made", noted)
    with Running(settings_of(NOWHERE)) as running, running.client() as client:
        client.get("/healthz")
    assert seen == [1]


def test_certificates_that_are_none_are_refused_before_it_listens(tmp_path: Path) -> None:
    (tmp_path / "bad.pem").write_text("garbage")
    for name in ("missing.pem", "bad.pem"):
        file = tmp_path / name
        with pytest.raises(dj.InvalidRequest, match=f"{name}.*certificate"):
            server.server_of(settings_of(NOWHERE, tls_certificate=file, tls_key=file))


def test_a_path_with_a_slash_too_many_is_unknown_and_no_redirect(quiet: TestClient) -> None:
    for path in ("/changefeed/", "/data/v3/ed-fi/students/", "/healthz/"):
        answer = quiet.get(path, follow_redirects=False)
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:dmsjournal:problem:not-found")


def test_a_body_of_two_lengths_ends_the_connection() -> None:
    """Proxies may differ in where such a request ends, and take the rest of it for another client's."""
    two = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    for method in (b"GET", b"POST"):
        with Running(settings_of(NOWHERE)) as running, running.connect() as sent:
            head = b" /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            sent.sendall(method + head + two + b"GET" + head + b"Connection: close\r\n\r\n")
            answer = b""
            while part := sent.recv(5000):
                answer += part
            assert answer.startswith(b"HTTP/1.1 400 ")
            assert answer.count(b"HTTP/1.1 ") == 1


def test_who_has_no_token_is_told_so_whatever_the_body_is(url: str) -> None:
    with in_process(settings_of(url, rate=0.001, burst=3)) as client:
        asked = {"content": b"{", "headers": {"Authorization": "", "Content-Type": "application/json"}}
        statuses = [client.post("/changefeed/retention", **asked).status_code for _ in range(4)]
    assert statuses == [401, 401, 401, 429]


def test_a_token_for_a_path_reads_what_the_map_says_alone(url: str, journal: dj.Journal) -> None:
    other = dj.ResourceKey("Ed-Fi", "Student", "6.0.0")
    write(journal, document(STUDENT, 1), document(other, 1))
    with in_process(settings_of(url, resources={"ed-fi/students": "Ed-Fi/Student/5.2.0"})) as client:
        found = client.get("/changefeed", headers=bearer(STUDENTS)).json()["events"]
        assert [event["metadata"]["resource"] for event in found] == ["Ed-Fi/Student/5.2.0"]
        assert client.get("/feed", params={"scope": f"resource:{other}"}, headers=bearer(STUDENTS)).status_code == 403


@pytest.mark.parametrize("secret", ['p"w\\d', "é", "2", ":", '"'])
def test_a_secret_is_struck_out_of_a_line_that_stays_json(secret: str) -> None:
    """What a client sent, such as a path, is in `extra`: struck there, a guess would be confirmed, and short ones spoil it."""
    try:
        raise ValueError(f"refused: {secret}")
    except ValueError:
        error = sys.exc_info()
    record = logging.makeLogRecord(
        {"msg": f"no way to {secret}", "name": "x", "levelname": "INFO", "exc_info": error, "path": f"/{secret}/dmsj_abc", "n": 22}
    )
    shown = msgspec.json.decode(logs.JsonLines([secret]).format(record))
    assert (shown["message"].endswith("***"), shown["path"], shown["n"]) == (True, f"/{secret}/***", 22)
    assert shown["exception"].endswith("***")
