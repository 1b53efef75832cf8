"""The list of what a stand-in cannot run stays true: it names tests and texts that exist."""

from pathlib import Path

import pytest

from tests.sqlserver import babelfish

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("name", babelfish.EXCEPTIONS)
def test_an_exception_names_a_test(name: str) -> None:
    file, _, test = name.partition("::")
    definition = f"def {test.partition('[')[0]}("
    assert [definition in path.read_text(encoding="utf-8") for path in TESTS.rglob(file)].count(True) == 1


@pytest.mark.parametrize("name", [*babelfish.STAND_INS, *babelfish.EDITS])
def test_a_stand_in_stands_in_for_a_file_of_ours(name: str) -> None:
    assert babelfish.text_of("sqlserver", name) != babelfish.shipped("sqlserver", name)
