"""Exporting programs as C libraries that need neither XLA nor cyxla to run."""

from __future__ import annotations

import os
import pickle
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cyxla import engines
from cyxla.compilation import compile_program
from cyxla.errors import ArgumentError, ArgumentTypeError, CyxlaError, StatusError
from cyxla.platforms import Option
from cyxla.program import Program

__all__ = ["CPUS", "ExportedFunction", "export"]

#: Processors that can be asked for, and XLA's names of what it may use there; None: all there is.
CPUS: Mapping[str, str | None] = {
    "sse4.2": "SSE4_2",
    "avx": "AVX",
    "avx2": "AVX2",
    "avx512": "AVX512",
    "native": None,
}

# Where the environment variable CC doesn't say.
_C_COMPILERS = ("cc", "gcc", "clang")

_C_FLAGS = ("-std=c99", "-O2", "-fPIC", "-Wall", "-Wextra")


@dataclass(frozen=True)
class ExportedFunction:
    """The files of an exported function.

    Attributes:
        name: that of the C function.
        header: its declaration, and what its callers must know.
        sources: a C file, and the machine code as text for the assembler.
        object_file: both of them compiled; None where there was no C compiler, as the next two.
        static_library: the same as an archive.
        shared_library: the same as a shared library.
        compiler: what compiled the program, such as "jaxlib 0.11.2".
    """

    name: str
    header: Path
    sources: tuple[Path, Path]
    object_file: Path | None
    static_library: Path | None
    shared_library: Path | None
    compiler: str


def export(
    program: Program,
    directory: str | os.PathLike[str],
    *,
    name: str | None = None,
    cpu: str = "sse4.2",
    options: Mapping[str, Option] | None = None,
    low_latency: bool = True,
    build: bool = True,
) -> ExportedFunction:
    """Makes a C function of a program, as a header and a library without dependencies but libm.

    Another Python process compiles the program, since XLA must know the processor when it starts.

    Args:
        program: made by `lower` or `from_stablehlo`, for the CPU.
        directory: where the files are to be; it is made where there is none.
        name: the C function's name, with which the files' names begin; None: the program's.
        cpu: the processor that is to run it: "sse4.2", "avx", "avx2" and "avx512" are those of
            x86-64 that have as much; "native" is the one at hand. Code for newer ones is faster,
            and rounds a little differently. Half precision takes "avx" at least.
        options: XLA's debug options, as for `compile_program`.
        low_latency: as for `compile_program`; False keeps JAX's options, and so its bits on the
            processor at hand, but larger matrix products and sums can't be exported then.
        build: whether to call the C compiler (CC of the environment, or cc, gcc, clang) where there
            is one. The sources can be compiled anywhere, with any options.

    Raises:
        ArgumentError, ArgumentTypeError: an argument has a value that it can't have.
        CyxlaError: the C compiler fails; the process that compiles does not start.
        StatusError: the program can't be exported; the message lists why. No file is written.
    """
    if not isinstance(program, Program):
        raise ArgumentTypeError(
            f"export needs a Program, made by lower or from_stablehlo, not {program!r}"
        )
    engines.check_choice("cpu", cpu, tuple(CPUS))
    if program.platform != "cpu":
        raise ArgumentError(
            f"{program.name} is for {program.platform}: only programs for the CPU can be exported"
        )
    if name is None:
        name = re.sub(r"\W+", "_", program.name, flags=re.ASCII).strip("_")
    request = _Request(program, name, dict(options or {}), low_latency)
    with tempfile.TemporaryDirectory(prefix="cyxla-export-") as work:
        compiler = _make_sources(request, Path(work), cpu)
        if build:
            _build(name, Path(work))
        return _deliver(name, Path(work), Path(directory), compiler)


# Compiling the program, in a process of its own


@dataclass(frozen=True)
class _Request:
    program: Program
    name: str
    options: dict[str, Option]
    low_latency: bool


