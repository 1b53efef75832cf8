"""Tables of the current state whose bodies are columns or VARIANTs: what readers find is the database's JSON after any windows."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import sqlalchemy as sa
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import dmsjournal as dj
from dmsjournal.spark import body_texts
from dmsjournal.spark.apply import Applied, Format, apply
from dmsjournal.spark.body_types import ddl, parsed, plain
from dmsjournal.spark.compare import Comparison, compare
from dmsjournal.spark.delta_by_resource import DeltaByResource
from dmsjournal.spark.delta_documents import DeltaDocuments
from dmsjournal.spark.inputs import arrow_schema, grown
from dmsjournal.spark.lake import extract_to_lake
from dmsjournal.spark.stores import Store
from tests.helpers import SCHOOL, STUDENT, document, write
from tests.spark.bodies import kept, of_json
from tests.spark.changing import change, state_of_database
from tests.spark.test_lake_bodies import BODIES, leaves

pytestmark = pytest.mark.xdist_group("spark")


@dataclass(frozen=True)
class Chain:
    """A database, its table of changes, and a table of the current state, in a folder. `format`: of the last one."""

    spark: SparkSession
    url: str
    folder: Path
    format: Format
    by_resource: bool = False

    @property
    def catalog(self) -> dict[str, str]:
        where = {"uri": f"sqlite:///{self.folder}/catalog.db", "warehouse": f"file://{self.folder}/warehouse"}
        return where if self.format == "iceberg" else {}

    @property
    def names(self) -> tuple[str, str]:
        return ("edfi.changes", "edfi.documents") if self.catalog else (str(self.folder / "changes"), str(self.folder / "table"))

    def extract(self, **options: Any) -> int:
        kind = "iceberg" if self.catalog else "delta"
        return extract_to_lake(self.url, self.names[0], lambda: self.spark, format=kind, catalog=self.catalog, **options).version

    def apply(self, **options: Any) -> Applied:
        given = {"format": self.format, "by_resource": self.by_resource, "catalog": self.catalog} | options
        return apply(*self.names, lambda: self.spark, **given)

    def compare(self) -> Comparison:
        given: dict[str, Any] = {"format": self.format, "by_resource": self.by_resource, "catalog": self.catalog}
        return compare(self.url, *self.names, lambda: self.spark, **given)

    def rows(self) -> pa.Table:
        """As a reader finds them."""
        if self.catalog:
            return load_catalog("default", **self.catalog).load_table(self.names[1]).scan().to_arrow()
        if self.format == "delta":
            return pa.table(deltalake.DeltaTable(self.names[1]).to_pyarrow_table())
        files = sorted((self.folder / "table" / "current").resolve().rglob("*.parquet"))
        schemas = [ds.dataset(file, format="parquet").schema for file in files]
        schema = max(schemas, key=lambda each: len(str(each)))
        return ds.dataset(files, format="parquet", schema=schema, partitioning=None).to_table()

    def bodies(self) -> dict[int, Any]:
        """In the form of columns; a document that is there twice fails."""
        rows = self.rows().to_pylist()
        assert len({row["document_id"] for row in rows}) == len(rows)
        return {row["document_id"]: kept(row.get("body")) for row in rows}

    def commits(self) -> list[int]:
        """The versions that a table's commits came to, the earliest first."""
        if self.catalog:
            snapshots = load_catalog("default", **self.catalog).load_table(self.names[1]).snapshots()
            told = [each.summary.additional_properties for each in snapshots if each.summary is not None]
        else:
            told = deltalake.DeltaTable(self.names[1]).history()[::-1]
        return [json.loads(each["dmsjournal"])["version"] for each in told if "dmsjournal" in each]


@pytest.fixture(params=["delta", "iceberg", "parquet"])
def chain(request: pytest.FixtureRequest, spark: SparkSession, url: str, tmp_path: Path) -> Chain:
    return Chain(spark, url, tmp_path, request.param)


def bodies_of(url: str, resource: dj.ResourceKey) -> dict[int, Any]:
    return {number: of_json(row[4]) for number, row in state_of_database(url).items() if row[1] == str(resource)}


