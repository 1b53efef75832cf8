"""A Spark session on this machine that can read the database: with a Java, JDBC drivers and quiet settings."""

import logging
import os
import re
import socket
import subprocess
import sys
import traceback
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from dmsjournal.database.connect import checked_url, engine_of_url
from dmsjournal.database.engines import DEFAULT, engine_named
from dmsjournal.errors import InvalidRequest, Unavailable, UnsupportedCapability
from dmsjournal.spark.java import cache_folder, find_java_home
from dmsjournal.spark.jobs import is_java_gone, reason_of

_MASTER = re.compile(
    r"local(-cluster)?(\[(\d+|\*)( *, *\d+)*\])?|spark://{0}(,{0})*|yarn|k8s://\S+".replace(
        "{0}", r"([\w.-]+|\[[0-9a-fA-F:]+\]):\d+"
    )
)
_MASTER_SECONDS = 10.0

SETTINGS = {
    "spark.driver.memory": "1g",  # rows are streamed through, so this is plenty and leaves the machine to the database
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # an instant to every reader, which INT96 is not
    "spark.sql.session.timeZone": "UTC",  # stamps read the same wherever a job runs
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def local_session(
    app_name: str,
    *,
    master: str = "local[*]",
    jars: Sequence[str | os.PathLike[str]] = (),
    engines: Collection[str] = (DEFAULT,),
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session on this machine, started with the Java of `find_java_home` and the JDBC drivers of some engines.

    `engines`: the names of engines, as option --engine takes them. The drivers are `jars`, else the jars in
    DMSJOURNAL_JDBC_JARS (separated by commas or as on PATH), else fetched by their Maven coordinates once and kept in the
    user's cache. `conf`: more of Spark's settings. Sets JAVA_HOME, PYSPARK_PYTHON and SPARK_LOCAL_IP of this
    process. A session that runs already is returned as it is, with the driver that it has. Raises
    UnsupportedCapability: no Java, no such jar, or none could be fetched; and Unavailable: Spark did not start. Source:
    docs/how-it-works.md, Spark.
    """
    os.environ["JAVA_HOME"] = str(find_java_home())
    os.environ["PYSPARK_PYTHON"] = sys.executable  # another Python's workers would refuse ours, or lack our packages
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # a laptop's host name may resolve to a network that is gone
    coordinates = [engine_named(engine).JDBC_DRIVER for engine in engines]
    settings = SETTINGS | _logging() | _drivers([Path(jar) for jar in jars] or _jars_of_environment(), coordinates)
    builder = SparkSession.builder.appName(app_name).master(master)
    for name, value in (settings | dict(conf or {})).items():
        builder = builder.config(name, value)
    try:
        with started(master):
            return builder.getOrCreate()
    except PySparkRuntimeError as error:
        if "spark.jars.packages" not in settings:  # nothing was to be fetched
            told = f"Spark's Java has ended while it started ({error.getCondition()})"
            remedy = "if it said why above, mend that; else it was killed, or was out of memory: run it again"
            raise Unavailable(told, remedy) from error
        raise UnsupportedCapability(
            f"a Spark session, as Java stopped and said why above ({error.getCondition()})",
            f"where {' or '.join(coordinates)} cannot be fetched, name the driver's jar in DMSJOURNAL_JDBC_JARS "
            f"(`mvn dependency:copy -Dartifact={coordinates[0]} -DoutputDirectory=jars` knows mirrors)",
        ) from error


def submitted_conf() -> dict[str, str]:
    """The settings that spark-submit was given; none where it did not start this process."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return {}
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()  # SparkConf asks the Java that runs already
    return dict(SparkConf().getAll())


def job_session(
    app_name: str,
    url: str | sa.URL | None = None,
    *,
    master: str = "local[*]",
    jars: Sequence[str | os.PathLike[str]] = (),
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """The session of a job: the one that spark-submit prepared, else `local_session`, with the driver of the database of `url`.

    `conf`: more of Spark's settings.
    """
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # pages about an error that is raised as well, and told in one line
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # master, jars and memory are spark-submit's to say
        with started():
            builder = SparkSession.builder.appName(app_name).config("spark.sql.session.timeZone", "UTC")
            for name, value in (conf or {}).items():
                builder = builder.config(name, value)
            return builder.getOrCreate()
    checked_master(master)
    engines = (DEFAULT,) if url is None else (engine_of_url(checked_url(url)).NAME,)
    return local_session(app_name, master=master, jars=jars, engines=engines, conf=conf)


@contextmanager
def started(master: str | None = None) -> Iterator[None]:
    """Within it a session is started; what Java says against it is one line. Where Java does not start, PySpark's own error."""
    try:
        yield
    except (Py4JError, ConnectionError) as error:
        if is_java_gone(error) or "stopped SparkContext" in str(error):
            asked = "" if master is None else f" with the master {master}"
            is_own = master is not None and master.startswith("local")
            why = "it was killed or was out of memory (spark.driver.memory)" if is_own else "its master is up"
            raise Unavailable(f"Spark has ended while it started{asked}", f"look whether {why}, and run it again") from error
        raise Unavailable(f"Spark could not start: {reason_of(error)}", "run it again, once the reason is gone") from error
    except BaseException as error:
        _end_java(error)
        raise


def _end_java(error: BaseException) -> None:
    """Ends the Java that PySpark had started when an error came, such as Ctrl-C. PySpark forgets it, and it would stay."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        started_by = frame.f_locals.get("proc") if frame.f_code.co_name == "launch_gateway" else None
        if isinstance(started_by, subprocess.Popen):
            started_by.kill()
            started_by.wait()


def checked_master(master: str) -> str:
    """The master, if it is one that Spark knows, and answers where it has an address. Raises InvalidRequest, Unavailable.

    Spark itself tries a dead one for a minute, and then ends with pages of Java.
    """
    if not _MASTER.fullmatch(master):
        known = "local, local[4], local[*], spark://host:7077, yarn or k8s://https://host:port"
        raise InvalidRequest("master", master, f"write {known}")
    reasons = []
    for address in master.removeprefix("spark://").split(",") if master.startswith("spark://") else ():
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_MASTER_SECONDS).close()
            return master
        except OSError as error:
            reasons.append(f"{address}: {error.strerror or error}")
    if reasons:
        raise Unavailable(f"no Spark master answers at {master} ({'; '.join(reasons)})", "start it, or name another one")
    return master


def _logging() -> dict[str, str]:
    """Errors alone; by a file, since a level that is set later comes after Spark's first warnings, and is told of itself.

    Who has a configuration of Spark's may have a log4j2.properties in it: then that is heeded.
    """
    if "SPARK_CONF_DIR" in os.environ:
        return {"spark.log.level": "ERROR"}
    return {
        "spark.driver.defaultJavaOptions": f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
    }


def _jars_of_environment() -> list[Path]:
    separators = f"[,{re.escape(os.pathsep)}]"
    return [Path(jar) for jar in re.split(separators, os.environ.get("DMSJOURNAL_JDBC_JARS", "")) if jar]


def _drivers(jars: list[Path], coordinates: Sequence[str]) -> dict[str, str]:
    """The settings that bring the drivers along; once fetched they are jars too, as Ivy prints a page each time."""
    if missing := [str(jar) for jar in jars if not jar.is_file()]:  # Spark would warn, and fail at the first read
        raise UnsupportedCapability(f"a JDBC driver in {', '.join(missing)}", "name jar files that exist")
    ivy = cache_folder() / "ivy"
    fetched = {each: ivy / "jars" / f"{each.replace(':', '_', 1).replace(':', '-')}.jar" for each in coordinates}  # Ivy's names
    if not jars and all(map(zipfile.is_zipfile, fetched.values())):  # a zip's directory is its end: one that is written is none yet
        jars = [*fetched.values()]
    if jars:
        return {"spark.jars": ",".join(map(str, jars))}
    return {"spark.jars.packages": ",".join(coordinates), "spark.jars.ivy": str(ivy)}
