"""Tokens against a database: another one, a restored one, a pruned one, and what somebody made up (invariants 8 and 9)."""

import base64
import json
import random
import time

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import dmsjournal as dj
from dmsjournal.feed import tokens
from tests.acceptance.test_consumers import RESTORED
from tests.feeds import after, walk
from tests.helpers import SCHOOL, STUDENT, change_content, commit, document, drawn, write

ALL = dj.FeedRequest()
TOLD = (dj.InvalidRequest, dj.CheckpointExpired, dj.HistoryDiverged)


@pytest.fixture
def written(journal: dj.Journal) -> dj.Journal:
    """Versions 1 to 5, of which 4 is a tombstone."""
    write(journal, *(document(STUDENT, n) for n in range(3)))
    with journal.write() as tx:
        tx.delete(STUDENT, {"studentId": 1})
    write(journal, document(SCHOOL, 1))
    return journal


def at_version(journal: dj.Journal, version: int) -> dj.FeedPage:
    """The page that ends there."""
    page = journal.read_changes(dj.FeedRequest(max_page_size=version))
    assert page.events[-1].change_version == version
    return page


def made_up(token: str, cursor: list[int | str | None]) -> str:
    """A token of the same database, scope and filter with another cursor, spelt as the program would."""
    envelope = tokens._decoded(token)
    return tokens._encoded(tokens._Envelope(envelope.v, envelope.p, envelope.r, cursor))


def test_it_says_that_it_checks(journal: dj.Journal) -> None:
    assert journal.feed_capabilities.history_check


@pytest.mark.parametrize("what", RESTORED)
@pytest.mark.parametrize(("journal_name", "version"), [("DocumentChangeEvent", 5), ("DocumentDeleteEvent", 4)])
def test_a_last_event_that_is_another_one_is_told(
    written: dj.Journal, connections, what: str, journal_name: str, version: int
) -> None:
    page = at_version(written, version)
    commit(connections[0], RESTORED[what].format(journal_name, version))
    with pytest.raises(dj.HistoryDiverged) as diverged:
        written.read_changes(after(ALL, page))
    assert diverged.value.checkpoint == version


def test_a_place_above_what_was_ever_given_is_told(written: dj.Journal, connections) -> None:
    page = walk(written, ALL)[1][-1]
    commit(connections[0], "DELETE FROM dms.DocumentChangeEvent WHERE ChangeVersion = 5")
    back = {
        "postgresql": "SELECT setval('dms.ChangeVersionSequence', 4)",
        "mssql": "ALTER SEQUENCE dms.ChangeVersionSequence RESTART WITH 4; "
        "DECLARE @n bigint = NEXT VALUE FOR dms.ChangeVersionSequence",
    }
    commit(connections[0], back[connections[0].dialect.name])
    assert drawn(connections[0]) == 4
    with pytest.raises(dj.HistoryDiverged):
        written.read_changes(after(ALL, page))


def test_versions_that_a_restored_database_gives_again_are_told(written: dj.Journal, connections) -> None:
    """The token's place is inside a gap: no event of it is gone, but the restored database gives the gap's versions to others."""
    commit(connections[0], "DELETE FROM dms.DocumentChangeEvent WHERE ChangeVersion = 5")
    page = walk(written, ALL)[1][-1]  # at 5, the last event is 4
    again = "INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt) "
    commit(connections[0], again + "VALUES (5, 1, 1, 'update', 9, '2026-01-01')")
    with pytest.raises(dj.HistoryDiverged):
        written.read_changes(after(ALL, page))


def test_a_prune_is_no_other_history(written: dj.Journal, connections) -> None:
    pages = {version: at_version(written, version) for version in (2, 3, 5)}
    written.prune(3)
    with pytest.raises(dj.CheckpointExpired):
        written.read_changes(after(ALL, pages[2]))
    assert len(written.read_changes(after(ALL, pages[3])).events) == 2
    written.prune(5)
    assert written.read_changes(after(ALL, pages[5])).idle
    change_content(connections[0], 1)
    assert len(written.read_changes(after(ALL, pages[5])).events) == 1
    with pytest.raises(dj.CheckpointExpired):
        written.read_changes(after(ALL, pages[3]))


def test_another_database_is_told(written: dj.Journal, connections) -> None:
    page = at_version(written, 3)
    fresh = {"postgresql": "gen_random_uuid()", "mssql": "NEWID()"}[connections[0].dialect.name]
    commit(connections[0], f"UPDATE dms.FeedDatabase SET DatabaseUuid = {fresh}")
    with pytest.raises(dj.InvalidRequest, match="another database"):
        written.read_changes(after(ALL, page))


