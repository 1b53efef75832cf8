"""The command that shows how the journal is."""

import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

import dmsjournal as dj
from dmsjournal.cli.base import Url, app, fail
from dmsjournal.cli.output import encodable
from dmsjournal.database.revisions import journal_revision, option_of
from dmsjournal.util.json import rows as json_rows
from dmsjournal.util.printable import printable

_BEYOND = 3  # exit code
_SHOWN = 10  # holders
_WARNED_DAYS = 3.0  # that the parts of the journals last for less


@app.command()
def status(
    url: Url,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    prometheus: Annotated[bool, typer.Option("--prometheus", help="Print metrics for Prometheus.")] = False,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write a picture (.png, .svg, .pdf); - prints bars of text.")
    ] = None,
    watch: Annotated[
        float | None, typer.Option(min=0.1, metavar="SECONDS", help="Show it again and again, until Ctrl-C or a limit is passed.")
    ] = None,
    max_lag_seconds: Annotated[
        float | None, typer.Option(min=0, metavar="N", help="End with 3 if the horizon or a consumer is further behind.")
    ] = None,
    max_lag_versions: Annotated[int | None, typer.Option(min=0, metavar="N", help="The same in versions.")] = None,
    max_hold_seconds: Annotated[
        float | None, typer.Option(min=0, metavar="N", help="End with 3 if a transaction has held the horizon for longer.")
    ] = None,
    min_partition_days: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="N", help="End with 3 if the parts of the journals last for less, or a default part has events."
        ),
    ] = None,
    check_triggers: Annotated[
        bool, typer.Option("--check-triggers", help="End with 3 unless all triggers are there and enabled.")
    ] = False,
) -> None:
    """Show how far the journal is, who holds it back, how it grows, and how far its consumers are.

    For example: dmsjournal status --max-lag-seconds 60 --max-hold-seconds 600 --check-triggers
    """
    from dmsjournal.operate import chart
    from dmsjournal.operate.alerts import Limits
    from dmsjournal.operate.prometheus import exposition

    if json and prometheus:
        raise typer.BadParameter("it does not go with --json", param_hint="--prometheus")
    if plot == "-" and (json or prometheus):
        raise typer.BadParameter("bars of text do not go with --json or --prometheus", param_hint="--plot")
    picture = None if plot in (None, "-") else chart.checked_plot(Path(str(plot)))
    limits = Limits(max_lag_seconds, max_lag_versions, max_hold_seconds, check_triggers, min_partition_days)
    with dj.connect(url) as db:
        while True:
            found = db.status()
            if picture is not None:
                chart.save(found, picture)
            if watch is not None and sys.stdout.isatty():
                print("\033[2J\033[H", end="")  # an empty screen
            if json:
                print(encodable(json_rows(msgspec.to_builtins(found))), flush=True)
            elif prometheus:
                typer.echo(exposition(found).encode(), nl=False)  # UTF-8, whatever the terminal's encoding
            else:
                print("\n".join(_lines(found)), flush=True)
            if plot == "-":
                print(f"\n{chart.as_text(found, sys.stdout.encoding)}", flush=True)
            beyond = limits.exceeded(found)
            if beyond:
                fail(beyond, _BEYOND)
            if watch is None:
                return
            time.sleep(watch)


def _lines(found: dj.Status) -> Iterator[str]:
    """The status for people. What they should look at is bold on a terminal."""
    size = "" if found.database_bytes is None else f"{_size(found.database_bytes)}, "
    names = [name for revision in found.revisions if (name := option_of(revision))]  # as `current` has them
    options = f", options {','.join(names)}" if names else ""
    revision = f"revision {journal_revision(found.revisions)}{options}"
    yield printable(f"database  {found.database}: {size}{found.server}, {revision}")
    yield f"versions  oldest {found.oldest:,}, newest {found.newest:,}, last stamp {_or(found.last_stamp, '{:,}')}"
    yield f"horizon   {_or(found.lag_versions, '{:,}')} versions behind, {_age(found.lag_seconds)}"
    yield from _triggers(found)
    yield from _partitions(found)
    yield from _tracked(found)
    yield ""
    yield from _table(
        ("journal", "~rows", "size", "~last hour", "~last day", "floor", "pruned at"),
        [
            (
                of.name,
                f"{of.rows:,}",
                _size(of.bytes),
                f"{of.rows_last_hour:,}",
                f"{of.rows_last_day:,}",
                f"{of.floor:,}",
                _time(of.pruned_at),
            )
            for of in found.journals
        ],
        numbers={1, 2, 3, 4, 5},
    )
    yield from _holders(found)
    yield from _consumers(found)
    if found.hidden:
        yield ""
    for missing in found.hidden:
        yield printable(f"not seen  {missing.what}: {missing.remedy}")


