"""The command that says of which resources images are kept."""

from typing import Annotated

import typer

import dmsjournal as dj
from dmsjournal.cli.base import Json, Url, app
from dmsjournal.cli.output import print_items
from dmsjournal.cli.read import resource_of


@app.command()
def exclude_images(
    url: Url,
    resource: Annotated[
        list[str] | None, typer.Argument(metavar="[RESOURCE...]", help="Keep no images of it, such as Ed-Fi/Student/5.2.0.")
    ] = None,
    json: Json = False,
) -> None:
    """Keep no images of resources from now on, and print those of which none are kept, each with the version since when.

    With option images. No event of such a resource has an image any more. It cannot be taken back but by removing the option and
    adding it again. Writers and readers go on. It is for the installing role.

    Example: dmsjournal exclude-images Ed-Fi/AttendanceEvent/5.2.0
    """
    with dj.connect(url) as db:
        excluded = db.exclude_images(*(resource_of(db, name) for name in resource)) if resource else db.image_exclusions()
    print_items(({"resource": str(key), "since": since} for key, since in excluded.items()), json, False)
