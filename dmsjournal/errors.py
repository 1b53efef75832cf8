"""The errors of dmsjournal: one small tree; each has its values as fields, says what to do, and can be pickled.

A driver's exception never leaves bare: it is the `__cause__` of one of these. No message holds a password.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar


class JournalError(Exception):
    """The root of every error that dmsjournal raises. `code` is what the portable change feed calls it."""

    code: ClassVar[str] = "PROVIDER_ERROR"


class InvalidRequest(JournalError):
    """What was asked for makes no sense; nothing was read or written.

    `others` are parameters that `parameter` does not go together with, or one of which is needed in its place. A remedy names a
    parameter in backticks, unless it is a word that is nothing else: the command line names its options instead.
    """

    code = "INVALID_REQUEST"

    def __init__(self, parameter: str, value: object, remedy: str, *, others: Sequence[str] = ()) -> None:
        super().__init__(parameter, value, remedy)
        self.parameter, self.value, self.remedy, self.others = parameter, value, remedy, tuple(others)

    def __str__(self) -> str:
        try:
            shown = ascii(self.value)  # what is wrong with it may be that it cannot be printed
        except (ValueError, RecursionError):  # a number of thousands of digits, or what is nested as deeply
            shown = f"<{type(self.value).__name__} that is too long to show>"
        return f"{self.parameter} = {shown if len(shown) <= 200 else shown[:200] + '...'}: {self.remedy}"


class CheckpointExpired(JournalError):
    """The window or token reaches to or below the floor: events in it have been pruned, or are older than the installation."""

    code = "CHECKPOINT_EXPIRED"

    def __init__(self, requested: int, oldest: int) -> None:
        super().__init__(requested, oldest)
        self.requested, self.oldest = requested, oldest

    def __str__(self) -> str:
        return (
            f"version {self.requested} is not kept, the oldest is {self.oldest}: "
            "read the resource in full (snapshot), and go on after the version that it covers"
        )


class HistoryDiverged(JournalError):
    """The checkpoint remembers what the database no longer holds: it was restored to an earlier state."""

    code = "CHECKPOINT_EXPIRED"

    def __init__(self, checkpoint: int, newest: int) -> None:
        super().__init__(checkpoint, newest)
        self.checkpoint, self.newest = checkpoint, newest

    def __str__(self) -> str:
        return (
            f"the checkpoint is at version {self.checkpoint}, the database's history (newest {self.newest}) does not lead there: "
            "it was restored to an earlier state; read the resource in full and start a new checkpoint"
        )


class UnsupportedCapability(JournalError):
    """This database or installation cannot do what was asked for."""

    code = "UNSUPPORTED_CAPABILITY"

    def __init__(self, capability: str, remedy: str) -> None:
        super().__init__(capability, remedy)
        self.capability, self.remedy = capability, remedy

    def __str__(self) -> str:
        return f"{self.capability}: {self.remedy}"


class NotInstalled(JournalError):
    """The database has no journal, or an older one than this program needs.

    `command` is what the installing role runs: "upgrade", or "adopt" where an adoption is on its way.
    """

    def __init__(self, found: str | None, needed: str, command: str = "upgrade") -> None:
        super().__init__(found, needed, command)
        self.found, self.needed, self.command = found, needed, command

    def __str__(self) -> str:
        if self.command == "adopt":
            return "an adoption of dms.Document is on its way: run `dmsjournal adopt --url …` to its end, as the installing role"
        state = "the database has no journal" if self.found is None else f"the database's journal is at revision {self.found}"
        return f"{state}, revision {self.needed} is needed: run `dmsjournal {self.command} --url …` as the installing role"


class MigrationRefused(JournalError):
    """An upgrade or downgrade stopped before it changed anything."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason, remedy)
        self.reason, self.remedy = reason, remedy

    def __str__(self) -> str:
        return f"{self.reason}; nothing was changed. {self.remedy}"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What was found about `subject` before an adoption, and what to do about it."""

    subject: str
    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.found}. {self.remedy}"


class AdoptionRefused(JournalError):
    """Something stands in the way of an adoption; `obstacles` is the whole list, each with `subject`, `found` and `remedy`."""

    def __init__(self, obstacles: Sequence[Obstacle]) -> None:
        super().__init__(obstacles)
        self.obstacles = list(obstacles)

    def __str__(self) -> str:
        return f"{len(self.obstacles)} in the way of the adoption: " + "; ".join(map(str, self.obstacles))


class AdoptionStopped(JournalError):
    """A step of an adoption failed. `done` of `steps` steps came before it and stay; `step` is its name, `reason` what it met."""

    def __init__(self, step: str, done: int, steps: int, reason: str) -> None:
        super().__init__(step, done, steps, reason)
        self.step, self.done, self.steps, self.reason = step, done, steps, reason

    def __str__(self) -> str:
        return (
            f"step {self.done + 1} of {self.steps}, `{self.step}`, failed, and the {self.done} before it stay: {self.reason}. "
            "Mend that and run `dmsjournal adopt` again to go on, or go back with `dmsjournal adopt --abandon`"
        )


class ReferencedDocument(JournalError):
    """The document cannot be deleted, since another one refers to it."""

    def __init__(self, document: str, referrer: str) -> None:
        super().__init__(document, referrer)
        self.document, self.referrer = document, referrer

    def __str__(self) -> str:
        return f"{self.document} is referred to by {self.referrer}: delete or change that one first"


class UnknownReference(JournalError):
    """A document refers to one that does not exist."""

    code = "NOT_FOUND"

    def __init__(self, referrer: str, resource: object, key_values: Mapping[str, object]) -> None:
        super().__init__(referrer, resource, key_values)
        self.referrer, self.resource, self.key_values = referrer, resource, key_values

    def __str__(self) -> str:
        return (
            f"{self.referrer} refers to {self.resource} {dict(self.key_values)!a}, which does not exist: write that document first"
        )


class Unavailable(JournalError):
    """The database did not answer, or asked for another try; nothing of the transaction was kept. Safe to retry.

    What is the same when it is done again, such as the move of a consumer or a batch of a prune, may have been kept. Any other
    write whose COMMIT was not answered is CommitUnknown.
    """

    def __init__(self, reason: str, remedy: str = "try again") -> None:
        super().__init__(reason, remedy)
        self.reason, self.remedy = reason, remedy

    def __str__(self) -> str:
        return f"{self.reason}: {self.remedy}"


class CommitUnknown(JournalError):
    """The connection was lost while the transaction was committed: all of it was kept, or nothing was. Not safe to retry.

    `reason` is what the driver said. Journal.retry looks what became of the transaction.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"the connection was lost during the commit ({self.reason}), so all of the transaction was kept or nothing was: "
            "look whether its changes are there before you write them again, or write with Journal.retry, which looks"
        )


