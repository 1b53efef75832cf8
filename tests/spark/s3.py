"""An S3 server, and a store that refuses everything."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import boto3

KEY, SECRET, BUCKET = "test-key", "test-secret", "lake"


class S3:
    """A server with an empty bucket, and what a user sets to reach it."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.conf = _conf(endpoint)
        self.client = boto3.client(
            "s3", endpoint_url=endpoint, aws_access_key_id=KEY, aws_secret_access_key=SECRET, region_name="us-east-1"
        )
        self.client.create_bucket(Bucket=BUCKET)

    def url(self, name: str) -> str:
        return f"s3a://{BUCKET}/{name}"

    def names(self, prefix: str) -> list[str]:
        """What is stored below a prefix."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [each["Key"] for page in pages for each in page.get("Contents", [])]


@contextmanager
def s3_server() -> Iterator[S3]:
    with _server("moto.server", "-H", "127.0.0.1", "-p", "{port}") as endpoint:
        yield S3(endpoint)


@contextmanager
def refusing_store(status: int, code: str) -> Iterator[dict[str, str]]:
    """Spark's settings for a store that answers every request with this status of HTTP and this code of S3's."""
    with _server("tests.spark.refusing_store", "{port}", str(status), code) as endpoint:
        yield _conf(endpoint)


def _conf(endpoint: str) -> dict[str, str]:
    return {
        "spark.hadoop.fs.s3a.access.key": KEY,
        "spark.hadoop.fs.s3a.secret.key": SECRET,
        "spark.hadoop.fs.s3a.endpoint": endpoint,
    }


@contextmanager
def _server(module: str, *arguments: str) -> Iterator[str]:
    """Its endpoint. A process of its own: a client may hold the lock of Python while it waits for an answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", module, *(each.format(port=port) for each in arguments)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            assert server.poll() is None
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()
