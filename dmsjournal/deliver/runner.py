"""A delivery: pages of a feed, handed to a target, and only then the consumer's place moved behind what was handed over.

At least once: who is killed hands over again what was not saved yet. Who ends in any other way has saved it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from dmsjournal.deliver.receivers import Receiver
from dmsjournal.deliver.targets import Stopped, Target
from dmsjournal.errors import CheckpointExpired, HistoryDiverged, InvalidRequest, JournalError, Unavailable
from dmsjournal.feed.checkpoints import DatabaseCheckpoint, FileCheckpoint
from dmsjournal.feed.continuation import begun
from dmsjournal.feed.database import fingerprint_of_token
from dmsjournal.feed.events import FeedEvent
from dmsjournal.feed.iterators import FeedIterator
from dmsjournal.feed.requests import FeedRequest
from dmsjournal.feed.starts import FromToken
from dmsjournal.operate.lease import HeldByAnother, Lease
from dmsjournal.util.backoff import Backoff

if TYPE_CHECKING:
    from dmsjournal.journal import Journal

logger = logging.getLogger("dmsjournal.deliver")


class Delivery:
    """Hands the events of a request to a target, from a registered consumer's place on; the consumer is registered if it is not.

    The target gets `at_once` events at a time, a page where that is None. The consumer is moved when that is done, if it was not
    for `save_every` seconds, and at the end of what there is. With `follow` false it ends at newest; else it asks again within
    `longest_wait` seconds. A database that is unavailable is waited for, `patience` seconds.
    """

    def __init__(
        self,
        journal: Journal,
        consumer: str,
        target: Target,
        request: FeedRequest | None = None,
        *,
        follow: bool = True,
        at_once: int | None = None,
        save_every: float = 1.0,
        longest_wait: float = 1.0,
        patience: float = 3600.0,
    ) -> None:
        self._journal, self._consumer, self._target = journal, consumer, target
        self._request, self._follow = request or FeedRequest(), follow
        self._at_once, self._save_every = at_once, save_every
        self._longest_wait, self._patience = longest_wait, patience
        self._checkpoint = DatabaseCheckpoint(journal, consumer)
        self._stopped = threading.Event()
        self._feed: FeedIterator | None = None
        self._saved = self._reached = ""  # tokens: of the consumer, and of the last page that was handed over as a whole
        self._tried = ""  # the token that was to be saved last: it may have been, unheard
        self._done: list[FeedEvent] = []  # what of the page after it was handed over
        self._saved_at = 0.0

    def run(self) -> None:
        """Delivers until it is stopped, or, without `follow`, until all is delivered.

        Raises Unavailable, where another program reads as the consumer too; CheckpointExpired, HistoryDiverged, InvalidRequest; and
        what the target raises.
        """
        with self._journal.consumers.hold(self._consumer) as hold, self._target:
            refuse_another_history(self._journal, self._target)
            self._saved = self._reached = self._checkpoint.begin(self._request)
            self._done = []  # of a run before, which has failed
            logger.info("consumer %s delivers to %s", self._consumer, self._target.name, extra={"action": "deliver_begin"})
            with FeedIterator(
                self._journal,
                begun(self._request, self._saved),
                follow=self._follow,
                shortest_wait=min(0.1, self._longest_wait),
                longest_wait=self._longest_wait,
                patience=self._patience,
            ) as feed:
                self._feed = feed
                try:
                    with suppress(Stopped):  # what was not handed over is by the next run
                        self._deliver(feed, hold)
                except JournalError:
                    with suppress(JournalError):  # that one is told
                        self._save(hold)
                    raise
                self._save(hold)

    def stop(self) -> None:
        """Ends the run, from any thread, once the request that is on its way was answered and the place behind it saved."""
        self._stopped.set()
        self._target.stop()
        if self._feed is not None:
            self._feed.stop()

    def _deliver(self, feed: FeedIterator, hold: Lease) -> None:
        if self._stopped.is_set():  # before there was a feed to stop
            return
        memory = FileCheckpoint(self._target.memory)
        for page in feed.pages():
            if page.events:
                memory.save(page.token)  # before they are handed over: after a crash it knows of what was, and of no less
            for events in _cut(page.events, self._at_once):
                if not hold.is_certain:  # the database, or this process, stood still: another delivery may have begun
                    self._keep(hold)
                self._target.take(events)
                self._done += events
                if self._stopped.is_set() and len(self._done) < len(page.events):
                    return
                self._save_if_due(hold, self._save_every)
            self._reached, self._done = page.token, []
            self._save_if_due(hold, 0.0 if page.idle else self._save_every)

    def _save_if_due(self, hold: Lease, seconds: float) -> None:
        if time.monotonic() - self._saved_at >= seconds:
            self._save(hold)

    def _save(self, hold: Lease) -> None:
        """Moves the consumer behind what was handed over, once the database is there, and while nobody else delivers for it."""
        began, backoff = time.monotonic(), Backoff(0.1, 10.0)
        while True:
            self._keep(hold)
            try:
                self._tried = token = self._place()
                if token != self._saved:
                    self._checkpoint.save(token)
            except Unavailable as error:
                self._wait(error, began, backoff)
            else:
                self._saved, self._saved_at = token, time.monotonic()
                return

    def _place(self) -> str:
        """The token behind what was handed over. Inside a page it is that of a page which is as long as that."""
        if not self._done:
            return self._reached
        request = replace(self._request, start=FromToken(self._reached), max_page_size=len(self._done))
        page = self._journal.read_changes(request)
        is_same = [event.event_id for event in page.events] == [event.event_id for event in self._done]
        return page.token if is_same else self._reached

    def _keep(self, hold: Lease) -> None:
        """Takes the consumer's name again where our lease of it has ended."""
        began, backoff = time.monotonic(), Backoff(0.1, 10.0)
        while True:
            try:
                if hold.is_held():
                    return
                hold.take()
                if self._checkpoint.load() not in (self._saved, self._tried):
                    hold.release()  # nothing is saved any more, whoever asks for it
                    raise InvalidRequest("consumer", self._consumer, "another program has moved it: one delivery a consumer")
            except HeldByAnother:
                raise
            except Unavailable as error:
                self._wait(error, began, backoff)

    def _wait(self, error: Unavailable, began: float, backoff: Backoff) -> None:
        if time.monotonic() - began > self._patience:
            raise error
        seconds = backoff.next()
        logger.warning("%s; tried again in %.1f s", error, seconds, extra={"action": "deliver_database"})
        if self._stopped.wait(seconds):
            raise error


