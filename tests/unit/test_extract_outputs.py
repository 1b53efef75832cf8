"""The folders of an extract: locks, what is whole, and which run comes next. No Spark and no database."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import dmsjournal as dj
from dmsjournal.spark import manifests
from dmsjournal.spark.folders import folder_of
from dmsjournal.spark.inputs import runs_after
from dmsjournal.spark.manifests import Counts, ExtractCheckpoint, File, Manifest, OutputSettings
from dmsjournal.spark.runs import Output, Run
from dmsjournal.util.files import locked, write_whole

CHAIN = "c" * 32
SETTINGS = OutputSettings(CHAIN, None, True, False)
HOLDER = """
import sys, time
from pathlib import Path
from dmsjournal.util.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def output(tmp_path: Path) -> Output:
    kept = Output(tmp_path / "out")
    kept.folder.mkdir()
    kept.begin(SETTINGS)
    return kept


def finish(output: Output, first: int, last: int, kind: str = "window", content: bytes = b"rows") -> Run:
    making = output.folder / ".making-test"
    (making / "resource=R").mkdir(parents=True)
    (making / "resource=R" / "part-0.parquet").write_bytes(content)
    now = datetime.now(UTC)
    file = File("resource=R/part-0.parquet", 1, len(content))
    told = Manifest(
        "test",
        CHAIN,
        kind,
        first,
        last,
        last,
        {"R": Counts(1)},
        {},
        dj.Fingerprint(last),
        [file],
        now,
        now,  # type: ignore[arg-type]
    )
    output.finish(making, told)
    return output.run_of(told)


def test_a_lock_refuses_a_second_run_and_ends_with_a_killed_process(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(dj.Unavailable, match=rf"another run \(process {holder.pid} on "), locked(tmp_path / "out"):
        pass
    holder.kill()
    holder.wait()
    with locked(tmp_path / "out"):
        pass


def test_a_folder_that_nothing_was_put_into_goes_again(tmp_path: Path) -> None:
    with locked(tmp_path / "a" / "b"):
        pass
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path / "a" / "b"):
        (tmp_path / "a" / "b" / "file").touch()
    assert sorted(each.name for each in (tmp_path / "a" / "b").iterdir()) == ["_lock", "file"]
    (tmp_path / "mine").mkdir()
    with pytest.raises(KeyError), locked(tmp_path / "mine"):
        raise KeyError
    assert (tmp_path / "mine").exists()  # it was there before


def test_a_file_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="full"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("path", ["s3a://bucket/x", "hdfs://host/x", "viewfs://lake/x"])
def test_a_store_without_a_rename_is_refused(path: str) -> None:
    with pytest.raises(dj.UnsupportedCapability, match="add --format delta"):
        folder_of("output", path)


@pytest.mark.parametrize("path", ["", "a\0b", "a*b", "a{b}"])
def test_a_folder_that_spark_would_not_understand_is_refused(path: str) -> None:
    with pytest.raises(dj.InvalidRequest):
        folder_of("output", path)


def test_a_folder_s_url_is_its_path() -> None:
    assert folder_of("output", "file:///data/a%20b") == Path("/data/a b")
    assert folder_of("output", "file:/data") == folder_of("output", "file://localhost/data") == Path("/data")
    assert folder_of("output", "a:b") == Path.cwd() / "a:b"
    with pytest.raises(dj.InvalidRequest, match="file:///folder, from the root on"):
        folder_of("output", "file:data")
    with pytest.raises(dj.InvalidRequest, match="it is a URL"), locked(Path("file:///data")):
        pass


def test_a_folder_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").touch()
    with pytest.raises(dj.InvalidRequest, match=r"it holds thesis\.doc and was not made by dmsjournal extract"):
        Output(tmp_path).settings()
    with pytest.raises(dj.InvalidRequest, match="there is a file of that name"):
        Output(tmp_path / "thesis.doc").settings()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 1}', b'{"format": 2, "chain": 5}', b"\xff"])
