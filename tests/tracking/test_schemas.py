"""Three schemas of the shape of well-known samples, each tracked whole by one command (acceptance 65 to 71, 90).

The model takes tables, keys and foreign keys from the catalog. It knows rows alone: a document has changed if its row has, or if a
row that it refers to has another key, or another value in a column that it shows.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal.cli import app
from tests.helpers import in_psycopg

from .helpers import Sql

Row = dict[str, Any]
Ref = tuple[str, str]  # a table, and the key of a row in it


@dataclass
class Model:
    """A schema's tables as the catalog has them, and the columns that rows show."""

    conn: psycopg.Connection[Any]
    schema: str
    shows: dict[str, list[str]]
    keys: dict[str, list[str]] = field(default_factory=dict)
    references: list[tuple[str, list[str], str, list[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        columns = """ARRAY(SELECT a.attname::text FROM unnest({0}) WITH ORDINALITY AS k (n, place)
                           JOIN pg_attribute AS a ON a.attrelid = {1} AND a.attnum = n ORDER BY place)"""
        statement = f"""SELECT c.relname, con.contype::text, {columns.format("con.conkey", "con.conrelid")}, f.relname,
            {columns.format("con.confkey", "con.confrelid")}
            FROM pg_constraint AS con JOIN pg_class AS c ON c.oid = con.conrelid LEFT JOIN pg_class AS f ON f.oid = con.confrelid
            WHERE c.relnamespace = %s::regnamespace AND con.contype IN ('p', 'f') AND NOT c.relispartition"""
        for table, kind, own, target, theirs in self.conn.execute(statement, [self.schema]):
            if kind == "p":
                self.keys[table] = own
            else:
                self.references.append((table, own, target, theirs))

    def rows(self) -> dict[Ref, Row]:
        one = ' UNION ALL SELECT {0!r}, to_jsonb(t) FROM {1}."{0}" AS t'
        all_rows = "SELECT NULL, NULL" + "".join(one.format(table, self.schema) for table in self.keys)
        return {(table, self._key(table, body)): body for table, body in self.conn.execute(all_rows) if table is not None}

    def _key(self, table: str, row: Row) -> str:
        values = [row[column] for column in self.keys[table]]
        return repr([v.rstrip() if isinstance(v, str) else v for v in values])  # to_jsonb keeps the blanks of a char(n)

    def shown(self, rows: dict[Ref, Row]) -> dict[Ref, tuple[str, dict[Ref, Any]]]:
        """By row: the row itself, and what each row that it refers to shows of itself."""
        referred = {
            table: {c for _, _, target, theirs in self.references if target == table for c in theirs} for table in self.keys
        }
        found: dict[Ref, tuple[str, dict[Ref, Any]]] = {ref: (repr(row), {}) for ref, row in rows.items()}
        for table, own, target, theirs in self.references:
            by_value = {tuple(row[c] for c in theirs): (ref, row) for ref, row in rows.items() if ref[0] == target}
            for ref, row in rows.items():
                child = by_value.get(tuple(row[c] for c in own)) if ref[0] == table else None
                if child is not None:
                    shown = {*self.keys[target], *referred[target], *self.shows.get(target, ())}
                    found[ref][1][child[0]] = sorted((c, child[1][c]) for c in shown)
        return found

    def documents(self) -> tuple[dict[Ref, int], set[tuple[int, int]]]:
        """Documents by the key of their rows, and the edges. Two documents of one row fail."""
        rows = self.conn.execute(
            """SELECT r.ResourceName, d.KeyValues, d.DocumentId
               FROM dms.Document AS d JOIN dms.ResourceKey AS r USING (ResourceKeyId) WHERE r.ProjectName = %s""",
            [self.schema],
        ).fetchall()
        found = {(table, self._key(table, values)): document_id for table, values, document_id in rows}
        assert len(found) == len(rows)
        edges = self.conn.execute("SELECT ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge").fetchall()
        return found, {(parent, child) for parent, child in edges if {parent, child} <= set(found.values())}


SHOWS = {
    "store": {"customer": ["company"], "product": ["name"]},
    "rental": {"film": ["title"], "language": ["name"], "customer": ["email"]},
    "hr": {"employee": ["last_name"], "job": ["job_title"]},
}
CHANGES = {
    "store": [
        "UPDATE store.customer SET company = 'renamed' WHERE code = 'C1'",
        "UPDATE store.customer SET code = 'C9', city = 'Bergen' WHERE code = 'C2'",
        "UPDATE store.category SET id = id + 10",
        "UPDATE store.supplier SET fax = '1'",
        "DELETE FROM store.supplier WHERE id = 1",
        "DELETE FROM store.employee WHERE id IN (1, 2)",
        "DELETE FROM store.\"Order\" WHERE customer = 'C9'",
        'UPDATE store."Order Details" SET quantity = 4 WHERE product_id = 1',
        "UPDATE store.territory SET code = lower(code)",
        'INSERT INTO store."Order Details" VALUES (2, 3, 1, 1) ON CONFLICT (order_id, product_id) DO UPDATE SET quantity = 9',
    ],
    "rental": [
        "UPDATE rental.language SET name = 'Italiano' WHERE language_id = 2",
        "UPDATE rental.film SET film_id = film_id + 100 WHERE film_id = 1",
        "UPDATE rental.film SET special_features = special_features || ARRAY['Commentary'] WHERE film_id < 4",
        "UPDATE rental.staff SET picture = '\\x01'",
        "DELETE FROM rental.staff WHERE staff_id = 3; UPDATE rental.store SET manager = NULL WHERE store_id = 2",
        "DELETE FROM rental.film WHERE film_id = 2",
        "UPDATE rental.payment SET paid_on = paid_on + 8 WHERE payment_id = 5",
        "UPDATE rental.payment_2026_01 SET amount = 3",
        "UPDATE rental.customer SET email = 'new' WHERE customer_id = 1",
        "MERGE INTO rental.actor AS a USING (VALUES (1, 'x'), (9, 'y')) AS w (id, name) ON a.actor_id = w.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (w.id, w.name)",
    ],
    "hr": [
        "UPDATE hr.employee SET last_name = 'renamed' WHERE employee_id = 3",
        "UPDATE hr.job SET job_id = 'DEV', job_title = 'Developer' WHERE job_id = 'IT_PROG'",
        "UPDATE hr.country SET country_id = 'GB' WHERE country_id = 'UK'",
        "DELETE FROM hr.region WHERE region_id = 2",
        "UPDATE hr.department SET manager_id = 20 WHERE department_id = 1; "
        "INSERT INTO hr.employee VALUES (20, 'late', 'l', '2026-01-01', 'DEV', 1, 3, 1)",
        "UPDATE hr.employee SET salary = salary",
        "UPDATE hr.job_history SET since = since + 1 WHERE employee_id < 3",
        "DELETE FROM hr.employee WHERE employee_id = 6",
        "UPDATE hr.employee SET manager_id = 1 WHERE employee_id > 4",
    ],
}


@pytest.mark.acceptance("65", "66", "67", "68", "69", "70", "71", "90")
@pytest.mark.parametrize("schema", SHOWS)
def test_a_sample_schema_is_tracked_whole_by_one_command(tracked: str, sql: Sql, schema: str) -> None:
    sql((Path(__file__).parent / "schemas" / f"{schema}.sql").read_text(encoding="utf-8"))
    shows = [word for table, names in SHOWS[schema].items() for word in ("--shows", f"{schema}.{table}={','.join(names)}")]
    done = CliRunner().invoke(app, ["track", "--schema", schema, *shows, "--url", tracked])
    assert done.exit_code == 0, done.output
    with dj.connect(tracked) as journal, psycopg.connect(in_psycopg(tracked), autocommit=True) as conn:
        model = Model(conn, schema, SHOWS[schema])
        resources = [one.resource for one in journal.tracked()]
        assert {resource.resource_name for resource in resources} == set(model.keys)
        assert len(resources) >= 7
        for statement in ["SELECT 1", *CHANGES[schema]]:
            before, (documents, _), newest = model.shown(model.rows()), model.documents(), journal.versions().newest
            with conn.transaction():
                conn.execute(statement)
            after, (documents_now, edges) = model.shown(model.rows()), model.documents()
            assert documents_now.keys() ^ after.keys() == set(), statement
            assert edges == {
                (documents_now[ref], documents_now[child]) for ref, (_, children) in after.items() for child in children
            }
            known = {documents[ref]: value for ref, value in before.items()}
            window = dj.Window(newest + 1)
            changed = {change.document_id for resource in resources for change in journal.changes(resource, window)}
            gone = {delete.document_id for resource in resources for delete in journal.deletes(resource, window)}
            assert changed == {documents_now[ref] for ref, value in after.items() if known.get(documents_now[ref]) != value}, (
                statement
            )
            assert gone == known.keys() - set(documents_now.values()), statement
        assert journal.verify().is_clean
