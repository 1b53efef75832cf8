"""A table, column, function or the sequence that is gone (acceptance 98): the right name, and a remedy that works."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database.revisions import REVISION
from tests.helpers import PLAN, STUDENT, commit, document, write

GONE: dict[str, tuple[str, str, Callable[[dj.Journal], Any], set[str]]] = {
    "table": (
        "DROP TABLE dms.KeyChangeEvent",
        "keychangeevent",
        lambda journal: list(journal.key_changes(STUDENT)),
        {"table-missing"},
    ),
    "column": (
        "ALTER TABLE dms.Document DROP COLUMN IdentityVersion CASCADE",
        "identityversion",
        lambda journal: list(journal.changes(STUDENT)),
        {"column-altered", "object-missing"},
    ),
    "function": ("DROP FUNCTION dms.horizon()", r"dms.horizon\(\)", dj.Journal.versions, {"routine-missing"}),
    "sequence": ("DROP SEQUENCE dms.ChangeVersionSequence", "changeversionsequence", dj.Journal.versions, {"sequence-missing"}),
    "view": ("DROP VIEW dms.ResourceChange", "resourcechange", dj.Journal.versions, {"view-missing"}),
}


@pytest.fixture
def written(journal: dj.Journal) -> dj.Journal:
    student = document(STUDENT, 1)
    write(journal, student, document(PLAN, 1, student))
    return journal


@pytest.mark.acceptance("98")
@pytest.mark.parametrize("kind", GONE)
def test_what_is_missing_is_named_and_verify_goes_on(written: dj.Journal, connections: list[sa.Connection], kind: str) -> None:
    statement, name, command, codes = GONE[kind]
    commit(connections[0], statement)
    if kind != "view":
        with pytest.raises(dj.DatabaseRefused, match=f"(?i){name}.* does not exist.*dmsjournal verify") as refused:
            command(written)
        assert "upgrade" not in str(refused.value)
    findings = {each.code: each for each in written.verify().findings}
    assert codes <= findings.keys()
    if kind in ("function", "view"):
        assert written.repair().left.is_clean
        command(written)


@pytest.mark.acceptance("98")
@pytest.mark.parametrize("revision", ["0006", "0009", None])
def test_the_revisions_are_compared_first(
    written: dj.Journal, url: str, connections: list[sa.Connection], revision: str | None
) -> None:
    commit(connections[0], "DROP TABLE dms.KeyChangeEvent")
    if revision is None:
        commit(connections[0], "DROP TABLE dms.alembic_version")
    else:
        commit(connections[0], f"UPDATE dms.alembic_version SET version_num = '{revision}'")
    with dj.connect(url) as journal:
        if revision == "0009":
            with pytest.raises(dj.DatabaseRefused, match=f"keychangeevent.*revision 0009, newer than this program's {REVISION}"):
                list(journal.key_changes(STUDENT))
            with pytest.raises(dj.InvalidRequest, match=r"0009.*use the release that installed it"):
                journal.verify()
        else:
            with pytest.raises(dj.NotInstalled) as missing:
                list(journal.key_changes(STUDENT))
            assert (missing.value.found, missing.value.needed) == (revision, REVISION)


def test_an_option_that_was_removed_meanwhile_is_asked_for_again(written: dj.Journal, url: str) -> None:
    from dmsjournal.schema import migrate

    migrate.upgrade(url, options=["images"])
    with dj.connect(url) as journal:
        journal.images_since()
        migrate.downgrade(url, without=["images"])
        with pytest.raises(dj.Unavailable, match="option of the journal was removed"):
            journal.images_since()
        with pytest.raises(dj.UnsupportedCapability):
            journal.images_since()
