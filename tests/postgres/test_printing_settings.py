"""Whatever a role or a database sets of how the server prints and reads, each command does and says the same (acceptance 83).

The server prints definitions, times and numbers, and dmsjournal compares and edits that text.
"""

import re
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command

from dmsjournal.database import sql
from dmsjournal.schema import migrate
from tests.helpers import commit
from tests.migrations.shapes import SHAPES
from tests.postgres.test_planted_names import INSTALLING, OPTIONS, PRUNING, READING, invoke, write_everything

SETTINGS = {
    "identifiers": {"quote_all_identifiers": "on"},
    "times": {"DateStyle": "SQL, DMY", "IntervalStyle": "sql_standard", "TimeZone": "Pacific/Kiritimati"},
    "times before 1970": {"DateStyle": "German", "IntervalStyle": "iso_8601", "TimeZone": "America/St_Johns"},
    "values": {"extra_float_digits": "-15", "bytea_output": "escape", "xmloption": "document", "xmlbinary": "hex"},
    "literals": {"standard_conforming_strings": "off", "array_nulls": "off", "transform_null_equals": "on"},
    "locale": {"lc_monetary": "C.UTF-8", "lc_numeric": "C.UTF-8", "lc_time": "C.UTF-8", "client_min_messages": "error"},
}
AT_ONCE = {  # all of them in two sets: one cannot have two styles of dates and intervals
    "all": {
        name: value for group, settings in SETTINGS.items() if group != "times before 1970" for name, value in settings.items()
    },
    "times before 1970": SETTINGS["times before 1970"],
}
_CHANGING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}"  # uuids
    r"|\d{4}-\d\d-\d\d[ T][\d:.]+(Z|[+-][\d:]+)?"  # times
    r"| *(?<=[\s=])[\d.,]+ ?(ms|s|B|[kKMG]i?B)\b|\b\d+ (bytes|seconds)\b"  # ages and sizes, which are aligned
    r"|[A-Za-z0-9_+/-]{30,}=*"  # tokens and etags
    r'|(?<="transaction_id":)"?\d+'
    r"|test_\d+"
)


def alter(server: Any, url: str, of: str, settings: dict[str, str]) -> None:
    """Sets them for a database, or for a role in it."""
    name = sa.make_url(url).database
    target = f'DATABASE "{name}"' if of == "database" else f'ROLE postgres IN DATABASE "{name}"'
    for setting, value in settings.items():
        server._execute(f"ALTER {target} SET {setting} = '{value}'")


def told(url: str, admin: sa.Connection) -> list[tuple[str, str]]:
    """What each command says of a database that it installs, reads, prunes and repairs, without what differs each time."""
    commands: list[tuple[str, ...]] = [("upgrade", *(f"--with={option}" for option in OPTIONS))]
    outputs = [(" ".join(each), invoke(url, *each)) for each in commands]
    write_everything(url)
    outputs += [(" ".join(each), invoke(url, *each)) for each in (*READING, *PRUNING, *INSTALLING, ("downgrade", "base"))]
    commit(admin, "DROP SCHEMA dms CASCADE")
    shape = SHAPES["bare"]
    shape.create(admin)
    shape.fill(admin, 10, 5)
    for arguments in (("adopt", "--dry-run"), ("adopt", "--content-column", "Body"), ("verify",), ("adopt",)):
        outputs.append((" ".join(arguments), invoke(url, *arguments)))
    return [(name, _CHANGING.sub("…", output)) for name, output in outputs]


@pytest.fixture(scope="module")
def plain(postgres_server: Any) -> list[tuple[str, str]]:
    with postgres_server.fresh_database() as url, sa.create_engine(url, poolclass=sa.NullPool).connect() as admin:
        return told(url, admin)


@pytest.mark.acceptance("83")
@pytest.mark.parametrize(("settings", "of"), [("all", "role"), ("times before 1970", "database")])
def test_each_command_says_the_same(postgres_server: Any, plain: list[tuple[str, str]], settings: str, of: str) -> None:
    assert_the_same(postgres_server, plain, AT_ONCE[settings], of)


@pytest.mark.long
@pytest.mark.acceptance("83")
@pytest.mark.parametrize("of", ["role", "database"])
@pytest.mark.parametrize("settings", SETTINGS)
def test_each_command_says_the_same_with_one_kind_of_setting(
    postgres_server: Any, plain: list[tuple[str, str]], settings: str, of: str
) -> None:
    assert_the_same(postgres_server, plain, SETTINGS[settings], of)


def assert_the_same(server: Any, plain: list[tuple[str, str]], settings: dict[str, str], of: str) -> None:
    with server.fresh_database() as url:
        alter(server, url, of, settings)
        with sa.create_engine(url, poolclass=sa.NullPool).connect() as admin:
            for found, expected in zip(told(url, admin), plain, strict=True):
                assert found == expected


def test_a_connection_that_is_given_to_alembic_gets_its_settings_back(postgres_server: Any) -> None:
    ours = {
        name
        for check in ("search_path", "printing")
        for name in re.findall(r"SET LOCAL (\w+)", sql.text_of("postgres", f"checks/{check}"))
    }
    theirs = {name: value for settings in SETTINGS.values() for name, value in settings.items() if name in ours}
    assert ours == {"search_path", "row_security", *theirs}  # each is tried above, or in test_missing_rights.py
    with postgres_server.fresh_database() as url, sa.create_engine(url, poolclass=sa.NullPool).connect() as given:
        for name, value in theirs.items():
            given.exec_driver_sql(f"SET LOCAL {name} = '{value}'")
        before = [given.exec_driver_sql(f"SHOW {name}").scalar() for name in sorted(ours)]
        config = migrate._config("postgres", "5s")
        config.attributes["connection"] = given
        command.upgrade(config, "head")
        assert [given.exec_driver_sql(f"SHOW {name}").scalar() for name in sorted(ours)] == before


def test_times_are_in_utc_whatever_the_time_zone(postgres_server: Any) -> None:
    """As text they are compared and sorted, and one log has them of many roles."""
    commands = [("deletes", "School"), ("key-changes", "Student"), ("derive", "1"), ("consumers", "list"), ("status", "--json")]
    with postgres_server.fresh_database() as url:
        alter(postgres_server, url, "role", SETTINGS["times"])
        migrate.upgrade(url, options=OPTIONS)
        write_everything(url)
        invoke(url, "consumers", "register", "warehouse", "--at", "1")
        for arguments in commands:
            times = re.findall(r"\d{4}-\d\d-\d\d[ T][\d:.]+([^\s\"]*)", invoke(url, *arguments))
            assert times, arguments
            assert set(times) <= {"Z", "+00:00"}, (arguments, times)
