"""One attempt: what each answer means, what is never followed, and that no secret is ever shown."""

import datetime
import ipaddress
import logging
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import dmsjournal as dj
from dmsjournal.deliver.signatures import Signer, is_genuine
from dmsjournal.deliver.webhooks import Answer, Verdict, Webhook
from dmsjournal.util.retry_after import seconds_of
from tests.delivering.receiver import SECRET, Receiver, receiving

SIGNER = Signer([SECRET])


@pytest.fixture(scope="module")
def shared() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def receiver(shared: Receiver) -> Receiver:
    shared.got.clear()
    shared.taken.clear()
    shared.answer = lambda got: 204
    return shared


def post(url: str, **options) -> Answer:
    with Webhook(url, SIGNER, **options) as webhook:
        return webhook.post("an-id", "application/json", b'{"a":1}')


VERDICTS = {
    Verdict.DELIVERED: [200, 201, 202, 204, 299],
    Verdict.LATER: [429, 503],
    Verdict.FAILED: [401, 403, 404, 408, 409, 425, 500, 502, 504],
    Verdict.REFUSED: [400, 413, 415, 422],
    Verdict.GONE: [301, 302, 303, 307, 308, 410],
}


@pytest.mark.parametrize(("verdict", "status"), [(verdict, status) for verdict, all_ in VERDICTS.items() for status in all_])
def test_what_an_answer_means(receiver: Receiver, verdict: Verdict, status: int) -> None:
    receiver.answer = lambda got: status
    answer = post(receiver.url)
    assert (answer.verdict, answer.reason) == (verdict, f"answered {status}")
    assert len(receiver.got) == 1


def test_what_is_sent(receiver: Receiver) -> None:
    with Webhook(receiver.url + "?a=b", SIGNER) as webhook:
        for _ in range(2):
            assert webhook.post("an-id", "application/cloudevents+json", b"{}").verdict is Verdict.DELIVERED
    for got in receiver.got:
        assert got.id == "an-id"
        assert got.body == b"{}"
        assert got.headers["content-type"] == "application/cloudevents+json"
        assert abs(int(got.headers["webhook-timestamp"]) - time.time()) < 5
        assert is_genuine(got.headers, got.body, [SECRET])
        assert set(got.headers) == {
            "host", "content-length", "content-type", "user-agent", "accept-encoding",
            "webhook-id", "webhook-timestamp", "webhook-signature",
        }  # fmt: skip


def test_a_redirect_is_not_followed_and_no_cookie_is_kept(receiver: Receiver) -> None:
    elsewhere = receiver.url.replace("/hook", "/other")
    receiver.answer = lambda got: (307, {"location": elsewhere, "set-cookie": "a=b"})
    with Webhook(receiver.url, SIGNER) as webhook:
        for _ in range(2):
            assert webhook.post("an-id", "application/json", b"{}").verdict is Verdict.GONE
    assert len(receiver.got) == 2
    assert not any("cookie" in got.headers for got in receiver.got)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, 0),
        ("7", 7),
        (" 7 ", 7),
        ("0", 0),
        ("999999999999999", 3600),
        ("-1", 0),
        ("soon", 0),
        ("", 0),
        ("٣", 0),
        ("Sat, 28 Nov 2026 15:00:30 GMT", 30),
        ("Sat, 28 Nov 2026 14:00:00 GMT", 0),
        ("Sat, 28 Nov 2126 14:00:00 GMT", 3600),
    ],
)
def test_how_long_a_receiver_asks_for(text: str | None, seconds: float) -> None:
    assert seconds_of(text, datetime.datetime(2026, 11, 28, 15, tzinfo=datetime.UTC)) == seconds


@pytest.mark.parametrize("status", [429, 503, 500])
def test_retry_after_is_read(receiver: Receiver, status: int) -> None:
    receiver.answer = lambda got: (status, {"retry-after": "11"})
    assert post(receiver.url).delay == 11


def test_nobody_there() -> None:
    with socket.socket() as taken:  # bound, never listening
        taken.bind(("127.0.0.1", 0))
        answer = post(f"http://127.0.0.1:{taken.getsockname()[1]}/")
    assert answer.verdict is Verdict.LATER
    assert "no connection" in answer.reason


