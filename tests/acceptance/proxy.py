"""A proxy before a database: it loses a COMMIT or its answer, as a failover does, or freezes, as a stopped machine does."""

import select
import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Literal, Self

import sqlalchemy as sa

Loses = Literal["answer", "commit"]


def is_commit(sent: bytes) -> bool:
    """Whether bytes that a client sends are a COMMIT, of PostgreSQL's protocol or of TDS."""
    if sent[:1] == b"Q":
        return sent[5:].rstrip(b"\0") == b"COMMIT"
    is_manager = sent[:1] == b"\x0e" and len(sent) > 32  # a request to the transaction manager
    return is_manager and sent[30:32] == b"\x07\x00"  # TM_COMMIT_XACT, behind the header of 8 bytes and ALL_HEADERS of 22


class Proxy:
    """Passes all on but what `losing` says of the next COMMIT. `lost` counts them.

    From the first bytes of a client that hold `freezes_at` on, in either coding of the protocols, it passes nothing on, and keeps
    all connections open: `is_frozen` is set then. It takes new connections, as the kernel of a stopped process does.
    """

    def __init__(self, url: str) -> None:
        self.target = sa.make_url(url)
        self.losing: list[Loses] = []
        self.lost = 0
        self.freezes_at: str | None = None
        self.is_frozen, self._thaws = threading.Event(), threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        options = {"sslmode": "disable"} if self.target.get_backend_name() == "postgresql" else {}
        self.url = self.target.set(host="127.0.0.1", port=port).update_query_dict(options).render_as_string(hide_password=False)

    def __enter__(self) -> Self:
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()
        return self

    def freeze(self) -> None:
        """Passes nothing on any more."""
        self.is_frozen.set()

    def thaw(self) -> None:
        """Passes on again."""
        self.is_frozen.clear()
        self._thaws.set()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.thaw()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._accepting.join(10)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=[client], daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.create_connection((self.target.host or "127.0.0.1", self.target.port or 5432)) as server:
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    try:
                        sent = ready.recv(65536)
                    except ConnectionResetError:
                        return
                    if not sent:
                        return
                    if ready is client and self.freezes_at and _holds(sent, self.freezes_at):
                        self.is_frozen.set()
                    if self.is_frozen.is_set():
                        self._thaws.wait()
                    if ready is client and self.losing and is_commit(sent):
                        if self.losing.pop(0) == "answer":
                            server.sendall(sent)
                            server.recv(65536)  # it is kept by now
                        self.lost += 1
                        return
                    with suppress(OSError):  # it has gone while this was frozen
                        (server if ready is client else client).sendall(sent)


def _holds(sent: bytes, text: str) -> bool:
    return text.encode() in sent or text.encode("utf-16-le") in sent
