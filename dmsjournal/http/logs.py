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
    """A record as JSON: time, level, logger, message, request_id, and what is in `extra`. `secrets` are struck out."""

    def __init__(self, secrets: Collection[str] = ()) -> None:
        super().__init__()
        self._secrets = [secret for secret in secrets if secret]

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (current := request_id.get()) is not None:
            told["request_id"] = current
        told |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        line = msgspec.json.encode(told, enc_hook=str).decode("utf-8", "replace")
        for secret in self._secrets:
            line = line.replace(secret, "***")
        return _TOKEN.sub("***", line)


def set_up(level: str, secrets: Collection[str] = ()) -> None:
    """All loggers to standard error, as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(secrets))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
