"""Deliveries from both engines: all of the feed, in order, from the consumer's place on. tests/delivering has the rest."""

from pathlib import Path

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.deliver.files import RotatingFiles
from dmsjournal.deliver.formats import format_of
from dmsjournal.deliver.runner import Delivery
from dmsjournal.events import jsonl
from tests.feeds import journaled, told
from tests.helpers import STUDENT, change_content, document, newest, write


def test_a_delivery_goes_on_where_the_last_one_ended(
    journal: dj.Journal, connections: list[sa.Connection], url: str | sa.URL, tmp_path: Path
) -> None:
    def deliver(of: dj.Journal) -> None:
        Delivery(of, "lake", RotatingFiles(tmp_path, format_of("jsonl")), dj.FeedRequest(max_page_size=2), follow=False).run()

    write(journal, *(document(STUDENT, n) for n in range(3)))
    deliver(journal)
    change_content(connections[0], 1, 2)
    with journal.write() as tx:
        tx.delete(STUDENT, {"studentId": 2})
    with dj.connect(url) as other:
        with journal.consumers.hold("lake"), pytest.raises(dj.Unavailable, match="another program reads as consumer lake"):
            deliver(other)
        deliver(other)
    came = [event for path in sorted(tmp_path.glob("*.jsonl")) for event in jsonl.read(path.open("rb"))]
    assert told(came) == journaled(connections[0])
    assert journal.consumers.get("lake").through == newest(journal)
