"""Start positions: where reading begins."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from dmsjournal.errors import InvalidRequest
from dmsjournal.model.windows import checked_version


@dataclass(frozen=True, slots=True)
class Beginning:
    """From the oldest event that is kept."""


@dataclass(frozen=True, slots=True)
class Now:
    """From what happens after this: the first page is empty, and its token is the place."""


@dataclass(frozen=True, slots=True)
class AtTime:
    """From the first event whose time is not before `at`, inclusive; all that follow in order come too, earlier ones among them.

    `at` has a time zone. It errs to earlier: clocks and transactions overlap. Raises InvalidRequest.
    Portability: not every provider can (`at_time`).
    """

    at: datetime

    def __post_init__(self) -> None:
        if not isinstance(self.at, datetime) or self.at.utcoffset() is None:
            raise InvalidRequest("start.at", self.at, "pass a datetime with a time zone, such as datetime.now(UTC)")
        try:
            self.at.astimezone(UTC)
        except OverflowError as error:
            raise InvalidRequest("start.at", self.at, "pass a time between the years 1 and 9999 of UTC") from error


@dataclass(frozen=True, slots=True)
class FromToken:
    """From where the page ended that has this token, exclusive."""

    token: str


@dataclass(frozen=True, slots=True)
class AfterVersion:
    """From the first event above a version, exclusive: everything up to it was read. Not before a physical partition's beginning.

    A version remembers nothing of the history that it was read in, as a token does: only one that the database has never given is
    HistoryDiverged. Portability: not every provider can (`after_version`). Raises InvalidRequest.
    """

    version: int

    def __post_init__(self) -> None:
        checked_version("start.version", self.version)


StartPosition: TypeAlias = Beginning | Now | AtTime | AfterVersion | FromToken
