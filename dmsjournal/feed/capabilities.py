"""Capabilities: what a provider of a feed can do, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta

from dmsjournal.errors import UnsupportedCapability


@dataclass(frozen=True, slots=True)
class FeedCapabilities:
    """What one provider can do. What it cannot raises UnsupportedCapability, with the remedy that stands in `remedies`.

    `retention` is how long events are kept, None where that is up to who prunes. `history_check` says that a token notices a
    restore to an earlier state; `item_state_before` and `contexts`, that events carry these where there were any; `effects`, that
    the provider's effects() tells what else changed; `indirect`, that documents which changed with what they refer to have events.
    The others are named by what they let a request ask for.
    """

    entire_collection: bool
    total_order: bool
    physical_partitions: bool
    partition_changes: bool
    logical_partitions: bool
    at_time: bool
    after_version: bool
    filters: bool
    item_state_included: bool
    item_state_before: bool
    item_state_required: bool
    contexts: bool
    effects: bool
    history_check: bool
    document_uuids: bool
    retention: timedelta | None = None
    indirect: bool = False
    remedies: Mapping[str, str] = field(default_factory=dict)

    def need(self, capability: str) -> None:
        """Raises UnsupportedCapability where the provider does not have it."""
        if not getattr(self, capability):
            raise self.lack_of(capability)

    def lack_of(self, capability: str) -> UnsupportedCapability:
        """The error of a provider that does not have it."""
        remedy = self.remedies.get(capability, "see FeedCapabilities, or read another provider")
        return UnsupportedCapability(f"this feed has no {capability}", remedy)

    def rows(self) -> dict[str, bool]:
        """The capabilities by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if isinstance(getattr(self, f.name), bool)}
