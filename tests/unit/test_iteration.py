"""Generators that would claim a normal end after an error: the error comes again at each further step."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import dmsjournal as dj
from dmsjournal.events import jsonl
from dmsjournal.events.notifications import NotificationConsumer, NotificationProducer, NotificationRef, create
from dmsjournal.util.iteration import raises_again
from dmsjournal.write.load import LineFile


@raises_again
def three_of(error: BaseException) -> Iterator[int]:  # a generator
    """Numbers."""
    yield 1
    yield 2
    raise error


@pytest.mark.parametrize("error", [ZeroDivisionError(), KeyboardInterrupt(), dj.Unavailable("gone")])
def test_the_error_comes_again(error: BaseException) -> None:
    numbers = three_of(error)
    assert [next(numbers), next(numbers)] == [1, 2]
    for _ in range(3):
        with pytest.raises(type(error)) as caught:
            next(numbers)
        assert caught.value is error
    assert three_of.__doc__ == "Numbers."


def test_a_normal_end_stays_one() -> None:
    @raises_again
    def one() -> Iterator[int]:
        yield 1

    numbers = one()
    assert [*numbers, *numbers] == [1]


def test_what_it_holds_is_given_back() -> None:
    closed = []

    @raises_again
    def holding() -> Iterator[int]:
        try:
            yield 1
        finally:
            closed.append(True)

    numbers = holding()
    next(numbers)
    numbers.close()  # type: ignore[attr-defined]
    assert closed == [True]


def raised(step: Callable[[], object]) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        step()
    return caught.value


def the_same_again(items: Iterator[object], kind: type[BaseException]) -> None:
    first = raised(lambda: list(items))
    assert isinstance(first, kind)
    assert raised(lambda: next(items)) is first
    assert raised(lambda: list(items)) is first


def test_lines_of_a_feed() -> None:
    the_same_again(jsonl.read([b"{}", b"{}"]), dj.InvalidRequest)


def test_lines_of_a_file() -> None:
    the_same_again(iter(LineFile("it", io.BufferedReader(io.BytesIO(b"\x1f\x8bbroken")), 8)), dj.InvalidRequest)  # type: ignore[arg-type]


def test_unique_events() -> None:
    class Event:
        def __init__(self, event_id: object) -> None:
            self.event_id = event_id

    the_same_again(dj.Deduplicator().unique([Event(uuid4()), Event("no id")]), dj.InvalidRequest)  # type: ignore[type-var]


def test_notifications(tmp_path: Path) -> None:
    """The second slot is damaged."""
    create(tmp_path / "ring", 4)
    with NotificationProducer(tmp_path / "ring") as producer, NotificationConsumer(tmp_path / "ring") as consumer:
        for _ in range(2):
            assert producer.send(NotificationRef())
        drained = consumer.drain()
        next(drained)
        consumer._is_whole = lambda number: False  # type: ignore[method-assign]
        the_same_again(drained, dj.InvalidRequest)
