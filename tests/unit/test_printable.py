"""Whatever the database or a user says reaches a terminal without what it would obey."""

import json

import pytest

from dmsjournal.util.printable import cell, in_json, printable, without_secrets

HOSTILE = "\x1b[2J\x1b]0;title\x07 a\nb\tc\rd \x9b31m \u202eevil\u2066 \u200b \u2028 \ufeff \x7f \U000e0041 \ud800"


def test_nothing_hostile_is_left() -> None:
    for shown in (printable(HOSTILE), cell(HOSTILE), in_json(HOSTILE)):
        assert shown.isprintable()
    assert printable("Wärehouse 倉庫 😀") == "Wärehouse 倉庫 😀"
    assert printable("a\tb\n", keep="\t") == "a\tb\\n"


def test_a_cell_can_be_read_back_and_json_stays_the_same() -> None:
    assert cell("a\tb\nc\\t") == "a\\tb\\nc\\\\t"
    assert cell("a\tb\nc\\t").encode("latin-1").decode("unicode_escape") == "a\tb\nc\\t"
    text = json.dumps({"a\x85": "\u202e\U000e0041"}, ensure_ascii=False)
    assert json.loads(in_json(text)) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "DRIVER=x;PWD=geheim;Server=y",
        "password='geheim' host=x",
        "PWD={geh;eim}}x}",
        "a&Password=geheim&b",
        "pwd%3Dgeheim",
        "UID=u;pwd = geheim",
    ],
)
def test_a_connection_strings_password_is_struck_out(text: str) -> None:
    assert "geh" not in without_secrets(text)
    assert "***" in without_secrets(text)