def _make_sources(request: _Request, work: Path, cpu: str) -> str:
    """Writes the sources to `work`; returns what compiled the program."""
    (work / "request").write_bytes(pickle.dumps(request))
    command = [sys.executable, "-c", "from cyxla.exporting import _serve; _serve()", str(work)]
    done = subprocess.run(command, env=_environment(cpu), capture_output=True, text=True)
    try:
        answer = pickle.loads((work / "answer").read_bytes())
    except FileNotFoundError:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise CyxlaError(
            f"{request.program.name}: the process that compiles died: {last[0]}"
        ) from None
    if isinstance(answer, Exception):
        raise _explained(answer, cpu)
    assert isinstance(answer, str)
    return answer


def _environment(cpu: str) -> dict[str, str]:
    environment = dict(os.environ)
    isa = CPUS[cpu]
    if isa is not None:
        flags = environment.get("XLA_FLAGS", "")
        environment["XLA_FLAGS"] = f"{flags} --xla_cpu_max_isa={isa}".strip()
    return environment


def _explained(error: Exception, cpu: str) -> Exception:
    """XLA has no conversions of half precision for processors that lack them."""
    if cpu != "sse4.2" or not isinstance(error, StatusError) or "materialize" not in str(error):
        return error
    message = f"XLA can't compile half precision for sse4.2: export for cpu='avx' ({error})"
    return StatusError(error.code, error.status, message)


def _serve() -> None:
    """What the other process does. The answer is what compiled the program, or the exception."""
    work = Path(sys.argv[1])
    answer: str | Exception
    try:
        answer = _write_sources(pickle.loads((work / "request").read_bytes()), work)
    except Exception as error:
        answer = error if isinstance(error, CyxlaError) else CyxlaError(repr(error))
    (work / "answer").write_bytes(pickle.dumps(answer))


def _write_sources(request: _Request, work: Path) -> str:
    executable, statistics = compile_program(
        request.program,
        options=request.options,
        engine="direct",
        low_latency=request.low_latency,
    )
    compiler = Path(statistics.compiler or "").name
    executable.export(work, request.name, compiler)
    return compiler


# Compiling the sources


def _build(name: str, work: Path) -> None:
    """Compiles the sources in `work`, where there is a C compiler."""
    given = os.environ.get("CC")
    found = given or next(filter(shutil.which, _C_COMPILERS), None)
    if found is None:
        return
    cc = shlex.split(found)
    ar = shlex.split(os.environ.get("AR", "ar"))
    _run([*cc, *_C_FLAGS, "-c", f"{name}.c", "-o", "driver.o"], work)
    _run([*cc, "-c", f"{name}_kernels.S", "-o", "kernels.o"], work)
    _run([*cc, "-r", "-nostdlib", "driver.o", "kernels.o", "-o", f"{name}.o"], work)
    _run([*ar, "rcs", f"lib{name}.a", f"{name}.o"], work)
    link = ["-shared", "-Wl,-z,defs", "-Wl,-z,text"]
    _run([*cc, *link, f"{name}.o", "-lm", "-o", f"lib{name}.so"], work)


def _run(command: Sequence[str], directory: Path) -> None:
    try:
        subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True)
    except OSError as error:
        raise CyxlaError(f"{command[0]} can't be run: {error}") from error
    except subprocess.CalledProcessError as error:
        raise CyxlaError(f"{shlex.join(command)} failed: {error.stderr}") from error


# The files


def _deliver(name: str, work: Path, directory: Path, compiler: str) -> ExportedFunction:
    """Puts the files that are there into their place, each at once: a library may be in use."""
    directory.mkdir(parents=True, exist_ok=True)

    def place(file: str) -> Path:
        temporary = directory / f".{file}.{os.getpid()}"
        shutil.copy(work / file, temporary)
        return temporary.replace(directory / file)

    def place_built(file: str) -> Path | None:
        return place(file) if (work / file).exists() else None

    return ExportedFunction(
        name=name,
        header=place(f"{name}.h"),
        sources=(place(f"{name}.c"), place(f"{name}_kernels.S")),
        object_file=place_built(f"{name}.o"),
        static_library=place_built(f"lib{name}.a"),
        shared_library=place_built(f"lib{name}.so"),
        compiler=compiler,
    )
