"""Results: a statement with the types of its columns, where a driver cannot know them.

SQL Server keeps JSON as text, times without a zone and truths as bits, and some of its drivers give a uuid as text.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from dmsjournal.util.json import decoded


@cache
def typed(statement: sa.TextClause) -> sa.Executable:
    """The statement, whose columns have the types that the other engine's driver gives by itself."""
    return statement.columns(**_COLUMNS)


class _Json(sa.types.TypeDecorator[Any]):
    """JSON that the database keeps as text."""

    impl = sa.UnicodeText
    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return decoded(value) if isinstance(value, str) else value


class _Utc(sa.types.TypeDecorator[datetime]):
    """A time that the database keeps in UTC, without a zone."""

    impl = sa.DateTime
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


class _Flag(sa.types.TypeDecorator[bool]):
    """A truth that the database gives as 0 or 1."""

    impl = sa.Integer
    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> bool | None:
        return None if value is None else bool(value)


class _Uuid(sa.types.TypeDecorator[UUID]):
    """A uuid that a driver may give as text."""

    impl = sa.Unicode
    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> UUID | None:
        return UUID(value) if isinstance(value, str) else value


_COLUMNS: dict[str, sa.types.TypeDecorator[Any]] = (
    dict.fromkeys(("key_values", "old_key_values", "new_key_values", "body", "body_before", "body_after", "context"), _Json())
    | dict.fromkeys(("key_columns", "shown_columns", "watched_columns", "refers_to", "problems"), _Json())
    | dict.fromkeys(("deleted_at", "changed_at", "last_modified", "child_last_modified"), _Utc())
    | dict.fromkeys(("now", "created_at", "pruned_at", "updated_at", "found_at", "last_at", "expires_at", "ensured_at"), _Utc())
    | dict.fromkeys(
        ("same_body", "is_alive", "is_listed", "is_identity_component", "is_same", "is_ours", "is_busy", "overflows"), _Flag()
    )
    | dict.fromkeys(("is_content", "is_identity", "is_key", "is_stale", "is_known", "is_referred", "is_told"), _Flag())
    | dict.fromkeys(("keeps_bodies", "is_filled", "is_whole", "is_seen"), _Flag())
    | dict.fromkeys(("document_uuid", "database_uuid"), _Uuid())
)