class DatabaseRefused(JournalError):
    """The database refused a statement for a reason that is none of the others.

    `sqlstate` is the SQLSTATE on PostgreSQL, the error's number on SQL Server. `refused` says what was refused where that is known:
    the "login" or a "right".
    """

    def __init__(self, sqlstate: str | None, message: str, remedy: str, *, refused: str | None = None) -> None:
        super().__init__(sqlstate, message, remedy)
        self.sqlstate, self.message, self.remedy, self.refused = sqlstate, message, remedy, refused

    def __str__(self) -> str:
        return f"{self.message} ({self.sqlstate}): {self.remedy}" if self.sqlstate else f"{self.message}: {self.remedy}"


class StoreRefused(JournalError):
    """The store of a table in a lake, or its catalog, refuses what it will refuse again: credentials, a right, a bucket's name.

    Nothing of the run is in the table.
    """

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason, remedy)
        self.reason, self.remedy = reason, remedy

    def __str__(self) -> str:
        return f"{self.reason}: {self.remedy}"


class UnreadableEvent(JournalError):
    """The database cannot give the key or the body of one event; it can give what comes before and after.

    `column` is KeyValues or DocumentJson. `change_version` is None where a document was read as it is now.
    """

    def __init__(self, document_id: int, column: str, reason: str, change_version: int | None = None) -> None:
        super().__init__(document_id, column, reason, change_version)
        self.document_id, self.column, self.reason, self.change_version = document_id, column, reason, change_version

    def __str__(self) -> str:
        at = "" if self.change_version is None else f" at version {self.change_version}"
        return (
            f"{self.column} of document {self.document_id}{at} cannot be read ({self.reason}): shorten it or delete the document, "
            "or pass the event by with --pass-unreadable, in Python connect(url, unreadable=…); see docs/dba/limits.md"
        )


