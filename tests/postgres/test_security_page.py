"""docs/dba/security.md, Rights: its tables say what grants.sql and consumer.sql really give, for every object of schema dms."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from dmsjournal.database import sql as statements
from dmsjournal.schema import migrate
from tests.helpers import in_psycopg

PAGE = Path(__file__).parents[2] / "docs" / "dba" / "security.md"
ROLES = ("writer", "reader", "pruner", "consumer", "any other role")
OPTIONS = ["context", "images", "max_dep_identity_version", "partitions", "tracking"]
NOTHING = "none"

PRIVILEGES = {
    "table": ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"],
    "sequence": ["USAGE", "SELECT", "UPDATE"],
    "function": ["EXECUTE"],
    "schema": ["USAGE", "CREATE"],
}
OBJECTS = """
    SELECT 'schema' AS kind, 'dms' AS name, 'dms'::regnamespace::oid AS id
    UNION ALL
    SELECT CASE c.relkind WHEN 'S' THEN 'sequence' ELSE 'table' END, 'dms.' || c.relname, c.oid
    FROM pg_class AS c WHERE c.relnamespace = 'dms'::regnamespace AND c.relkind NOT IN ('i', 'I', 'c')
    UNION ALL
    SELECT 'function', p.oid::regprocedure::text, p.oid FROM pg_proc AS p WHERE p.pronamespace = 'dms'::regnamespace
"""

Rights = dict[str, dict[str, str]]  # what each role may do, by object
Granted = Callable[[], Rights]


@pytest.fixture
def granted(url: str) -> Iterator[Granted]:
    """Runs grants.sql and consumer.sql for roles that have nothing else, then gives what each role may do with each object."""
    with psycopg.connect(in_psycopg(url), autocommit=True) as admin:
        names = {role: f"{role}_{admin.info.dbname}".replace(" ", "_") for role in ROLES}

        def run() -> Rights:
            for reader in ("reader", "consumer"):  # a consumer is a reader with consumer.sql
                run_script(admin, "roles/grants", {**names, "reader": names[reader]})
            run_script(admin, "roles/consumer", names)
            return {
                name: {role: cell(admin, kind, names[role], oid) for role in ROLES}
                for kind, name, oid in admin.execute(OBJECTS).fetchall()
            }

        for name in names.values():
            admin.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(name)))
        yield run
        for name in names.values():
            admin.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(name)))


def run_script(admin: psycopg.Connection, script: str, names: dict[str, str]) -> None:
    text = statements.text_of("postgres", script).replace("\\set ON_ERROR_STOP on\n", "")
    admin.execute(re.sub(r':"(\w+)"', lambda role: sql.Identifier(names[role[1]]).as_string(), text).encode())


def cell(admin: psycopg.Connection, kind: str, role: str, oid: int) -> str:
    """What the role may do with the object, as the page writes it; `SELECT (…)` for a right on some columns alone."""
    privileges = PRIVILEGES[kind] + (["MAINTAIN"] if kind == "table" and admin.info.server_version >= 170000 else [])
    whole = {each for each in privileges if asked(admin, f"has_{kind}_privilege", role, oid, each)}
    columns = {"SELECT", "INSERT", "UPDATE", "REFERENCES"} if kind == "table" else set()
    some = {each for each in columns if asked(admin, "has_any_column_privilege", role, oid, each)} - whole
    return ", ".join(f"{each} (…)" if each in some else each for each in privileges if each in whole | some) or NOTHING


def asked(admin: psycopg.Connection, function: str, role: str, oid: int, privilege: str) -> bool:
    row = admin.execute(f"SELECT {function}(%s::name, %s::oid, %s)".encode(), (role, oid, privilege)).fetchone()
    assert row is not None
    return bool(row[0])


def written(heading: str) -> Rights:
    """The table under a heading of the page. A row may name several objects, each as code."""
    section = re.search(rf"(?ms)^## {heading}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"))
    assert section is not None, heading
    lines = [line for line in section[1].splitlines() if line.startswith("|")]
    head, _, *rows = [[part.strip() for part in line.strip("|").split(" | ")] for line in lines]
    assert tuple(head[1:]) == ROLES
    found: Rights = {}
    for objects, *cells in rows:
        for name in re.findall(r"`([^`]+)`", objects):
            key = name.lower().replace(", ", ",")
            assert key not in found, f"{name} has two rows"
            found[key] = dict(zip(ROLES, cells, strict=True))
    return found


def without_parts(rights: Rights) -> Rights:
    """The rights with the parts of the journals under one name, as the page has them: they all have the same."""
    found: Rights = {}
    for name, cells in rights.items():
        whole = re.sub(r"^dms\.\w+event_\w+$", "dms.<journal>_<part>", name)
        assert found.setdefault(whole, cells) == cells, name
    return found


def test_the_page_has_the_rights_of_each_role_on_every_object(granted: Granted) -> None:
    rights = granted()
    assert len(rights) > 30
    assert written("Rights") == rights


def test_the_page_has_the_rights_that_options_add(url: str, granted: Granted) -> None:
    migrate.upgrade(url, options=OPTIONS)
    assert {**written("Rights"), **written("Rights with options")} == without_parts(granted())


def step(word: str) -> tuple[str, str]:
    """The one listing of the page with that word: what sets the search path, and the query."""
    (listing,) = (text for text in re.findall(r"(?ms)^ *```sql\n(.*?)^ *```$", PAGE.read_text(encoding="utf-8")) if word in text)
    path, query = listing.split(";", 1)
    return path, query


def test_the_page_lists_grants_that_let_a_role_run_code(url: str, granted: Granted) -> None:
    granted()
    path, query = step("aclexplode")
    with psycopg.connect(in_psycopg(url), autocommit=True) as admin:
        admin.execute(path.encode())
        assert admin.execute(query.encode()).fetchall() == []
        admin.execute("GRANT TRIGGER ON dms.Document TO PUBLIC")
        assert admin.execute(query.encode()).fetchall() == [("dms.document", "PUBLIC", "TRIGGER")]


def test_the_page_lists_roles_that_can_become_the_installing_one(url: str, granted: Granted) -> None:
    granted()
    path, query = step("rolcreaterole")
    with psycopg.connect(in_psycopg(url), autocommit=True) as admin:
        admin.execute(path.encode())
        before = {row[0] for row in admin.execute(query.encode())}
        reader = f"reader_{admin.info.dbname}"
        assert reader not in before
        admin.execute(sql.SQL("ALTER ROLE {} CREATEROLE").format(sql.Identifier(reader)))
        assert reader in {row[0] for row in admin.execute(query.encode())}
