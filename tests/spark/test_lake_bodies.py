"""Bodies as columns and as VARIANT: what a reader of the table finds is the database's JSON, exactly, or is refused by name."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from typer.testing import CliRunner, Result

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.spark.apply import apply
from dmsjournal.spark.body_columns import prepared
from dmsjournal.spark.body_types import parsed, plain
from dmsjournal.spark.delta_changes import DeltaChanges
from dmsjournal.spark.extract import extract
from dmsjournal.spark.iceberg_changes import IcebergChanges
from dmsjournal.spark.lake import Committed, extract_to_lake, preview_of_lake
from tests.helpers import SCHOOL, STUDENT, document, newest, write
from tests.spark.bodies import kept, of_json
from tests.spark.changing import change, state_of_database

pytestmark = pytest.mark.xdist_group("spark")

BODIES = [
    {"resource": "x", "document_id": 7, "big": 2**53 + 1, "in": {"list": [{"n": -(2**63)}, None, {}]}},
    {"big": 2**63 - 1, "text": "naïve — 学校 '\"\\", "flag": True, "empty": {}, "none": None},
    {},
]


@dataclass(frozen=True)
class Table:
    """A table in a folder, or in a catalog there, and how readers find it."""

    format: str
    folder: Path

    @property
    def catalog(self) -> dict[str, str]:
        where = {"uri": f"sqlite:///{self.folder}/catalog.db", "warehouse": f"file://{self.folder}/warehouse"}
        return where if self.format == "iceberg" else {}

    @property
    def name(self) -> str:
        return "edfi.students" if self.catalog else str(self.folder / "students")

    def rows(self) -> pa.Table:
        if self.catalog:
            return load_catalog("default", **self.catalog).load_table(self.name).scan().to_arrow()
        return pa.table(deltalake.DeltaTable(self.name).to_pyarrow_table())

    def body(self) -> pa.DataType:
        return plain(self.rows().schema.field("body").type)

    def commits(self) -> int:
        if self.catalog:
            return len(load_catalog("default", **self.catalog).load_table(self.name).snapshots())
        return deltalake.DeltaTable(self.name).version() + 1

    def files(self) -> list[str]:
        return sorted(str(path) for path in self.folder.rglob("*.parquet"))


@pytest.fixture(params=["delta", "iceberg"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    return Table(request.param, tmp_path)


Extract = Callable[..., Committed]


@pytest.fixture
def run(spark: SparkSession, url: str, table: Table) -> Extract:
    def call(**options: Any) -> Committed:
        return extract_to_lake(url, table.name, lambda: spark, format=table.format, catalog=table.catalog, **options)

    return call


@pytest.fixture
def students(journal: dj.Journal) -> None:
    write(journal, *[document(STUDENT, n, body=BODIES[n % 3]) for n in range(9)], document(SCHOOL, 1, body={"big": "x"}))


def leaves(path: str, kind: pa.DataType) -> set[tuple[str, pa.DataType]]:
    """The columns in a column, with their types."""
    if pa.types.is_struct(kind):
        return {leaf for field in kind for leaf in leaves(f"{path}.{field.name}", field.type)}
    return leaves(f"{path}[]", kind.value_type) if pa.types.is_list(kind) else {(path, kind)}


def bodies_of(url: str, resource: dj.ResourceKey, first: int) -> dict[int, Any]:
    """The bodies of what changed from a version on, in the form of columns."""
    state = state_of_database(url)
    return {number: of_json(row[4]) for number, row in state.items() if row[1] == str(resource) and row[3] >= first}


@pytest.mark.acceptance("103")
@pytest.mark.usefixtures("students")
def test_columns_are_the_json(run: Extract, url: str, journal: dj.Journal, table: Table) -> None:
    """Each window's, with fields that come and values of all kinds; deletes and key changes have none."""
    run(resources=[STUDENT], body="struct")
    first = table.body()
    assert first == parsed(
        "big bigint, document_id bigint, flag boolean, in struct<list: array<struct<n: bigint>>>, resource string, text string"
    )
    reached = 0
    for number in range(3):
        if number:
            change(url, random.Random(number), 40)
            write(journal, document(STUDENT, number, body={"in": {"list": [{f"new{number}": [0.1, 7]}]}, "new": {"a": number}}))
            run()
        expected, rows = bodies_of(url, STUDENT, reached), table.rows().to_pylist()
        new = [row for row in rows if row["_commit_version"] >= reached]
        upserts = {row["document_id"]: kept(row["body"]) for row in new if row["_change_type"] in ("insert", "update_postimage")}
        assert upserts == expected
        assert len(expected) > 3
        assert all(row["body"] is None for row in rows if row["_change_type"] in ("delete", "update_preimage"))
        assert leaves("body", first) <= leaves("body", table.body())  # the same columns with the same types
        assert table.commits() == number + 1  # new columns are in the commit of their rows
        reached = newest(journal) + 1
    assert [field.name for field in table.body()][: len(first)] == [field.name for field in first]
    assert {("body.new.a", pa.int64()), ("body.in.list[].new1[]", pa.decimal128(38, 18))} <= leaves("body", table.body())
    assert {row["_change_type"] for row in table.rows().to_pylist()} >= {"insert", "update_postimage", "delete"}


