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
            "message": self._struck(record.getMessage()),
        }
        if (current := request_id.get()) is not None:
            told["request_id"] = current
        told |= {name: self._struck(value) for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            told["exception"] = self._struck(self.formatException(record.exc_info))
        return msgspec.json.encode(told, enc_hook=lambda value: self._struck(str(value))).decode("utf-8", "replace")

    def _struck(self, value: Any) -> Any:
        """The value without secrets: before it is written as JSON, which would write some of them differently."""
        if isinstance(value, dict):
            return {name: self._struck(of) for name, of in value.items()}
        if isinstance(value, list | tuple):
            return [self._struck(of) for of in value]
        if not isinstance(value, str):
            return value
        for secret in self._secrets:
            value = value.replace(secret, "***")
        return _TOKEN.sub("***", value)


def set_up(level: str, secrets: Collection[str] = ()) -> None:
    """All loggers to standard error, as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(secrets))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
