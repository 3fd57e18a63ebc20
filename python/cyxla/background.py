"""Compiling in a thread of its own: Ctrl-C arrives at once, and the stack is large."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

__all__ = ["ProcessLock", "run"]

P = ParamSpec("P")
T = TypeVar("T")

# XLA's compilers need some MiB; only what is used takes memory.
_STACK_SIZE = 64 << 20

_THREAD_NAME = "cyxla compiler"


class ProcessLock:
    """A lock that is free in a forked child, whatever thread of the parent held it."""

    def __init__(self) -> None:
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()


_stack_size_lock = ProcessLock()


class _Call(Generic[T]):
    """A call, and what came of it."""

    def __init__(self, function: Callable[[], T]) -> None:
        self.function = function
        self.result: T | None = None
        self.error: BaseException | None = None
        self.done = threading.Event()

    def work(self) -> None:
        try:
            self.result = self.function()
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()


def run(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """What `function` returns or raises, called in a thread.

    The caller waits for it so that signals are handled meanwhile.  Where the handler of one raises,
    as that of Ctrl-C does, the call is left to itself: it can't be stopped, goes on to its end, and
    what it returns is dropped.  A process that ends waits for it.
    """
    call = _Call(lambda: function(*arguments, **options))
    if _is_ending() or not _start(call.work):
        return call.function()
    call.done.wait()
    if call.error is None:
        return call.result  # type: ignore[return-value]
    error, call.error = call.error, None
    try:
        raise error
    finally:
        del error  # its traceback knows this frame


def _is_ending() -> bool:
    """Whether the interpreter is about to end; then daemon threads don't come back from here.

    They would be killed wherever they are, and C++ code does not survive that.
    """
    if threading.main_thread().is_alive():
        return False
    if threading.current_thread().daemon:
        threading.Event().wait()
    return True


def _start(work: Callable[[], Any]) -> bool:
    """Starts a thread; False where none can be started."""
    with _stack_size_lock:
        before = threading.stack_size(_STACK_SIZE)
        try:
            # Of its own account: a thread inherits whether it is a daemon.
            threading.Thread(target=work, name=_THREAD_NAME, daemon=False).start()
        except RuntimeError:
            return False
        finally:
            threading.stack_size(before)
    return True


@atexit.register
def _end_at_once() -> None:
    """Python has waited for all threads by now, unless a Ctrl-C has ended that, too.

    Then it would kill a thread that compiles, which C++ code does not survive: so the process ends
    here, as by a Ctrl-C.
    """
    if not any(thread.name == _THREAD_NAME for thread in threading.enumerate()):
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # it may be closed, or None
            stream.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
