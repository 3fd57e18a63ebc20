"""Program files: a program and its executable in one file, for other processes and languages.

libcyxla reads and writes them; docs/files.md describes them.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform as python_platform
from collections.abc import Mapping
from dataclasses import dataclass, field

from cyxla import _runtime, custom_calls
from cyxla.errors import CyxlaError
from cyxla.platforms import Option
from cyxla.program import ArrayType, Program, artifact_version, cyxla_version

__all__ = [
    "Contents",
    "contents_of",
    "is_program_file",
    "load_program",
    "program_in",
    "read",
    "save_executable",
    "save_program",
]

# With this begin the files of all versions.
_MAGIC = b"\x89CYX\r\n\x1a\n"

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
