"""The command that hands the feed on: to a receiver of webhooks, or to files."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

import dmsjournal as dj
from dmsjournal.cli import events
from dmsjournal.cli.base import Url, app, fail
from dmsjournal.cli.feed import of_resource, start_of
from dmsjournal.cli.interrupts import until_signalled
from dmsjournal.cli.output import say
from dmsjournal.cli.unreadable import PassUnreadable, journal_of
from dmsjournal.events import formats
from dmsjournal.operate.held_back import held_back_if_allowed
from dmsjournal.util import durations
from dmsjournal.util.files import warn_if_readable

_LEFT, _RECEIVER = 3, 4  # exit codes

_URL, _SECRET = "DMSJOURNAL_WEBHOOK_URL", "DMSJOURNAL_WEBHOOK_SECRET"


@app.command()
def deliver(
    url: Url,
    consumer: Annotated[str, typer.Option(metavar="NAME", help="Deliver from this consumer's place on; it is registered first.")],
    to: Annotated[
        str | None, typer.Option(metavar="URL", help=f"Send to this receiver; or name it by {_URL}.", show_default="none")
    ] = None,
    files: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write files into this folder.", show_default="none")] = None,
    format_name: events.FormatName = formats.DEFAULT,
    resource: Annotated[
        str | None, typer.Option(metavar="RESOURCE", help="This resource only, such as Ed-Fi/Student/5.2.0.", show_default="all")
    ] = None,
    bodies: events.Bodies = True,
    contexts: events.Contexts = True,
    indirect: events.Indirect = False,
    event_type: events.EventType = None,
    trigger: events.Trigger = None,
    entity_type: events.EntityType = None,
    exclude_entity_type: events.ExcludeEntityType = None,
    operation: events.Operation = None,
    exclude_operation: events.ExcludeOperation = None,
    tenant: events.Tenant = None,
    changed_field: events.ChangedField = None,
    soft_delete_field: events.SoftDeleteField = None,
    version_field: events.VersionField = None,
    instance: events.Instance = None,
    region: events.Region = None,
    invalidations: events.Invalidations = None,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="A new consumer starts at the oldest event that is kept; the default.")
    ] = False,
    now: Annotated[bool, typer.Option("--now", help="A new consumer starts with what happens from now on.")] = False,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="A new consumer starts at a time, inclusive.")] = None,
    once: Annotated[bool, typer.Option("--once", help="End at newest, in place of waiting for more.")] = False,
    patience: Annotated[
        str, typer.Option(metavar="TIME", help="Wait so long for a receiver or a database that is not there.")
    ] = "1h",
    batch_size: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000, metavar="N", help="Events of a request, as an array; or of a write.", show_default="1; 500"
        ),
    ] = None,
    save_every: Annotated[
        str, typer.Option(metavar="TIME", help="Move the consumer's place so often; a killed run's successor repeats as much.")
    ] = "1s",
    secret_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"The secret to sign with; or {_SECRET} has it.", show_default="none")
    ] = None,
    dead_letters: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where events are kept that the receiver will not take.", show_default="none"),
    ] = None,
    max_dead_letters: Annotated[int, typer.Option(min=0, metavar="N", help="End with 3 rather than keep more.")] = 1_000,
    replay: Annotated[bool, typer.Option("--replay", help="Send the dead letters, and nothing else.")] = False,
    tries: Annotated[int, typer.Option(min=1, metavar="N", help="Send a request so often before it is a dead letter.")] = 10,
    shortest_wait: Annotated[str, typer.Option(metavar="TIME", help="Wait about so long after the first failure.")] = "1s",
    longest_wait: Annotated[str, typer.Option(metavar="TIME", help="Wait about so long at most between tries.")] = "5min",
    timeout: Annotated[str, typer.Option(metavar="TIME", help="Give the receiver so long to answer.")] = "15s",
    ca_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Trust the certificates in it, too.", show_default="none")
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(envvar="DMSJOURNAL_WEBHOOK_PROXY", metavar="URL", help="Send through this HTTP proxy.", show_default="none"),
    ] = None,
    allow_http: Annotated[
        bool, typer.Option("--allow-http", help="Take http:// beyond this machine: anybody may read it.")
    ] = False,
    max_bytes: Annotated[int, typer.Option(min=1, metavar="N", help="Finish a file before it is larger.")] = 67_108_864,
    max_age: Annotated[str, typer.Option(metavar="TIME", help="Finish a file when it is older.")] = "1h",
    pass_unreadable: PassUnreadable = False,
) -> None:
    """Hand on what happens: each journaled change once, in order, to a receiver of webhooks or to files of JSON lines.

    The consumer's place moves when the receiver has answered with 2xx, or when the lines are on the disk: after a crash some come
    twice, none is missing. SIGTERM and Ctrl-C end it after what is on its way.

    Example: dmsjournal deliver --consumer crm --to https://crm.example/hook --secret-file crm.secret --dead-letters crm.dead.jsonl
    """
    from dmsjournal.deliver.dead_letters import DeadLetters
    from dmsjournal.deliver.files import RotatingFiles
    from dmsjournal.deliver.formats import format_of_database
    from dmsjournal.deliver.receivers import Receiver
    from dmsjournal.deliver.retries import Retries
    from dmsjournal.deliver.runner import Delivery, replay_dead_letters
    from dmsjournal.deliver.targets import Target
    from dmsjournal.deliver.webhooks import Webhook

    to = to if to is not None or files is not None else os.environ.get(_URL)
    if (to is None) == (files is None):
        raise typer.BadParameter(f"give one of --to (or {_URL}) and --files", param_hint="--to")
    if replay and files is not None:
        raise typer.BadParameter("files have no dead letters", param_hint="--replay")
    filters = formats.criteria_of(
        event_types=event_type,
        triggers=trigger,
        entity_types=entity_type,
        exclude_entity_types=exclude_entity_type,
        operations=operation,
        exclude_operations=exclude_operation,
        tenants=tenant,
        changed_fields=changed_field,
    )
    options = formats.EventOptions(
        instance=instance,
        region=region,
        soft_delete_field=soft_delete_field,
        version_field=version_field,
        invalidations=invalidations,
    )
    format_ = format_of_database(format_name, url, options, filters)
    request = events.request_of(
        format_.writer,
        bodies=bodies,
        contexts=contexts,
        indirect=indirect,
        start=start_of(from_beginning, now, at),
        max_page_size=max(500, batch_size or 0) if files is None else batch_size or 500,
    )
    waited = _seconds("patience", patience)
    letters: DeadLetters | None = None
    target: Target
    if files is not None:
        target = RotatingFiles(files, format_, max_bytes=max_bytes, max_age=_seconds("max_age", max_age))
    else:
        if dead_letters is None:
            raise typer.BadParameter("name a file for what the receiver will not take", param_hint="--dead-letters")
        letters = DeadLetters(dead_letters, consumer, max_dead_letters)
        signer = _signer(secret_file)
        webhook = Webhook(
            str(to), signer, timeout=_seconds("timeout", timeout), ca_file=ca_file, proxy=proxy, allow_http=allow_http
        )
        retries = Retries(tries, _seconds("shortest_wait", shortest_wait), _seconds("longest_wait", longest_wait), waited)
        target = receiver = Receiver(webhook, letters, format_, retries, as_arrays=batch_size is not None)
    with journal_of(url, pass_unreadable) as db:
        request = of_resource(db, request, resource)
        try:
            if replay:
                was_stopped = until_signalled(lambda: replay_dead_letters(db, consumer, receiver), receiver.stop)
            else:
                delivery = Delivery(
                    db, consumer, target, request, follow=not once, at_once=batch_size or (1 if files is None else None),
                    save_every=_seconds("save_every", save_every), patience=waited,
                )  # fmt: skip
                was_stopped = until_signalled(delivery.run, delivery.stop)
                if once and not was_stopped and (held := held_back_if_allowed(db.held_back)) is not None:
                    say(str(held), err=True)  # the end at newest is not the end of what was written
        except dj.ReceiverFailed as error:
            fail(str(error), _RECEIVER)
        except dj.DeadLettersFull as error:
            fail(str(error), _LEFT)
        finally:
            print(*(f"{name}={count}" for name, count in target.counts().items()))
    if letters is not None and len(letters) and not was_stopped:
        fail(f"{len(letters)} dead letters are in {letters.path}: see their reasons, and deliver them with --replay", _LEFT)


def _seconds(parameter: str, text: str) -> float:
    return durations.parsed(parameter, text).total_seconds()


def _signer(file: Path | None) -> Any:
    """Of the secrets in a file, or in the environment: a command line can be read by everybody on the machine."""
    from dmsjournal.deliver.signatures import Signer

    if file is None:
        text = os.environ.get(_SECRET)
        if text is None:
            raise typer.BadParameter(f"give the file of a secret, or set {_SECRET}", param_hint="--secret-file")
        return Signer.of_text(text)
    warn_if_readable(file, "the secret")
    try:
        return Signer.of_text(file.read_text(encoding="ascii"))
    except (OSError, UnicodeDecodeError) as error:
        raise dj.InvalidRequest("secret_file", str(file), f"it cannot be read ({type(error).__name__})") from None
