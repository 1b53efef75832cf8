"""Tables in an HDFS: one window one commit, which apply folds into tables beside it."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.spark import lake_files
from dmsjournal.spark.delta_changes import DeltaChanges
from dmsjournal.spark.iceberg_changes import table_of as iceberg_table
from dmsjournal.spark.iceberg_log import HDFS
from dmsjournal.spark.lake import schema_of
from dmsjournal.spark.lake_tables import LakeSettings, change_table
from dmsjournal.spark.stores import store_of
from tests.helpers import newest
from tests.spark.changing import change, rows_of_database, state_of_database
from tests.spark.hdfs import Hdfs
from tests.spark.rest_catalog import rest_catalog
from tests.spark.test_iceberg import NAME, Lake, each_window_once, extracting
from tests.spark.test_iceberg_apply import Chain as IcebergChain
from tests.spark.test_lake import rows_of, windows_of
from tests.spark.test_lake_apply import Chain

pytestmark = pytest.mark.xdist_group("spark")


@pytest.mark.long
@pytest.mark.acceptance("100")
def test_changes_and_the_current_state(
    spark: SparkSession, history: str, journal: dj.Journal, hdfs: Hdfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the commands. Of a run that another one overtakes, or that was killed, nothing shows."""
    target, tables = hdfs.url(f"{tmp_path.name}/changes"), [hdfs.url(f"{tmp_path.name}/{name}") for name in ("one", "each")]
    run = lambda *words: CliRunner(env={"DMSJOURNAL_URL": history}).invoke(cli.app, words)  # noqa: E731
    extract = lambda: run("extract", target, "--format", "delta", "--json")  # noqa: E731
    made = extract()
    assert made.exit_code == 0, made.stderr
    at = newest(journal)
    assert (json.loads(made.stdout)["version"], json.loads(made.stdout)["commit"]) == (at, 0)
    assert extract().exit_code == 99
    left = f"{tmp_path.name}/changes/_delta_log/.{1:020}.json.tmp.1"  # as a client leaves it that dies before it renames it
    hdfs.put(left, b'{"commitInfo":')
    change(history, random.Random(8), 40)
    commit, codes = DeltaChanges.commit, list[int]()

    def after_another(*arguments: Any) -> Any:
        monkeypatch.undo()
        codes.append(extract().exit_code)
        return commit(*arguments)

    monkeypatch.setattr(DeltaChanges, "commit", after_another)
    refused = extract()
    assert (codes, refused.exit_code) == ([0], 75)
    assert f"another run has committed to {target} meanwhile: nothing of this one is in it" in refused.stderr
    last = newest(journal)
    assert windows_of((target, {})) == [(0, at), (at + 1, last)]
    assert rows_of((target, {}), at + 1, last) == rows_of_database(history, at + 1, last)
    for table, words in zip(tables, ([], ["--by-resource"]), strict=True):
        through = run("apply", target, table, "--format", "delta", "--through", str(at), *words)
        assert through.exit_code == 0, through.stderr
        assert run("apply", target, table, "--format", "delta", "--verify", *words).exit_code == 0
        assert Chain(spark, history, target, table, {}, bool(words)).state() == state_of_database(history)
    assert [name for name in hdfs.names(tmp_path.name) if Path(name).name.startswith(".")] == [f"/{left}"]


@pytest.mark.acceptance("100")
def test_a_window_is_a_snapshot_of_iceberg(
    spark: SparkSession, history: str, journal: dj.Journal, hdfs: Hdfs, tmp_path: Path
) -> None:
    """Which apply folds. A reader names the way to the files; the commands find it by the warehouse."""
    catalog = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": hdfs.url(tmp_path.name)}
    extract = extracting(spark, history, Lake(catalog, {}))
    each_window_once(extract, history, journal, Lake(catalog | {"py-io-impl": HDFS}, {}))
    assert any(name.endswith(".parquet") for name in hdfs.names(f"{tmp_path.name}/edfi/changes/data"))
    chain = IcebergChain(spark, history, catalog, {})
    for seed in range(2):
        chain.apply()
        assert replace(chain, properties=catalog | {"py-io-impl": HDFS}).state() == state_of_database(history)
        change(history, random.Random(seed), 20)
        extract()


@pytest.mark.acceptance("100")
def test_a_catalog_by_rest_names_its_files_alone(
    spark: SparkSession, history: str, journal: dj.Journal, hdfs: Hdfs, postgres_server: Any, tmp_path: Path
) -> None:
    """It knows its warehouse, and its user does not: so a property leads to the files."""
    with (
        postgres_server.fresh_database() as database,
        rest_catalog(database, hdfs.url(tmp_path.name)) as address,
    ):
        where = Lake({"uri": address, "py-io-impl": HDFS}, {})
        each_window_once(extracting(spark, history, where), history, journal, where)
    assert any(name.endswith(".parquet") for name in hdfs.names(f"{tmp_path.name}/edfi/changes/data"))


def test_settings_of_hadoop_lead_to_the_name_node(hdfs: Hdfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By --conf, by Hadoop's own files or by the catalog. Of two name nodes of a name service the first is away."""
    settings = {
        "dfs.ha.namenodes.lake": "away,here",
        "dfs.namenode.rpc-address.lake.away": "127.0.0.1:1",
        "dfs.namenode.rpc-address.lake.here": hdfs.address,
    }
    conf = {f"spark.hadoop.{name}": value for name, value in settings.items()}
    written = lake_files.write_rows(pa.table({"a": [1]}), store_of("output", f"hdfs://lake/{tmp_path.name}", conf))
    assert hdfs.names(tmp_path.name) == [f"/{tmp_path.name}/{written.path}"]
    properties = "".join(f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items())
    (tmp_path / "hdfs-site.xml").write_text(f"<configuration>{properties}</configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert store_of("output", f"hdfs://lake/{tmp_path.name}").files().get_file_info(written.path).size == written.size
    catalog = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"hdfs://lake/{tmp_path.name}/iceberg"}
    for table in (iceberg_table(NAME, conf, catalog), iceberg_table(NAME, {}, catalog | settings)):
        assert table.state() is None
        common = LakeSettings(None, body="json", etag=False, partition=False)
        assert table.place(schema_of(common), common).store.options == settings


def test_what_hdfs_refuses_is_told_in_one_line(hdfs: Hdfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hdfs.make(tmp_path.name, "700")
    monkeypatch.setenv("HADOOP_USER_NAME", "mallory")
    away = "IO error occurred while communicating with HDFS Connection refused (os error 111)"
    denied = f'Permission denied user=mallory, access=EXECUTE, inode="/{tmp_path.name}"'
    for target, error, words in (
        (hdfs.url(f"{tmp_path.name}/changes"), dj.StoreRefused, denied),
        ("hdfs://127.0.0.1:1/changes", dj.Unavailable, away),
        ("hdfs://none.invalid/changes", dj.Unavailable, "No NameNode hosts found"),
    ):
        table = change_table("delta", target, {}, None)
        with pytest.raises(error) as refused:
            table.state()
        assert words in str(refused.value)
        assert str(refused.value).startswith(f"{target} could not be reached or written: ")
        assert not {"\x1b", "\t", "\n"} & {*str(refused.value)}
    with pytest.raises(dj.InvalidRequest, match="name the name node: hdfs://host:8020/folder"):
        change_table("delta", "hdfs:///changes", {}, None)
