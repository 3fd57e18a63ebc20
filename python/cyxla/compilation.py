"""Compiling programs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cyxla import _runtime, custom_calls, platforms
from cyxla.errors import ArgumentTypeError, StatusError
from cyxla.platforms import LoadedPlugin, Option, PluginInfo
from cyxla.program import Program

__all__ = ["CompileStatistics", "compile_program", "load_executable"]


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
    _check_program(program, "compile_program")
    start = time.perf_counter()
    plugin = platforms.loaded_plugin(program.platform)
    stablehlo = _readable_stablehlo(program, plugin.info)
    with _custom_calls(program, plugin):
        executable = _runtime.compile_program(
            plugin.handle, program, stablehlo, dict(options or {})
        )
    return executable, _statistics(executable, program, plugin, start, from_cache=False)


def load_executable(program: Program, data: bytes) -> tuple[_runtime.Executable, CompileStatistics]:
    """Loads what `Executable.serialize` wrote of the executable of `program`.

    The bytes are native code: load only what you would also run.  They must be of this program, and
    come from the same plugin on the same kind of machine; inputs of another type that have the same
    size are not noticed.

    Raises:
        CyxlaError: no plugin for the program's platform.
        StatusError: the plugin refuses the bytes, or their outputs are not the program's.
    """
    _check_program(program, "load_executable")
    start = time.perf_counter()
    plugin = platforms.loaded_plugin(program.platform)
    with _custom_calls(program, plugin):
        executable = _runtime.load_executable(plugin.handle, program, data)
    return executable, _statistics(executable, program, plugin, start, from_cache=True)


def _check_program(program: Program, function: str) -> None:
    if not isinstance(program, Program):
        raise ArgumentTypeError(
            f"{function} needs a Program, made by lower or from_stablehlo, not {program!r}"
        )


@contextlib.contextmanager
def _custom_calls(program: Program, plugin: LoadedPlugin) -> Iterator[None]:
    """Readies the program's custom calls, and explains them where it does not compile or load."""
    if not program.custom_calls:
        yield
        return
    custom_calls.prepare(program.custom_calls, program.name)
    try:
        yield
    except StatusError as error:
        named = tuple(each for each in program.custom_calls if each in str(error))
        reason = custom_calls.explain(named, program.platform, plugin)
        if not reason:
            raise
        message = f"{program.name}: {reason} ({error})"
        raise StatusError(error.code, error.status, message) from error


def _statistics(
    executable: _runtime.Executable,
    program: Program,
    plugin: LoadedPlugin,
    start: float,
    from_cache: bool,
) -> CompileStatistics:
    return CompileStatistics(
        seconds=time.perf_counter() - start,
        from_cache=from_cache,
        code_bytes=executable.code_bytes,
        temp_bytes=executable.temp_bytes,
        platform=program.platform,
        plugin=plugin.info,
        workaround=executable.workaround,
    )


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
