"""A history to prune, and whether floors and rows agree wherever a prune was cut off."""

import sqlalchemy as sa

from dmsjournal.operate.prune import JOURNALS

_HISTORY = [  # events of every kind, in a handful of statements
    "INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion) VALUES ('Race', 'Pruned', '1')",
    "INSERT INTO dms.Document (ResourceKeyId, KeyValues) SELECT max(ResourceKeyId), to_jsonb(n) "
    "FROM dms.ResourceKey, generate_series(1, {n}) AS n GROUP BY n",
    "UPDATE dms.Document SET KeyValues = to_jsonb(-DocumentId) WHERE DocumentId % 2 = 0",
    "DELETE FROM dms.Document WHERE DocumentId % 5 = 0",
    "UPDATE dms.Document SET ContentVersion = NULL",
]


def populate(url: str, documents: int) -> None:
    """About three and a half times as many events as documents, of all four journals."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as conn:
        for statement in _HISTORY:
            conn.exec_driver_sql(statement.format(n=documents).replace("%", "%%"))


class History:
    """The versions that each journal of a database had before any prune."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.versions = {name: rows for name, (_, rows) in self.read().items()}
        self.newest = max(map(max, self.versions.values()))

    def read(self) -> dict[str, tuple[int, list[int]]]:
        """Floor and versions of each journal, as one moment has them."""
        engine = sa.create_engine(self.url, poolclass=sa.NullPool, isolation_level="REPEATABLE READ")
        with engine.connect() as conn:
            floors = dict(tuple(row) for row in conn.exec_driver_sql("SELECT Journal, ChangeVersion FROM dms.JournalFloor"))
            rows = {
                name: conn.exec_driver_sql(f"SELECT ChangeVersion FROM dms.{name} ORDER BY ChangeVersion").scalars().all()
                for name in JOURNALS
            }
        return {name: (floors[name], list(rows[name])) for name in JOURNALS}

    def check(self) -> int:
        """That floors and rows agree, and how many events are left."""
        found = self.read()
        for name, (floor, versions) in found.items():
            assert versions == [version for version in self.versions[name] if version > floor], name
        return sum(len(versions) for _, versions in found.values())


def expire_leases(url: str) -> None:
    """In place of the 30 s that a killed program's lease lasts; tests/postgres/test_poolers.py waits for one."""
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as conn:
        conn.exec_driver_sql("UPDATE dms.Lease SET ExpiresAt = clock_timestamp()")
