"""An HDFS on loopback: the name node and the data node of Spark's own version of Hadoop, in one Java.

hadoop-client-minicluster has Hadoop's servers. Since 3.5.0 it lacks MiniDFSCluster, so this starts the servers themselves.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import JavaGateway

from dmsjournal.spark.session import _drivers  # the way to jars that the project has
from tests.spark.java_servers import JARS, java

WAIT = 60  # seconds for the data node to be there
ROOT = Path(__file__).parents[2]
[VERSION] = [path.stem.removeprefix("hadoop-client-api-") for path in JARS.glob("hadoop-client-api-*.jar")]
SERVERS = f"org.apache.hadoop:hadoop-client-minicluster:{VERSION}"
_EXCLUDED = "org.apache.hadoop:hadoop-client-api,org.apache.hadoop:hadoop-client-runtime,org.slf4j:*,commons-logging:*"
_FETCH = """
import sys
from dmsjournal.spark.session import local_session
local_session("fetch", master="local[1]", conf=dict(word.split("=", 1) for word in sys.argv[1:])).stop()
"""


class Hdfs:
    """A file system with nothing in it, and what a user needs to reach it."""

    def __init__(self, gateway: JavaGateway, folder: Path) -> None:
        jvm = gateway.jvm
        settings = jvm.org.apache.hadoop.conf.Configuration()
        for name, value in {
            "fs.defaultFS": "hdfs://127.0.0.1:0",
            "dfs.namenode.name.dir": (folder / "name").as_uri(),
            "dfs.namenode.http-address": "127.0.0.1:0",
            "dfs.datanode.data.dir": (folder / "data").as_uri(),
            "dfs.datanode.address": "127.0.0.1:0",
            "dfs.datanode.http.address": "127.0.0.1:0",
            "dfs.datanode.ipc.address": "127.0.0.1:0",
            "dfs.datanode.hostname": "127.0.0.1",
            "dfs.replication": "1",
        }.items():
            settings.set(name, value)
        jvm.org.apache.hadoop.metrics2.lib.DefaultMetricsSystem.setMiniClusterMode(True)  # two servers in one Java
        node = jvm.org.apache.hadoop.hdfs.server.namenode.NameNode
        node.format(settings)
        self.address = f"127.0.0.1:{node(settings).getNameNodeAddress().getPort()}"
        settings.set("fs.defaultFS", self.url(""))
        data = jvm.org.apache.hadoop.hdfs.server.datanode.DataNode
        data_node = data.createDataNode(gateway.new_array(jvm.String, 0), settings)
        deadline = time.monotonic() + WAIT
        while not data_node.isDatanodeFullyStarted():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        self._jvm = jvm
        self._files = jvm.org.apache.hadoop.fs.FileSystem.get(settings)

    def url(self, name: str) -> str:
        return f"hdfs://{self.address}/{name}"

    def names(self, folder: str) -> list[str]:
        """The files below a folder, as Hadoop's own client sees them."""
        found, listed = list[str](), self._files.listFiles(self._path(folder), True)
        while listed.hasNext():
            found.append(listed.next().getPath().toUri().getPath())
        return sorted(found)

    def put(self, name: str, content: bytes) -> None:
        """Writes a file."""
        file = self._files.create(self._path(name))
        file.write(content)
        file.close()

    def make(self, folder: str, mode: str) -> None:
        """Makes a folder. `mode`: its permissions, in octal."""
        self._files.mkdirs(self._path(folder))
        self._files.setPermission(self._path(folder), self._jvm.org.apache.hadoop.fs.permission.FsPermission(mode))

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"/{name}")


@contextmanager
def hdfs_server(folder: Path) -> Iterator[Hdfs]:
    """The servers, for as long as the block lasts. Skips the test where their jar cannot be fetched."""
    with java([_fetched()]) as gateway:
        yield Hdfs(gateway, folder)


def _fetched() -> str:
    """The jar of Hadoop's servers, fetched where it is not there yet; all else that it needs Spark has."""
    settings = _drivers([], [SERVERS])
    if "spark.jars" not in settings:
        words = [f"{name}={value}" for name, value in (settings | {"spark.jars.excludes": _EXCLUDED}).items()]
        fetching = subprocess.run([sys.executable, "-c", _FETCH, *words], capture_output=True, text=True, timeout=200, cwd=ROOT)
        settings = _drivers([], [SERVERS])
        if "spark.jars" not in settings and "unresolved dependency" in fetching.stderr:
            pytest.skip(f"{SERVERS} cannot be fetched from Maven's registry")
        assert "spark.jars" in settings, fetching.stderr
    return settings["spark.jars"]
