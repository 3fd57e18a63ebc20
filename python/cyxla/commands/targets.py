"""`targets`: the native functions that programs may call."""

from __future__ import annotations

import argparse
from typing import Any

from cyxla import custom_calls
from cyxla.platforms import default_candidate, find_plugins, loaded_plugin

__all__ = ["add"]


def add(commands: Any) -> None:
    """Declares the verb."""
    parser = commands.add_parser(
        "targets",
        help="list the native functions that programs may call",
        description="Lists the FFI targets, jaxlib's and others, and what the default plugin (if "
        "there is one) has of them.",
    )
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    custom_calls.bring_those_of_jax()
    plugin = loaded_plugin(default_candidate().platform) if find_plugins() else None
    for each in custom_calls.targets(plugin):
        version = ".".join(map(str, each.ffi_version))
        state = f"{each.state}: {each.failure}" if each.failure else each.state
        line = f"{each.name:40} {each.platform:8} {each.origin:8} FFI {version:5}"
        print(f"{line} {state}" if plugin else line.rstrip())
    return 0
