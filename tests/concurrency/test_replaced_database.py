"""A database that is replaced under a journal which is in use, as a restore does: the same name, other resource ids."""

import pytest

import dmsjournal as dj
from dmsjournal.schema.migrate import upgrade

from .races import CHILD, PARENT


@pytest.mark.parametrize("first_call", ["changes", "versions", "resources"])
def test_a_journal_reads_the_resources_of_the_database_that_is_there_now(postgres_server, first_call: str) -> None:  # type: ignore[no-untyped-def]
    url = postgres_server.embedded.url("replaced")

    def replace(*order: dj.ResourceKey) -> int:
        """Makes it anew, with a document of each resource; the id of the parent."""
        postgres_server._execute("DROP DATABASE IF EXISTS replaced WITH (FORCE)")
        postgres_server._execute("CREATE DATABASE replaced")
        upgrade(url)
        with dj.connect(url) as journal:
            for resource in order:
                with journal.write() as tx:
                    upserted = tx.upsert(dj.Document(resource, {"key": 1}))
                if resource == PARENT:
                    parent = upserted.document_id
        return parent

    try:
        with dj.connect(url) as journal:
            parent = replace(PARENT, CHILD)
            assert [change.document_id for change in journal.changes(PARENT)] == [parent]
            parent = replace(CHILD, PARENT)
            if first_call == "versions":
                journal.versions()
            elif first_call == "resources":
                journal.resources()
            assert [change.document_id for change in journal.changes(PARENT)] == [parent]
    finally:
        postgres_server._execute("DROP DATABASE IF EXISTS replaced WITH (FORCE)")
