"""A standalone cluster on loopback: a master and workers as processes of their own, and jobs submitted to it."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pyspark

from dmsjournal.spark.java import find_java_home
from dmsjournal.spark.session import local_session

ROOT = Path(__file__).parents[2]
BIN = Path(pyspark.__file__).parent / "bin"
WAIT = 60  # seconds for a process to do what it should


class Cluster:
    """What runs, by process. Only its own processes are ever ended, and by their ids."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {
            "JAVA_HOME": str(find_java_home()),
            "SPARK_HOME": str(BIN.parent),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        }
        self.master = self._start(
            "master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"
        )
        self.url = self._told("master", r"Starting Spark master at (spark://\S+)")
        self.workers = [self.start_worker(), self.start_worker()]

    def start_worker(self) -> "subprocess.Popen[bytes]":
        """One more worker, of one core."""
        name = f"worker-{time.monotonic_ns()}"
        arguments = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g", "-d", str(self.folder / name)]
        worker = self._start(name, "org.apache.spark.deploy.worker.Worker", *arguments, self.url)
        self._told(name, "Successfully registered with master")
        return worker

    def submit(self, job: str, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
        """spark-submit of a job; its output is one pipe."""
        settings = {
            "spark.cores.max": "2",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.log.level": "ERROR",
            "spark.ui.enabled": "false",
            "spark.jars": driver_jar(),
        }
        configured = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        return subprocess.Popen(
            [str(BIN / "spark-submit"), "--master", self.url, *configured, str(ROOT / "jobs" / job), *arguments],
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
        )

    def run(self, job: str, *arguments: str, **environment: str) -> tuple[int, str]:
        """The exit code and the output of a job."""
        submitted = self.submit(job, *arguments, **environment)
        try:
            output, _ = submitted.communicate(timeout=600)
            return submitted.returncode, output
        finally:
            end(submitted)

    def executors(self) -> list[psutil.Process]:
        """The processes that run tasks, which the workers started."""
        started = [
            child
            for worker in self.workers
            if worker.poll() is None
            for child in psutil.Process(worker.pid).children(recursive=True)
        ]
        return [child for child in started if runs_tasks(child)]

    def stop(self) -> None:
        """Ends everything that was started here."""
        for process in [*self.workers, self.master]:
            family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            for each in [*family, process]:
                each.kill()
            process.wait()

    def _start(self, name: str, *command: str) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{name}.log").open("wb") as log:
            # spark-class becomes the Java process: its id is this one's
            return subprocess.Popen(
                [str(BIN / "spark-class"), *command],
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _told(self, name: str, pattern: str) -> str:
        log = self.folder / f"{name}.log"
        for _ in range(WAIT * 10):
            if found := re.search(pattern, log.read_text(errors="replace")):
                return found[found.re.groups]
            time.sleep(0.1)
        raise AssertionError(log.read_text(errors="replace"))


def runs_tasks(process: psutil.Process) -> bool:
    try:
        return any("CoarseGrainedExecutorBackend" in word for word in process.cmdline())
    except psutil.NoSuchProcess:  # it has just ended
        return False


def driver_jar() -> str:
    """The JDBC driver's jar, fetched where it is not there yet."""
    from dmsjournal.database import postgres
    from dmsjournal.spark.session import _drivers  # what a local session would be started with

    settings = _drivers([], [postgres.JDBC_DRIVER])
    if "spark.jars" not in settings:
        local_session("fetch the driver", master="local[1]").stop()
        settings = _drivers([], [postgres.JDBC_DRIVER])
    return settings["spark.jars"]


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A master and two workers, for as long as the block lasts."""
    started = Cluster(folder)
    try:
        yield started
    finally:
        started.stop()


def end(process: "subprocess.Popen[str]") -> None:
    """Kills a submitted job, Java and Python."""
    family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    for each in [psutil.Process(process.pid), *family] if process.poll() is None else family:
        each.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
