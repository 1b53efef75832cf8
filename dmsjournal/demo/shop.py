"""The demo's first part: ordinary tables, written in plain SQL by a program that knows no journal, and tracked."""

from __future__ import annotations

from dataclasses import dataclass

import dmsjournal as dj
from dmsjournal.database import postgres, sql
from dmsjournal.operate import tracking

SCHEMA = "shop"
SHOWS = {"shop.customer": ["name"]}
STATEMENTS = ("rename_customer", "change_email", "change_lines", "delete_order")


@dataclass(frozen=True)
class Counted:
    """What has changed of one table: rows in all, those that were written themselves, those that were deleted."""

    table: str
    changed: int
    written: int
    deleted: int


class Shop:
    """Schema shop of the demo's database."""

    def __init__(self, db: dj.Journal) -> None:
        self.db = db

    def create(self) -> None:
        with self.db.database.session() as session:
            session.execute("demo/create_shop")

    def track(self) -> list[dj.Tracked]:
        """What `dmsjournal track --schema shop --project Shop --shows shop.customer=name` does."""
        names = tracking.tables_of(self.db.database, SCHEMA)
        unquoted = {name: name.partition(".")[2].strip('"') for name in names}
        return self.db.track(
            *(dj.TrackedTable(name, dj.ResourceKey("Shop", unquoted[name], "1"), shows=SHOWS.get(name)) for name in names)
        )

    def change(self) -> list[str]:
        """Runs the statements, each in a transaction of its own, and gives their texts."""
        for name in STATEMENTS:
            with self.db.database.session() as session:
                session.execute(f"demo/{name}")
        texts = (sql.text_of(postgres.NAME, f"queries/demo/{name}") for name in STATEMENTS)
        return [" ".join(line for line in text.splitlines() if not line.startswith("--")) for text in texts]

    def counted(self, window: dj.Window) -> list[Counted]:
        """What has changed in a window."""
        found = []
        for resource in (dj.ResourceKey("Shop", name, "1") for name in ("customer", "order", "order_line")):
            changed = sum(1 for _ in self.db.changes(resource, window))
            deleted = sum(1 for _ in self.db.deletes(resource, window))
            with self.db.database.session() as session:
                binds = {"resource_name": resource.resource_name, "min_version": window.min}
                written = session.execute("demo/written", **binds).scalar_one()
            found.append(Counted(resource.resource_name, changed, written, deleted))
        return found

    def changed_orders(self, window: dj.Window) -> list[int]:
        """The ids of orders that have changed."""
        ids = [change.document_id for change in self.db.changes(dj.ResourceKey("Shop", "order", "1"), window)]
        return sorted(int(str(stored.key_values["id"])) for stored in self.db.documents(ids).values() if stored.key_values)

    def orders_of_renamed(self) -> list[int]:
        """The orders that show the new name, as the tables have them."""
        with self.db.database.session() as session:
            return [row.id for row in session.execute("demo/orders_of_renamed")]
