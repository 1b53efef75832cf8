"""The feed across a dump and a restore (invariant 9): of the same state it goes on, of an earlier one it says so, never a gap."""

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import migrate
from tests.feeds import after, walk
from tests.helpers import STUDENT, document, write

ALL = dj.FeedRequest()


@pytest.fixture
def restore(url: str, empty: str, program, tmp_path: Path) -> Callable[[str], str]:
    """Puts the database of `journal`, as a dump of a name has it, into the empty one."""

    def restored(name: str) -> str:
        program("pg_restore", empty, "--exit-on-error", f"--dbname={sa.make_url(empty).database}", str(tmp_path / name))
        return empty

    return restored


@pytest.fixture
def dump(url: str, program, tmp_path: Path) -> Callable[[str], object]:
    return lambda name: program("pg_dump", url, "--format=custom", f"--file={tmp_path / name}")


def test_the_same_state_in_another_cluster_goes_on(journal: dj.Journal, dump, restore) -> None:
    write(journal, *(document(STUDENT, n) for n in range(5)))
    kept = dj.DatabaseCheckpoint(journal, "index")
    events, pages = walk(journal, dj.FeedRequest(max_page_size=2))
    kept.save(pages[0].token)
    dump("same")
    with dj.connect(restore("same")) as copy:
        assert walk(copy, ALL)[0] == events  # with the same ids
        for page in pages:
            assert walk(copy, after(ALL, page))[0] == [e for e in events if e.change_version > _last(pages, page)]
        assert dj.DatabaseCheckpoint(copy, "index").load() == pages[0].token
        write(copy, document(STUDENT, 9))
        assert [e.change_version for e in copy.read_changes(after(ALL, pages[-1])).events] == [6]


def _last(pages: list[dj.FeedPage], page: dj.FeedPage) -> int:
    return max(event.change_version for p in pages[: pages.index(page) + 1] for event in p.events)


@pytest.mark.parametrize("written_since", [0, 1, 3, 10])
def test_an_older_dump_under_a_live_consumer_is_told(journal: dj.Journal, dump, restore, written_since: int) -> None:
    """Also where the restored database has given the consumer's versions again, to others."""
    write(journal, *(document(STUDENT, n) for n in range(5)))
    dump("older")
    write(journal, *(document(STUDENT, n) for n in range(5, 8)))
    request = dj.FeedRequest(max_page_size=7)
    page = journal.read_changes(request)
    _, pages = walk(journal, ALL)
    with dj.connect(restore("older")) as copy:
        write(copy, *(document(STUDENT, 100 + n) for n in range(written_since)))
        for token in (page.token, pages[-1].token):
            with pytest.raises(dj.HistoryDiverged):
                copy.read_changes(dj.FeedRequest(start=dj.FromToken(token)))
            with pytest.raises(dj.HistoryDiverged), dj.FeedIterator(copy, dj.FeedRequest(start=dj.FromToken(token))) as events:
                next(events)


def test_what_the_older_dump_has_still_is_no_other_history(journal: dj.Journal, dump, restore) -> None:
    write(journal, *(document(STUDENT, n) for n in range(5)))
    page = journal.read_changes(dj.FeedRequest(max_page_size=4))
    dump("older")
    write(journal, document(STUDENT, 8))
    with dj.connect(restore("older")) as copy:
        assert [e.change_version for e in copy.read_changes(after(ALL, page)).events] == [5]


def test_another_installation_is_another_database(journal: dj.Journal, empty: str) -> None:
    write(journal, document(STUDENT, 1))
    token = walk(journal, ALL)[1][-1].token
    migrate.upgrade(empty)
    with dj.connect(empty) as other:
        write(other, document(STUDENT, 1))
        with pytest.raises(dj.InvalidRequest, match="another database"):
            other.read_changes(dj.FeedRequest(start=dj.FromToken(token)))
