"""A Spark session on this machine that can read the database: with a Java, JDBC drivers and quiet settings."""

import os
import re
import sys
import zipfile
from collections.abc import Collection, Sequence
from pathlib import Path

import sqlalchemy as sa
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from dmsjournal.errors import UnsupportedCapability
from dmsjournal.spark.java import cache_folder, find_java_home
from dmsjournal.spark.jdbc import DRIVERS, engine_of

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
    engines: Collection[str] = ("postgres",),
) -> SparkSession:
    """A session on this machine, started with the Java of `find_java_home` and the JDBC drivers of some engines.

    `engines`: postgres, sqlserver or both; `engine_of(url)` tells a URL's. The drivers are `jars`, else the jars in
    DMSJOURNAL_JDBC_JARS (separated by commas or as on PATH), else fetched by their Maven coordinates once and kept in the
    user's cache. Sets JAVA_HOME, PYSPARK_PYTHON and SPARK_LOCAL_IP of this
    process. A session that runs already is returned as it is, with the driver that it has. Raises
    UnsupportedCapability: no Java, no such jar, or Spark did not start. Source: docs/how-it-works.md, Spark.
    """
    os.environ["JAVA_HOME"] = str(find_java_home())
    os.environ["PYSPARK_PYTHON"] = sys.executable  # another Python's workers would refuse ours, or lack our packages
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # a laptop's host name may resolve to a network that is gone
    coordinates = [DRIVERS[engine][1] for engine in engines]
    settings = SETTINGS | _logging() | _drivers([Path(jar) for jar in jars] or _jars_of_environment(), coordinates)
    builder = SparkSession.builder.appName(app_name).master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        raise UnsupportedCapability(
            f"a Spark session, as Java stopped and said why above ({error.getCondition()})",
            f"where {' or '.join(coordinates)} cannot be fetched, name the driver's jar in DMSJOURNAL_JDBC_JARS "
            f"(`mvn dependency:copy -Dartifact={coordinates[0]} -DoutputDirectory=jars` knows mirrors)",
        ) from error


def job_session(
    app_name: str, url: str | sa.URL | None = None, *, master: str = "local[*]", jars: Sequence[str | os.PathLike[str]] = ()
) -> SparkSession:
    """The session of a job: the one that spark-submit prepared, else `local_session`, with the driver of the database of `url`."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # master, jars and memory are spark-submit's to say
        return SparkSession.builder.appName(app_name).config("spark.sql.session.timeZone", "UTC").getOrCreate()
    engines = ("postgres",) if url is None else (engine_of(url),)
    return local_session(app_name, master=master, jars=jars, engines=engines)


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
