"""What a user is told of Spark's failures: one line with the cause, and the kind that decides the exit code. No Spark."""

import signal
import subprocess
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway as pyspark_launch_gateway

import dmsjournal as dj
from dmsjournal.spark.jobs import failure, reason_of
from dmsjournal.spark.session import checked_master, started
from dmsjournal.spark.stores import store_of
from dmsjournal.util import sizes
from dmsjournal.util.exit_codes import code_of

STAGE = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: Lost task 0.0:
{cause}
\tat org.postgresql.core.v3.ConnectionFactoryImpl.openConnectionImpl(ConnectionFactoryImpl.java:697)
\tat java.base/java.lang.Thread.run(Thread.java:840)

Driver stacktrace:"""


class JavaError(Py4JJavaError):  # type: ignore[misc]
    """An error of Java's, whose causes are these, the last one the innermost."""

    def __init__(self, *causes: str) -> None:
        self._causes = causes

    def __str__(self) -> str:
        return "An error occurred while calling o1.parquet"

    @property
    def java_exception(self) -> Any:
        class Exception_:
            def __init__(self, left: tuple[str, ...]) -> None:
                self.left = left

            def getCause(self) -> Any:
                return Exception_(self.left[1:]) if len(self.left) > 1 else None

            def toString(self) -> str:
                return self.left[0]

        return Exception_(self._causes)


@pytest.mark.parametrize(
    ("cause", "told", "code"),
    [
        ("org.postgresql.util.PSQLException: FATAL: sorry, too many clients already", "FATAL: sorry, too many clients already", 75),
        ('org.postgresql.util.PSQLException: FATAL: password authentication failed for user "x"', "password authentication", 5),
        (
            "org.postgresql.util.PSQLException: The server requested SCRAM-based authentication, but no password was provided.",
            "no password was provided.",
            5,
        ),
        ("org.postgresql.util.PSQLException: ERROR: canceling statement due to statement timeout", "raise statement_timeout", 5),
        (
            "java.lang.RuntimeException: it failed\nCaused by: java.io.IOException: No space left on device",
            "No space left on device",
            75,
        ),
    ],
)
def test_the_cause_is_told_and_its_kind(cause: str, told: str, code: int) -> None:
    for error in (JavaError("org.apache.spark.SparkException: " + STAGE.format(cause=cause)), JavaError("x.Y: outer", cause)):
        found = failure("writing", error)
        assert told in str(found)
        assert len(str(found).splitlines()) == 1
        assert "Exception" not in str(found)
        assert code_of(found) == code


OF_A_TASK = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/app/dmsjournal/spark/lake_files.py", line 319, in close
    self._stream.close()
  File "pyarrow/error.pxi", line 89, in pyarrow.lib.check_status
{raised}
"""


@pytest.mark.parametrize(
    ("raised", "told", "code"),
    [
        (
            "OSError: Generic LocalFileSystem error: Unable to copy data to file: No space left on device (os error 28)",
            "Generic LocalFileSystem error: Unable to copy data to file: No space left on device (os error 28): run it again, once",
            75,
        ),
        (
            "OSError: Generic S3 error\n          \x1b[31m↳\x1b[0m permission denied: password\n            \x1b[31m↳\x1b[0m 403",
            "Generic S3 error permission denied: password 403: mend the credentials",
            5,
        ),
        (
            "dmsjournal.spark.jobs.DatabaseFailed: canceling statement due to statement timeout",
            "canceling statement due to statement timeout: raise statement_timeout of the role",
            5,
        ),
        (
            'dmsjournal.spark.jobs.DatabaseFailed: snapshot "00000004-00000A34-1" does not exist',
            'snapshot "00000004-00000A34-1" does not exist: run it again, once the reason is gone',
            75,
        ),
        (
            "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n"
            'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError: b',
            "b: run it again, once",
            75,
        ),
    ],
)
def test_the_cause_of_a_task_in_python_is_told(raised: str, told: str, code: int) -> None:
    """As Spark 4.3 raises it, and as Java's earlier ones do, with stacks behind it. A store's words are not the database's."""
    text = OF_A_TASK.format(raised=raised)
    spark_4_0 = STAGE.format(cause="org.apache.spark.api.python.PythonException: " + text.partition(": ")[2])
    for error in (PySparkException(f"{text} SQLSTATE: 38000"), JavaError("org.apache.spark.SparkException: " + spark_4_0)):
        found = failure("writing", error)
        assert str(found).startswith(f"Spark could not finish writing: {told}")
        assert code_of(found) == code


