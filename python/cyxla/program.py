"""A lowered program: StableHLO and its signature. Plain data, picklable, needs no JAX."""

from __future__ import annotations

import importlib.metadata
import math
import os
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from cyxla.element_types import ElementType
from cyxla.errors import ArgumentError, ArgumentTypeError

__all__ = ["ArrayType", "Program", "artifact_version", "cyxla_version"]

# A portable artifact is MLIR bytecode (magic, version of the bytecode) whose producer string
# says the StableHLO version.
_ARTIFACT_HEADER = re.compile(rb"ML\xefR.StableHLO_v(\d+)\.(\d+)\.(\d+)\0", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ArrayType:
    """One input or output of a program.

    Attributes:
        name: its path in the arguments or results, for example "params['w'][0]".
        element_type: the type of its elements.
        shape: its dimensions; () for a scalar, and a dimension may be 0.
    """

    name: str
    element_type: ElementType
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        _require(self, "name", str)
        _require(self, "element_type", ElementType)
        _require(self, "shape", tuple, int)
        if any(dimension < 0 for dimension in self.shape):
            raise ArgumentError(f"{self.name} has the negative dimension of {self.shape}")

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return self.element_type.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements, row-major and without padding."""
        return self.size * self.element_type.itemsize

    def __str__(self) -> str:
        return f"{self.name}: {self.element_type}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True, repr=False)
class Program:
    """A program for one device of one platform, with static shapes and without effects.

    Arguments and results are flat. Their names say where they were in the function's pytrees; the
    tree structures themselves aren't kept, as they need JAX (and, to be pickled, more than that).
    `jax.tree.structure(jax.eval_shape(function, *shapes))` gives that of the results back.

    Attributes:
        stablehlo: a portable StableHLO artifact, whose `main` has exactly these inputs and outputs.
        name: the function's name, for messages and profiles.
        platform: what it was lowered for, for example "cpu".
        inputs: the inputs, in order; names are unique.
        outputs: the outputs, in order; names are unique.
        custom_calls: all custom-call targets that the program calls, sorted.
        jax_version: the version of the JAX that lowered it; None if it came as StableHLO.
        cyxla_version: the version of cyxla that made it.
        largest_work: the most multiplications of one matrix product or convolution in it, or if
            that is more, the most elements of one array; None if nobody has counted.

    Raises:
        ArgumentError, ArgumentTypeError: a field isn't as said here.
    """

    stablehlo: bytes
    name: str
    platform: str
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]
    custom_calls: tuple[str, ...]
    jax_version: str | None
    cyxla_version: str
    largest_work: int | None = None

    def __post_init__(self) -> None:
        _require(self, "stablehlo", bytes)
        _require(self, "name", str)
        _require(self, "platform", str)
        _require(self, "inputs", tuple, ArrayType)
        _require(self, "outputs", tuple, ArrayType)
        _require(self, "custom_calls", tuple, str)
        _require(self, "jax_version", (str, type(None)))
        _require(self, "cyxla_version", str)
        _require(self, "largest_work", (int, type(None)))
        for field in ("name", "platform"):
            if not getattr(self, field):
                raise ArgumentError(f"the program's {field} is empty")
        for arrays in (self.inputs, self.outputs):
            names = [array.name for array in arrays]
            if len(set(names)) < len(names):
                raise ArgumentError(f"{self.name} has two arrays of the same name: {names}")
        if artifact_version(self.stablehlo) is None:
            raise ArgumentError(
                f"the StableHLO of {self.name} is not a portable artifact; "
                "use cyxla.lower or cyxla.from_stablehlo"
            )

    @property
    def stablehlo_version(self) -> tuple[int, int, int]:
        """The StableHLO version that the artifact was written for."""
        version = artifact_version(self.stablehlo)
        assert version is not None  # __post_init__ has checked it
        return version

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a program file without an executable; `cyxla.load` compiles it.

        Raises:
            StatusError: the file can't be written.
        """
        from cyxla import files  # it imports this module

        files.save_program(self, path)

    def __repr__(self) -> str:
        version = ".".join(map(str, self.stablehlo_version))
        return (
            f"<Program {self.name} for {self.platform}: "
            f"({_abridged(self.inputs)}) -> ({_abridged(self.outputs)}), "
            f"{len(self.stablehlo)} bytes of StableHLO {version}>"
        )


def artifact_version(stablehlo: bytes) -> tuple[int, int, int] | None:
    """Returns the StableHLO version in a portable artifact's header, None if it is none."""
    match = _ARTIFACT_HEADER.match(stablehlo)
    if match is None:
        return None
    major, minor, patch = map(int, match.groups())
    return major, minor, patch


def cyxla_version() -> str:
    """Returns the version of the installed cyxla, "unknown" in a source tree."""
    try:
        return importlib.metadata.version("cyxla")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _abridged(arrays: tuple[ArrayType, ...]) -> str:
    """Returns the arrays as text, of many only the first ones."""
    shown = [str(array) for array in arrays[:4]]
    rest = len(arrays) - len(shown)
    return ", ".join([*shown, f"and {rest} more"] if rest else shown)


def _require(
    record: object, field: str, kind: type | tuple[type, ...], item: type | None = None
) -> None:
    """Checks the type of a field, and that of its items."""
    value = getattr(record, field)
    items = () if item is None or not isinstance(value, tuple) else value
    if not isinstance(value, kind) or not all(type(each) is item for each in items):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join("None" if each is type(None) else each.__name__ for each in kinds)
        of = "" if item is None else f" of {item.__name__}"
        raise ArgumentTypeError(
            f"{type(record).__name__}.{field} must be {expected}{of}, not {value!r:.80}"
        )
