"""Logs: one JSON object a line, with the request's id, and without secrets."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Collection
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import msgspec

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}
_TOKEN = re.compile(r"dmsj_[\w-]+|(?i:bearer\s+)\S+")


class JsonLines(logging.Formatter):
    """A record as JSON: time, level, logger, message, request_id, and what is in `extra`.

    Tokens are struck out everywhere, `secrets` in messages and exceptions, where a driver's words may show one. What a client sends
    is in `extra`: struck there, a guess in a path would tell that it was right.
    """

    def __init__(self, secrets: Collection[str] = ()) -> None:
        super().__init__()
        self._secrets = [secret for secret in secrets if secret]

    def format(self, record: logging.LogRecord) -> str:
        shown: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": self._without_secrets(record.getMessage()),
        }
        if (current := request_id.get()) is not None:
            shown["request_id"] = current
        shown |= {name: _without_tokens(value) for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            shown["exception"] = self._without_secrets(self.formatException(record.exc_info))
        return msgspec.json.encode(shown, enc_hook=lambda value: _without_tokens(str(value))).decode("utf-8", "replace")

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return _TOKEN.sub("***", text)


def _without_tokens(value: Any) -> Any:
    """The value before it is written as JSON, which would write some of them differently."""
    if isinstance(value, dict):
        return {name: _without_tokens(of) for name, of in value.items()}
    if isinstance(value, list | tuple):
        return [_without_tokens(of) for of in value]
    return _TOKEN.sub("***", value) if isinstance(value, str) else value


def set_up(level: str, secrets: Collection[str] = ()) -> None:
    """All loggers to standard error, as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(secrets))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
