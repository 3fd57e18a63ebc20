"""Engines: which one is asked for to run executables, and how many threads the direct one has."""

from __future__ import annotations

import os
from collections.abc import Collection

from cyxla import _runtime
from cyxla.errors import ArgumentError, ArgumentTypeError

__all__ = ["ENGINES", "check_choice", "chosen_engine", "read_thread_count", "set_thread_count"]

ENGINES = ("auto", "direct", "pjrt")

_ENGINE_VARIABLE = "CYXLA_ENGINE"
_THREADS_VARIABLE = "CYXLA_THREADS"
_MOST_THREADS = 2**31 - 1  # an int32_t in C


def chosen_engine(engine: str | None) -> str:
    """The engine that the caller names; None: that of the environment variable, else "auto"."""
    if engine is not None:
        check_choice("engine", engine, ENGINES)
        return engine
    engine = os.environ.get(_ENGINE_VARIABLE) or "auto"
    check_choice(f"the environment variable {_ENGINE_VARIABLE}", engine, ENGINES)
    return engine


def check_choice(role: str, value: object, choices: Collection[object]) -> None:
    """Raises ArgumentError unless `value` is one of `choices`."""
    # By type too: True equals 1.
    if not any(type(value) is type(each) and value == each for each in choices):
        *most, last = map(repr, choices)
        raise ArgumentError(f"{role} must be {', '.join(most)} or {last}, not {value!r}")


def set_thread_count(count: int) -> None:
    """Sets how many threads the direct engine may use for one call, that of the caller among them.

    Threads start only where a large array is worth it. 0 means as many as the process has
    processors, which is the default; the environment variable CYXLA_THREADS sets another one.

    Raises:
        ArgumentError, ArgumentTypeError: `count` is no such number.
    """
    if not isinstance(count, int) or isinstance(count, bool):
        raise ArgumentTypeError(f"set_thread_count needs an int, not {count!r}")
    if not 0 <= count <= _MOST_THREADS:
        raise ArgumentError(
            f"set_thread_count needs at least 1 thread, or 0 for one per processor, not {count}"
        )
    _runtime.set_thread_count(count)


def read_thread_count() -> None:
    """Sets the number of threads that the environment variable asks for.

    Raises:
        ArgumentError: it is no such number.
    """
    text = os.environ.get(_THREADS_VARIABLE)
    if not text:
        return
    if not (text.isascii() and text.isdigit()) or int(text) > _MOST_THREADS:
        raise ArgumentError(
            f"the environment variable {_THREADS_VARIABLE} must be a number of threads, "
            f"not {text!r}"
        )
    set_thread_count(int(text))
