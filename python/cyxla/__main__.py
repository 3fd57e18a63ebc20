"""`python -m cyxla`: the plugins that are installed, and which one would be the default;
`python -m cyxla targets`: the native functions that programs may call, jaxlib's and others;
`python -m cyxla inspect FILE`: what a serialized executable holds, and whether it runs direct."""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import cyxla
from cyxla import _runtime
from cyxla.custom_calls import targets
from cyxla.errors import CyxlaError
from cyxla.platforms import (
    PluginCandidate,
    PluginInfo,
    default_candidate,
    find_plugins,
    initialize,
    loaded_plugin,
)


def main(arguments: list[str] | None = None) -> int:
    """Does what the arguments say; returns the exit status: 0, or 1 where there is nothing to show.

    For `inspect` that is an executable that the direct engine can't run.
    """
    parser = argparse.ArgumentParser(prog="python -m cyxla", description=__doc__)
    parser.add_argument("--version", action="version", version=f"cyxla {cyxla.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="{plugins,targets,inspect}")
    commands.add_parser("plugins", help="list the plugins that are installed (the default)")
    commands.add_parser("targets", help="list the native functions that programs may call")
    inspector = commands.add_parser("inspect", help="describe a serialized executable")
    inspector.add_argument("file", type=Path, help="what Executable.serialize, or jaxlib, wrote")
    chosen = parser.parse_args(arguments)
    if chosen.command == "inspect":
        return inspect(chosen.file)
    return list_targets() if chosen.command == "targets" else list_plugins()


def inspect(file: Path) -> int:
    """Prints what is in a serialized executable; nothing of it is run."""
    _bring_targets_of_jax()
    targets()  # registers them
    try:
        executable = _runtime.load_executable(None, None, file.read_bytes(), "direct")
    except (OSError, CyxlaError) as error:
        print(f"{file}: {error}")
        return 1
    thunks = executable.thunks or {}
    print(f"name    {executable.name}")
    for role, array_types in (
        ("input", executable.input_types),
        ("output", executable.output_types),
    ):
        for array_type in array_types:
            print(f"{role:7} {array_type}")
    print(f"engine  {executable.engine}: {executable.engine_reason}")
    print(f"thunks  {', '.join(f'{count} {kind}' for kind, count in thunks.items()) or 'none'}")
    print(f"code    {executable.code_bytes} bytes")
    print(f"temp    {executable.temp_bytes} bytes")
    return 0


def list_targets() -> int:
    """Prints the FFI targets, with what the default plugin has of them."""
    _bring_targets_of_jax()
    try:
        plugin = loaded_plugin(default_candidate().platform)
    except CyxlaError as error:
        print(error)
        return 1
    for each in targets(plugin):
        version = ".".join(map(str, each.ffi_version))
        state = f"{each.state}: {each.failure}" if each.failure else each.state
        print(f"{each.name:40} {each.platform:8} {each.origin:8} FFI {version:5} {state}")
    return 0


def _bring_targets_of_jax() -> None:
    with contextlib.suppress(ImportError):
        import jax.numpy.linalg  # noqa: F401


def list_plugins() -> int:
    """Prints the plugins that are installed."""
    candidates = find_plugins()
    if not candidates:
        print(
            "no PJRT plugin is installed; the direct engine needs none, and "
            'pip install "cyxla[cpu]" brings one for what it does not run'
        )
        return 1
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


if __name__ == "__main__":
    sys.exit(main())
