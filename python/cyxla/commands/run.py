"""`run`: one run of a program file, on arrays from files or from the command line."""

from __future__ import annotations

import argparse
import ast
from pathlib import Path
from typing import Any

import numpy as np

from cyxla import engines, loading
from cyxla.errors import ArgumentError
from cyxla.program import ArrayType

__all__ = ["add", "read_input"]


def add(commands: Any) -> None:
    """Declares the verb."""
    parser = commands.add_parser(
        "run",
        help="run a program file once",
        description="Runs a program file once, and prints or writes the results.",
        epilog="example: cyxla run scale.cyxla --input x.npy --input 2.5 -o y.npy",
    )
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "-i",
        "--input",
        action="append",
        default=[],
        metavar="VALUE",
        dest="inputs",
        help="a file *.npy, or a literal such as 2.5 or [1, 2, 3]; one for each input, in order",
    )
    parser.add_argument(
        "-o",
        "--output",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        dest="outputs",
        help="where to write a result, *.npy; one for each output, in order; else they are printed",
    )
    parser.add_argument("--engine", choices=engines.ENGINES, help="what is to run it")
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    executable = loading.load(chosen.file, engine=chosen.engine)
    if len(chosen.inputs) != len(executable.input_types):
        needed = ", ".join(map(str, executable.input_types)) or "nothing"
        raise ArgumentError(f"{chosen.file} takes {needed}; {len(chosen.inputs)} inputs are given")
    if chosen.outputs and len(chosen.outputs) != len(executable.output_types):
        made = ", ".join(map(str, executable.output_types)) or "nothing"
        raise ArgumentError(f"{chosen.file} gives {made}; {len(chosen.outputs)} files are given")
    inputs = map(read_input, chosen.inputs, executable.input_types)
    results = executable.run(list(inputs))
    for path, result in zip(chosen.outputs, results, strict=False):
        with open(path, "wb") as file:  # np.save would add an ending to a name
            np.save(file, result)
    if not chosen.outputs:
        for array_type, result in zip(executable.output_types, results, strict=True):
            print(f"{array_type} = {result}")
    return 0


def read_input(value: str, array_type: ArrayType) -> Any:
    """A value of the command line, for an input of this type.

    Raises:
        ArgumentError: it is neither a literal nor a file of NumPy's.
    """
    if value.endswith(".npy"):
        try:
            array: Any = np.load(value)
        except (EOFError, ValueError) as error:
            raise ArgumentError(f"{value}: {error}") from error
        # NumPy does not know the names of other packages' types, such as bfloat16.
        is_unnamed = array.dtype.kind == "V" and array.dtype.itemsize == array_type.dtype.itemsize
        return array.view(array_type.dtype) if is_unnamed else array
    try:
        literal: Any = ast.literal_eval(value)
    except (SyntaxError, ValueError):
        try:
            literal = float(value)  # nan, inf
        except ValueError:
            raise ArgumentError(
                f"{array_type}: {value!r} is neither a file *.npy nor a number or list"
            ) from None
    return literal
