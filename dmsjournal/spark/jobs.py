"""Jobs of Spark's: how far they are, what becomes of them when something goes wrong, and their errors as ours."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import dropwhile, takewhile
from uuid import uuid4

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dmsjournal.errors import DatabaseRefused, JournalError, Unavailable
from dmsjournal.spark import stores

Progress = Callable[[str, int, int], None]  # what is done, and tasks: finished and in all

# A task's failure is told with its stack trace as text, in which the error of the database's driver, or the last cause, is a line.
_CAUSE = re.compile(r"((?:org\.postgresql|com\.microsoft\.sqlserver)[\w.$]*Exception: .*|(?<=Caused by: ).*)")
_REFUSED = (
    (r"statement timeout", "raise statement_timeout of the role, the database or the URL, or read smaller parts: events_per_part"),
    (r"transaction timeout", "raise transaction_timeout of the role or the database, or read smaller parts: events_per_part"),
    (r"password|no pg_hba\.conf entry|Login failed|role .* does not exist", "check the user and the password in the URL"),
    (r"permission denied", "grant the role what docs/dba/roles.md lists"),
)
_PERIOD = 0.5  # seconds between two looks
_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")  # what a thread's group of jobs is


class DatabaseFailed(Exception):
    """What the database, or the way to it, says to a task that is written in Python."""


_DATABASE = f"{DatabaseFailed.__module__}.{DatabaseFailed.__name__}"  # what a traceback calls it


@contextmanager
def watched(spark: SparkSession, doing: str, progress: Progress | None = None) -> Iterator[None]:
    """Within it, Spark's jobs are told of to `progress`, are cancelled if an error leaves it, and fail with Unavailable."""
    context, group, ended = spark.sparkContext, f"dmsjournal {uuid4()}", threading.Event()

    def look() -> None:
        while not ended.wait(_PERIOD):
            with suppress(Exception):  # it only shows; what went wrong is told below
                progress and progress(doing, *_tasks(context, group))

    looking = threading.Thread(target=look, daemon=True)
    before = {name: context.getLocalProperty(name) for name in _GROUP}
    context.setJobGroup(group, doing, interruptOnCancel=True)
    try:
        looking.start()
        yield
    except BaseException as error:
        with suppress(Exception):
            context.cancelJobGroup(group)
        if isinstance(error, Py4JError | PySparkException | ConnectionError):
            raise failure(doing, error) from error
        raise
    finally:
        ended.set()
        looking.join()
        with suppress(Exception):
            for name, had in before.items():
                context.setLocalProperty(name, had)  # type: ignore[arg-type]  # None takes it away


def _tasks(context: SparkContext, group: str) -> tuple[int, int]:
    tracker = context.statusTracker()
    jobs = [job for number in tracker.getJobIdsForGroup(group) if (job := tracker.getJobInfo(number))]
    stages = [stage for job in jobs for number in job.stageIds if (stage := tracker.getStageInfo(number))]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)


def failure(doing: str, error: BaseException) -> JournalError:
    """An error of Spark's, of Java's or of the way to it, as ours, in one line.

    What a new try would meet again, such as a wrong password or a timeout of the role, is DatabaseRefused, or StoreRefused.
    """
    if is_java_gone(error):
        return Unavailable(
            f"Spark could not finish {doing}: its Java process has ended",
            "look whether it was killed or was out of memory (spark.driver.memory), and run it again",
        )
    raised = _raised_in_python(_text(error))
    if raised is not None and not raised.startswith(_DATABASE):
        return stores.failure(f"Spark could not finish {doing}", _shortened(raised))
    reason = reason_of(error)
    for pattern, remedy in _REFUSED:
        if re.search(pattern, reason):
            return DatabaseRefused(None, f"Spark could not finish {doing}: {reason}", remedy)
    return Unavailable(f"Spark could not finish {doing}: {reason}", "run it again, once the reason is gone")


def is_java_gone(error: BaseException) -> bool:
    """Whether the Java process that runs Spark does not answer. That a database does not is told by Java, as another error."""
    return isinstance(error, Py4JNetworkError | ConnectionError)


def reason_of(error: BaseException) -> str:
    """The first line of the last cause: the layers above it say that a job, a stage and a task failed."""
    text = _text(error)
    if (raised := _raised_in_python(text)) is not None:
        return _shortened(raised)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [found[1] for line in lines if (found := _CAUSE.search(line))]
    return _shortened(causes[-1] if causes else lines[0] if lines else type(error).__name__)


def _text(error: BaseException) -> str:
    """What the error says; of one of Java's, what its last cause does."""
    if isinstance(error, Py4JJavaError):
        with suppress(Exception):  # Java may be gone
            cause = error.java_exception
            while cause.getCause() is not None:
                cause = cause.getCause()
            return str(cause.toString())
    return str(error)


def _raised_in_python(text: str) -> str | None:
    """What the traceback in an error ends with, of a task that is written in Python: the class, and what it says, in one line."""
    _, has_traceback, below = text.rpartition("Traceback (most recent call last):\n")
    if not has_traceback:
        return None
    raised = dropwhile(lambda line: line.startswith((" ", "\t")), below.splitlines())  # the lines of code
    told = takewhile(lambda line: line.strip() and not line.lstrip().startswith(("SQLSTATE:", "at ")), raised)
    return stores.one_line("\n".join(told))


def _shortened(told: str) -> str:
    return re.sub(r"^[\w.$]+(?:Exception|Error|Failed): ", "", told).strip()[:500]
