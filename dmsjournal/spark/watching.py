"""Jobs of Spark's: how far they are, what becomes of them when something goes wrong, and their errors as ours."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dmsjournal.errors import Unavailable

Progress = Callable[[str, int, int], None]  # what is done, and tasks: finished and in all

_PERIOD = 0.5  # seconds between two looks
_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")  # what a thread's group of jobs is


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
            raise Unavailable(
                f"Spark could not finish {doing}: {_reason(error)}", "run it again, once the reason is gone"
            ) from error
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


def _reason(error: BaseException) -> str:
    """The first line of the last cause: the layers above it say that a job, a stage and a task failed."""
    text = str(error)
    if isinstance(error, Py4JJavaError):
        with suppress(Exception):  # Java may be gone
            cause = error.java_exception
            while cause.getCause() is not None:
                cause = cause.getCause()
            text = cause.getMessage() or cause.toString()
    lines = [line for line in text.splitlines() if line.strip()]
    told = next((line for line in lines if "Most recent failure" in line), lines[0] if lines else type(error).__name__)
    return told.strip()[:500]
