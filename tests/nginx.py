"""nginx, of Debian's package, in front of the service: with its own defaults, and as docs/http/proxies.md sets it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

PROGRAM = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
MISSING = "no nginx: install Debian's package nginx-light"
NOBODY = 65534  # whom root's nginx runs as

_HEADERS = """
proxy_set_header Host $host;
proxy_set_header X-Real-IP $remote_addr;
proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
proxy_set_header X-Forwarded-Proto $scheme;
"""
_CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    gzip on;
    gzip_types application/json text/plain;
    gzip_proxied any;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream journal {{
        server 127.0.0.1:{upstream};
        {keepalive}
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://journal;
            {settings}
        }}
    }}
}}
"""
DEFAULTS = ("", _HEADERS)  # HTTP/1.0 to the service, a connection a request, responses buffered
KEPT = ("keepalive 16;", _HEADERS + 'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_read_timeout 75s;')


class Nginx:
    """A server of its own on loopback, which may be ended and started again."""

    def __init__(self, folder: str, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._command = [str(PROGRAM), "-e", f"{folder}/error.log", "-p", folder, "-c", f"{folder}/nginx.conf"]
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        self._process = subprocess.Popen(self._command, cwd="/", stderr=subprocess.DEVNULL, **as_nobody)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", self._port), timeout=2).close()
                return
            time.sleep(0.02)
        raise AssertionError(f"nginx does not answer (it ended with {self._process.poll()})")

    def reload(self) -> None:
        """Begins new workers; the old ones end when their requests do."""
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    def stop(self) -> None:
        """Ends it, and what is going on in it."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait(30)


@contextmanager
def nginx(upstream: int, kind: tuple[str, str] = DEFAULTS) -> Iterator[Nginx]:
    """An nginx in front of a port of loopback. Skips the test where there is none."""
    if PROGRAM is None:
        pytest.skip(MISSING)
    with tempfile.TemporaryDirectory(prefix="nginx-") as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        keepalive, settings = kind
        text = _CONFIGURATION.format(folder=folder, upstream=upstream, port=port, keepalive=keepalive, settings=settings)
        Path(folder, "nginx.conf").write_text(text)
        if os.getuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
            os.chmod(Path(folder, "nginx.conf"), 0o644)
        server = Nginx(folder, port)
        server.start()
        try:
            yield server
        finally:
            server.stop()
