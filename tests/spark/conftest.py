import os
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import dmsjournal as dj
    from tests.spark.hdfs import Hdfs
    from tests.spark.s3 import S3

# A session of a few rows is over before Java's second compiler and its other collectors have paid: a third of the tests' time.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """The one session of a test run; it takes seconds to start, so its tests share a worker (xdist_group)."""
    from dmsjournal.spark.session import local_session

    settings = {
        "spark.sql.shuffle.partitions": "2",  # of a few rows; Spark's 200 are for many
        "spark.sql.codegen.wholeStage": "false",  # to compile a query takes longer than its few rows: a fifth of the tests' time
    }
    session = local_session("dmsjournal tests", master="local[2]", engines=["postgres", "sqlserver"], conf=settings)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Hdfs"]:
    """The one HDFS of a test run; each test has folders of its own in it."""
    from tests.spark.hdfs import hdfs_server

    with hdfs_server(tmp_path_factory.mktemp("hdfs")) as server:
        yield server


@pytest.fixture(scope="module")
def s3() -> Iterator["S3"]:
    """An S3 server of a module's tests."""
    from tests.spark.s3 import s3_server

    with s3_server() as server:
        yield server


@pytest.fixture
def history(url: str, journal: "dj.Journal") -> str:
    """The URL of a database of some documents, some of which have changed, gone or come again since."""
    from tests.helpers import SCHOOL, STUDENT, document, write
    from tests.spark.changing import change

    write(journal, *[document(STUDENT, n, body={"n": n}) for n in range(30)], *[document(SCHOOL, n, body={}) for n in range(5)])
    change(url, random.Random(7), 40)
    return url
