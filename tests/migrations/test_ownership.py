"""What another role made in schema dms is neither taken for ours nor run (acceptance 105, invariant 13), for a superuser too.

The attacker may create a schema in the database, and plants what the installing role would read or run. Each planted thing counts
in a sequence when it runs, which no rollback takes back.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from alembic.config import main as alembic
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.database import sql
from dmsjournal.schema import adopt, migrate
from tests.helpers import STUDENT, commit, document, in_psycopg, write

SPIES = """
CREATE SCHEMA evil;
CREATE SEQUENCE evil.ran;
CREATE FUNCTION evil.spy() RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('evil.ran'); RETURN '0001'; END $$;
CREATE FUNCTION evil.spy_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.spy(); RETURN NEW; END $$;
GRANT USAGE ON SCHEMA evil TO PUBLIC;
GRANT ALL ON SEQUENCE evil.ran TO PUBLIC;
"""
DOCUMENT = """
CREATE TABLE dms.Document (DocumentId bigint PRIMARY KEY, ResourceKeyId smallint, KeyValues jsonb);
INSERT INTO dms.Document VALUES (1, 1, '{}');
GRANT ALL ON ALL TABLES IN SCHEMA dms TO PUBLIC;
COMMENT ON TABLE dms.Document IS 'dmsjournal: the documents, stamped by trigger';
"""
VERSIONS = """
CREATE TABLE dms.alembic_version (version_num varchar(32) PRIMARY KEY);
GRANT ALL ON dms.alembic_version TO PUBLIC;
COMMENT ON TABLE dms.alembic_version IS 'dmsjournal: the revision that is installed';
"""

PLANTED = {  # what the attacker makes in a schema of its own, and what a refusal names
    "nothing yet": ("", ["schema dms"]),
    "a table with a trigger": (
        DOCUMENT + "CREATE TRIGGER planted BEFORE UPDATE ON dms.Document FOR EACH ROW EXECUTE FUNCTION evil.spy_trigger();",
        ["table dms.document", "trigger planted on dms.document"],
    ),
    "a view of the revisions": (
        "CREATE VIEW dms.alembic_version AS SELECT CAST(evil.spy() AS varchar(32)) AS version_num;"
        "GRANT SELECT ON dms.alembic_version TO PUBLIC;"
        "COMMENT ON VIEW dms.alembic_version IS 'dmsjournal: the revision that is installed';",
        ["view dms.alembic_version"],
    ),
    "a rule": (
        DOCUMENT + "CREATE RULE planted AS ON UPDATE TO dms.Document DO ALSO SELECT evil.spy();",
        ["table dms.document", "rule planted on dms.document"],
    ),
    "a default": (
        VERSIONS + "ALTER TABLE dms.alembic_version ADD COLUMN planted text DEFAULT evil.spy();"
        "INSERT INTO dms.alembic_version (version_num, planted) VALUES ('0001', '');",
        ["table dms.alembic_version", "default value for dms.alembic_version.planted"],
    ),
    "a check": (
        DOCUMENT + "ALTER TABLE dms.Document ADD CONSTRAINT planted CHECK (evil.spy() <> '') NOT VALID;",
        ["table dms.document", "table constraint planted on dms.document"],
    ),
    "a policy": (
        VERSIONS + "INSERT INTO dms.alembic_version VALUES ('0001'); ALTER TABLE dms.alembic_version ENABLE ROW LEVEL SECURITY;"
        "ALTER TABLE dms.alembic_version FORCE ROW LEVEL SECURITY;"
        "CREATE POLICY planted ON dms.alembic_version USING (evil.spy() <> '');",
        ["table dms.alembic_version", "policy planted on dms.alembic_version"],
    ),
    "an index": (
        "CREATE FUNCTION evil.spied(bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN evil.spy(); END $$;"
        + DOCUMENT
        + "TRUNCATE dms.Document; CREATE INDEX planted ON dms.Document (evil.spied(DocumentId));",
        ["table dms.document", "index dms.planted"],
    ),
    "a function, an operator, a type, a domain, a collation": (
        "CREATE FUNCTION dms.horizon(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT $1';"
        "CREATE FUNCTION dms.same(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';"
        "CREATE OPERATOR dms.= (LEFTARG = text, RIGHTARG = text, FUNCTION = dms.same);"
        "CREATE TYPE dms.planted AS ENUM ('a'); CREATE DOMAIN dms.bigint AS pg_catalog.int8 CHECK (evil.spy() <> '');"
        'CREATE COLLATION dms.planted FROM pg_catalog."C"; CREATE SEQUENCE dms.ChangeVersionSequence;',
        [
            "function dms.horizon(bigint)",
            "operator dms.=(pg_catalog.text,pg_catalog.text)",
            "type dms.planted",
            'type dms."bigint"',
            "collation dms.planted",
            "sequence dms.changeversionsequence",
        ],
    ),
}


@pytest.fixture
def roles(empty: str) -> Iterator[dict[str, str]]:
    """URLs of the attacker, of an installing role that is no superuser, and of a superuser."""
    with psycopg.connect(in_psycopg(empty), autocommit=True) as admin:
        names = {role: f"{role}_{admin.info.dbname}" for role in ("attacker", "owner")}
        for name in names.values():
            admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")
            admin.execute(f"GRANT CREATE ON DATABASE {admin.info.dbname} TO {name}")
        yield {
            role: sa.make_url(empty).set(username=name, password="secret").render_as_string(hide_password=False)
            for role, name in names.items()
        } | {"superuser": empty}
        for name in names.values():
            admin.execute(f"DROP OWNED BY {name} CASCADE")
            admin.execute(f"DROP ROLE {name}")


def name_of(url: str) -> str:
    return str(sa.make_url(url).username)


def attack(url: str, text: str) -> None:
    with psycopg.connect(in_psycopg(url), autocommit=True) as attacker:
        attacker.execute(text)


def runs(admin: sa.Connection) -> list[tuple[bool]]:
    """How often a spy ran."""
    return commit(admin, "SELECT last_value FROM evil.ran WHERE is_called")


@pytest.fixture
def by_script(program, tmp_path: Path) -> Callable[[str, str], str]:
    def run(url: str, script: str) -> str:
        file = tmp_path / "script.sql"
        file.write_text(script, encoding="utf-8")
        return program("psql", url, "--no-psqlrc", "--quiet", f"--file={file}", check=False)

    return run


def by_command(url: str, *arguments: str) -> str:
    done = CliRunner().invoke(cli.app, [*arguments, "--url", url])
    return f"{done.exit_code}\n{done.output}{done.stderr}"


def by_alembic(url: str, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """What plain Alembic raises."""
    monkeypatch.setenv("DMSJOURNAL_URL", url)
    try:
        alembic(["-c", str(sql.shipped("alembic.ini")), "-n", "postgres", *arguments])
    except sa.exc.DBAPIError as error:
        return str(error.orig)
    return ""


@pytest.mark.acceptance("57", "105")
@pytest.mark.parametrize("as_role", ["owner", "superuser"])
@pytest.mark.parametrize("planted", PLANTED)
def test_what_another_role_planted_is_named_and_never_runs(
    admin: sa.Connection, roles: dict[str, str], by_script, monkeypatch: pytest.MonkeyPatch, planted: str, as_role: str
) -> None:
    text, named = PLANTED[planted]
    attack(roles["attacker"], SPIES + "CREATE SCHEMA dms; GRANT USAGE, CREATE ON SCHEMA dms TO PUBLIC;" + text)
    attack(roles["superuser"], "SELECT setval('evil.ran', 1, false)")  # planting a default ran it, as the attacker
    before = commit(admin, "SELECT count(*) FROM pg_depend")
    url = roles[as_role]
    told = {
        "upgrade": by_command(url, "upgrade"),
        "downgrade": by_command(url, "downgrade", "base"),
        "adopt": by_command(url, "adopt"),
        "adopt --dry-run": by_command(url, "adopt", "--dry-run"),
        "script": by_script(url, migrate.script()),
        "script down": by_script(url, migrate.script(revision="head:base", down=True)),
        "script of an option": by_script(url, migrate.script(option="partitions")),
        "alembic upgrade": by_alembic(url, monkeypatch, "upgrade", "head"),
        "alembic downgrade": by_alembic(url, monkeypatch, "downgrade", "base"),
        "alembic current": by_alembic(url, monkeypatch, "current"),
    }
    for way, answer in told.items():
        for subject in ["schema dms", *named]:
            assert subject in answer, (way, answer)
        assert name_of(roles["attacker"]) in answer
        assert "Traceback" not in answer
    for way in ("upgrade", "downgrade", "adopt", "adopt --dry-run"):
        assert told[way].startswith("5\n"), told[way]
    for way in ("script", "script down", "script of an option"):
        assert told[way].startswith("3\n"), told[way]
    assert runs(admin) == []
    assert commit(admin, "SELECT count(*) FROM pg_depend") == before


@pytest.mark.acceptance("105")
def test_a_view_of_the_revisions_is_not_read_to_tell_them(admin: sa.Connection, roles: dict[str, str]) -> None:
    text, _ = PLANTED["a view of the revisions"]
    attack(roles["attacker"], SPIES + "CREATE SCHEMA dms; GRANT USAGE ON SCHEMA dms TO PUBLIC;" + text)
    for role in ("owner", "superuser"):
        with pytest.raises(dj.DatabaseRefused, match=r"alembic_version is no plain table.*drop it"):
            migrate.installed(roles[role])
    assert runs(admin) == []


@pytest.mark.acceptance("105")
@pytest.mark.parametrize("as_role", ["owner", "superuser"])
def test_the_owner_of_an_empty_schema_cannot_wait_for_the_installation(roles: dict[str, str], admin, as_role: str) -> None:
    """It would drop and replace what is installed there, as any schema's owner may."""
    attack(roles["attacker"], "CREATE SCHEMA dms; GRANT ALL ON SCHEMA dms TO PUBLIC")
    owner, attacker = name_of(roles[as_role]), name_of(roles["attacker"])
    with pytest.raises(dj.MigrationRefused) as refused:
        migrate.upgrade(roles[as_role])
    assert f"schema dms (role {owner} does not own it, {attacker} does); schema dms (PUBLIC may create objects in it)" in str(
        refused.value
    )
    assert "--trust 'schema dms'" in refused.value.remedy


