"""A receiver of webhooks for tests: it notes every request, and answers as it is told."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dmsjournal.deliver.signatures import is_genuine

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

Answer = int | tuple[int, dict[str, str]] | tuple[int, dict[str, str], bytes]


@dataclass
class Got:
    """One request."""

    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def events(self) -> list[dict[str, Any]]:
        decoded = json.loads(self.body)
        return decoded if isinstance(decoded, list) else [decoded]


@dataclass
class Receiver:
    """What came, and what is answered: `answer` is asked for each request."""

    url: str = ""
    got: list[Got] = field(default_factory=list)
    taken: list[Got] = field(default_factory=list)
    answer: Callable[[Got], Answer] = lambda got: 204

    def ids(self) -> list[str]:
        """The ids of the events that were taken, in their order."""
        return [event["event_id"] for got in self.taken for event in got.events]

    def versions(self) -> list[int]:
        return [event["change_version"] for got in self.taken for event in got.events]

    def documents(self) -> list[int]:
        return [event["key"]["document_id"] for got in self.taken for event in got.events]


def refusing(*documents: int, status: int = 500) -> Callable[[Got], Answer]:
    """Answers `status` where one of these documents is in the request."""
    return lambda got: status if {event["key"]["document_id"] for event in got.events} & set(documents) else 204


@contextmanager
def receiving(port: int = 0) -> Iterator[Receiver]:
    """A receiver at work. Every request must be signed with SECRET, or is answered 401."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            got = Got({name.lower(): value for name, value in self.headers.items()}, body)
            receiver.got.append(got)
            answered = receiver.answer(got) if is_genuine(got.headers, body, [SECRET]) else 401
            status, headers, text = (answered, {}, b"") if isinstance(answered, int) else (*answered, b"")[:3]
            if 200 <= status < 300:
                receiver.taken.append(got)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST

        def log_message(self, *arguments: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *arguments: object) -> None:
            pass  # a sender that was killed

    server = Server(("127.0.0.1", port), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
