"""A window of one resource's changes as a DataFrame: cut into equal parts, one a task, all of one snapshot."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import sqlalchemy as sa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dmsjournal.connecting import engine_for, translated
from dmsjournal.errors import InvalidRequest, UnsupportedCapability
from dmsjournal.pages import refuse_expired
from dmsjournal.session import Session
from dmsjournal.windows import Window

FETCH_SIZE = 10_000  # rows a round trip; without it the driver reads a partition into memory as a whole

# The settings that a SQLAlchemy URL can end with, in libpq's words, and the JDBC driver's words for them.
SETTINGS = {
    "application_name": "ApplicationName",
    "connect_timeout": "connectTimeout",
    "options": "options",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
}


def jdbc_options(url: str | sa.URL) -> dict[str, str]:
    """Spark's JDBC options for the database of a SQLAlchemy URL; the password is one, which Spark's logs redact.

    Raises InvalidRequest, and UnsupportedCapability for a setting that the JDBC driver has no word for: to leave one
    about TLS out, say, would not be safe. Source: docs/how-it-works.md, Spark.
    """
    parsed = engine_for(url).url
    if parsed.get_backend_name() != "postgresql":
        raise UnsupportedCapability(f"Spark reading {parsed.get_backend_name()}", "use a PostgreSQL database")
    if unknown := parsed.query.keys() - SETTINGS.keys():
        raise UnsupportedCapability(
            f"{', '.join(sorted(unknown))} in a URL for Spark", f"the settings it can pass on are {', '.join(SETTINGS)}"
        )
    host = parsed.host or "localhost"
    host = f"[{host}]" if ":" in host else host  # an IPv6 address
    options = {
        "url": f"jdbc:postgresql://{host}:{parsed.port or 5432}/{quote(parsed.database or '', safe='')}",
        "driver": "org.postgresql.Driver",
        "fetchsize": str(FETCH_SIZE),
        "user": parsed.username,
        "password": parsed.password,
        "ApplicationName": "dmsjournal",
        **{SETTINGS[name]: str(value) for name, value in parsed.query.items()},
    }
    return {name: value for name, value in options.items() if value is not None}


@contextmanager
def read_window(
    spark: SparkSession, url: str | sa.URL, resource_key_id: int, window: tuple[int, int], partitions: int
) -> Iterator[DataFrame]:
    """The documents of one resource whose derived ChangeVersion lies in a window, to be read inside the `with` block.

    Columns: resource_key_id smallint, change_version bigint, document_id bigint, document_uuid string; in no order.
    Each partition has a sub-window, of at most `partitions` (1 or more) that hold equal numbers of events. Bounds: both
    ends of `window` are inclusive; the upper one is at most `versions().newest`, read before. All tasks read one
    snapshot, taken where the block begins and gone where it ends: a DataFrame that is read later fails. Raises
    CheckpointExpired, InvalidRequest, UnsupportedCapability, Unavailable. Source: docs/how-it-works.md, Spark.
    """
    if partitions < 1:
        raise InvalidRequest("partitions", partitions, "ask for 1 partition or more")
    first, last = window
    asked = Window(first, last)
    options = jdbc_options(url)
    with _repeatable_read(url) as session:
        with translated():
            snapshot = session.execute("export_snapshot").scalar_one()
            floors = {row.journal: row.change_version for row in session.execute("floors")}
            # what is pruned after the snapshot is still in it
            refuse_expired(asked, max(floors["DocumentChangeEvent"], floors["IdentityChangeEvent"]))
            parts = _sub_windows(session, resource_key_id, first, last, partitions)
        # Run by each task, in a transaction by then because of the fetch size; Spark takes one text, so both are in it.
        options["sessionInitStatement"] = (
            f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT '{snapshot}'"
        )
        changes = spark.read.jdbc(
            options.pop("url"),
            "dms.ResourceChange",
            # closed at both ends: Spark's own partitionColumn leaves the outer partitions open
            predicates=[f"ResourceKeyId = {resource_key_id:d} AND ChangeVersion BETWEEN {a:d} AND {b:d}" for a, b in parts],
            properties=options,
        )
        yield changes.select(  # only these columns are asked of the database, which has folded their names
            F.col("ResourceKeyId").alias("resource_key_id"),
            F.col("ChangeVersion").alias("change_version"),
            F.col("DocumentId").alias("document_id"),
            F.col("DocumentUuid").alias("document_uuid"),
        )


def write_window(
    spark: SparkSession, url: str | sa.URL, resource_key_id: int, window: tuple[int, int], partitions: int, path: str
) -> None:
    """Write what `read_window` reads into a new directory, at most one Parquet file a partition."""
    with read_window(spark, url, resource_key_id, window, partitions) as changes:
        changes.write.parquet(path)


@contextmanager
def _repeatable_read(url: str | sa.URL) -> Iterator[Session]:
    """A session that sees one moment and writes nothing."""
    engine = engine_for(url).execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    try:
        with translated():
            conn = engine.connect()
        with conn:
            yield Session(conn, "postgres")
    finally:
        engine.dispose()


def _sub_windows(session: Session, resource_key_id: int, first: int, last: int, partitions: int) -> list[tuple[int, int]]:
    """The window cut after each quantile of its events into parts that touch; one part, if there are no events."""
    quantiles = session.execute(
        "window_quantiles", resource_key_id=resource_key_id, min_version=first, max_version=last, partitions=partitions
    )
    ends = [*quantiles.scalars().all()[:-1], last]
    return list(zip([first, *(end + 1 for end in ends[:-1])], ends, strict=True))