def test_a_name_that_is_none() -> None:
    answer = post("https://receiver.invalid/hook")
    assert answer.verdict is Verdict.LATER


class Raw:
    """A receiver that answers with bytes, a piece at a time, with pauses."""

    def __init__(self, *pieces: bytes, pause: float = 0.0, hang: bool = False) -> None:
        self._pieces, self._pause, self._hang = pieces, pause, hang
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._ended = threading.Event()
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/hook"
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> "Raw":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            connection.recv(65_536)
            try:
                for piece in self._pieces:
                    connection.sendall(piece)
                    if self._ended.wait(self._pause):
                        return
            except OSError:
                return
            if self._hang:
                self._ended.wait(30)


def timed(url: str, timeout: float) -> tuple[Answer, float]:
    began = time.monotonic()
    answer = post(url, timeout=timeout)
    return answer, time.monotonic() - began


def test_a_receiver_that_never_answers() -> None:
    with Raw(hang=True) as raw:
        answer, took = timed(raw.url, 0.6)
    assert answer == Answer(Verdict.FAILED, "no answer within 0.6 s")
    assert took < 5


def test_a_receiver_that_drips_its_head_has_the_same_time() -> None:
    drops = [b"HTTP/1.1 200 OK\r\n", *[b"x-a: b\r\n"] * 200]
    with Raw(*drops, pause=0.1) as raw:
        answer, took = timed(raw.url, 0.6)
    assert answer.verdict is Verdict.FAILED
    assert took < 5


def test_a_status_counts_whatever_comes_of_the_body() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n"
    with Raw(head, hang=True) as raw:
        answer, took = timed(raw.url, 0.6)
    assert answer.verdict is Verdict.DELIVERED
    assert took < 5


def test_a_good_answer_is_one_when_its_head_is_there() -> None:
    """Its body is waited for only so long that the connection may be kept."""
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n"
    with Raw(head, hang=True) as raw:
        answer, took = timed(raw.url, 20)
    assert answer.verdict is Verdict.DELIVERED
    assert took < 10


class Closing:
    """A receiver that answers one request on each connection, keeps it, and closes it when the next request comes."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/hook"
        self.connections = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                sent = b""
                while not sent.endswith(b"{}"):  # head and body may come apart
                    sent += connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
                connection.recv(65_536)

    def close(self) -> None:
        self._socket.close()


def test_a_kept_connection_that_was_closed_is_no_failed_try() -> None:
    """The race: the request goes out on the kept connection, and meets the receiver's end of it."""
    receiver = Closing()
    try:
        with Webhook(receiver.url, SIGNER) as webhook:
            for number in range(1, 6):
                answer = webhook.post(f"id-{number}", "application/json", b"{}")
                assert answer == Answer(Verdict.DELIVERED, "answered 204")
    finally:
        receiver.close()
    assert receiver.connections == 5


def test_a_connection_that_ends_at_once_is_a_failed_try() -> None:
    """On a new connection it is no end of a kept one: it counts, and is not sent again in silence."""
    with Raw() as raw:
        assert post(raw.url).verdict is Verdict.FAILED


@pytest.mark.parametrize("proxy", ["socks5://proxy:1080", "ftp://proxy", "proxy", "http://proxy:65536"])
def test_what_is_no_proxy(proxy: str) -> None:
    with pytest.raises(dj.InvalidRequest, match=r"proxy = '\*\*\*': write it as http://host:port"):
        Webhook("https://receiver.example/hook", SIGNER, proxy=proxy)


def test_a_body_without_end_is_not_read_to_it() -> None:
    head = b"HTTP/1.1 500 No\r\n\r\n"
    with Raw(head, *[b"x" * 65_536] * 2_000) as raw:
        answer, took = timed(raw.url, 5)
    assert answer.verdict is Verdict.FAILED
    assert answer.reason.startswith("answered 500: xxx")
    assert len(answer.reason) < 400
    assert took < 5


