"""Which resources have no images (option images). Source: docs/how-it-works.md, Images."""

from __future__ import annotations

from collections.abc import Sequence

from dmsjournal.database.database import Database
from dmsjournal.model.resources import ResourceKey
from dmsjournal.read import images


def exclude_images(database: Database, resources: Sequence[ResourceKey]) -> dict[ResourceKey, int]:
    """Keeps no images of resources from now on; see Journal.exclude_images."""
    with database.session_with(images.OPTION) as session:
        images.require(session, images.OPTION)
        ids = [database.resource_ids.id_of(session, resource) for resource in resources]
        if ids:
            session.execute("database/enter_change")
        for resource_key_id in ids:
            session.execute("operate/exclude_images", resource_key_id=resource_key_id)
        return images.image_exclusions(session)
