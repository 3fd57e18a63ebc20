"""`python -m cyxla`: the plugins that are installed, and which one would be the default;
`python -m cyxla targets`: the native functions that programs may call, jaxlib's and others;
`python -m cyxla inspect FILE`: what a serialized executable holds, and whether it runs direct;
`python -m cyxla export FUNCTION SHAPE...`: a C library of a function."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import multiprocessing
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import cyxla
from cyxla import _runtime
from cyxla.custom_calls import targets
from cyxla.element_types import ElementType
from cyxla.errors import ArgumentError, CyxlaError
from cyxla.exporting import CPUS
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
    commands = parser.add_subparsers(dest="command", metavar="{plugins,targets,inspect,export}")
    commands.add_parser("plugins", help="list the plugins that are installed (the default)")
    commands.add_parser("targets", help="list the native functions that programs may call")
    inspector = commands.add_parser("inspect", help="describe a serialized executable")
    inspector.add_argument("file", type=Path, help="what Executable.serialize, or jaxlib, wrote")
    exporter = commands.add_parser("export", help="make a C library of a function")
    exporter.add_argument(
        "function", help="module:function, or a file of StableHLO, which has its own signature"
    )
    exporter.add_argument("shapes", nargs="*", metavar="SHAPE", help="such as float64[3,4]")
    exporter.add_argument("-o", "--output", type=Path, default=Path(), metavar="DIRECTORY")
    exporter.add_argument("--name", help="of the C function; else that of the function")
    exporter.add_argument(
        "--cpu", choices=list(CPUS), default="sse4.2", help="what it is to run on"
    )
    chosen = parser.parse_args(arguments)
    if chosen.command == "inspect":
        return inspect(chosen.file)
    if chosen.command == "export":
        return export(chosen.function, chosen.shapes, chosen.output, chosen.name, chosen.cpu)
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


def export(function: str, shapes: list[str], output: Path, name: str | None, cpu: str) -> int:
    """Exports a function, and prints the files."""
    try:
        exported = cyxla.export(_lowered(function, shapes, name), output, name=name, cpu=cpu)
    except (OSError, ImportError, AttributeError, CyxlaError) as error:
        print(f"{function}: {error}")
        return 1
    print(f"compiled by {exported.compiler} for {cpu}")
    files = (exported.header, *exported.sources, exported.object_file, exported.static_library)
    for file in (*files, exported.shared_library):
        if file is not None:
            print(file)
    return 0


def _lowered(function: str, shapes: list[str], name: str | None) -> cyxla.Program:
    module, colon, attribute = function.partition(":")
    if not colon:
        return cyxla.from_stablehlo(Path(function), name=name)
    jax: Any = importlib.import_module("jax")
    if any("64" in shape or "128" in shape for shape in shapes):
        jax.config.update("jax_enable_x64", True)
    arguments = [jax.ShapeDtypeStruct(*_parsed(shape)) for shape in shapes]
    return cyxla.lower(getattr(importlib.import_module(module), attribute), arguments, name=name)


def _parsed(shape: str) -> tuple[tuple[int, ...], Any]:
    match = re.fullmatch(r"(\w+)\[([\d, ]*)\]", shape)
    if match is None or match[1] not in ElementType.__members__:
        raise ArgumentError(f"{shape} is no shape such as float64[3,4] or int32[]")
    return tuple(map(int, re.findall(r"\d+", match[2]))), ElementType[match[1]].dtype


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
