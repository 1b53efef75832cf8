"""Exit codes by kind, the same in every command and job: what a scheduler does next depends on no words."""

from __future__ import annotations

from dmsjournal import errors

DONE = 0
FAILED = 1  # a value that was refused, or output that cannot be written
PERSON_NEEDED = 5  # the same command will fail again until a person has done something
TRY_AGAIN = 75  # EX_TEMPFAIL of sysexits.h
NOTHING_NEW = 99  # which Airflow takes for "skipped"
TERMINATED = 143  # 128 + SIGTERM

_NEEDS_PERSON = (
    errors.AdoptionRefused,
    errors.AdoptionStopped,
    errors.BodyDoesNotFit,
    errors.CheckpointExpired,
    errors.CommitUnknown,
    errors.DatabaseRefused,
    errors.HistoryDiverged,
    errors.MigrationRefused,
    errors.NotInstalled,
    errors.StoreRefused,
    errors.UnreadableEvent,
    errors.UnsupportedCapability,
)


def code_of(error: errors.JournalError) -> int:
    """The exit code of an error that ends a command."""
    if isinstance(error, errors.Unavailable):
        return TRY_AGAIN
    return PERSON_NEEDED if isinstance(error, _NEEDS_PERSON) else FAILED