@pytest.mark.acceptance("103")
def test_columns_are_the_database_after_each_window(chain: Chain, journal: dj.Journal) -> None:
    """With fields that come, in objects and in lists of objects; what a window does not name keeps its body."""
    write(journal, *[document(STUDENT, n, body={}) for n in range(9)], document(SCHOOL, 1, body={"big": "x"}))
    ends = [chain.extract(resources=[STUDENT], body="struct")]  # no field yet, so there is no column
    chain.apply()
    assert "body" not in chain.rows().schema.names
    assert chain.bodies() == bodies_of(chain.url, STUDENT)
    assert chain.compare().differences == []
    write(
        journal,
        *[document(STUDENT, n, body=BODIES[n % 3]) for n in range(9)],
        *[document(STUDENT, n, body={}) for n in range(9, 30)],
    )
    chance = random.Random(3)
    for number in range(3):
        change(chain.url, chance, 30)
        new = {"in": {"list": [{f"new{number}": [0.1, 7]}]}, "new": {f"n{number}": number}}
        write(journal, document(STUDENT, number, body=new))  # last, so that the window has it
        ends.append(chain.extract())
        if number == 0:
            continue
        chain.apply()
        assert chain.bodies() == bodies_of(chain.url, STUDENT)
        found = chain.compare()
        assert (found.differences, found.compared.documents) == ([], len(chain.bodies()))
    change(chain.url, chance, 20)
    ends.append(chain.extract())  # no new field, or a few: both ways
    chain.apply()
    assert chain.bodies() == bodies_of(chain.url, STUDENT)
    state = state_of_database(chain.url)
    for row in chain.rows().to_pylist():
        expected = state[row["document_id"]]
        assert (row["document_uuid"], row["key_values"], row["change_version"]) == (expected[0], expected[2], expected[3])
    types = leaves("body", plain(chain.rows().schema.field("body").type))
    assert {("body.new.n2", pa.int64()), ("body.in.list[].new1[]", pa.decimal128(38, 18)), ("body.text", pa.string())} <= types
    if chain.format == "iceberg":  # new columns are in the commit of their rows
        assert chain.commits() == [ends[0], *ends[2:]]
    elif chain.format == "delta":  # they are in a commit of their own, which moves nothing
        assert list(dict.fromkeys(chain.commits())) == [ends[0], *ends[2:]]
        assert len(chain.commits()) > len(ends) - 1


@pytest.mark.parametrize("chain", ["delta", "iceberg"], indirect=True)
def test_a_body_that_differs_is_found(chain: Chain, journal: dj.Journal) -> None:
    """What columns tell from one another, and nothing else."""
    numbers = write(journal, *[document(STUDENT, n, body={"a": 1.5, "b": ["x", None], "c": {"d": "1.5"}}) for n in range(6)])
    chain.extract(resources=[STUDENT], body="struct")
    chain.apply()
    same = ({"a": 1.5, "b": ["x", {}], "c": {"d": "1.5"}}, {"c": {"d": "1.5", "e": None}, "b": ["x", None], "a": 1.50, "f": []})
    others: list[Any] = [{"a": 1.5, "b": ["x"], "c": {"d": "1.5"}}, {"b": ["x", None], "c": {"d": "1.5"}}]
    others += [{"a": 1.5, "b": ["x", None], "c": {"d": 1.5}}, {"a": 1.5, "b": ["x", None], "c": {"d": "1.5", "e": "new"}}]
    for number, body in zip(numbers, [*same, *others], strict=True):
        put_past_the_journal(chain.url, number, body)
        found = chain.compare()
        assert len(found.differences) == (body in others), body
        if body in others:
            put_past_the_journal(chain.url, number, {"a": 1.5, "b": ["x", None], "c": {"d": "1.5"}})


def put_past_the_journal(url: str, number: int, body: Any) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as conn:
        text = sa.text("UPDATE dms.DocumentCache SET DocumentJson = CAST(:body AS jsonb) WHERE DocumentId = :number")
        conn.execute(text, {"body": json.dumps(body), "number": number})


class Killed(BaseException):
    """What no handler takes for an error of the run."""