def _cut(events: Sequence[FeedEvent], size: int | None) -> Iterator[Sequence[FeedEvent]]:
    """The events in pieces; nothing is one piece."""
    size = size or max(1, len(events))
    return (events[i : i + size] for i in range(0, max(1, len(events)), size))


def refuse_another_history(journal: Journal, target: Target) -> None:
    """Raises HistoryDiverged where a target was given events that the database does not hold: it was restored to an earlier state.

    The consumer's place cannot tell, since it went back with the database. Raises InvalidRequest where the memory is no token.
    """
    memory = FileCheckpoint(target.memory)
    remembered = memory.load()
    if remembered is None:
        return
    try:
        journal.check_history(fingerprint_of_token(remembered))
    except HistoryDiverged as error:
        error.add_note(f"{target.name} was given what this database does not hold ({memory}): docs/dba/restore.md has the steps")
        raise
    except CheckpointExpired:  # pruned: the consumer, which holds prunes back, is further
        pass


def replay_dead_letters(journal: Journal, consumer: str, receiver: Receiver) -> None:
    """Sends a consumer's dead letters again, oldest first; those that are refused again stay, and what waits behind them.

    Raises Unavailable while a delivery runs for the consumer; what the receiver raises. What was delivered until then is gone.
    """
    with journal.consumers.hold(consumer), receiver, suppress(Stopped):
        refuse_another_history(journal, receiver)
        receiver.replay()
