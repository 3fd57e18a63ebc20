"""`export`: a C library of a function."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from cyxla import exporting
from cyxla.commands import functions, progress
from cyxla.errors import CyxlaError
from cyxla.program import Program

__all__ = ["add"]


def add(commands: Any) -> None:
    """Declares the verb."""
    parser = commands.add_parser(
        "export",
        help="make a C library of a function",
        description="Makes a C function of a JAX function: sources and libraries that need "
        "neither XLA nor cyxla.",
    )
    parser.add_argument(
        "function", help="module:function, or a file of StableHLO, which has its own signature"
    )
    parser.add_argument(
        "shapes",
        nargs="*",
        type=functions.array_type,
        metavar="TYPE",
        help="such as float64[3,4], one for each argument",
    )
    parser.add_argument("-o", "--output", type=Path, default=Path(), metavar="DIRECTORY")
    parser.add_argument("--name", help="of the C function; else that of the function")
    parser.add_argument(
        "--cpu", choices=list(exporting.CPUS), default="sse4.2", help="what it is to run on"
    )
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    with progress.shown(f"exporting {chosen.function}"):
        exported = exporting.export(
            _lowered(chosen), chosen.output, name=chosen.name, cpu=chosen.cpu
        )
    print(f"compiled by {exported.compiler} for {chosen.cpu}")
    files = (exported.header, *exported.sources, exported.object_file, exported.static_library)
    for file in (*files, exported.shared_library):
        if file is not None:
            print(file)
    return 0


def _lowered(chosen: argparse.Namespace) -> Program:
    if ":" in chosen.function:
        return functions.lowered(chosen.function, chosen.shapes, name=chosen.name)
    if chosen.shapes:
        raise CyxlaError(f"{chosen.function}: a file of StableHLO has its own signature")
    # Imported late: it needs JAX.
    from cyxla.stablehlo import from_stablehlo

    return from_stablehlo(Path(chosen.function), name=chosen.name)
