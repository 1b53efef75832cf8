"""What differs between the database engines: one protocol, which the modules `postgres` and `sqlserver` implement.

A module is an engine, so that mypy compares each with the protocol, member by member. No other package compares an engine's name:
it asks the engine. To add an engine, write a module with these members, put it into `engines.ENGINES`, and write its SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

import sqlalchemy as sa
from sqlalchemy import exc

from dmsjournal.errors import JournalError

if TYPE_CHECKING:
    import pyarrow as pa


class PoolBounds(TypedDict, total=False):
    """Options of a pool, where they are not SQLAlchemy's own. `hide_parameters`: in logs and errors."""

    pool_size: int
    max_overflow: int
    hide_parameters: bool


class ScriptOptions(TypedDict, total=False):
    """What Alembic is configured with to write a script."""

    dialect_opts: dict[str, str]
    mssql_batch_separator: str


class Engine(Protocol):
    """A database engine: its drivers, URLs, errors, scripts, and the ways in which its SQL differs."""

    @property
    def NAME(self) -> str:
        """The name of its folders in sql/ and migrations/, and of the option --engine."""

    @property
    def TITLE(self) -> str:
        """Its name for people."""

    @property
    def DIALECT(self) -> str:
        """The name of its dialect in SQLAlchemy."""

    @property
    def EVENT_SOURCE(self) -> str:
        """Its name as events tell where they come from."""

    # Connections

    @property
    def EXAMPLE(self) -> str:
        """How a URL is written."""

    @property
    def DRIVERS(self) -> tuple[str, ...]:
        """SQLAlchemy's names of the drivers that this version speaks; the first is meant where a URL names none."""

    @property
    def DRIVER_PACKAGES(self) -> tuple[str, ...]:
        """The Python packages that their errors come from."""

    def engine_for(self, url: sa.URL, seconds: float | None, bounds: PoolBounds) -> sa.Engine:
        """A pool of connections; see connect.engine_for."""

    def cut_off(self, connection: Any) -> None:
        """Ends a driver's connection whose server does not answer: what waits for it in another thread fails at once.

        Where the driver has no way to, nothing happens: it has a limit of time of its own (engine_for's `seconds`).
        """

    def with_fixed_names(self, engine: sa.Engine) -> sa.Engine:
        """An engine for our statements on the same pool, in whose transactions names resolve to ours (invariant 13)."""

    def own_names_kept(self, conn: sa.Connection) -> AbstractContextManager[None]:
        """Within it a migration may change how names resolve; afterwards they resolve as the connection's owner had it."""

    def arrow_source(self, pool: sa.Engine) -> AbstractContextManager[Callable[[sa.TextClause, Mapping[str, object]], pa.Table]]:
        """A function that runs a statement and gives its rows as a pyarrow.Table. Raises UnsupportedCapability."""

    @property
    def HAS_COPY(self) -> bool:
        """Whether the rows of a query can be copied as one stream of Arrow, in a transaction of one's own: `copying`."""

    def copying(self, url: sa.URL, begin: Sequence[str]) -> AbstractContextManager[Callable[[str], Iterator[pa.RecordBatch]]]:
        """A function that gives the rows of a query, some at a time, in a transaction that begins with these statements.

        Only where HAS_COPY. Raises JournalError.
        """

    def jdbc_options(self, url: sa.URL) -> dict[str, str]:
        """How Spark's JDBC source reaches the database. Raises UnsupportedCapability for a setting without a word in JDBC."""

    def resolved(self, url: sa.URL, conn: sa.Connection) -> sa.URL:
        """The URL with what its driver has added to it, from the environment and from files. Raises as jdbc_options does."""

    @property
    def JDBC_DRIVER(self) -> str:
        """The Maven coordinates of its JDBC driver."""

    # Errors

    def as_journal_error(self, error: exc.DBAPIError) -> JournalError:
        """The driver's error as ours."""

    def message_of(self, error: exc.DBAPIError) -> str:
        """What the server said, in one line."""

    def is_retried(self, error: exc.DBAPIError) -> bool:
        """Whether the same work may succeed at another try in the same transaction, from a savepoint on."""

    def violated(self, error: exc.DBAPIError) -> str | None:
        """The name, in lower case, of the constraint on a table of schema dms that refused a row; None for any other error."""

    def is_locked_out(self, error: exc.DBAPIError) -> bool:
        """Whether a lock was not to be had."""

    def is_missing(self, error: exc.DBAPIError) -> bool:
        """Whether a table, column, function or the like is not there."""

    def is_timed_out(self, error: exc.DBAPIError) -> bool:
        """Whether a lock was waited for in vain, for as long as the lock timeout says."""

    def is_out_of_locks(self, error: exc.DBAPIError) -> bool:
        """Whether the server has no room for another lock."""

    def is_unreadable(self, error: exc.DBAPIError) -> bool:
        """Whether the server cannot give a value that a statement reads."""

    def is_commit_unknown(self, error: exc.DBAPIError) -> bool:
        """Whether the error of a COMMIT leaves open what became of the transaction."""

    # Statements and transactions

    @property
    def ENDS_FAILED_TRANSACTIONS(self) -> bool:
        """Whether an error rolls the whole transaction back, and the next statement would begin another one."""

    @property
    def HAS_ONE_SNAPSHOT_FOR_ALL(self) -> bool:
        """Whether many sessions can read one exported snapshot."""

    @property
    def SPLITS_PARTITIONS(self) -> bool:
        """Whether a part of a journal can be split while readers and writers go on."""

    @property
    def TRANSACTION(self) -> tuple[str, str]:
        """What begins and what ends a transaction in a script."""

    @property
    def TRACK_NOTE(self) -> str:
        """What programs that write a tracked table see otherwise than before; {table} stands for its name."""

    @property
    def LARGEST_BATCH(self) -> int:
        """How many rows a prune or an adoption takes in one transaction, at most."""

    def statement(self, name: str) -> sa.Executable:
        """The statement sql/<engine>/queries/<name>.sql, whose columns have the same Python types on each engine."""

    def rows(self, values: list[object]) -> str:
        """Rows as a JSON parameter, which the engine reads as a set."""

    def savepoint(self, conn: sa.Connection) -> AbstractContextManager[object]:
        """A savepoint, to which an error in the block rolls back; nothing where ENDS_FAILED_TRANSACTIONS."""

    def begin_part(self, conn: sa.Connection) -> None:
        """Sets what the transaction needs in which a part of a plan is read."""

    def literal(self, clause: sa.ClauseElement) -> str:
        """A clause as the engine's SQL, its values written out."""

    # Migrations and scripts

    @property
    def SCRIPT_OPTIONS(self) -> ScriptOptions:
        """What Alembic is configured with to write a script."""

    @property
    def SCRIPT_BEGINS(self) -> str:
        """The head of a script."""

    @property
    def SCRIPT_ENDS(self) -> str:
        """The end of a script."""

    @property
    def DEFAULT_SCHEMA(self) -> str:
        """The schema of a table that is named without one."""

    @property
    def SEPARATOR(self) -> str:
        """What ends a batch of a script; empty where nothing does."""

    @property
    def FILLED_INDEXES(self) -> Mapping[str, tuple[str, str, str]]:
        """By option, statements for the index of its fill: what makes it, whether it is whole, and what drops it.

        The first and the last run outside of any transaction.
        """

    @property
    def FIRST_CHECKS(self) -> tuple[str, ...]:
        """The files of sql/<engine>/ that come before the checks of a migration."""

    def lock_timeout(self, text: str) -> str:
        """A lock timeout as the migrations' SQL takes it."""

    def is_pooled(self, conn: sa.Connection) -> bool:
        """Whether a pooler is between, which may give the connection another session for each transaction."""

    # Adoption, and the comparison of what is installed with what is shipped

    @property
    def MODEL(self) -> tuple[str, ...]:
        """The files of the tables that are adopted."""

    @property
    def ADOPTER(self) -> str:
        """What to do where a right to adopt is missing."""

    @property
    def HELD(self) -> str:
        """The lock that holds writers while an adoption brings the triggers."""

    def as_model(self, text: str) -> str:
        """The text of a table's file, so that it makes the table beside the one that is there."""

    def defined(self, text: str) -> list[tuple[str, str, str | None]]:
        """What a file of sql/ defines: (kind, name, comparable definition); None where only the name is compared."""

    def comparable(self, kind: str, definition: str) -> str:
        """A definition, shipped or as the server prints it, in a form in which the two are equal."""

    def replaced(self, text: str) -> str:
        """A file that creates functions, triggers or views, so that it replaces them."""

    @property
    def COMPARES_TWINS(self) -> bool:
        """Whether tables and indexes are compared with twins of theirs that the server makes and prints."""

    def twins(self, text: str) -> list[str]:
        """The statements that make temporary twins of what a file defines."""

    def temporary_view(self, text: str) -> str | None:
        """The statement that makes a shipped view as a temporary one; None where the server prints a view as it was written."""
