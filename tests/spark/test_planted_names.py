"""What Spark reads over JDBC runs nothing that was planted (acceptance 104), in its look at the columns or in a task."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession

import dmsjournal as dj
from dmsjournal.spark.apply import apply
from dmsjournal.spark.compare import compare
from dmsjournal.spark.dataframes import read
from dmsjournal.spark.extract import extract
from dmsjournal.spark.jdbc import jdbc_options
from dmsjournal.spark.source import DmsJournal
from tests import planted
from tests.helpers import commit, populate

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def planted_url(url: str) -> Iterator[str]:
    """The URL of a reader whose search_path begins with a hostile schema."""
    populate(url)
    database = str(sa.make_url(url).database)
    reader, mallory = f"reader_{database}", f"mallory_{database}"
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as admin:
        commit(admin, f"CREATE ROLE {reader} LOGIN PASSWORD 'secret'; CREATE ROLE {mallory}")
        commit(admin, f"GRANT USAGE ON SCHEMA dms TO {reader}; GRANT SELECT ON ALL TABLES IN SCHEMA dms TO {reader}")
        commit(admin, f"GRANT SELECT ON SEQUENCE dms.ChangeVersionSequence TO {reader}")
        planted.plant(admin, "hostile", mallory)
        commit(admin, f'ALTER ROLE {reader} SET search_path = hostile, pg_catalog, "$user", public')
        yield sa.make_url(url).set(username=reader, password="secret").render_as_string(hide_password=False)
        ran = commit(admin, "SELECT is_called FROM spy.ran")
        commit(admin, f"DROP OWNED BY {reader}, {mallory} CASCADE; DROP ROLE {reader}, {mallory}")
    assert ran == [(False,)]


@pytest.mark.acceptance("104")
def test_nothing_planted_runs_in_a_batch(spark: SparkSession, planted_url: str) -> None:
    with read(spark, planted_url, window=dj.Window(), parts=2) as reading:
        assert reading.changes(body=True, derived=True).count() == 3
        assert reading.deletes().count() == 1
        assert reading.key_changes().count() == 1
    with read(spark, planted_url, full=True) as reading:
        assert reading.changes(body=True, derived=True).count() == 3


@pytest.mark.acceptance("104")
def test_nothing_planted_runs_in_the_data_source(spark: SparkSession, planted_url: str) -> None:
    spark.dataSource.register(DmsJournal)
    frame = spark.read.format("dmsjournal").option("url", planted_url).load()
    assert frame.count() > 0


@pytest.mark.acceptance("104")
def test_nothing_planted_runs_in_an_extract_and_its_comparison(spark: SparkSession, planted_url: str, tmp_path: Path) -> None:
    output, table = tmp_path / "output", tmp_path / "table"
    assert extract(planted_url, output, lambda: spark).version > 0
    apply(output, table, lambda: spark)
    assert compare(planted_url, output, table, lambda: spark).differences == []


def test_the_path_comes_with_the_login_whatever_else_the_url_sets() -> None:
    url = "postgresql+psycopg://u:p@h/x?options=-csearch_path%3Devil"
    assert jdbc_options(url)["url"].endswith("&currentSchema=pg_catalog%2Cpg_temp")
