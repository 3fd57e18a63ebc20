"""Tells on a terminal that something takes its time."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

__all__ = ["shown"]

_INTERVAL = 1.0


@contextlib.contextmanager
def shown(what: str) -> Iterator[None]:
    """Shows on stderr, each second, how long it has taken; nothing where that is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_show, args=(what, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show(what: str, done: threading.Event) -> None:
    start = time.monotonic()
    while not done.wait(_INTERVAL):
        print(f"\r{what}: {time.monotonic() - start:.0f} s", end="", file=sys.stderr, flush=True)
    print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # the line is empty again
