"""What environment variables say of the disk cache."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from cyxla.errors import ArgumentError

__all__ = ["directory", "is_enabled", "size_limit"]

SWITCH_VARIABLE = "CYXLA_CACHE"
DIRECTORY_VARIABLE = "CYXLA_CACHE_DIR"
LIMIT_VARIABLE = "CYXLA_CACHE_MAX_BYTES"

DEFAULT_LIMIT = 1 << 30


def is_enabled() -> bool:
    """Whether there is a cache: the environment variable CYXLA_CACHE.

    Raises:
        ArgumentError: it is neither 0 nor 1.
    """
    text = os.environ.get(SWITCH_VARIABLE)
    if text not in (None, "", "0", "1"):
        raise ArgumentError(
            f"the environment variable {SWITCH_VARIABLE} must be 0 or 1, not {text!r}"
        )
    return text != "0"


def directory() -> Path:
    """Where the cache is, or would be: CYXLA_CACHE_DIR, else the platform's place for caches."""
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if chosen:
        return Path(chosen).absolute()
    return platformdirs.user_cache_path("cyxla", appauthor=False)


def size_limit() -> int:
    """How many bytes the entries may have: the environment variable CYXLA_CACHE_MAX_BYTES.

    Raises:
        ArgumentError: it is no such number.
    """
    text = os.environ.get(LIMIT_VARIABLE)
    if not text:
        return DEFAULT_LIMIT
    if not (text.isascii() and text.isdigit()):
        raise ArgumentError(
            f"the environment variable {LIMIT_VARIABLE} must be a number of bytes, not {text!r}"
        )
    return int(text)