@pytest.mark.parametrize("said", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200", b"\x00" * 200_000])
def test_an_answer_that_is_none(said: bytes) -> None:
    with Raw(said) as raw:
        assert post(raw.url, timeout=3).verdict is Verdict.FAILED


def test_what_a_receiver_writes_cannot_move_a_cursor(receiver: Receiver) -> None:
    receiver.answer = lambda got: (500, {}, "no\x1b[2J\nway \ud7ff\x9b1m".encode())
    assert post(receiver.url).reason.isprintable()


@pytest.mark.parametrize(
    "url",
    [
        *("", "receiver", "ftp://receiver/", "https://", "https:///hook", "http://[::1", "https://receiver:port/", "file:///hook"),
        *(
            "https://receiver:65536/",
            "https://receiver:0/",
            "https://xn--zzzzzzzzz/",
            "https://a..b/",
            f"https://{'a' * 64}.example/",
        ),
    ],
)
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(dj.InvalidRequest, match=r"^to = '\*\*\*': write it as https://host/path$"):
        Webhook(url, SIGNER)


@pytest.mark.parametrize("host", ["receiver.example", "10.0.0.1", "169.254.169.254", "[fe80::1]", "localhost.example", "0.0.0.0"])
def test_plain_http_is_for_this_machine(host: str) -> None:
    with pytest.raises(dj.InvalidRequest, match="use https://"):
        Webhook(f"http://user:pass-word@{host}/secret-path?secret-query", SIGNER)
    assert Webhook(f"http://{host}/", SIGNER, allow_http=True).name == f"http://{host}"


def test_http_is_taken_for_loopback() -> None:
    for host in ("localhost", "127.0.0.1", "127.1.2.3", "[::1]"):
        Webhook(f"http://{host}:8080/", SIGNER)


def test_secrets_are_never_shown(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    """Not those of the URL, wherever they stand in it, and not the one that signs; not by httpx either, nor in an answer."""
    caplog.set_level(logging.DEBUG)
    words = ["pass-word", "path-secret", "query-secret", "dXNlcjpwYXNzLXdvcmQ=", SECRET.removeprefix("whsec_")]
    url = receiver.url.replace("127", "user:pass-word@127").replace("/hook", "/path-secret?key=query-secret")
    receiver.answer = lambda got: (500, {}, f"{got.headers} cannot post to /path-secret?key=query-secret pass-word".encode())
    with Webhook(url, SIGNER) as webhook:
        answer = webhook.post("an-id", "application/json", b"{}")
        shown = [answer.reason, webhook.name, repr(webhook), caplog.text]
    assert receiver.got[0].headers["authorization"] == "Basic dXNlcjpwYXNzLXdvcmQ="
    assert webhook.name == receiver.url.removesuffix("/hook")
    shown.append(post(url.replace(str(receiver.url.split(":")[2].split("/")[0]), "1")).reason)
    for word in words:
        assert not [text for text in shown if word in text], word


def test_nothing_is_taken_from_a_netrc_or_the_environments_proxies(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert post(receiver.url).verdict is Verdict.DELIVERED
    assert "authorization" not in receiver.got[0].headers


def test_a_proxy_that_is_named_is_used() -> None:
    with Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n") as proxy:
        url = "http://receiver.invalid/hook"
        assert post(url, proxy=proxy.url.removesuffix("/hook"), allow_http=True).verdict is Verdict.DELIVERED


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody vouches for, and its key, in one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "receiver")])
    today = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    written = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ) + made.public_bytes(serialization.Encoding.PEM)
    path.write_bytes(written)
    return path


@pytest.fixture
def over_tls(certificate: Path) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *arguments: None
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"https://127.0.0.1:{server.server_address[1]}/hook"
    server.shutdown()
    server.server_close()
    thread.join()


def test_certificates_are_verified(over_tls: str, certificate: Path) -> None:
    answer = post(over_tls)
    assert answer.verdict is Verdict.LATER
    assert "certificate verify failed" in answer.reason
    assert post(over_tls, ca_file=certificate).verdict is Verdict.DELIVERED
    assert post(over_tls.replace("127.0.0.1", "localhost"), ca_file=certificate).verdict is Verdict.LATER  # another name


def test_a_file_of_no_certificates(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    for path in (tmp_path / "ca.pem", tmp_path / "missing.pem"):
        with pytest.raises(dj.InvalidRequest, match="ca_file"):
            Webhook("https://receiver.example/", SIGNER, ca_file=path)
