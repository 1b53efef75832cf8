"""Generators that do not claim a normal end after an error."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import wraps
from typing import Generic, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _RaisingAgain(Iterator[_T], Generic[_T]):
    """A generator's items. The error that ends it is raised by every later step, too."""

    def __init__(self, items: Generator[_T]) -> None:
        self._items = items
        self._error: BaseException | None = None

    def __next__(self) -> _T:
        if self._error is not None:
            raise self._error
        try:
            return next(self._items)
        except StopIteration:
            raise
        except BaseException as error:
            self._error = error
            raise

    def close(self) -> None:
        """Gives back what the generator holds."""
        self._items.close()


def raises_again(function: Callable[_P, Generator[_T]]) -> Callable[_P, Iterator[_T]]:
    """A generator function whose iterators raise the error that ended them at each further step.

    Python ends a generator with its first error, and then says StopIteration: a loop that goes on after an error takes that for the
    end, and a part for the whole. An iterator that can go on where it was, such as Walk, is a class and needs none of this.
    """

    @wraps(function)
    def made(*args: _P.args, **kwargs: _P.kwargs) -> Iterator[_T]:
        return _RaisingAgain(function(*args, **kwargs))

    return made
