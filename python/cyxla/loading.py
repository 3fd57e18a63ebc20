"""Making a program file runnable.

Python has one compiler more than C, jaxlib's, and so it chooses by itself what to do where a stored
executable does not fit.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping

from cyxla import _runtime, engines, files, platforms
from cyxla import low_latency as latency
from cyxla.compilation import compile_program, ready_custom_calls, statistics_of
from cyxla.errors import CyxlaError, StatusError
from cyxla.files import Contents
from cyxla.history import Origin
from cyxla.platforms import LoadedPlugin, Option
from cyxla.program import Program

__all__ = ["load"]

# What is not tried again by a compiler: as cyxla_file_load.
_FINAL = ("NOT_FOUND", "RESOURCE_EXHAUSTED", "SIGNATURE_MISMATCH")


class _Misfit(Exception):
    """The stored executable can't be run here, and a compiler may help."""


def load(path: str | os.PathLike[str], *, engine: str | None = None) -> _runtime.Executable:
    """Makes a program file runnable; inputs and outputs have the names in the file.

    The direct engine takes the stored executable where it was compiled for a processor like this
    one. PJRT's engine takes it where the installed plugin has compiled it. In all other cases the
    program in the file is compiled again, with the same options, and
    `executable.statistics.recompiled` says why.

    A program file is code: load only what you would also run.

    Args:
        path: what `Executable.save`, `Program.save` or a C program has written.
        engine: as for `compile_program`.

    Raises:
        ArgumentError: there is no such engine.
        CyxlaError: neither does the executable fit, nor can the program be compiled.
        StatusError: the file can't be read, is no program file, or is damaged; or it calls a target
            that is not registered.
    """
    start = time.perf_counter()
    engine = engines.chosen_engine(engine)
    contents = files.read(path)
    program = files.program_in(contents)
    with ready_custom_calls(contents):
        try:
            executable, plugin = _load_stored(contents, program, engine)
        except _Misfit as misfit:
            reason = f"{os.fsdecode(path)}: {misfit}"
            return _compile_again(contents, program, engine, reason)
    origin = Origin(contents.fingerprint, contents.options, contents.producers, contents.targets)
    _runtime.set_history(executable, statistics_of(executable, start, plugin), origin)
    return executable


def _load_stored(
    contents: Contents, program: Program | None, engine: str
) -> tuple[_runtime.Executable, LoadedPlugin | None]:
    """The stored executable, and the plugin where that was needed."""
    data = contents.executable
    if not data:
        raise _Misfit("there is no executable in it")
    misfit = _Misfit(
        f"PJRT's engine takes what the same plugin has compiled, not {_maker(contents)}"
    )
    if contents.platform == "cpu" and engine != "pjrt":
        try:
            return _runtime.load_executable(None, program or contents, data, engine), None
        except StatusError as error:
            misfit = _checked(error)
    plugin = None if engine == "direct" else _plugin_that_made(contents)
    if plugin is None:
        raise misfit
    try:
        return _runtime.load_executable(plugin.handle, program or contents, data, engine), plugin
    except StatusError as error:
        raise _checked(error) from error


def _checked(error: StatusError) -> _Misfit:
    """The error as a reason to compile again; raises it where it is none."""
    if error.status in _FINAL:
        raise error
    return _Misfit(str(error))


def _maker(contents: Contents) -> str:
    return f"that of {contents.fingerprint}" if contents.fingerprint else "that of an unknown one"


def _plugin_that_made(contents: Contents) -> LoadedPlugin | None:
    """The plugin of this process, if it has compiled the executable."""
    if not contents.fingerprint or contents.fingerprint.startswith("jaxlib "):
        return None
    try:
        plugin = platforms.loaded_plugin(contents.platform)
    except CyxlaError:
        return None
    return plugin if plugin.info.fingerprint == contents.fingerprint else None


def _compile_again(
    contents: Contents, program: Program | None, engine: str, reason: str
) -> _runtime.Executable:
    if program is None:
        raise CyxlaError(f"{reason}; there is no StableHLO in it that could be compiled")
    options, low_latency = _compile_options(contents, program)
    try:
        executable, statistics = compile_program(
            program, options=options, engine=engine, low_latency=low_latency
        )
    except CyxlaError as error:
        raise CyxlaError(f"{reason}; it can't be compiled again: {error}") from error
    statistics = dataclasses.replace(statistics, recompiled=reason)
    _runtime.set_history(executable, statistics, executable.origin)
    return executable


def _compile_options(
    contents: Contents, program: Program
) -> tuple[Mapping[str, Option], str | bool]:
    """The options that the executable was compiled with, as arguments of `compile_program`."""
    options = contents.options
    if not contents.executable:
        return options, "auto"
    if not options.items() >= latency.OPTIONS.items():
        return options, False
    rest = {name: value for name, value in options.items() if name not in latency.OPTIONS}
    # Older compilers do without, unless it was asked for.
    return rest, "auto" if latency.is_wanted(program, "auto") else True
