"""`dmsjournal` and `alembic` as commands: each in a process of its own, forked from one that has imported what every one imports.

An import takes a second of a processor, most commands a tenth of it. The forked process sees the environment, the folder and the
arguments that a new one would see. `python -m tests.commands` is the process that forks; it has one thread.
"""

import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

ROOT = Path(__file__).parents[1]
CLOSED = "closed"


class Done(NamedTuple):
    code: int
    printed: str


class Commands:
    """Runs commands one after another. Use it as a context manager."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-u", "-m", "tests.commands"]  # unbuffered: both streams come in their order, as on a terminal
        self._forking = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        return self

    def run(self, arguments: list[str], given: str = "", *, output: str = "", program: str = "dmsjournal") -> "Done":
        """The command's exit code, and what it printed on both of its streams. `given` is its standard input.

        `output` is where its standard output goes instead: a path, or CLOSED.
        """
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
                "output": output,
                "program": program,
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
    import alembic.command
    import alembic.config
    import sqlalchemy as sa

    import dmsjournal.cli
    import dmsjournal.schema.environment

    programs = {"dmsjournal": dmsjournal.cli.app, "alembic": alembic.config.main}
    sa.create_engine("postgresql+psycopg://")  # loads the driver, connects to nothing
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            become(programs[asked["program"]], **asked)
        _, status = os.waitpid(child, 0)
        print("done", os.waitstatus_to_exitcode(status), flush=True)


def become(
    run: Callable[[], object],
    arguments: list[str],
    environment: dict[str, str],
    folder: str,
    given: str,
    printed: str,
    output: str,
    program: str,
) -> None:
    """Runs a command in this process, and ends it."""
    code = 1
    try:
        read, both = os.open(given, os.O_RDONLY), os.open(printed, os.O_WRONLY | os.O_APPEND)
        os.dup2(read, 0)
        os.dup2(both, 1)
        os.dup2(both, 2)
        if output:
            redirect(output)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = [program, *arguments]
        run()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else bool(ended.code)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.flush()
        os._exit(code)


def redirect(output: str) -> None:
    """Makes of standard output what a new process would have: none where it is CLOSED, else a file, with a buffer."""
    os.close(1)
    if output == CLOSED:
        sys.stdout = None  # type: ignore[assignment]
    else:
        assert os.open(output, os.O_WRONLY) == 1
        sys.stdout = os.fdopen(1, "w", closefd=False)


if __name__ == "__main__":
    main()
