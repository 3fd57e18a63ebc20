"""`compile`: a program file of a function."""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path
from typing import Any

from cyxla import engines
from cyxla.commands import functions, progress
from cyxla.compilation import COMPILERS, compile_program

__all__ = ["add"]

_LOW_LATENCY: dict[str, bool | str] = {"auto": "auto", "on": True, "off": False}


def add(commands: Any) -> None:
    """Declares the verb."""
    parser = commands.add_parser(
        "compile",
        help="compile a function to a program file",
        description="Compiles a JAX function to a program file, which C, C++, Fortran, Rust and "
        "`cyxla run` load without Python's help.",
        epilog="example: cyxla compile examples.rosenbrock:value_and_gradient --input 'f64[10]' "
        "-o rosenbrock.cyxla",
    )
    parser.add_argument("function", metavar="MODULE:FUNCTION", type=_function)
    parser.add_argument(
        "-i",
        "--input",
        action="append",
        default=[],
        type=functions.array_type,
        metavar="TYPE",
        dest="inputs",
        help="type of an argument, such as f64[10], float32[3,4] or i32; one for each, in order",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="else NAME.cyxla")
    parser.add_argument("--name", help="of the program; else that of the function")
    parser.add_argument(
        "--x64",
        action="store_true",
        help="switch JAX's 64-bit types on, which a 64-bit input does anyway",
    )
    parser.add_argument("--platform", default="cpu", help="what it is to run on (cpu)")
    parser.add_argument("--engine", choices=engines.ENGINES, help="what is to run it")
    parser.add_argument("--compiler", choices=COMPILERS, default="auto", help="who compiles")
    parser.add_argument(
        "--low-latency", choices=_LOW_LATENCY, default="auto", help="for small arrays (auto)"
    )
    parser.set_defaults(run=_run)


def _function(text: str) -> str:
    module, colon, function = text.partition(":")
    if not (module and colon and function):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form package.module:function")
    return text


def _run(chosen: argparse.Namespace) -> int:
    start = time.perf_counter()
    name = chosen.name or re.split("[:.]", chosen.function)[-1]
    with progress.shown(f"compiling {chosen.function}"):
        program = functions.lowered(
            chosen.function,
            chosen.inputs,
            name=name,
            platform=chosen.platform,
            x64=chosen.x64,
        )
        executable, statistics = compile_program(
            program,
            engine=chosen.engine,
            compiler=chosen.compiler,
            low_latency=_LOW_LATENCY[chosen.low_latency],
        )
        path = chosen.output or Path(f"{name}.cyxla")
        executable.save(path)
    compiler = Path(statistics.compiler or "").name
    seconds = time.perf_counter() - start
    print(
        f"{path}: {path.stat().st_size:,} bytes, compiled by {compiler} in {seconds:.1f} s, "
        f"{executable.engine} engine"
    )
    return 0