class BodyDoesNotFit(JournalError):
    """A document's body does not fit the columns, or the VARIANT, of a table that bodies are extracted into.

    `field` is its path in the body, `found` the kind of value there, in words that show none, `reason` why that does not fit.
    """

    def __init__(self, document_id: int, document_uuid: str, resource: str, field: str, found: str, reason: str) -> None:
        super().__init__(document_id, document_uuid, resource, field, found, reason)
        self.document_id, self.document_uuid, self.resource = document_id, document_uuid, resource
        self.field, self.found, self.reason = field, found, reason

    def __str__(self) -> str:
        return (
            f"{self.field} of document {self.document_id} ({self.document_uuid}) of {self.resource} is {self.found}, and "
            f"{self.reason}; nothing was written: change the document, or begin a new table with other types (--body-schema) "
            "or with --body json"
        )


class ServiceRefused(JournalError):
    """The HTTP service refused a request for a reason that is none of the others, or something else answered in its place.

    `status` is HTTP's, `problem` the name of the problem's type, None where the answer was no problem document.
    """

    def __init__(self, status: int, problem: str | None, detail: str, remedy: str) -> None:
        super().__init__(status, problem, detail, remedy)
        self.status, self.problem, self.detail, self.remedy = status, problem, detail, remedy
        self.code = "NOT_FOUND" if problem == "not-found" else type(self).code  # type: ignore[misc]  # one error's own

    def __str__(self) -> str:
        return f"{self.detail} ({self.status}{'' if self.problem is None else f' {self.problem}'}): {self.remedy}"


class ReceiverFailed(JournalError):
    """Nothing can be delivered to a receiver; its consumer is where the last delivery has left it."""

    def __init__(self, receiver: str, reason: str, remedy: str) -> None:
        super().__init__(receiver, reason, remedy)
        self.receiver, self.reason, self.remedy = receiver, reason, remedy

    def __str__(self) -> str:
        return f"{self.receiver} {self.reason}: {self.remedy}; nothing is lost"


class DeadLettersFull(JournalError):
    """A receiver has refused more than its file of dead letters may hold; its consumer is before the next one."""

    def __init__(self, path: str, count: int) -> None:
        super().__init__(path, count)
        self.path, self.count = path, count

    def __str__(self) -> str:
        return (
            f"{self.path} has {self.count} dead letters, and takes no more: see their reasons, mend the receiver, and deliver them "
            "with --replay; nothing is lost"
        )


def near_matches(word: str, known: Sequence[str]) -> str:
    """A remedy for an unknown name: the names that look like it."""
    import difflib

    folded = {name.casefold(): name for name in known}
    found = difflib.get_close_matches(word.casefold(), list(folded), n=3)
    return f"did you mean {' or '.join(folded[name] for name in found)}?" if found else "no name looks like it"


def valid_names(known: Sequence[str]) -> str:
    """A remedy for an unknown name where all that there are can be told."""
    return f"name {'one of ' if len(known) > 1 else ''}{', '.join(known)}"