def test_java_that_has_ended_does_not_read_as_the_database() -> None:
    for error in (Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111, "Connection refused")):
        found = failure("writing", error)
        assert "its Java process has ended" in str(found)
        assert "refused" not in str(found)
        assert code_of(found) == 75
    assert reason_of(ValueError("")) == "ValueError"


@pytest.mark.parametrize(
    "master", ["local", "local[4]", "local[*]", "local[2, 3]", "local-cluster[2,1,1024]", "yarn", "k8s://https://h:1"]
)
def test_masters(master: str) -> None:
    assert checked_master(master) == master


@pytest.mark.parametrize("master", ["", "local[x]", "locl", "spark://host", "spark://:7077", "mesos://host:5050", "local[*"])
def test_what_is_no_master(master: str) -> None:
    with pytest.raises(dj.InvalidRequest, match="write local"):
        checked_master(master)


def test_a_master_that_nobody_answers_for() -> None:
    with pytest.raises(dj.Unavailable, match=r"no Spark master answers at spark://127\.0\.0\.1:1,127\.0\.0\.1:2 "):
        checked_master("spark://127.0.0.1:1,127.0.0.1:2")


@pytest.mark.parametrize(
    ("master", "words"),
    [
        ("local[*]", "started with the master local[*]: look whether it was killed or was out of memory (spark.driver.memory)"),
        ("spark://host:7077", "started with the master spark://host:7077: look whether its master is up"),
    ],
)
def test_java_that_ends_while_a_session_starts(master: str, words: str) -> None:
    with pytest.raises(dj.Unavailable) as ended, started(master):
        raise Py4JNetworkError("Answer from Java side is empty")
    assert f"Spark has ended while it {words}, and run it again" == str(ended.value)


def test_java_does_not_outlive_an_interrupted_start() -> None:
    """PySpark leaves its process behind. Source: pyspark/java_gateway.py, launch_gateway."""
    processes = []

    def launch_gateway() -> None:
        proc = subprocess.Popen(["sleep", "300"])
        processes.append(proc)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), started("local[*]"):
        launch_gateway()
    assert processes[0].returncode == -signal.SIGKILL
    names = pyspark_launch_gateway.__code__
    assert "proc" in names.co_varnames + names.co_cellvars


def test_settings_of_spark_reach_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    conf = {
        "spark.hadoop.fs.s3a.access.key": "key",
        "spark.hadoop.fs.s3a.secret.key": "s3cret",
        "spark.hadoop.fs.s3a.endpoint": "127.0.0.1:9000",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.executor.memory": "1g",
    }
    store = store_of("output", "s3a://bucket/changes/", conf)
    assert store.uri == "s3://bucket/changes"
    assert store.options == {
        "aws_access_key_id": "key",
        "aws_secret_access_key": "s3cret",
        "aws_endpoint_url": "http://127.0.0.1:9000",
        "aws_allow_http": "true",
        "aws_region": "us-east-1",
    }
    assert "s3cret" not in repr(store)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "other")
    assert store_of("output", "s3://bucket/x").options == {"aws_access_key_id": "other"}
    azure = store_of(
        "output",
        "abfss://data@account.dfs.core.windows.net/x",
        {"spark.hadoop.fs.azure.account.key.account.dfs.core.windows.net": "k"},
    )
    assert azure.options == {
        "aws_access_key_id": "other",
        "azure_storage_account_name": "account",
        "azure_storage_account_key": "k",
    }


def test_sizes() -> None:
    assert [sizes.parsed("size", text) for text in ("128MB", "1kb", "2 GB", "4096", "4096B")] == [2**27, 1024, 2**31, 4096, 4096]
    for text in ("", "MB", "12", "1TB", "-1MB", "1.5GB"):
        with pytest.raises(dj.InvalidRequest, match="write a size"):
            sizes.parsed("size", text)