@pytest.mark.parametrize("chain", ["delta"], indirect=True)
def test_new_columns_without_their_rows_lose_nothing(chain: Chain, journal: dj.Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is killed between the two commits; and another run commits before the first, or between them."""
    write(journal, *[document(STUDENT, n, body={"a": n}) for n in range(3)])
    ends = [chain.extract(resources=[STUDENT], body="struct")]
    chain.apply()

    def kill(*_: Any) -> None:
        raise Killed

    write(journal, document(STUDENT, 0, body={"b": 1}))
    ends.append(chain.extract())
    monkeypatch.setattr(DeltaDocuments, "_merge", kill)
    with pytest.raises(Killed):
        chain.apply()
    monkeypatch.undo()
    assert plain(chain.rows().schema.field("body").type) == parsed("a bigint, b bigint")
    assert chain.bodies()[min(chain.bodies())] == {"a": Decimal(0)}
    assert chain.commits() == [ends[0], ends[0]]
    chain.apply()
    assert chain.commits() == [*[ends[0]] * 2, ends[1]]
    for name in ("_grow", "_merge"):
        write(journal, document(STUDENT, 1, body={name: 1}))
        ends.append(chain.extract())
        real = getattr(DeltaDocuments, name)

        def after_another(*arguments: Any, real: Callable[..., Any] = real) -> Any:
            monkeypatch.undo()
            chain.apply()
            return real(*arguments)

        monkeypatch.setattr(DeltaDocuments, name, after_another)
        with pytest.raises(dj.Unavailable, match=r"another run has committed to .* meanwhile"):
            chain.apply()
        assert chain.commits()[-1] == ends[-1]
        assert chain.bodies() == bodies_of(chain.url, STUDENT)
        assert chain.apply().runs == []


def exact(text: str | None) -> Any:
    return None if text is None else json.loads(text, parse_float=Decimal, parse_int=Decimal)


def variants_of(chain: Chain) -> dict[int, Any]:
    """As Spark reads them."""
    by_resource = DeltaByResource(Store(chain.names[1]))
    tables = [str(by_resource.table(name).store) for name in by_resource.resources()] if chain.by_resource else [chain.names[1]]
    files = [file for table in tables for file in deltalake.DeltaTable(table).file_uris()]
    rows = chain.spark.read.schema("document_id bigint, body variant").parquet(*[file.replace("%25", "%") for file in files])
    found = rows.select("document_id", F.to_json("body").alias("text")).collect()
    assert len({row.document_id for row in found}) == len(found)
    return {row.document_id: exact(row.text) for row in found}


@pytest.mark.parametrize("by_resource", [False, True])
@pytest.mark.parametrize("chain", ["delta"], indirect=True)
def test_variants_are_the_database_after_each_window(chain: Chain, journal: dj.Journal, by_resource: bool) -> None:
    chain = replace(chain, by_resource=by_resource)
    write(journal, *[document(STUDENT, n, body=BODIES[n % 3]) for n in range(20)], document(SCHOOL, 1, body={"big": "x"}))
    chance = random.Random(4)
    for number in range(2):
        write(journal, document(STUDENT, number, body={"a": 10**37, "b": [1e-3, 0.1, None], "c": [[], {}, "x", {"d": number}]}))
        change(chain.url, chance, 30)
        chain.extract(**({} if number else {"body": "variant"}))
        chain.apply()
        assert variants_of(chain) == {number: exact(row[4]) for number, row in state_of_database(chain.url).items()}
        assert chain.compare().differences == []
    last = max(number for number, row in state_of_database(chain.url).items() if row[4])
    put_past_the_journal(chain.url, last, {"c": [[], None]})
    assert len(chain.compare().differences) == 1


@pytest.mark.parametrize("chain", ["delta"], indirect=True)
def test_a_table_of_another_form_is_begun_anew(chain: Chain, journal: dj.Journal, spark: SparkSession, tmp_path: Path) -> None:
    write(journal, *[document(STUDENT, n, body={"a": n}) for n in range(3)])
    chain.extract(resources=[STUDENT], body="struct")
    chain.apply()
    for form in ("json", "variant", "struct"):
        changes = tmp_path / form
        extract_to_lake(chain.url, changes, lambda: spark, body=form, resources=[STUDENT])
        if form == "variant":
            with pytest.raises(dj.InvalidRequest, match="without the feature variantType"):
                apply(changes, chain.names[1], lambda: spark, format="delta", replace=True)
            continue
        apply(changes, chain.names[1], lambda: spark, format="delta", replace=True)
        assert compare(chain.url, changes, chain.names[1], lambda: spark, format="delta").differences == []
    assert chain.bodies() == bodies_of(chain.url, STUDENT)
    with pytest.raises(dj.InvalidRequest, match="its bodies are struct, so it is of one resource"):
        chain.apply(by_resource=True)
    with pytest.raises(dj.InvalidRequest, match="its bodies are variant, which a Parquet table does not hold"):
        apply(tmp_path / "variant", tmp_path / "parquet", lambda: spark)


@pytest.mark.parametrize(
    ("one", "two", "equal"),
    [
        ('{"a":1.50,"b":[1,null]}', '{"b":[1,null],"a":1.5}', True),
        ('{"a":100}', '{"a":1e2}', True),
        ('{"a":0}', '{"a":-0.0}', True),
        ('{"a":1}', '{"a":10}', False),
        ('{"a":1}', '{"a":"1"}', False),
        ('{"a":1}', '{"a":true}', False),
        ('{"a":null}', "{}", False),
        ('{"a":"\\u00e9"}', '{"a":"é"}', True),
        ('{"a":"\\",\\"b"}', '{"a":"","b":""}', False),
        ("9007199254740993", "9007199254740992", False),
    ],
)
def test_equal_bodies_have_one_text(one: str, two: str, equal: bool) -> None:
    texts = [body_texts.text_of(exact(text)) for text in (one, two)]
    assert (texts[0] == texts[1]) is equal


def test_fields_are_added_and_none_is_lost() -> None:
    """Whatever is in their names: they are kept as text, which Spark reads as well."""
    strange = pa.struct([("a:b", pa.int64()), ("struct", pa.list_(pa.field("element", pa.struct([("<x>", pa.string())]))))])
    text = ddl(strange, quoted=True)
    assert parsed(text) == strange
    had, more = {"body": "struct<`a`: bigint>", "resource": "string"}, {"body": text, "resource": "string"}
    assert arrow_schema(grown(had, more)).field("body").type == pa.struct([("a", pa.int64()), *strange])
    assert grown(had, had) == grown(had, {"resource": "string"}) == grown({"resource": "string"}, had) == had