def test_a_file_of_ours_that_is_not_whole_is_refused(output: Output, content: bytes) -> None:
    (output.folder / "_checkpoint.json").write_bytes(content)
    with pytest.raises(dj.InvalidRequest, match=r"_checkpoint\.json"):
        output.checkpoint()


def test_a_run_is_visible_with_its_manifest_or_not_at_all(output: Output) -> None:
    with output.making() as making:
        making.mkdir()
        (making / "part").touch()
        assert output.runs() == []
    assert not making.exists()  # it was not finished
    making.mkdir()  # the leftover of a killed run
    with output.making() as another:
        assert another != making
    output.sweep()
    assert not making.exists()
    run = finish(output, 1, 5)
    assert output.runs() == [run]
    assert run.manifest().rows == Counts(1)
    with pytest.raises(OSError, match="not empty"):
        finish(output, 1, 5)


def test_a_checkpoint_that_was_not_written_is_the_last_run_s(output: Output) -> None:
    assert output.checkpoint() is None
    finish(output, 1, 5)
    assert output.checkpoint() == ExtractCheckpoint(CHAIN, dj.Fingerprint(5))
    output.move_checkpoint(CHAIN, dj.Fingerprint(5))
    finish(output, 6, 9)
    assert output.checkpoint() == ExtractCheckpoint(CHAIN, dj.Fingerprint(9))


def test_a_checkpoint_of_another_output_is_refused(output: Output) -> None:
    manifests.write(output.folder / "_checkpoint.json", ExtractCheckpoint("other", dj.Fingerprint(5)))
    with pytest.raises(dj.InvalidRequest, match="of another output"):
        output.checkpoint()


def test_a_run_that_lost_a_file_or_was_renamed_is_refused(output: Output) -> None:
    run = finish(output, 1, 5)
    (run.folder / "resource=R" / "part-0.parquet").write_bytes(b"cut")
    with pytest.raises(dj.InvalidRequest, match=r"part-0\.parquet is not as it was written"):
        run.manifest()
    renamed = output.folder / run.folder.name.replace("5", "6")
    run.folder.rename(renamed)
    with pytest.raises(dj.InvalidRequest, match="the folder was renamed"):
        output.runs()[0].manifest()


def test_a_missing_window_is_named(output: Output) -> None:
    runs = [finish(output, first, last) for first, last in [(0, 5), (6, 9), (10, 20), (21, 21)]]
    output.move_checkpoint(CHAIN, dj.Fingerprint(21))
    assert runs_after(output, None, None) == runs
    assert runs_after(output, 5, None) == runs[1:]
    assert runs_after(output, 5, 19) == [runs[1]]
    assert runs_after(output, 21, None) == []
    runs[1].folder.rename(output.folder / ".away")
    with pytest.raises(dj.InvalidRequest, match="window = '6-9': it is missing"):
        runs_after(output, 5, None)
    runs[3].folder.rename(output.folder / ".away too")
    with pytest.raises(dj.InvalidRequest, match="window = '21-21': it is missing"):  # the checkpoint tells
        runs_after(output, 9, None)
    assert runs_after(output, 9, 20) == [runs[2]]


def test_a_planted_link_leads_to_no_removal(tmp_path: Path) -> None:
    """A user who may write to the folder of a table could have the files of its owner removed as old generations."""
    from dmsjournal.spark.tables import ParquetTable  # imports PySpark

    precious, table = tmp_path / "home" / "precious", tmp_path / "table"
    precious.mkdir(parents=True)
    table.mkdir()
    (table / "_generations").symlink_to(tmp_path / "home")
    with pytest.raises(dj.InvalidRequest, match="its _generations is a link"):
        ParquetTable(table).state()
    (table / "_generations").unlink()
    (table / ".making-1").symlink_to(precious)
    Output(table).sweep()
    assert precious.is_dir()