@pytest.mark.acceptance("103")
def test_of_two_runs_with_new_fields_one_commits(
    run: Extract, journal: dj.Journal, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have made their columns before either commits: the second would put back the columns as it knew them.

    They are the first ones: nothing before has told a type.
    """
    write(journal, document(STUDENT, 0, body={}), document(STUDENT, 1, body={"a": [], "b": {"c": None}}))
    run(resources=[STUDENT], body="struct")
    assert "body" not in table.rows().schema.names
    owner: Any = IcebergChanges if table.catalog else DeltaChanges
    commit = owner.commit

    def after_another(*arguments: Any) -> Any:
        monkeypatch.undo()
        write(journal, document(STUDENT, 1, body={"later": [{"c": 1.5}]}))
        run()
        return commit(*arguments)

    write(journal, document(STUDENT, 0, body={"sooner": 1}))
    monkeypatch.setattr(owner, "commit", after_another)
    with pytest.raises(dj.Unavailable, match=r"another run has committed to .* meanwhile: nothing of this one is in it"):
        run()
    assert table.body() == parsed("later array<struct<c: decimal(38,18)>>, sooner bigint")
    bodies = [kept(row["body"]) for row in table.rows().to_pylist()]
    assert len(bodies) == 4
    assert all(body in bodies for body in (None, of_json('{"sooner":1}'), of_json('{"later":[{"c":1.5}]}')))
    assert table.commits() == 2


@pytest.mark.acceptance("103")
@pytest.mark.usefixtures("students")
@pytest.mark.parametrize("table", ["delta"], indirect=True)
def test_a_type_that_has_changed_is_told_before_anything_is_written(
    run: Extract, url: str, journal: dj.Journal, table: Table
) -> None:
    run(resources=[STUDENT], body="struct")
    files, commits = table.files(), table.commits()
    [number] = write(journal, document(STUDENT, 0, body={"in": {"list": [{"n": 1}, {"n": "one"}]}}))
    write(journal, document(STUDENT, 1, body={"new": 1}))
    words = [word for name, value in table.catalog.items() for word in ("--catalog", f"{name}={value}")]
    told = command(url, table.name, "--format", table.format, *words)
    uuid = state_of_database(url)[number][0]
    assert told.stderr.strip().splitlines()[-1] == (
        f"body.in.list[].n of document {number} ({uuid}) of {STUDENT} is a string, and the column is bigint; nothing was written: "
        "change the document, or begin a new table with other types (--body-schema) or with --body json"
    )
    assert told.exit_code == 5
    assert (table.files(), table.commits()) == (files, commits)
    write(journal, document(STUDENT, 0, body={}))
    assert command(url, table.name, "--format", table.format, *words).exit_code == 0
    assert table.commits() == commits + 1


def command(url: str, *arguments: str) -> Result:
    return CliRunner(env={"DMSJOURNAL_URL": url}).invoke(cli.app, ["extract", *arguments])


@pytest.mark.usefixtures("students")
@pytest.mark.parametrize("table", ["iceberg"], indirect=True)
def test_types_are_given_in_a_file(run: Extract, journal: dj.Journal, table: Table, tmp_path: Path) -> None:
    """Those that it does not name are found; a later file adds more, and changes none."""
    given = tmp_path / "student.ddl"
    given.write_text("big decimal(20,0), gpa decimal(5,2)", encoding="utf-8")
    run(resources=[STUDENT], body="struct", body_schema=given)
    assert list(table.body())[:2] == list(parsed("big decimal(20,0), gpa decimal(5,2)"))
    assert table.body().get_field_index("text") > 1
    write(journal, document(STUDENT, 0, body={"gpa": 4}))
    run()
    assert [str(row["body"]["gpa"]) for row in table.rows().to_pylist() if row["body"] and row["body"]["gpa"]] == ["4.00"]
    given.write_text("gpa string", encoding="utf-8")
    with pytest.raises(dj.InvalidRequest, match=r"the table was begun with body.gpa as decimal\(5,2\)"):
        run(body_schema=given)
    given.write_text("more struct<of: string>", encoding="utf-8")
    write(journal, document(STUDENT, 1, body={"more": None}))
    run(body_schema=given)
    assert table.body().field(len(table.body()) - 1) == pa.field("more", parsed("of string"))


def test_what_a_table_is_begun_with_stays(spark: SparkSession, url: str, journal: dj.Journal, tmp_path: Path) -> None:
    write(journal, document(STUDENT, 0, body={"a": 1}))
    given = tmp_path / "student.ddl"
    given.write_text("a bigint", encoding="utf-8")

    def begin(name: str, **options: Any) -> Committed:
        return extract_to_lake(url, tmp_path / name, lambda: spark, **options)

    for options, words in (
        ({"body": "xml"}, "body = 'xml': it is json, struct or variant"),
        ({"body": "struct"}, "resources = 'all': a table with `body` struct is of one resource"),
        ({"body": "struct", "resources": [STUDENT, SCHOOL]}, "is of one resource, whose fields are its columns"),
        ({"body": "struct", "resources": [STUDENT], "partition": False}, "partition = False: a table with `body` struct"),
        ({"body_schema": given}, "types are of a table with `body` struct, and this one has json"),
        ({"body": False, "body_schema": given}, "and this one has none"),
    ):
        with pytest.raises(dj.InvalidRequest) as refused:
            begin("refused", **options)
        assert words in str(refused.value)
        if "partition" not in options:
            with pytest.raises(dj.InvalidRequest) as refused:
                preview_of_lake(url, tmp_path / "refused", **options)
            assert words in str(refused.value)
    catalog = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}"}
    with pytest.raises(dj.UnsupportedCapability, match="a VARIANT in an Iceberg table, whose type pyiceberg does not have"):
        extract_to_lake(url, "edfi.changes", lambda: spark, format="iceberg", catalog=catalog, body="variant")
    with pytest.raises(dj.UnsupportedCapability, match="bodies as columns in a folder of runs"):
        extract(url, tmp_path / "refused", lambda: spark, body="struct")
    assert not (tmp_path / "refused").exists()
    begin("json")
    begin("struct", body="struct", resources=[STUDENT])
    for name, body in (("json", "struct"), ("json", False), ("struct", True), ("struct", "variant")):
        with pytest.raises(dj.InvalidRequest, match=f"was begun with bodies as {name}: leave it out, or name a new table"):
            begin(name, body=body)
    assert begin("json", body=True).is_new is begin("struct", body="struct").is_new is False
    for arguments, says in (
        (["json", "--format", "delta", "--no-body"], "--no-body: "),
        (["runs", "--body-schema", str(given)], "a folder of runs has no columns of bodies: add --format delta"),
        (["new", "--format", "delta", "--body", "struct"], "--resource = 'all': a table with --body struct is of one resource"),
    ):
        told = command(url, str(tmp_path / arguments[0]), *arguments[1:])
        assert (told.exit_code, says in told.stderr) == (1, True), told.stderr
    assert command(url, "x", "--body", "json", "--no-body").exit_code == 2


def newest_of(spark: SparkSession, folder: Path) -> dict[int, Any]:
    """The last VARIANT of each document, as Spark reads it."""
    columns = "document_id bigint, _commit_version bigint, _change_type string, body variant"
    rows = spark.read.schema(columns).parquet(*map(str, folder.rglob("*.parquet"))).withColumn("text", F.to_json("body"))
    kinds = ("insert", "update_postimage", "upsert")
    found = rows.orderBy("_commit_version").drop("body").collect()
    assert all(row.text is None for row in found if row._change_type not in kinds)
    return {row.document_id: exact(row.text) for row in found if row._change_type in kinds}


def exact(text: str | None) -> Any:
    return None if text is None else json.loads(text, parse_float=Decimal, parse_int=Decimal)


@pytest.mark.parametrize("format", ["delta", "parquet"])
def test_a_variant_is_the_json(
    spark: SparkSession,
    url: str,
    journal: dj.Journal,
    tmp_path: Path,
    students: None,
    format: str,
) -> None:
    write(journal, document(STUDENT, 100, body={"a": 10**37, "b": [1e-3, 0.1, None], "c": [[], {}, "x"]}))

    def run(**options: Any) -> Any:
        if format == "delta":
            return extract_to_lake(url, tmp_path / "out", lambda: spark, **options)
        return extract(url, tmp_path / "out", lambda: spark, **options)

    run(body="variant")
    change(url, random.Random(1), 30)
    write(journal, document(SCHOOL, 1, body={"big": 2**53 + 1}))
    run(body="variant")
    state = state_of_database(url)
    found = newest_of(spark, tmp_path / "out")
    assert {number: found[number] for number in state} == {number: exact(row[4]) for number, row in state.items()}
    with pytest.raises(dj.InvalidRequest, match="was begun with bodies as variant"):
        run(body="json")
    with pytest.raises(dj.InvalidRequest, match="its bodies are variant, which"):
        apply(tmp_path / "out", tmp_path / "table", lambda: spark)
    before = sorted((tmp_path / "out").rglob("*"))
    write(journal, document(STUDENT, 101, body={"a": [{"b": 10**38}]}))
    with pytest.raises(dj.BodyDoesNotFit, match=r"body\.a\[\]\.b of document .* a VARIANT would round it"):
        run()
    assert sorted((tmp_path / "out").rglob("*")) == before
    if format == "delta":
        table = deltalake.DeltaTable(tmp_path / "out")
        assert "variantType" in (table.protocol().reader_features or [])
        assert json.loads(table.schema().to_json())["fields"][-1]["type"] == "variant"


def test_text_that_is_no_json_is_told_by_its_document(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    """Which PostgreSQL keeps none of, and SQL Server may."""

    def look(form: str, *texts: str) -> dj.BodyDoesNotFit:
        rows = [(str(STUDENT), number, f"uuid {number}", text) for number, text in enumerate(["{}", *texts], 6)]
        frame = spark.createDataFrame(rows, "resource string, document_id bigint, document_uuid string, body string")
        with pytest.raises(dj.BodyDoesNotFit) as refused, prepared(frame, form):
            pass
        return refused.value

    for form, text, found in (
        ("struct", '{"secret"', "no JSON that can be read"),
        ("variant", '{"secret":1,"secret":2}', "an object with a name twice, too large or nested too deep"),
        ("variant", '{"secret":1e3}', "a number with an exponent, or of more than 38 digits"),
    ):
        error = look(form, text)
        assert (error.document_id, error.found, "secret" in f"{error.reason}") == (7, found, False)
    assert "secret" not in "".join(capfd.readouterr())  # of a person, perhaps
