"""Values that a database can hold or a caller can pass, and that break what is written without thought."""

import io
import json
from dataclasses import dataclass
from decimal import Decimal

import pytest

import dmsjournal as dj
from dmsjournal.cli import output
from dmsjournal.util.json import decoded
from tests.helpers import PLAN, STUDENT, document, refer


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1" + "0" * 5000, Decimal("1" + "0" * 5000)),
        ("[" * 6000 + "]" * 6000, None),
        ('{"a": 7.20}', {"a": Decimal("7.20")}),
        ("12345678901234567890", 12345678901234567890),
    ],
    ids=["digits", "depth", "decimal", "beyond 64 bits"],
)
def test_whatever_json_a_database_holds_can_be_read(text: str, value: object) -> None:
    found = decoded(text)
    if value is None:
        depth = 0
        while found:
            found, depth = found[0], depth + 1
        assert depth == 5999
    else:
        assert found == value


@pytest.mark.parametrize("value", [10**5000, [10**5000], "\ud800"], ids=["digits", "inside", "surrogate"])
def test_an_error_can_be_printed_whatever_its_value(value: object) -> None:
    assert "page_size = " in str(dj.InvalidRequest("page_size", value, "ask for less"))


def test_a_window_of_a_number_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(dj.InvalidRequest) as refused:
        dj.Window(min=10**5000)
    assert "min = " in str(refused.value)


def test_a_document_is_written_as_it_was_checked() -> None:
    key_values: dict[str, object] = {"k": 1}
    references = [refer(document(STUDENT, 1))]
    made = dj.Document(PLAN, key_values, references=references)
    key_values["k"] = {"nested": 1}
    references.clear()
    assert made.key_values == {"k": 1}
    assert len(made.references) == 1


@dataclass
class _Score:
    points: float


@pytest.mark.parametrize("body", [{"a": {float("nan")}}, {"a": _Score(float("inf"))}, {"a": [(float("nan"),)]}])
def test_nan_is_refused_wherever_it_hides(body: dict[str, object]) -> None:
    with pytest.raises(dj.InvalidRequest, match="NaN"):
        dj.Document(PLAN, {"k": 1}, body)


@pytest.mark.parametrize("references", [None, refer(document(STUDENT, 1)), 5])
def test_references_that_are_no_list_are_refused(references: object) -> None:
    with pytest.raises(dj.InvalidRequest, match="references"):
        dj.Document(PLAN, {"k": 1}, references=references)  # type: ignore[arg-type]


@pytest.mark.parametrize("option", ["row_factory=x", "autocommit=1", "prepare_threshold=5"])
def test_a_url_has_options_of_libpq_only(option: str) -> None:
    with pytest.raises(dj.InvalidRequest, match=option.partition("=")[0]):
        dj.connect(f"postgresql://u@h/x?{option}")


def test_json_is_json_on_a_terminal_that_has_no_such_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.TextIOWrapper(written := io.BytesIO(), encoding="ascii", errors="backslashreplace", write_through=True)
    monkeypatch.setattr("sys.stdout", terminal)
    output.print_items([dj.Window(1, 2), {"k": "caf\u00e9 \U0001f600"}], json=True, string_versions=False)
    printed = [json.loads(line) for line in written.getvalue().splitlines()]
    assert printed == [{"min": 1, "max": 2}, {"k": "caf\u00e9 \U0001f600"}]
