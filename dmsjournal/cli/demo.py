"""The command that shows it all."""

from typing import Annotated

import typer

from dmsjournal.cli.base import app


@app.command()
def demo(
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Use this empty database.", show_default="a PostgreSQL of the demo's own")
    ] = None,
    no_spark: Annotated[bool, typer.Option("--no-spark", help="Leave the Spark job out.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the database: with --url for good, else until Ctrl-C.")] = False,
) -> None:
    """Show in a minute what the journal does: on tables of your own, then on the documents of a school district.

    Example: dmsjournal demo --no-spark
    """
    from dmsjournal.demo.story import run

    if not run(url, spark=not no_spark, keep=keep):
        raise typer.Exit(1)
