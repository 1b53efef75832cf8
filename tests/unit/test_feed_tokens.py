"""Tokens by themselves: one spelling each, and whatever is none is told so by name."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dmsjournal as dj
from dmsjournal.feed.requests import carried
from dmsjournal.feed.tokens import ALL, LONGEST, Belonging, scope_and_filters_of

MINE = Belonging("postgres", "a database", "all", "all")
CURSOR = [12, 2**63 - 1, 12, 7, 501, 1_700_000_000_000_000]

cursors = st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.text(max_size=20), st.none()), max_size=8)


@given(cursors)
def test_a_token_gives_its_cursor_back(cursor: list[int | str | None]) -> None:
    assert MINE.cursor(MINE.token(cursor)) == cursor


def test_a_token_is_base64_of_the_published_envelope() -> None:
    token = MINE.token(CURSOR)
    envelope = json.loads(base64.urlsafe_b64decode(token))
    assert list(envelope) == ["v", "p", "r", "c", "o"]
    assert (envelope["v"], envelope["p"], envelope["c"][:-1], envelope["o"]) == (1, "postgres", CURSOR, ["all", "all"])
    assert token == MINE.token(CURSOR)


def test_a_token_carries_its_scope_and_filters_where_they_are_not_all_and_not_too_long() -> None:
    everything = Belonging("postgres", "a database", *ALL).token(CURSOR)
    assert list(json.loads(base64.urlsafe_b64decode(everything))) == ["v", "p", "r", "c"]
    assert scope_and_filters_of(everything) == ALL
    assert scope_and_filters_of(MINE.token(CURSOR)) == ("all", "all")
    long = Belonging("postgres", "a database", "all", "f" * LONGEST)
    assert scope_and_filters_of(long.token(CURSOR)) == ALL
    assert long.cursor(long.token(CURSOR)) == CURSOR


@pytest.mark.parametrize(
    ("scope", "filters"),
    [
        ("everything", "{}"),
        ("document x", "{}"),
        ("resource []", "{}"),
        ("partition ", "{}"),
        ("all", "[]"),
        ("all", '{"types":[]}'),
    ],
)
def test_a_made_up_scope_or_filter_is_refused(scope: str, filters: str) -> None:
    with pytest.raises(dj.InvalidRequest, match="make no sense"):
        carried(Belonging("postgres", "a database", scope, filters).token(CURSOR))


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (Belonging("sqlserver", "a database", "all", "all"), "another provider, sqlserver"),
        (Belonging("postgres", "b database", "all", "all"), "another database"),
        (Belonging("postgres", "a database", "document 1", "all"), "another scope"),
        (Belonging("postgres", "a database", "all", "deletes"), "another filter"),
    ],
)
def test_a_token_that_belongs_elsewhere_says_where(other: Belonging, named: str) -> None:
    with pytest.raises(dj.InvalidRequest, match=named) as refused:
        MINE.cursor(other.token(CURSOR))
    assert refused.value.parameter == "token"


def test_a_token_of_a_later_program_says_so() -> None:
    envelope = json.loads(base64.urlsafe_b64decode(MINE.token(CURSOR))) | {"v": 2, "x": {"more": []}}
    with pytest.raises(dj.InvalidRequest, match="its version is 2, this program knows 1"):
        MINE.cursor(base64.urlsafe_b64encode(json.dumps(envelope).encode()).decode())


def spelt(envelope: object, **options: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(envelope, **options).encode()).decode()  # type: ignore[arg-type]


ENVELOPE = json.loads(base64.urlsafe_b64decode(MINE.token(CURSOR)))
PADDED = next(token for n in range(3) if (token := MINE.token([10**n])).endswith("="))
COMPACT = {"separators": (",", ":")}


@pytest.mark.parametrize(
    "token",
    [
        None, 5, b"e30=", "", " ", "é", "\ud800", "x" * (LONGEST + 1), "e30", "e30=", "e3 0=", "bnVsbA==", spelt([]), spelt("text"),
        spelt(ENVELOPE),  # blanks
        spelt(dict(reversed(ENVELOPE.items())), **COMPACT),
        spelt(ENVELOPE | {"x": 1}, **COMPACT),
        spelt(ENVELOPE | {"v": 1.0}, **COMPACT),
        spelt(ENVELOPE | {"v": True}, **COMPACT),
        spelt(ENVELOPE | {"v": 10**400}, **COMPACT),
        spelt(ENVELOPE | {"r": "a.b"}, **COMPACT),
        spelt(ENVELOPE | {"c": []}, **COMPACT),
        spelt(ENVELOPE | {"c": [*CURSOR, "0" * 16]}, **COMPACT),
        spelt(ENVELOPE | {"c": [13, *ENVELOPE["c"][1:]]}, **COMPACT),
        spelt({"v": 1}, **COMPACT),
        base64.urlsafe_b64encode(b'{"v":1,"c":' + b"[" * 3000).decode(),
        base64.urlsafe_b64encode(b'{"v":1,"v":1}').decode(),
        MINE.token(CURSOR) + "\n",
        PADDED.rstrip("="),
        MINE.token(CURSOR) + "=",
        MINE.token(CURSOR)[:-8],
    ],
)  # fmt: skip
def test_what_is_no_token_is_refused(token: object) -> None:
    with pytest.raises(dj.InvalidRequest) as refused:
        MINE.cursor(token)
    assert refused.value.parameter == "token"
    assert str(refused.value)


def test_a_token_is_never_longer_than_it_may_be() -> None:
    with pytest.raises(dj.InvalidRequest, match="too many partitions"):
        MINE.token(["x" * LONGEST])
