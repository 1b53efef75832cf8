"""Servers that are written in Java, for tests: a Java of their own, which ends with the block."""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from dmsjournal.spark.java import find_java_home

JARS = Path(pyspark.__file__).parent / "jars"
_OF_SPARK = ("hadoop-client-", "jcl-over-slf4j-", "log4j-", "py4j-", "slf4j-api-")  # jars that Spark has, and the servers need


@contextmanager
def java(jars: Sequence[str]) -> Iterator[JavaGateway]:
    """A Java with these jars, and with Spark's for Hadoop's client and for logging."""
    found = [*jars, *(str(path) for path in JARS.glob("*.jar") if path.name.startswith(_OF_SPARK))]
    [py4j] = [jar for jar in found if Path(jar).name.startswith("py4j-")]
    log: deque[str] = deque(maxlen=1000)  # read, as a pipe that is full would stop the servers
    port, process = launch_gateway(
        jarpath=py4j,
        classpath=":".join(found),
        javaopts=["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
        java_path=str(find_java_home() / "bin" / "java"),
        die_on_exit=True,
        redirect_stdout=log,
        redirect_stderr=log,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True, enable_memory_management=False))
    try:
        yield gateway
    finally:
        gateway.close()
        process.kill()
        process.wait()
        process.stdin.close()
