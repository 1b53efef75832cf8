"""Random histories of plain SQL on three tracked tables answer what a model of rows says (acceptance 65 to 70)."""

import pytest

import dmsjournal as dj
from tests.helpers import in_psycopg

from .helpers import Sql, track
from .model import SCHEMA, histories


@pytest.mark.acceptance("65", "66", "67", "68", "70")
def test_histories_answer_what_the_rows_say(tracked: str, sql: Sql) -> None:
    prepare(sql)
    with dj.connect(tracked) as journal:
        assert sum(1 for _ in histories(in_psycopg(tracked), journal, range(50), 12)) == 50
        assert journal.verify().is_clean


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.acceptance("65", "66", "67", "68", "70")
def test_a_thousand_histories(tracked: str, sql: Sql) -> None:
    prepare(sql)
    with dj.connect(tracked) as journal:
        assert sum(1 for _ in histories(in_psycopg(tracked), journal, range(1_000, 2_000), 40)) == 1_000
        assert journal.verify().is_clean


def prepare(sql: Sql) -> None:
    sql(SCHEMA)
    track(sql, "school", "student", "enrolment", shows={"school": ["name"], "student": ["name"]})
