"""Jobs: commands as spark-submit and schedulers run them, with a log of what they do on standard error."""

from collections.abc import Sequence

from dmsjournal.cli.base import app


def run(command: str, arguments: Sequence[str] | None = None) -> int:
    """Runs a command as a job, and gives its exit code. `arguments`: without them, those of the process."""
    import sys

    from typer.main import get_command

    try:
        get_command(app).main([command, "--verbose", *(sys.argv[1:] if arguments is None else arguments)], prog_name="dmsjournal")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
