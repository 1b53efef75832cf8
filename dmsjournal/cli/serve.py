"""The commands of the HTTP service."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

import dmsjournal as dj
from dmsjournal.cli import events
from dmsjournal.cli.base import Url, app
from dmsjournal.database.connect import checked_url
from dmsjournal.database.urls import secrets_of
from dmsjournal.events.formats import EventOptions
from dmsjournal.util.files import warn_if_readable

if TYPE_CHECKING:
    from dmsjournal.http.security import Token

_ENV = "DMSJOURNAL_HTTP_"


@app.command()
def serve(
    url: Url,
    admin_url: Annotated[
        str | None,
        typer.Option(
            envvar=_ENV + "ADMIN_URL", metavar="URL", help="The same database as a pruner: for retention.", show_default="none"
        ),
    ] = None,
    host: Annotated[str, typer.Option(envvar=_ENV + "HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar=_ENV + "PORT", min=0, max=65535, help="Port to listen on; 0 for any.")] = 8000,
    tokens: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            envvar=_ENV + "TOKEN_FILE",
            help="JSON array of hashed tokens; or the array itself in DMSJOURNAL_HTTP_TOKENS.",
            show_default="none",
        ),
    ] = None,
    ticket_secret_file: Annotated[
        Path | None,
        typer.Option(
            envvar=_ENV + "TICKET_SECRET_FILE",
            metavar="FILE",
            help="What signs tickets of streams: they outlive a restart, and are good at each service that has it.",
            show_default="a random one",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(envvar=_ENV + "TLS_CERT", metavar="FILE", help="Certificate, PEM.", show_default="none")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(envvar=_ENV + "TLS_KEY", metavar="FILE", help="Its key, PEM.", show_default="none")
    ] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option("--behind-proxy", envvar=_ENV + "BEHIND_PROXY", help="A proxy in front has TLS, and says who the client is."),
    ] = False,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            envvar=_ENV + "TRUSTED_PROXIES",
            metavar="ADDRESS",
            help="A proxy's address or network, whose X-Forwarded-For is believed with --behind-proxy; again.",
            show_default="127.0.0.1 and ::1",
        ),
    ] = None,
    keep_alive: Annotated[
        float,
        typer.Option(envvar=_ENV + "KEEP_ALIVE", min=1, metavar="SECONDS", help="Keep an idle connection so long."),
    ] = 75.0,
    connections: Annotated[int, typer.Option(envvar=_ENV + "CONNECTIONS", min=1, max=200, help="Connections to the database.")] = 8,
    rate: Annotated[
        float, typer.Option(envvar=_ENV + "RATE", min=0, metavar="N", help="Requests a second for each client; 0 for no limit.")
    ] = 200.0,
    burst: Annotated[int, typer.Option(envvar=_ENV + "BURST", min=1, metavar="N", help="Requests that may come at once.")] = 400,
    largest_page: Annotated[int, typer.Option(envvar=_ENV + "LARGEST_PAGE", min=1, max=10_000, help="Rows of a page.")] = 1_000,
    waiting: Annotated[
        int, typer.Option(envvar=_ENV + "WAITING", min=1, metavar="N", help="Long polls and streams at once.")
    ] = 2_000,
    resources: Annotated[
        Path | None,
        typer.Option(
            envvar=_ENV + "RESOURCES",
            metavar="FILE",
            help='Names of resources in paths, JSON: {"ed-fi/students": "Ed-Fi/Student/5.2.0"}.',
            show_default="by rule",
        ),
    ] = None,
    instance: Annotated[
        str | None,
        typer.Option(
            envvar=_ENV + "INSTANCE", metavar="NAME", help="What CDC events call the server.", show_default="its host and port"
        ),
    ] = None,
    region: Annotated[
        str | None, typer.Option(envvar=_ENV + "REGION", metavar="NAME", help="The region in CDC events.", show_default="none")
    ] = None,
    soft_delete_field: events.SoftDeleteField = None,
    version_field: events.VersionField = None,
    invalidations: events.Invalidations = None,
    contexts: events.Contexts = True,
    public_url: Annotated[
        str | None,
        typer.Option(
            envvar=_ENV + "PUBLIC_URL",
            metavar="URL",
            help="How clients write the service's root, with the path that a proxy adds.",
            show_default="as each client writes it",
        ),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(envvar=_ENV + "ORIGINS", metavar="ORIGIN", help="Let pages of this origin read (CORS).", show_default="none"),
    ] = None,
    pass_unreadable: Annotated[
        bool,
        typer.Option(
            "--pass-unreadable",
            envvar=_ENV + "PASS_UNREADABLE",
            help="Leave out events whose key or body cannot be read; the log names each.",
        ),
    ] = False,
    log_level: Annotated[
        str, typer.Option(envvar=_ENV + "LOG_LEVEL", metavar="LEVEL", help="DEBUG, INFO, WARNING, ERROR.")
    ] = "INFO",
) -> None:
    """Serve the journal over HTTP, until Ctrl-C or SIGTERM. Logs are JSON lines on stderr.

    Beyond loopback it refuses to listen without tokens and TLS (or --behind-proxy). Each option can be given in the environment
    instead, as DMSJOURNAL_HTTP_…; see docs/http/serve.md.

    Example: dmsjournal serve --port 8000 --tokens tokens.json
    """
    try:
        from dmsjournal.http import logs
        from dmsjournal.http.server import serve as run
        from dmsjournal.http.settings import LOOPBACK, Settings
    except ModuleNotFoundError as error:
        raise dj.UnsupportedCapability(f"the package {error.name} is missing", "pip install 'dmsjournal[http]'") from error

    settings = Settings(
        url=url,
        admin_url=admin_url,
        events=EventOptions(
            instance=instance,
            region=region,
            soft_delete_field=soft_delete_field,
            version_field=version_field,
            invalidations=invalidations,
        ),
        contexts=contexts,
        host=host,
        port=port,
        tokens=_tokens(tokens),
        token_file=tokens,
        ticket_secret=None if ticket_secret_file is None else _ticket_secret(ticket_secret_file),
        tls_certificate=tls_cert,
        tls_key=tls_key,
        behind_proxy=behind_proxy,
        trusted_proxies=tuple(trusted_proxy or LOOPBACK),
        keep_alive_seconds=keep_alive,
        connections=connections,
        rate=rate,
        burst=burst,
        largest_page=largest_page,
        waiting=waiting,
        public_url=public_url,
        resources={} if resources is None else _names(resources),
        origins=tuple(origin or ()),
        pass_unreadable=pass_unreadable,
    )
    level = log_level.upper()
    if level not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise dj.InvalidRequest("log_level", log_level, "it is DEBUG, INFO, WARNING or ERROR")
    logs.set_up(level, [secret for given in (url, admin_url) if given for secret in secrets_of(checked_url(given))])
    run(settings)


@app.command()
def token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who it is for.")],
    scope: Annotated[
        list[str] | None, typer.Option(metavar="SCOPE", help="read or admin; may be given again.", show_default="read")
    ] = None,
    resource: Annotated[
        list[str] | None,
        typer.Option(metavar="RESOURCE", help="It may read this resource only, such as ed-fi/students; again.", show_default="all"),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it ends, such as 2027-01-31T00:00:00Z.", show_default="never")
    ] = None,
) -> None:
    """Make a token for the HTTP service: a line with the token, which is kept nowhere, one with its entry for the file of tokens.

    Example: dmsjournal token warehouse --scope read --resource ed-fi/students
    """
    from dmsjournal.http import security

    rights = {"scopes": scope or None, "resources": resource or None, "expires": expires}
    try:
        text, kept = security.new_token(name, **{key: value for key, value in rights.items() if value is not None})
    except msgspec.ValidationError as error:
        raise dj.InvalidRequest("token", name, str(error)) from error
    typer.echo(text)
    typer.echo(msgspec.json.encode(kept, order="deterministic"))


def _tokens(path: Path | None) -> "tuple[Token, ...]":
    from dmsjournal.http import security

    inline = os.environ.get(_ENV + "TOKENS")
    if path is not None:
        return security.read_token_file(path)
    return () if inline is None else security.read_tokens(inline, _ENV + "TOKENS")


def _ticket_secret(path: Path) -> bytes:
    warn_if_readable(path, "the secret of tickets")
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        raise dj.InvalidRequest("ticket_secret_file", str(path), f"it cannot be read ({error.strerror})") from error
    if len(secret) < 32:
        raise dj.InvalidRequest("ticket_secret_file", str(path), "it has less than 32 bytes: `openssl rand -hex 32` makes one")
    return secret


def _names(path: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError) as error:
        raise dj.InvalidRequest("resources", str(path), f"it is no JSON object of paths and resources ({error})") from error
