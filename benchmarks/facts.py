"""What a figure depends on besides the code: the machine, the server, its settings."""

import os
import platform

import sqlalchemy as sa

from benchmarks import database

Facts = dict[str, str]


def machine() -> Facts:
    """Name and value of each fact of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": str(os.cpu_count()),
        "memory": f"{memory / 2**30:.0f} GB",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }


def facts(connection: sa.Connection) -> Facts:
    """Name and value of each; the machine is the client's, which is the server's too unless --url says otherwise."""
    server = {"PostgreSQL": str(connection.scalar(sa.text("SHOW server_version")))}
    return machine() | server | {name: value for name, value in connection.execute(database.query("facts"))}
