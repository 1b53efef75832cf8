"""An Iceberg catalog by REST on loopback: Iceberg's own servlet for its tests, before its catalog in a database of PostgreSQL."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

from dmsjournal.database.engines import DEFAULT, engine_named
from dmsjournal.spark.java import cache_folder, find_java_home
from dmsjournal.spark.session import _drivers  # the way to jars that the project has
from tests.spark.java_servers import JARS, java

MODULES = Path(__file__).with_name("rest_catalog.xml")
CATALOG = "org.apache.iceberg.jdbc.JdbcCatalog"


@contextmanager
def rest_catalog(database: str, warehouse: str) -> Iterator[str]:
    """The address of a catalog, for as long as the block lasts. Skips the test where its jars cannot be fetched.

    `database`: the URL of one that is empty. `warehouse`: where tables are.
    """
    driver = _drivers([], [engine_named(DEFAULT).JDBC_DRIVER])["spark.jars"]
    with java([*_fetched(), *driver.split(",")]) as gateway:
        jvm = gateway.jvm
        at = sa.make_url(database)
        catalog = jvm.org.apache.iceberg.jdbc.JdbcCatalog()
        catalog.setConf(jvm.org.apache.hadoop.conf.Configuration())
        login = {"jdbc.user": at.username, "jdbc.password": at.password}
        catalog.initialize("tests", {"uri": f"jdbc:postgresql://{at.host}:{at.port}/{at.database}", "warehouse": warehouse} | login)
        servlets, rest = jvm.org.eclipse.jetty.ee10.servlet, jvm.org.apache.iceberg.rest
        context = servlets.ServletContextHandler()
        context.addServlet(servlets.ServletHolder(rest.RESTCatalogServlet(rest.RESTCatalogAdapter(catalog))), "/*")
        server = jvm.org.eclipse.jetty.server.Server(jvm.java.net.InetSocketAddress("127.0.0.1", 0))
        server.setHandler(context)
        server.start()
        yield f"http://127.0.0.1:{server.getURI().getPort()}"


def _fetched() -> list[str]:
    """The jars, fetched once, by the Ivy that Spark has: Spark's own way knows no jar of tests."""
    kept = cache_folder() / f"rest-catalog-{MODULES.stat().st_size}"
    if not kept.is_dir():
        [ivy] = JARS.glob("ivy-*.jar")
        with tempfile.TemporaryDirectory(dir=cache_folder()) as made:
            command = [str(find_java_home() / "bin" / "java"), "-jar", str(ivy), "-ivy", str(MODULES), "-cache", f"{made}/jars"]
            fetching = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if "unresolved dependency" in fetching.stdout or "download failed" in fetching.stdout:
                pytest.skip(f"the jars of {MODULES.name} cannot be fetched from Maven's registry")
            assert fetching.returncode == 0, fetching.stdout + fetching.stderr
            with suppress(FileExistsError, OSError):  # another run of the tests was faster
                os.rename(f"{made}/jars", kept)
    return [str(path) for path in kept.rglob("*.jar")]
