"""The disk cache: a directory of program files, each under the hash of everything it depends on.

What is in it is code, and so the directory is the user's own: others can neither write it nor put
entries into it. Whatever is wrong with an entry makes it a miss; whatever is wrong with the
directory is told once, by a warning, and nothing is cached. Entries are replaced as a whole, so no
lock is needed, whatever other processes and threads do at the same time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import stat
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cyxla import _runtime, files
from cyxla.cache_settings import (
    DIRECTORY_VARIABLE,
    SWITCH_VARIABLE,
    directory,
    is_enabled,
    size_limit,
)
from cyxla.errors import ArgumentError, CyxlaError

__all__ = [
    "CacheStatus",
    "check_key",
    "clear",
    "load",
    "status",
    "store",
    "verify",
]

_SUFFIX = ".cyxla"

# Others are not touched, in case that the directory is one with program files of the user's.
_ENTRY_NAME = re.compile(r"[0-9a-f]{64}\.cyxla")
_HITS = "hits"

# What libcyxla calls a file that it has not finished; see src/base/disk_posix.c.
_UNFINISHED = re.compile(r"\.cyxla-\d+-\d+\.tmp")

# Seconds. A hit makes an entry young again, but writes that down only once in this time; an
# unfinished file of this age has no writer any more.
_TOUCH_AFTER = 3600.0
_ABANDONED_AFTER = 3600.0

# Where the name of an entry is, so that one with another's name is noticed.
_KEY = "cache_key"


@dataclass(frozen=True)
class CacheStatus:
    """What the cache holds.

    Attributes:
        directory: where it is.
        enabled: whether it is used.
        entries: how many there are.
        bytes: the sum of their sizes.
        max_bytes: how large that may become.
        hits: about how often an entry has served since the cache was cleared.
    """

    directory: Path
    enabled: bool
    entries: int
    bytes: int
    max_bytes: int
    hits: int


def check_key(key: str) -> None:
    """Raises ArgumentError unless `key` is a hash in the form that names entries."""
    if not isinstance(key, str) or not re.fullmatch("[0-9a-f]{64}", key):
        raise ArgumentError(f"a key is what cyxla.cache_key returns, not {key!r}")


# Entries


def load(key: str) -> files.Contents | None:
    """The entry of this key; None where there is none, or none that can be used."""
    folder = directory()
    if not _is_private(folder):
        return None
    path = _path(folder, key)
    contents = _read(path, key)
    if contents is not None:
        _count_hit(folder, path)
    return contents


def store(key: str, contents: files.Contents) -> None:
    """Makes an entry, in the place of what is there; of a failure it only warns."""
    folder = directory()
    limit = size_limit()
    size = len(contents.stablehlo) + len(contents.executable)
    if size > limit or not _is_made_private(folder):
        return
    _make_room(folder, limit - size)
    named = dataclasses.replace(contents, metadata={**contents.metadata, _KEY: key})
    try:
        _runtime.write_file(os.fspath(_path(folder, key)), named)
    except CyxlaError as error:
        _warn(folder, str(error))


def _path(folder: Path, key: str) -> Path:
    return folder / f"{key}{_SUFFIX}"


def _read(path: Path, key: str) -> files.Contents | None:
    """A whole entry of this user and this key, else None."""
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode) or not _is_own(found):
            return None
        contents = files.read(path)
    except (OSError, CyxlaError):
        return None
    return contents if contents.metadata.get(_KEY) == key else None


def _count_hit(folder: Path, path: Path) -> None:
    """Notes that an entry has served. Nothing depends on it: of hits at the same time, some may not
    count, and in a directory that can't be written, none do."""
    with contextlib.suppress(OSError):
        now = time.time()
        if now - os.stat(path).st_mtime > _TOUCH_AFTER:
            os.utime(path)
        descriptor = os.open(folder / _HITS, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            hits = _number(os.pread(descriptor, 20, 0)) + 1
            os.pwrite(descriptor, b"%020d" % hits, 0)
        finally:
            os.close(descriptor)


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() else 0


# The directory


def _is_own(found: os.stat_result) -> bool:
    """Whether a file or directory is this user's, and only he can write it."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_private(folder: Path) -> bool:
    """Whether the directory may be used; one that is not there is nothing to warn of."""
    try:
        found = os.stat(folder)
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            _warn(folder, str(error))
        return False
    if not stat.S_ISDIR(found.st_mode):
        _warn(folder, "it is no directory")
        return False
    if not _is_own(found):
        _warn(
            folder,
            f"it belongs to user {found.st_uid} and has mode {stat.S_IMODE(found.st_mode):04o}, "
            "and code is loaded only from what this user alone can write",
        )
        return False
    return True


def _is_made_private(folder: Path) -> bool:
    """The same, for a directory that is made where it is not there."""
    if not folder.is_dir():
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            _warn(folder, str(error))
            return False
    return _is_private(folder)


_warned: set[Path] = set()


def _warn(folder: Path, reason: str) -> None:
    """Warns that the cache does not work, once for each directory."""
    if folder in _warned:
        return
    _warned.add(folder)
    warnings.warn(
        f"cyxla's cache in {folder} can't be used: {reason}; programs are compiled without it "
        f"({DIRECTORY_VARIABLE} chooses another directory, {SWITCH_VARIABLE}=0 none)",
        RuntimeWarning,
        stacklevel=2,
    )


# Its size


class _Entry(NamedTuple):
    last_use: float
    size: int
    path: Path


def _entries(folder: Path) -> Iterator[_Entry]:
    return (each for each in _all_files(folder) if _ENTRY_NAME.fullmatch(each.path.name))


def _all_files(folder: Path) -> Iterator[_Entry]:
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for each in found:
            with contextlib.suppress(OSError):  # another process has just removed it
                status = each.stat(follow_symlinks=False)
                yield _Entry(status.st_mtime, status.st_size, Path(each.path))


def _make_room(folder: Path, size: int) -> None:
    """Removes what nobody will finish, and of the entries those that served longest ago, until the
    rest has `size` bytes at most."""
    _remove_abandoned(folder)
    entries = sorted(_entries(folder))
    total = sum(each.size for each in entries)
    for each in entries:
        if total <= size:
            break
        _remove(each.path)
        total -= each.size


def _remove_abandoned(folder: Path) -> None:
    """Removes unfinished files, but those that another process may just be writing."""
    oldest = time.time() - _ABANDONED_AFTER
    for each in _all_files(folder):
        if _UNFINISHED.fullmatch(each.path.name) and each.last_use < oldest:
            _remove(each.path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


# For people


def status() -> CacheStatus:
    """What the cache holds."""
    folder = directory()
    sizes = [each.size for each in _entries(folder)]
    try:
        hits = _number((folder / _HITS).read_bytes())
    except OSError:
        hits = 0
    return CacheStatus(folder, is_enabled(), len(sizes), sum(sizes), size_limit(), hits)


def clear() -> int:
    """Removes all entries from the cache; returns how many there were."""
    folder = directory()
    entries = list(_entries(folder))
    for each in entries:
        _remove(each.path)
    _remove_abandoned(folder)
    _remove(folder / _HITS)
    return len(entries)


def verify() -> list[Path]:
    """Reads each entry, and removes and returns those that would not be used."""
    bad = [each.path for each in _entries(directory()) if _read(each.path, each.path.stem) is None]
    for path in bad:
        _remove(path)
    return bad
