"""A store that refuses every request, as a process of its own: python -m tests.spark.refusing_store PORT STATUS CODE."""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Refusing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    status, code = 403, "AccessDenied"

    def refuse(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = f"<?xml version='1.0'?><Error><Code>{self.code}</Code><Message>it is refused</Message></Error>".encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_DELETE = do_GET = do_HEAD = do_POST = do_PUT = refuse

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    Refusing.status, Refusing.code = int(sys.argv[2]), sys.argv[3]
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Refusing).serve_forever()
