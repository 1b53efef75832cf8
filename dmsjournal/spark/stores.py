"""Where a lake's table is kept: a folder, or a store that is named by a URL, and what the way to it needs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow.fs

from dmsjournal.errors import InvalidRequest, StoreRefused, Unavailable, UnsupportedCapability
from dmsjournal.spark.folders import folder_of
from dmsjournal.util.files import URL

_SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfss", "abfss": "abfss", "az": "az"}
_OTHERS = ("hdfs",)
HADOOP = "spark.hadoop."  # what Spark puts before the names of Hadoop's settings
HDFS_SETTINGS = ("dfs.", "fs.", "hadoop.")  # what the names of Hadoop's settings for HDFS begin with
_MOST = 500  # characters of a library's words
_COLOUR = re.compile(r"\x1b\[[\d;]*m")

# Settings as Spark takes them (`--conf`), and the words of the library that writes the table (object_store).
_CONF = {
    "spark.hadoop.fs.s3a.access.key": "aws_access_key_id",
    "spark.hadoop.fs.s3a.secret.key": "aws_secret_access_key",
    "spark.hadoop.fs.s3a.session.token": "aws_session_token",
    "spark.hadoop.fs.s3a.endpoint": "aws_endpoint_url",
    "spark.hadoop.fs.s3a.endpoint.region": "aws_region",
    "spark.hadoop.google.cloud.auth.service.account.json.keyfile": "google_service_account",
}
_AZURE_KEY = "spark.hadoop.fs.azure.account.key."
_ENVIRONMENT = (  # Spark, too, hands the driver's credentials for S3 on to its tasks
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AZURE_STORAGE_ACCOUNT_NAME",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "GOOGLE_SERVICE_ACCOUNT",
)

# What a store, a catalog or its database says, in their libraries' words, where a new try would meet it again.
_REFUSED = (
    (r"NoSuchBucket|NO_SUCH_BUCKET|specified (?:bucket|container) does not exist", "make the bucket, or mend its name"),
    (r"PermanentRedirect|AuthorizationHeaderMalformed|PERMANENT_REDIRECT", "name the bucket's own region"),
    (r"Could not create local directory|NotADirectory|Read-only file system", "name a folder that can be made and written"),
    (
        r"\b40[13]\b.{0,3}(?:Unauthorized|Forbidden)|InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|ExpiredToken|AccessDenied"
        r"|ACCESS_DENIED|INVALID_ACCESS_KEY_ID|INVALID_SIGNATURE|necessary privileges|valid authentication credentials"
        r"|[Pp]ermission denied|password authentication failed|no password supplied|no pg_hba\.conf entry",
        "mend the credentials, or give their owner the right to read and write there",
    ),
    (r'(?:database|role) "[^"]*" does not exist', "mend the URI of the catalog"),
)


@dataclass(frozen=True)
class Store:
    """The place of a table: its URL, or its absolute path. A plain value, which goes to Spark's tasks. `options` hold secrets."""

    uri: str
    options: dict[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return self.uri

    @property
    def folder(self) -> Path | None:
        """The folder of this machine that it is; None for another store."""
        return None if URL.match(self.uri) else Path(self.uri)

    def under(self, path: str) -> Store:
        """The place of a table below this one."""
        return Store(f"{self.uri}/{path}", self.options)

    def make_folder(self) -> None:
        """Makes it where it is a folder of this machine; a store needs none. Raises StoreRefused."""
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            remedy = "name a folder that can be made and written"
            raise StoreRefused(f"{self.folder} cannot be made: {error.strerror}", remedy) from error

    def files(self) -> pyarrow.fs.FileSystem:
        """Its files, by paths that are relative to it."""
        handler: Any = _handler()(self.uri, self.options)
        return pyarrow.fs.PyFileSystem(handler)


def store_of(parameter: str, target: str | os.PathLike[str], conf: Mapping[str, str] | None = None) -> Store:
    """The store that a path or a URL names. `conf`: Spark's settings, of which those for stores are heeded.

    Raises InvalidRequest, and UnsupportedCapability for a scheme that is not known.
    """
    text = os.fspath(target)
    scheme = urlparse(text).scheme.lower() if URL.match(text) else "file"
    if scheme == "file":
        return Store(str(folder_of(parameter, text)))
    if scheme not in _SCHEMES and scheme not in _OTHERS:
        known = ", ".join(f"{each}://" for each in ("s3a", "gs", "abfss", "hdfs"))
        raise UnsupportedCapability(f"{scheme}:// for {parameter}", f"name a folder, or one of {known}")
    if not urlparse(text).netloc:
        what, named = ("name node", "host:8020") if scheme == "hdfs" else ("bucket", "bucket")
        raise InvalidRequest(parameter, text, f"name the {what}: {scheme}://{named}/folder")
    written = _SCHEMES.get(scheme, scheme) + text[len(scheme) :].rstrip("/")
    return Store(written, hadoop_of(conf or {}) if scheme == "hdfs" else options_of(conf or {}))


def reason_of(error: Exception) -> str:
    """The words of the library that writes, in one line: without its colours and arrows, and without a server's Java stack."""
    return one_line(str(error))


def failure(told: str, reason: str) -> StoreRefused | Unavailable:
    """What a store or a catalog could not do, as an error of ours: refused for good, or to be tried again."""
    for pattern, remedy in _REFUSED:
        if re.search(pattern, reason):
            return StoreRefused(f"{told}: {reason[:_MOST]}", remedy)
    return Unavailable(f"{told}: {reason[:_MOST]}", "run it again, once the reason is gone")


def one_line(text: str) -> str:
    """See reason_of."""
    lines = _COLOUR.sub("", text).splitlines()
    words = (line.strip(" \u21b3\t") for line in lines if not line.startswith("\tat "))
    return " ".join(filter(None, words))


def hadoop_of(conf: Mapping[str, str]) -> dict[str, str]:
    """Hadoop's settings among Spark's, by their own names: those for HDFS are what the library that writes takes."""
    return {name.removeprefix(HADOOP): value for name, value in conf.items() if name.startswith(HADOOP)}


def options_of(conf: Mapping[str, str]) -> dict[str, str]:
    """What the library that writes takes, of Spark's settings and the environment."""
    options = {name.lower(): os.environ[name] for name in _ENVIRONMENT if os.environ.get(name)}
    options |= {word: conf[name] for name, word in _CONF.items() if conf.get(name)}
    for name, value in conf.items():
        if name.startswith(_AZURE_KEY):
            options |= {"azure_storage_account_name": name[len(_AZURE_KEY) :].split(".")[0], "azure_storage_account_key": value}
    endpoint = options.get("aws_endpoint_url", "")
    if endpoint and "://" not in endpoint:
        is_plain = conf.get("spark.hadoop.fs.s3a.connection.ssl.enabled", "true").lower() == "false"
        endpoint = options["aws_endpoint_url"] = f"http{'' if is_plain else 's'}://{endpoint}"
    if endpoint.startswith("http://"):
        options["aws_allow_http"] = "true"
    if endpoint and "aws_region" not in options and "aws_default_region" not in options:
        options["aws_region"] = "us-east-1"  # a server of one's own takes any
    return options


def _handler() -> Any:
    try:
        from deltalake.fs import DeltaStorageHandler
    except ImportError as error:
        raise UnsupportedCapability("a lake without the package deltalake", "pip install 'dmsjournal[delta]'") from error
    return DeltaStorageHandler
