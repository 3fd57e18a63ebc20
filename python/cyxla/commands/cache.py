"""`cache`: what the disk cache holds."""

from __future__ import annotations

import argparse
from typing import Any

from cyxla import cache

__all__ = ["add"]


def add(commands: Any) -> None:
    """Declares the verb."""
    parser = commands.add_parser(
        "cache",
        help="show, clear or verify the disk cache",
        description="Shows where the disk cache is and what it holds; `clear` removes all entries, "
        "`verify` reads each one and removes those that are damaged, of which there are some where "
        "the exit status is 1.",
    )
    actions = {"show": _show, "clear": _clear, "verify": _verify}
    parser.add_argument("action", nargs="?", choices=actions, default="show")
    parser.set_defaults(run=lambda chosen: actions[chosen.action](chosen))


def _show(chosen: argparse.Namespace) -> int:
    status = cache.status()
    print(f"directory  {status.directory}{'' if status.enabled else ' (switched off)'}")
    print(f"entries    {status.entries}")
    print(f"bytes      {status.bytes} of at most {status.max_bytes}")
    print(f"hits       {status.hits}")
    return 0


def _clear(chosen: argparse.Namespace) -> int:
    print(f"removed {cache.clear()} entries")
    return 0


def _verify(chosen: argparse.Namespace) -> int:
    entries = cache.status().entries
    bad = cache.verify()
    for path in bad:
        print(f"removed {path}")
    print(f"{entries - len(bad)} of {entries} entries are good")
    return 1 if bad else 0
