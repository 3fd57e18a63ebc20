"""Program files: a program and its executable in one file, for other processes and languages.

libcyxla reads and writes them; docs/files.md describes them. Python has one compiler more than C,
jaxlib's, and so it chooses by itself what to do where a stored executable does not fit.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform as python_platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from cyxla import _runtime, custom_calls, engines, platforms
from cyxla import low_latency as latency
from cyxla.compilation import (
    Origin,
    compile_program,
    ready_custom_calls,
    statistics_of,
)
from cyxla.errors import CyxlaError, StatusError
from cyxla.platforms import LoadedPlugin, Option
from cyxla.program import ArrayType, Program, artifact_version, cyxla_version

__all__ = [
    "Contents",
    "is_program_file",
    "load",
    "load_program",
    "read",
    "save_executable",
    "save_program",
]

# With this begin the files of all versions.
_MAGIC = b"\x89CYX\r\n\x1a\n"

# What is not tried again by a compiler: as cyxla_file_load.
_FINAL = ("NOT_FOUND", "RESOURCE_EXHAUSTED", "SIGNATURE_MISMATCH")

# Names of metadata.
_LARGEST_WORK = "largest_work"
_CALLS_OF_XLA = "custom_calls_of_xla"


@dataclass(frozen=True)
class Contents:
    """What is in a program file.

    Attributes:
        name, platform, inputs, outputs: those of the program.
        stablehlo: b"" where there is none.
        executable: the serialized executable, b"" where there is none.
        fingerprint: of what compiled it: a plugin's, or a text such as "jaxlib 0.11.2".
        cpu_features: architecture and features that its code needs, such as "x86_64,avx,avx2".
        options: XLA's options that it was compiled with.
        targets: the FFI targets that the program calls.
        producers: names and versions of who took part.
        metadata: anything else.
    """

    name: str
    platform: str
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]
    stablehlo: bytes = b""
    executable: bytes = b""
    fingerprint: str = ""
    cpu_features: str = ""
    options: Mapping[str, Option] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    producers: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def custom_calls(self) -> tuple[str, ...]:
        """All that the program calls: the targets, and what XLA makes operations of its own of."""
        return tuple(sorted((*self.targets, *json.loads(self.metadata.get(_CALLS_OF_XLA, "[]")))))


# Writing


def save_program(program: Program, path: str | os.PathLike[str]) -> None:
    """Writes a program file without an executable."""
    _runtime.write_file(os.fsdecode(path), contents_of(program))


def save_executable(executable: _runtime.Executable, path: str | os.PathLike[str]) -> None:
    """Writes a program file of an executable and, where it is known, its program."""
    origin = executable.origin
    if executable.program is not None:
        contents = contents_of(executable.program)
    else:  # it comes from a file without StableHLO
        contents = Contents(
            executable.name,
            executable.platform,
            executable.input_types,
            executable.output_types,
            targets=origin.targets,
        )
    complete = dataclasses.replace(
        contents,
        executable=executable.serialize(),
        fingerprint=origin.fingerprint,
        options=origin.options,
        producers={**contents.producers, **origin.producers},
    )
    _runtime.write_file(os.fsdecode(path), complete)


def contents_of(program: Program) -> Contents:
    """What a file of the program holds."""
    own = [each for each in program.custom_calls if custom_calls.is_of_xla(each)]
    metadata = {}
    if own:
        metadata[_CALLS_OF_XLA] = json.dumps(own)
    if program.largest_work is not None:
        metadata[_LARGEST_WORK] = str(program.largest_work)
    producers = {"cyxla": program.cyxla_version, "python": python_platform.python_version()}
    if program.jax_version is not None:
        producers["jax"] = program.jax_version
    return Contents(
        name=program.name,
        platform=program.platform,
        inputs=program.inputs,
        outputs=program.outputs,
        stablehlo=program.stablehlo,
        targets=tuple(each for each in program.custom_calls if each not in own),
        producers=producers,
        metadata=metadata,
    )


# Reading


def read(path: str | os.PathLike[str]) -> Contents:
    """What is in a program file; nothing of it is compiled or run.

    Raises:
        StatusError: it can't be read, is no program file, or is damaged.
    """
    return Contents(**_runtime.read_file(os.fsdecode(path)))


def is_program_file(data: bytes) -> bool:
    """Whether bytes are those of a program file, of whatever version; it may be damaged."""
    return data.startswith(_MAGIC)


def load_program(path: str | os.PathLike[str]) -> Program:
    """The program in a file of `Program.save` or `Executable.save`.

    Raises:
        CyxlaError: there is only its executable in it.
        StatusError: it can't be read, is no program file, or is damaged.
    """
    program = program_in(read(path))
    if program is None:
        raise CyxlaError(f"{os.fsdecode(path)}: there is an executable in it, and no StableHLO")
    return program


def program_in(contents: Contents) -> Program | None:
    """The program in a file; None where there is only its executable in it."""
    if not contents.stablehlo:
        return None
    if artifact_version(contents.stablehlo) is None:  # text, written by others
        # Imported late: it needs JAX.
        from cyxla.stablehlo import from_stablehlo

        made = from_stablehlo(contents.stablehlo, platform=contents.platform, name=contents.name)
        return dataclasses.replace(made, inputs=contents.inputs, outputs=contents.outputs)
    work = contents.metadata.get(_LARGEST_WORK)
    return Program(
        stablehlo=contents.stablehlo,
        name=contents.name,
        platform=contents.platform,
        inputs=contents.inputs,
        outputs=contents.outputs,
        custom_calls=contents.custom_calls,
        jax_version=contents.producers.get("jax"),
        cyxla_version=contents.producers.get("cyxla") or cyxla_version(),
        largest_work=None if work is None else int(work),
    )


# Loading


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
    contents = read(path)
    program = program_in(contents)
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
