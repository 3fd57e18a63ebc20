"""Lowered programs in the disk cache: what JAX has lowered once need not be lowered again, and
whoever loads it needs no JAX."""

from __future__ import annotations

from cyxla import cache, cache_settings, files
from cyxla.errors import ArgumentTypeError
from cyxla.program import Program

__all__ = ["load_lowered", "store_lowered"]


def store_lowered(key: str, program: Program) -> None:
    """Keeps a program in the cache, under a key that `cache_key` made.

    Where the cache is switched off, or can't be written, nothing is kept; for the latter a warning
    is given.

    Raises:
        ArgumentError, ArgumentTypeError: `key` is no key, or `program` no program.
    """
    cache.check_key(key)
    if not isinstance(program, Program):
        raise ArgumentTypeError(f"store_lowered needs a Program, not {program!r:.80}")
    if cache_settings.is_enabled():
        cache.store(key, files.contents_of(program))


def load_lowered(key: str) -> Program | None:
    """The program that was kept under `key`; None where there is none. JAX is not imported.

    Raises:
        ArgumentError: `key` is no key.
    """
    cache.check_key(key)
    contents = cache.load(key) if cache_settings.is_enabled() else None
    return files.program_in(contents) if contents is not None else None
