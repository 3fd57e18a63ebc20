"""`plugins`: the PJRT plugins that are installed."""

from __future__ import annotations

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from cyxla.errors import CyxlaError
from cyxla.platforms import (
    PluginCandidate,
    PluginInfo,
    default_candidate,
    find_plugins,
    initialize,
)

__all__ = ["add", "list_plugins"]


def add(commands: Any) -> None:
    """Declares the verb."""
    parser = commands.add_parser(
        "plugins",
        help="list the plugins that are installed (the default)",
        description="Lists the PJRT plugins that are installed, and which one is the default.",
    )
    parser.set_defaults(run=list_plugins)


def list_plugins(chosen: argparse.Namespace) -> int:
    """Prints the plugins that are installed."""
    candidates = find_plugins()
    if not candidates:
        raise CyxlaError(
            "no PJRT plugin is installed; the direct engine needs none, and "
            'pip install "cyxla[cpu]" brings one for what it does not run'
        )
    default = default_candidate()
    for candidate in candidates:
        print(f"{candidate.name}{' (default)' if candidate == default else ''}")
        print(f"  path       {candidate.path}")
        print(f"  platform   {candidate.platform}")
        for line in _describe(candidate):
            print(f"  {line}")
    return 0


def _describe(candidate: PluginCandidate) -> list[str]:
    """What the plugin says of itself, or why it can't be loaded."""
    try:
        info = _load_elsewhere(candidate)
    except CyxlaError as error:
        return [f"unusable   {error}"]
    except BrokenProcessPool:
        return ["unusable   the process that loaded it died"]
    stablehlo = ".".join(map(str, info.stablehlo_version)) if info.stablehlo_version else "not told"
    return [
        f"PJRT       {info.pjrt_version[0]}.{info.pjrt_version[1]}",
        f"StableHLO  {stablehlo}",
        f"devices    {info.device_count}",
    ]


def _load_elsewhere(candidate: PluginCandidate) -> PluginInfo:
    """Loads a plugin in a process of its own: a process has one, and a faulty one may crash."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        load = pool.submit(
            initialize, candidate.path, candidate.options, platform=candidate.platform
        )
        return load.result()