@pytest.mark.acceptance("105")
def test_a_superuser_does_not_go_on_with_another_roles_installation(roles: dict[str, str], admin) -> None:
    migrate.upgrade(roles["owner"])
    with pytest.raises(dj.MigrationRefused, match=r"schema dms \(role postgres does not own it.*table dms\.document"):
        migrate.downgrade(roles["superuser"], "base")
    migrate.downgrade(roles["owner"], "base")
    migrate.upgrade(roles["owner"])


AFTER = {  # what an attacker can do to an installation with a right that it was given, and what a refusal names
    "a function that fits better than ours": (
        "GRANT CREATE ON SCHEMA dms TO {attacker}",
        "CREATE FUNCTION dms.drop_partition(varchar, varchar, text[]) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        r"function dms\.drop_partition\(.*role {attacker} may create objects in it",
    ),
    "the right alone": ("GRANT CREATE ON SCHEMA dms TO {attacker}", "", r"schema dms \(role {attacker} may create objects in it"),
    "a trigger on documents": (
        "GRANT USAGE ON SCHEMA dms TO {attacker}; GRANT TRIGGER ON dms.Document TO {attacker}",
        "CREATE TRIGGER planted AFTER UPDATE ON dms.Document FOR EACH ROW EXECUTE FUNCTION evil.spy_trigger()",
        r"trigger planted on dms\.document \(it uses function evil\.spy_trigger\(\), which belongs to role {attacker}",
    ),
}


@pytest.mark.acceptance("105")
@pytest.mark.parametrize("how", AFTER)
def test_what_another_role_added_to_an_installation_is_named_and_never_runs(
    admin: sa.Connection, roles: dict[str, str], by_script, how: str
) -> None:
    granted, planted, expected = (text.replace("{attacker}", name_of(roles["attacker"])) for text in AFTER[how])
    migrate.upgrade(roles["owner"], "0003")
    with psycopg.connect(in_psycopg(roles["owner"])) as writer:
        writer.execute("INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion) VALUES ('a', 'b', 'c')")
        writer.execute("INSERT INTO dms.Document (ResourceKeyId) VALUES (1)")
    attack(roles["owner"], granted)
    attack(roles["attacker"], SPIES + planted)
    for do in (migrate.upgrade, lambda url: migrate.downgrade(url, "base")):
        with pytest.raises(dj.MigrationRefused, match=expected):
            do(roles["owner"])
    for script in (migrate.script(revision="0003:head"), migrate.script(revision="0003:base", down=True)):
        assert by_script(roles["owner"], script).startswith("3\n")
    assert runs(admin) == []
    assert migrate.current(roles["owner"]) == "0003"


@pytest.mark.acceptance("105")
def test_an_expression_stays_foreign_when_its_table_changes_hands(admin: sa.Connection, roles: dict[str, str]) -> None:
    """The naive answer to a refusal is to make everything the installing role's."""
    text, _ = PLANTED["a default"]
    attack(roles["attacker"], SPIES + "CREATE SCHEMA dms;" + text)
    attack(roles["superuser"], "SELECT setval('evil.ran', 1, false)")
    commit(admin, f"ALTER SCHEMA dms OWNER TO {name_of(roles['owner'])}")
    commit(admin, f"ALTER TABLE dms.alembic_version OWNER TO {name_of(roles['owner'])}")
    with pytest.raises(dj.MigrationRefused, match=r"all of the installing role: default value for .* uses function evil\.spy\(\)"):
        migrate.upgrade(roles["owner"])
    assert runs(admin) == []


@pytest.mark.acceptance("105")
@pytest.mark.parametrize("way", ["command", "script", "alembic", "python"])
def test_a_takeover_on_purpose_names_what_it_trusts(
    roles: dict[str, str], by_script, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    attack(roles["attacker"], "CREATE SCHEMA dms; GRANT ALL ON SCHEMA dms TO PUBLIC")
    url, trust = roles["owner"], ["schema dms"]
    if way == "command":
        answer = by_command(url, "upgrade", "--trust", "schema dms")
        assert answer.startswith("0\n"), answer
        assert "trusted, although another role owns it: schema dms" in answer
    elif way == "script":
        assert '["schema dms"]' in (script := migrate.script(trust=trust))
        assert by_script(url, script).startswith("0\n")
    elif way == "alembic":
        assert by_alembic(url, monkeypatch, "-x", "trust=schema dms", "upgrade", "head") == ""
    else:
        migrate.upgrade(url, trust=trust)
    assert migrate.current(url) == migrate.newest()
    with dj.connect(url) as journal:
        write(journal, document(STUDENT, 1))
    with pytest.raises(dj.MigrationRefused):
        migrate.downgrade(url, "base")
    migrate.downgrade(url, "base", trust=trust)


@pytest.mark.acceptance("105")
def test_an_adoption_takes_over_what_it_names_and_the_roles_own_triggers(admin: sa.Connection, roles: dict[str, str]) -> None:
    attack(roles["superuser"], f"CREATE SCHEMA dms; GRANT ALL ON SCHEMA dms TO {name_of(roles['owner'])}")
    attack(
        roles["owner"],
        "CREATE SCHEMA app; CREATE FUNCTION app.noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;"
        "CREATE TABLE dms.ResourceKey (ResourceKeyId smallint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,"
        " ProjectName varchar(256) NOT NULL, ResourceName varchar(256) NOT NULL, ResourceVersion varchar(64) NOT NULL);"
        "CREATE TABLE dms.Document (DocumentId bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,"
        " DocumentUuid uuid NOT NULL DEFAULT gen_random_uuid(), ResourceKeyId smallint NOT NULL, Body text DEFAULT 'none');"
        "CREATE TRIGGER theirs AFTER INSERT ON dms.Document FOR EACH ROW EXECUTE FUNCTION app.noted();",
    )
    with pytest.raises(dj.AdoptionRefused, match=r"^1 in the way.*schema dms: role .* does not own it, postgres does.*--trust"):
        adopt.adopt(roles["owner"])
    answer = by_command(roles["owner"], "adopt", "--trust", "schema dms")
    assert answer.startswith("0\n"), answer
    assert "trusted, although another role owns it: schema dms" in answer
    assert commit(admin, "SELECT count(*) FROM pg_trigger WHERE tgname = 'theirs'") == [(1,)]


@pytest.mark.parametrize("trust", [["schema dms", "table dms.nowhere"], ["schema  dms"], [""], "schema dms"])
def test_a_trust_in_what_is_not_there_is_refused(roles: dict[str, str], trust: list[str]) -> None:
    attack(roles["attacker"], "CREATE SCHEMA dms; GRANT ALL ON SCHEMA dms TO PUBLIC")
    with pytest.raises(dj.InvalidRequest, match="trust = "):
        migrate.upgrade(roles["owner"], trust=trust)
    assert migrate.current(roles["owner"]) is None


@pytest.mark.acceptance("105")
@pytest.mark.parametrize("name", ["$$; SELECT evil.spy(); --", "$trusted$ || evil.spy() || $trusted$", "it's", "{foreign_objects}"])
def test_a_trusted_name_is_no_sql(admin: sa.Connection, roles: dict[str, str], by_script, name: str) -> None:
    quoted = name.replace('"', '""')
    attack(roles["attacker"], SPIES + f'CREATE SCHEMA dms; GRANT ALL ON SCHEMA dms TO PUBLIC; CREATE TABLE dms."{quoted}" ()')
    trust = ["schema dms", f'table dms."{quoted}"']
    printed = by_script(roles["superuser"], migrate.script(trust=trust))
    assert "objects of another application: " + name in printed  # what is trusted is still no part of a fresh installation
    assert runs(admin) == []


def test_a_name_does_not_reach_a_terminal_as_it_is(roles: dict[str, str], by_script) -> None:
    attack(roles["attacker"], 'CREATE SCHEMA dms; CREATE TABLE dms."a\x1b[2J\nb" ()')
    for answer in (by_command(roles["owner"], "upgrade"), by_script(roles["owner"], migrate.script())):
        assert 'table dms."a?[2J?b"' in answer
        assert "\x1b" not in answer


@pytest.mark.acceptance("105")
@pytest.mark.parametrize("engine", ["postgres", "sqlserver"])
def test_a_script_looks_at_owners_before_it_reads_anything(engine: str) -> None:
    """After the lock on migrations, which another role may hold to gain time, and after the schema is there."""
    for script in (migrate.script(engine), migrate.script(engine, "head:base", down=True)):
        order = [script.index(f"checks/{name}.sql: ") for name in ("one_at_a_time", "schema", "owned", "rights", "installable")]
        assert order == sorted(order)
        code = "\n".join(line for line in script[: order[2]].splitlines() if not line.lstrip().startswith("--"))
        assert "FROM dms." not in code


@pytest.mark.parametrize("engine", ["postgres", "sqlserver"])
def test_each_relation_that_a_migration_makes_is_known_with_its_kind(engine: str) -> None:
    text = sql.text_of(engine, "queries/schema/foreign_objects")
    made = adopt._needed(engine)["names"]
    routines = {path.name.partition(".")[0].lower() for path in (sql.shipped("sql") / engine).glob("[fp]*s/*.v1.sql")}
    relations = set(made) - {name.lower() for name in routines} - {"adopt_parent_resource", "adopt_document_values"}
    relations -= {"keep_resource_names", "signal_content"}
    relations -= {name for name in relations if name.startswith(("ix_", "pk_", "ux_"))}  # indexes are their tables'
    assert [name for name in sorted(relations) if f"('{name}'" not in text and f"(N'{name}'" not in text] == []
