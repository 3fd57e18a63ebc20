"""Compiling programs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from cyxla import _runtime, custom_calls, platforms
from cyxla.errors import ArgumentTypeError, StatusError
from cyxla.platforms import LoadedPlugin, Option, PluginInfo
from cyxla.program import Program

__all__ = ["CompileStatistics", "compile_program"]


@dataclass(frozen=True)
class CompileStatistics:
    """How a program was compiled.

    Attributes:
        seconds: wall time from the program to the executable.
        from_cache: whether the executable was loaded rather than compiled.
        code_bytes: machine code, in bytes; None where the plugin does not tell.
        temp_bytes: temporaries of one run, in bytes; None where the plugin does not tell.
        platform: what it was compiled for.
        plugin: the plugin that compiled it, with its versions.
        workaround: what was done about a known fault of the plugin; None: nothing.
    """

    seconds: float
    from_cache: bool
    code_bytes: int | None
    temp_bytes: int | None
    platform: str
    plugin: PluginInfo
    workaround: str | None


def compile_program(
    program: Program, *, options: Mapping[str, Option] | None = None
) -> tuple[_runtime.Executable, CompileStatistics]:
    """Compiles a program with the plugin of this process, the default one if none is loaded.

    For the CPU, XLA's options are those that JAX sets; `options` adds others by their names in
    XLA's debug options, such as {"xla_cpu_prefer_vector_width": 128}.  The GIL is released while
    the plugin compiles.

    Raises:
        CyxlaError: no plugin for the program's platform.
        StatusError: the plugin refuses the program, or an option, which it names.
        VersionError: the plugin is too old for the program's StableHLO.
    """
    if not isinstance(program, Program):
        raise ArgumentTypeError(
            f"compile_program needs a Program, made by lower or from_stablehlo, not {program!r}"
        )
    start = time.perf_counter()
    plugin = platforms.loaded_plugin(program.platform)
    stablehlo = _readable_stablehlo(program, plugin.info)
    executable = _compile(plugin, program, stablehlo, dict(options or {}))
    statistics = CompileStatistics(
        seconds=time.perf_counter() - start,
        from_cache=False,
        code_bytes=executable.code_bytes,
        temp_bytes=executable.temp_bytes,
        platform=program.platform,
        plugin=plugin.info,
        workaround=executable.workaround,
    )
    return executable, statistics


def _compile(
    plugin: LoadedPlugin, program: Program, stablehlo: bytes, options: dict[str, Option]
) -> _runtime.Executable:
    if not program.custom_calls:
        return _runtime.compile_program(plugin.handle, program, stablehlo, options)
    custom_calls.prepare(program.custom_calls, program.name)
    try:
        return _runtime.compile_program(plugin.handle, program, stablehlo, options)
    except StatusError as error:
        reason = custom_calls.explain(program.custom_calls, program.platform, plugin)
        if not reason:
            raise
        message = f"{program.name}: {reason} ({error})"
        raise StatusError(error.code, error.status, message) from error


def _readable_stablehlo(program: Program, plugin: PluginInfo) -> bytes:
    """The program's StableHLO, rewritten for an older version where the plugin needs that."""
    newest = plugin.stablehlo_version
    if newest is not None and program.stablehlo_version <= newest:
        return program.stablehlo
    # Imported late: only rewriting needs JAX.
    from cyxla import stablehlo

    target = stablehlo.target_version(newest)
    if program.stablehlo_version <= target:
        return program.stablehlo
    return stablehlo.retarget(program.stablehlo, target)