def _triggers(found: dj.Status) -> Iterator[str]:
    enabled = sum(trigger.state == "enabled" for trigger in found.triggers)
    hidden = sum(trigger.state == "hidden" for trigger in found.triggers)
    yield f"triggers  {enabled} of {len(found.triggers)} enabled" + (f", {hidden} not seen" if hidden else "")
    for trigger in found.triggers:
        if trigger.state in ("disabled", "missing"):
            yield _bold(printable(f"          {trigger.state}: {trigger.name} on dms.{trigger.table}"))


def _partitions(found: dj.Status) -> Iterator[str]:
    if (parts := found.partitions) is None:
        return
    lasts = "" if parts.days_left is None else f", {parts.days_left:,.1f} days left"
    each = "" if parts.versions is None else f", {parts.versions:,} versions a part"
    yield f"parts     up to version {_or(parts.through, '{:,}')}{lasts}{each}, ensured at {_time(parts.ensured_at)}"
    yield from (_bold(f"          {warning}") for warning in parts.warnings(_WARNED_DAYS))


def _tracked(found: dj.Status) -> Iterator[str]:
    if found.tracked is None:
        return
    yield f"tracked   {len(found.tracked)} tables, {sum(bool(of.problems) for of in found.tracked)} to look at"
    for of in found.tracked:
        if of.problems:
            told = "; ".join(of.problems)
            remedy = "" if "dmsjournal track --renew" in told else ": run `dmsjournal track --renew`"
            yield _bold(printable(f"          {of.table}: {told}{remedy}"))


def _holders(found: dj.Status) -> Iterator[str]:
    if not found.holders:
        return
    yield ""
    yield from _table(
        ("holds the horizon", "floor", "user", "application", "client", "state", "open for"),
        [
            (
                f"prepared {printable(of.prepared)}" if of.prepared is not None else f"session {of.pid}",
                f"{of.floor:,}",
                *(printable(text or "-") for text in (of.user, of.application, of.client, of.state)),
                "-" if of.transaction_seconds is None else _age(of.transaction_seconds),
            )
            for of in found.holders[:_SHOWN]
        ],
        numbers={1, 6},
    )
    if len(found.holders) > _SHOWN:
        yield f"and {len(found.holders) - _SHOWN} more"


def _consumers(found: dj.Status) -> Iterator[str]:
    if not found.consumers:
        return
    yield ""
    yield from _table(
        ("consumer", "version", "behind", "for", "last moved", ""),
        [
            (
                printable(of.name),
                f"{of.change_version:,}",
                f"{of.lag_versions:,}",
                _age(of.lag_seconds),
                _time(of.updated_at),
                "expired" if of.is_expired else "",
            )
            for of in found.consumers
        ],
        numbers={1, 2, 3},
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: set[int]) -> Iterator[str]:
    """Aligned columns, those of numbers to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for place, row in enumerate([head, *rows]):
        cells = (
            text.rjust(width) if i in numbers else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        line = "  ".join(cells).rstrip()
        yield _bold(line) if place == 0 else line


def _bold(text: str) -> str:
    return typer.style(text, bold=True) if sys.stdout.isatty() else text


def _or(value: int | None, form: str) -> str:
    return "?" if value is None else form.format(value)


def _size(count: int) -> str:
    if count < 1024:
        return f"{count} B"
    for unit in ("KiB", "MiB", "GiB"):
        count_of_unit = count / 1024
        if count_of_unit < 1024:
            return f"{count_of_unit:.1f} {unit}"
        count //= 1024
    return f"{count / 1024:,.1f} TiB"


def _age(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def _time(at: datetime | None) -> str:
    return "-" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
