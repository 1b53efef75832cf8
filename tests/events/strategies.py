"""Random JSON, events of the feed and CDC events, with what breaks careless code: 2^63 - 1, characters of two surrogates, null."""

import string
from datetime import UTC, datetime
from decimal import Decimal

from hypothesis import strategies as st

from dmsjournal import ResourceKey
from dmsjournal.events import cdc
from dmsjournal.events.jsonl import FeedRecord, Key, StateRecord

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["", "😀", "a.b", "[0]", '"', "$", "é", "\0"]
)
numbers = (
    st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from([2**63 - 1, -(2**63), 0, 1, 2**70])
    | st.decimals(allow_nan=False, allow_infinity=False, places=3).map(Decimal)
)
scalars = st.none() | st.booleans() | numbers | texts
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=12
)
documents = st.dictionaries(texts, json_values, max_size=4)
versions = st.integers(0, 2**63 - 1) | st.just(2**63 - 1)
times = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)).map(lambda time: time.replace(tzinfo=UTC))
names = st.text(string.ascii_letters, min_size=1, max_size=5)
lists_of_texts = st.lists(texts, max_size=3)
resources = st.builds(ResourceKey, names, names, st.just("5.2.0"))


def contexts() -> st.SearchStrategy[dict[str, object]]:
    """What a writer says: a few of the words that have a meaning, each with what it should hold or with anything."""
    words = ("request_id", "user_id", "user_roles", "ip_address", "user_agent", "api_version", "custom_fields", "own")
    anything = scalars | lists_of_texts | st.dictionaries(texts, scalars, max_size=1)
    metadata = st.dictionaries(st.sampled_from(words), anything, max_size=2) | anything
    others = ("session_id", "user", "tenant", "trigger", "cause", "unreadable")
    said = st.dictionaries(st.sampled_from(others), anything, max_size=2)
    return st.builds(lambda said, metadata: said | {"metadata": metadata}, said, metadata)


@st.composite
def feed_events(draw: st.DrawFn, said: st.SearchStrategy[dict[str, object]] | None = None) -> FeedRecord:
    operation = draw(st.sampled_from(["CREATE", "UPDATE", "DELETE"]))
    before = None if operation == "CREATE" else draw(st.none() | documents)
    after = None if operation == "DELETE" else draw(st.none() | documents)
    return FeedRecord(
        event_id=draw(st.uuids()),
        key=Key(draw(st.none() | st.uuids()), draw(st.none() | documents), draw(st.none() | versions)),
        resource=draw(resources),
        type=operation,
        timestamp=draw(times),
        change_version=draw(versions),
        item_state=draw(st.sampled_from([None, StateRecord(before, after)])),
        transaction_id=draw(st.none() | versions),
        context=draw(said) if said is not None else None,
    )


def given(draw: st.DrawFn, **fields: st.SearchStrategy) -> dict[str, object]:
    """Some of the fields, each null or with a value."""
    return {name: draw(st.none() | values) for name, values in fields.items() if draw(st.booleans())}


@st.composite
def metadata(draw: st.DrawFn) -> cdc.Metadata:
    single = ("request_id", "user_id", "ip_address", "user_agent", "api_version")
    return cdc.Metadata(**given(draw, **dict.fromkeys(single, texts), user_roles=lists_of_texts, custom_fields=documents))


@st.composite
def sources(draw: st.DrawFn) -> cdc.Source:
    single = ("database_name", "host", "region", "transaction_id", "session_id", "user", "schema")
    return cdc.Source(database=draw(names), instance=draw(names), **given(draw, **dict.fromkeys(single, texts)))


@st.composite
def entities(draw: st.DrawFn) -> cdc.Entity:
    optional = given(draw, entity_identifier=texts, tenant_id=texts, version=versions, is_soft_deleted=st.booleans())
    return cdc.Entity(entity_type=draw(names), entity_id=draw(st.uuids()), **optional)


@st.composite
def field_changes(draw: st.DrawFn) -> cdc.FieldChange:
    return cdc.FieldChange(**given(draw, before=json_values, after=json_values))


@st.composite
def operations(draw: st.DrawFn) -> cdc.Operation:
    operation = draw(st.sampled_from(["CREATE", "UPDATE", "DELETE"]))
    before = st.none() if operation == "CREATE" else documents
    after = st.none() if operation == "DELETE" else documents
    optional = given(
        draw,
        trigger=st.sampled_from([*cdc.TRIGGERS]) | texts,
        before=before,
        after=after,
        changed_fields=lists_of_texts,
        changed_field_values=st.dictionaries(texts, field_changes(), max_size=3),
    )
    return cdc.Operation(type=operation, timestamp=draw(times), **optional)


@st.composite
def updated(draw: st.DrawFn) -> cdc.Updated:
    return cdc.Updated(
        entity_type=draw(texts), entity_id=draw(st.uuids()), reason=draw(texts), **given(draw, changes=lists_of_texts)
    )


deleted = st.builds(cdc.Deleted, entity_type=texts, entity_id=st.uuids(), reason=texts)


@st.composite
def invalidations(draw: st.DrawFn) -> cdc.Invalidation:
    return cdc.Invalidation(query=draw(texts), reason=draw(texts), **given(draw, affected_entities=lists_of_texts))


@st.composite
def cascades(draw: st.DrawFn) -> cdc.Cascade:
    lists = [draw(st.lists(entries, max_size=2)) for entries in (updated(), deleted, invalidations())]
    return cdc.Cascade.of(*lists, limit=draw(st.integers(0, 3)))


@st.composite
def cdc_events(draw: st.DrawFn) -> cdc.CdcEvent:
    operation = draw(operations())
    return cdc.CdcEvent(
        version="1.0",
        event_id=f"evt_{draw(st.uuids())}",
        event_type={"CREATE": "entity:created", "UPDATE": "entity:updated", "DELETE": "entity:deleted"}[operation.type],
        timestamp=draw(times),
        sequence_number=draw(versions),
        schema_name=draw(names),
        schema_version=draw(names),
        source=draw(sources()),
        entity=draw(entities()),
        operation=operation,
        cascade=draw(cascades()),
        metadata=draw(metadata()),
    )
