"""`dmsjournal` as commands: each in a process of its own, forked from one that has imported what every command imports.

An import takes a second of a processor, most commands a tenth of it. The forked process sees the environment, the folder and the
arguments that a new one would see. `python -m tests.commands` is the process that forks; it has one thread.
"""

import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

ROOT = Path(__file__).parents[1]


class Done(NamedTuple):
    code: int
    printed: str


class Commands:
    """Runs commands one after another. Use it as a context manager."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-u", "-m", "tests.commands"]  # unbuffered: both streams come in their order, as on a terminal
        self._forking = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        return self

    def run(self, arguments: list[str], given: str = "") -> "Done":
        """The command's exit code, and what it printed on both of its streams. `given` is its standard input."""
        assert self._forking.stdin is not None
        assert self._forking.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            read, printed = Path(folder, "given"), Path(folder, "printed")
            read.write_text(given, encoding="utf-8")
            printed.touch()
            asked = {
                "arguments": arguments,
                "environment": dict(os.environ),
                "folder": str(Path.cwd()),
                "given": str(read),
                "printed": str(printed),
            }
            self._forking.stdin.write(json.dumps(asked) + "\n")
            self._forking.stdin.flush()
            done, code = self._forking.stdout.readline().split()
            assert done == "done"
            return Done(int(code), printed.read_text(encoding="utf-8"))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._forking.stdin is not None
        self._forking.stdin.close()
        self._forking.wait(20)
        assert self._forking.stdout is not None
        self._forking.stdout.close()


def main() -> None:
    import sqlalchemy as sa

    import dmsjournal.cli

    sa.create_engine("postgresql+psycopg://")  # loads the driver, connects to nothing
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            become(**asked, app=dmsjournal.cli.app)
        _, status = os.waitpid(child, 0)
        print("done", os.waitstatus_to_exitcode(status), flush=True)


def become(arguments: list[str], environment: dict[str, str], folder: str, given: str, printed: str, app: object) -> None:
    """Runs a command in this process, and ends it."""
    code = 1
    try:
        read, output = os.open(given, os.O_RDONLY), os.open(printed, os.O_WRONLY | os.O_APPEND)
        os.dup2(read, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["dmsjournal", *arguments]
        app()  # type: ignore[operator]
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else bool(ended.code)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
