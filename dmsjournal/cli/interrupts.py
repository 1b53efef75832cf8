"""Ctrl-C ends a command within a second, whatever it waits for."""

import logging
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from types import FrameType

from dmsjournal.util import exit_codes
from dmsjournal.util.concurrency import has_calls, in_thread

_SECONDS = 1.0
_came = threading.Event()  # a Ctrl-C, since the command began


def was_interrupted() -> bool:
    """Whether Ctrl-C came. pyodbc drops a KeyboardInterrupt that comes while it reads an error, and says that the link failed."""
    return _came.is_set()


@contextmanager
def interrupts_end_it() -> Iterator[None]:
    """Within it, a Ctrl-C that the main thread has not answered after a second ends the process, with exit code 130.

    Python calls a signal's handler between two of its own instructions. A driver that waits for a frozen database does not return
    to them. What a command has begun is a transaction, or a file that replaces another one: a process may end at any point of
    these. A command with a handler of its own, such as `deliver` and `serve`, decides by itself.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    for name in ("psycopg", "sqlalchemy.pool"):  # that they close the connection is no news to the user who interrupted it
        logging.getLogger(name).addHandler(logging.NullHandler())
    root = logging.getLogger()
    root.addFilter(_is_no_interrupt)
    _came.clear()
    handler = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: FrameType | None) -> None:
        _came.set()
        if callable(handler):
            handler(number, frame)

    if callable(handler):  # Python's own, or one of a library in this process, such as Spark's
        signal.signal(signal.SIGINT, interrupt)
    hears, wakes = os.pipe()
    os.set_blocking(wakes, False)
    before = signal.set_wakeup_fd(wakes)  # a byte for each signal, written at once, whatever the main thread does
    ends = interrupt if handler is signal.default_int_handler else None
    watcher = threading.Thread(target=_watch, args=[hears, ends], name="dmsjournal-interrupts", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        root.removeFilter(_is_no_interrupt)
        if callable(handler):
            signal.signal(signal.SIGINT, handler)
        signal.set_wakeup_fd(before)
        os.close(wakes)
        watcher.join()
        os.close(hears)


@contextmanager
def sigterm_ends_it() -> Iterator[None]:
    """Within it, SIGTERM ends the command as an error would: what it has begun is put away first. The exit code is 143."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise SystemExit(exit_codes.TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def ends_past_threads() -> Iterator[None]:
    """Where it ends by SystemExit while a call of ours still runs in a thread, the process ends without what drivers do at exit.

    Such a call waits for a database that does not answer. At exit mssql-python closes each connection, and would wait for it too.
    """
    try:
        yield
    except SystemExit as ended:
        if not has_calls():
            raise
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(ended.code if isinstance(ended.code, int) else int(ended.code is not None))


def until_signalled(work: Callable[[], object], stop: Callable[[], None]) -> bool:
    """Runs work, and stops it at SIGTERM or Ctrl-C; whether a signal ended it. A second signal ends the program at once.

    It runs in a thread: a handler that runs in the work's own might wait for a lock that the work holds. The second signal does not
    wait for that thread, which a database that does not answer may hold.
    """
    came: list[int] = []

    def asked(number: int, _: object) -> None:
        came.append(number)
        for one, handler in before.items():
            signal.signal(one, handler)
        stop()

    before = {number: signal.signal(number, asked) for number in (signal.SIGTERM, signal.SIGINT)}
    working = in_thread(work)
    while not wait([working], timeout=0.2).done:
        pass
    for number, handler in before.items():
        signal.signal(number, handler)
    working.result()
    if signal.SIGINT in came:
        raise KeyboardInterrupt
    return bool(came)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Py4J logs a Ctrl-C by the root logger, with a traceback, and raises it all the same."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not issubclass(kind, KeyboardInterrupt)


def _watch(hears: int, ends: Callable[[int, FrameType | None], None] | None) -> None:
    """Reads the numbers of signals until the other end is closed. A Ctrl-C ends the process where it is answered by `ends`."""
    while number := os.read(hears, 1):
        if number[0] == signal.SIGINT and ends is not None and signal.getsignal(signal.SIGINT) is ends:
            has_ended, _, _ = select.select([hears], [], [], _SECONDS)  # or a second Ctrl-C came, which ends it at once
            if has_ended and not os.read(hears, 1):
                return
            os.write(2, b"interrupted\n")
            os._exit(130)
