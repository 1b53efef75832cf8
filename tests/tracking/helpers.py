"""What tests of tracked tables share."""

from collections.abc import Callable
from typing import Any

Sql = Callable[..., list[Any]]


def track(sql: Sql, *tables: str, **options: Any) -> None:
    """Tracks tables of schema app, in their order, and fills them. `shows`: by table."""
    shows = options.pop("shows", {})
    for table in tables:
        given = {"project": "App", "shows": shows.get(table)} | options
        names = ", ".join(f"{name} => %s" for name in given)
        sql(f"SELECT dms.track(%s, {names})", table if "." in table else f"app.{table}", *given.values())
    for table in tables:
        fill(sql, table)


def fill(sql: Sql, table: str) -> None:
    while sql("SELECT * FROM dms.fill_tracked(%s)", table if "." in table else f"app.{table}"):
        pass