def test_another_scope_or_filter_is_told(written: dj.Journal) -> None:
    page = at_version(written, 3)
    start = dj.FromToken(page.token)
    scopes = [dj.LogicalPartition(STUDENT), dj.LogicalPartition(document_id=1), dj.PhysicalPartition("1-0")]
    for scope in scopes:
        with pytest.raises(dj.InvalidRequest, match="another scope"):
            written.read_changes(dj.FeedRequest(scope, start))
    for wanted in (dj.FeedFilter(types=[dj.FeedEventType.DELETE]), dj.FeedFilter(resources=[STUDENT])):
        with pytest.raises(dj.InvalidRequest, match="another filter"):
            written.read_changes(dj.FeedRequest(start=start, filters=wanted))
    for item_state, size in ((dj.NewItemStateMode.INCLUDE_IF_AVAILABLE, 500), (dj.NewItemStateMode.OMIT, 1)):
        assert written.read_changes(dj.FeedRequest(start=start, item_state=item_state, max_page_size=size)).events


def test_resources_that_are_spelled_alike_are_told_apart(written: dj.Journal, connections) -> None:
    """Names that another program wrote may hold a slash."""
    twins = [dj.ResourceKey("a/b", "c", "d"), dj.ResourceKey("a", "b/c", "d")]
    for twin in twins:
        names = f"'{twin.project_name}', '{twin.resource_name}', '{twin.resource_version}'"
        commit(connections[0], f"INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion) VALUES ({names})")
    scopes = [dj.FeedRequest(dj.LogicalPartition(twin)) for twin in twins]
    filters = [dj.FeedRequest(filters=dj.FeedFilter(resources=[twin])) for twin in twins]
    for (one, other), named in ((scopes, "another scope"), (filters, "another filter")):
        with pytest.raises(dj.InvalidRequest, match=named):
            written.read_changes(after(other, written.read_changes(one)))


def fuzzed(token: str, other: str, rng: random.Random) -> str:
    """A token with something done to it: bits, characters, its text, its JSON."""
    text = bytearray(base64.urlsafe_b64decode(token))
    kind = rng.randrange(8)
    if kind == 0:
        at = rng.randrange(len(token))
        return token[:at] + chr(ord(token[at]) ^ (1 << rng.randrange(7))) + token[at + 1 :]
    if kind == 1:
        return token[: rng.randrange(len(token))]
    if kind == 2:
        text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)
    elif kind == 3:
        return other[: rng.randrange(len(other))] + token[rng.randrange(len(token)) :]
    elif kind == 4:
        envelope = json.loads(text)
        envelope[rng.choice("vprc")] = rng.choice([None, -1, 2**64, 10**300, "", [[[]]], {"v": 1}, 1.5, True, "x" * 3000])
        text = bytearray(json.dumps(envelope, separators=(",", ":")).encode())
    elif kind == 5:
        text = bytearray(b"[" * rng.randrange(1, 3000))
    elif kind == 6:
        return rng.choice([token * 2, token + "=", token.upper(), token.swapcase(), " " + token, token + "\0", "é", "=" * 9])
    else:
        huge = [rng.choice([0, -1, 2**63 - 1, 2**63, -(2**63), 10**30, 3]) for _ in range(rng.randrange(9))]
        return made_up(token, [max(6, n) if i == 0 else n for i, n in enumerate(huge)])
    return base64.urlsafe_b64encode(bytes(text)).decode()


def test_ten_thousand_fuzzed_tokens_are_told_and_quickly(journal: dj.Journal, connections) -> None:
    """Bit flips, truncation, other scopes, huge numbers, nested JSON: of these errors only, and fast."""
    write(journal, *(document(STUDENT, n) for n in range(5)))
    token = at_version(journal, 3).token
    other = journal.read_changes(dj.FeedRequest(dj.LogicalPartition(STUDENT), max_page_size=3)).token
    count = 10_000 if connections[0].dialect.name == "postgresql" else 200
    rng, took = random.Random(6), []
    for _ in range(count):
        made = fuzzed(token, other, rng)
        if made == token:
            continue
        began = time.perf_counter()
        with pytest.raises(TOLD):
            journal.read_changes(dj.FeedRequest(start=dj.FromToken(made)))
        took.append((time.perf_counter() - began) * 1000)
    assert len(took) > count * 0.98
    took.sort()
    median, most, longest = took[len(took) // 2], took[len(took) * 999 // 1000], took[-1]
    print(f"{len(took)} tokens, median {median:.2f} ms, 99.9 % below {most:.2f} ms, the longest {longest:.2f} ms")


@settings(max_examples=200, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])
@given(text=st.one_of(st.text(), st.binary().map(lambda b: base64.urlsafe_b64encode(b).decode())))
def test_any_text_is_told(written: dj.Journal, text: str) -> None:
    with pytest.raises(TOLD):
        written.read_changes(dj.FeedRequest(start=dj.FromToken(text)))
