"""Delivery to a receiver of webhooks: in order, tried again, and what it will not take kept as dead letters.

A request is sent when the one before it has an answer, so nothing overtakes anything. Where an event becomes a dead letter, what
follows of its document does so too, unsent, and what follows of others is sent: a dead letter that is delivered later comes before
all that happened to its document since.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from uuid import UUID

from dmsjournal.deliver.dead_letters import DeadLetter, DeadLetters
from dmsjournal.deliver.formats import MessageFormat
from dmsjournal.deliver.retries import Retries
from dmsjournal.deliver.targets import Stopped
from dmsjournal.deliver.webhooks import Answer, Verdict, Webhook
from dmsjournal.errors import ReceiverFailed
from dmsjournal.events.jsonl import FeedRecord
from dmsjournal.events.shapes import FeedEventLike

logger = logging.getLogger("dmsjournal.deliver")


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why events were not delivered, after so many tries."""

    reason: str
    tries: int


class Receiver:
    """A target of a delivery: a webhook, and the dead letters of what it refuses.

    `as_arrays`: a request's body is a JSON array of what it was given; else it is one event, and each has a request of its own.
    """

    def __init__(
        self,
        webhook: Webhook,
        letters: DeadLetters,
        format_: MessageFormat,
        retries: Retries | None = None,
        *,
        as_arrays: bool = False,
    ) -> None:
        self._webhook, self._letters, self._format = webhook, letters, format_
        self._retries, self._as_arrays = retries or Retries(), as_arrays
        self._stopped = threading.Event()
        self._entered = ExitStack()
        self._delivered = self._buried = self._requests = 0

    @property
    def name(self) -> str:
        """The origin of the webhook's URL."""
        return self._webhook.name

    @property
    def memory(self) -> Path:
        """See Target: it is beside the dead letters."""
        return self._letters.path.with_name(f"{self._letters.path.name}.history")

    def __enter__(self) -> Receiver:
        self._entered.enter_context(self._letters)
        self._entered.enter_context(self._webhook)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._entered.close()

    def counts(self) -> dict[str, int]:
        """Events that were delivered, those that became dead letters, and requests, tries included."""
        return {"delivered": self._delivered, "dead_letters": self._buried, "requests": self._requests}

    def stop(self) -> None:
        """Ends waiting between tries, from any thread. A request that is on its way gets its answer."""
        self._stopped.set()

    def take(self, events: Sequence[FeedEventLike]) -> None:
        """Delivers events, or makes dead letters of them. Raises Stopped, ReceiverFailed, DeadLettersFull, Unavailable."""
        self._take(self._format.wanted(events))

    def _take(self, events: Sequence[FeedEventLike]) -> None:
        if not self._as_arrays and len(events) > 1:
            for event in events:
                self._take([event])
            return
        ready = self._let_wait(events)
        if not ready:
            return
        refusal = self._send(ready)
        if refusal is None:
            self._delivered += len(ready)
        elif len(ready) == 1:
            self._bury(ready[0], refusal)
        else:  # one of them is at fault, or a few
            half = len(ready) // 2
            self._take(ready[:half])
            self._take(ready[half:])

    def replay(self) -> int:
        """Sends the dead letters, oldest first, and keeps those that are refused again and what waits behind them; how many.

        Raises Stopped, ReceiverFailed, Unavailable; what was delivered until then is no dead letter any more.
        """
        letters = self._letters.read()
        kept: list[DeadLetter] = []
        refused: set[UUID] = set()
        try:
            while letters:
                letter = letters[0]
                if letter.document not in refused:
                    refusal = self._send([letter.event])
                    if refusal is None:
                        self._delivered += 1
                        letters.pop(0)
                        continue
                    extra = {"action": "deliver_replay", "event_id": str(letter.event_id)}
                    logger.error("event %s is still refused: %s %s", letter.event_id, self.name, refusal.reason, extra=extra)
                    refused.add(letter.document)
                    letter = self._letter(letter.event, refusal.reason, letter.tries + refusal.tries)
                kept.append(letter)
                letters.pop(0)
        finally:
            self._letters.keep([*kept, *letters])
        return len(kept)

    def _let_wait(self, events: Sequence[FeedEventLike]) -> list[FeedEventLike]:
        """The events whose documents have no dead letter. The others become ones: they have to wait."""
        ready: list[FeedEventLike] = []
        waiting: list[DeadLetter] = []
        for event in events:
            first = self._letters.ahead_of(event)
            if first is None:
                ready.append(event)
            else:
                waiting.append(self._letter(event, f"waits for the dead letter {first} of its document", 0))
        self._add(waiting)
        return ready

    def _bury(self, event: FeedEventLike, refusal: _Refusal) -> None:
        self._add([self._letter(event, refusal.reason, refusal.tries)])
        extra = {"action": "deliver_dead_letter", "event_id": str(event.event_id), "tries": refusal.tries}
        logger.error("event %s is a dead letter: %s %s", event.event_id, self.name, refusal.reason, extra=extra)

    def _add(self, letters: Sequence[DeadLetter]) -> None:
        self._letters.add(letters)
        self._buried += len(letters)

    def _letter(self, event: FeedEventLike, reason: str, tries: int) -> DeadLetter:
        record = event if isinstance(event, FeedRecord) else FeedRecord.of(event)
        return DeadLetter(event.event_id, self._letters.consumer, self.name, reason, tries, datetime.now(UTC), record)

    def _send(self, events: Sequence[FeedEventLike]) -> _Refusal | None:
        """Sends events in one request until it is taken, or refused for good. Raises Stopped, ReceiverFailed."""
        id_, content_type, body = self._message(events)
        backoff, began, failures = self._retries.backoff(), time.monotonic(), 0
        while True:
            self._requests += 1
            answer = self._webhook.post(id_, content_type, body)
            failures += answer.verdict is not Verdict.LATER
            if answer.verdict is Verdict.DELIVERED:
                return None
            if answer.verdict is Verdict.GONE:
                raise ReceiverFailed(self.name, answer.reason, "redirects are not followed, 410 ends it: give its new URL")
            if answer.verdict is Verdict.REFUSED or failures >= self._retries.tries:
                return _Refusal(answer.reason, failures)
            left = began + self._retries.patience - time.monotonic()
            if answer.verdict is Verdict.LATER and left <= 0:
                waited = f"{answer.reason}, for {time.monotonic() - began:.0f} s"
                raise ReceiverFailed(self.name, waited, "start it again when the receiver is there")
            asked = min(answer.delay, max(0.0, left))  # the last try is made when the patience ends, whatever Retry-After says
            self._wait(max(backoff.next(), asked), answer, failures)

    def _wait(self, seconds: float, answer: Answer, failures: int) -> None:
        tries = f"after try {failures} of {self._retries.tries}, " if answer.verdict is Verdict.FAILED else ""
        extra = {"action": "deliver_retry"}
        logger.warning("%s %s; %stried again in %.1f s", self.name, answer.reason, tries, seconds, extra=extra)
        if self._stopped.wait(seconds):
            raise Stopped

    def _message(self, events: Sequence[FeedEventLike]) -> tuple[str, str, bytes]:
        """The id, the type and the body of a request."""
        if self._as_arrays:
            return self._format.id_of_array(events), self._format.format.content_type_of_arrays, self._format.array(events)
        [event] = events
        return self._format.id_of(event), self._format.format.content_type, self._format.encode(event)
