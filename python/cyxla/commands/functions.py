"""Functions and array types as they are named on the command line."""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cyxla.element_types import ElementType
from cyxla.errors import CyxlaError
from cyxla.program import Program

__all__ = ["array_type", "lowered", "needs_x64"]

# Short names of element types, beside those of NumPy.
_SHORT = {
    "pred": "bool",
    **{f"{short}{bits}": f"{long}{bits}" for bits in (8, 16, 32, 64)
       for short, long in (("i", "int"), ("s", "int"), ("u", "uint"))},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "bf16": "bfloat16",
    "c64": "complex64",
    "c128": "complex128",
}  # fmt: skip

ArraySpec = tuple[ElementType, tuple[int, ...]]


def array_type(text: str) -> ArraySpec:
    """Reads a type such as f64[3,4], float64[3,4], or i32 for a scalar."""
    match = re.fullmatch(r"(\w+)(?:\[([\d, ]*)\])?", text)
    name = _SHORT.get(match[1], match[1]) if match else ""
    if match is None or name not in ElementType.__members__:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no array type such as f64[3,4], float32[10] or i32"
        )
    return ElementType[name], tuple(map(int, re.findall(r"\d+", match[2] or "")))


def needs_x64(types: Sequence[ArraySpec]) -> bool:
    """Whether JAX has one of the types only where its 64-bit types are switched on."""
    return any(re.search("64|128", each.name) and each.name != "complex64" for each, _ in types)


def lowered(
    function: str,
    types: Sequence[ArraySpec],
    *,
    name: str | None = None,
    platform: str = "cpu",
    x64: bool = False,
) -> Program:
    """The program of "module:function"; x64 switches JAX's 64-bit types on.

    Raises:
        CyxlaError: there is no such function, or it can't be lowered.
    """
    # Imported late: JAX takes most of a second.
    jax: Any = importlib.import_module("jax")
    from cyxla.lowering import lower

    if x64 or needs_x64(types):
        jax.config.update("jax_enable_x64", True)
    module, _, attribute = function.partition(":")
    shapes = [jax.ShapeDtypeStruct(shape, each.dtype) for each, shape in types]
    _find_modules_here()
    found: Callable[..., Any] = _told(
        function,
        lambda: functools.reduce(getattr, attribute.split("."), importlib.import_module(module)),
    )
    program: Program = _told(function, lambda: lower(found, shapes, name=name, platform=platform))
    return program


def _find_modules_here() -> None:
    """`python -m` looks for modules in the current directory, and the command `cyxla` shall too."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


def _told(function: str, action: Callable[[], Any]) -> Any:
    """The action's result; what the user's code raises becomes one line, with its place there."""
    try:
        return action()
    except CyxlaError:
        raise
    except Exception as error:
        module = sys.modules.get(function.partition(":")[0])
        file = getattr(module, "__file__", None)
        frames = traceback.extract_tb(error.__traceback__)
        lines = [each.lineno for each in frames if file and each.filename == file]
        place = f" ({Path(file).name}, line {lines[-1]})" if file and lines else ""
        said = str(error).strip().split("\n\n")[0]
        raise CyxlaError(f"{function}: {type(error).__name__}: {said}{place}") from error
