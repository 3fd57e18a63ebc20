"""The one table of the element types that a program's arrays can have."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from cyxla.errors import UnsupportedError

__all__ = ["ElementType", "from_dtype", "from_mlir", "from_number"]


class ElementType(enum.Enum):
    """An element type; the member's name is the dtype's name in NumPy.

    Attributes:
        number: the type's `PJRT_Buffer_Type`.
        mlir: the type's spelling in StableHLO.
        itemsize: bytes of one element in memory.
    """

    # name = PJRT_Buffer_Type, spelling in MLIR, bytes
    bool = 1, "i1", 1
    int8 = 2, "i8", 1
    int16 = 3, "i16", 2
    int32 = 4, "i32", 4
    int64 = 5, "i64", 8
    uint8 = 6, "ui8", 1
    uint16 = 7, "ui16", 2
    uint32 = 8, "ui32", 4
    uint64 = 9, "ui64", 8
    float16 = 10, "f16", 2
    float32 = 11, "f32", 4
    float64 = 12, "f64", 8
    bfloat16 = 13, "bf16", 2
    complex64 = 14, "complex<f32>", 8
    complex128 = 15, "complex<f64>", 16

    def __init__(self, number: int, mlir: str, itemsize: int) -> None:
        self.number = number
        self.mlir = mlir
        self.itemsize = itemsize

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype; bfloat16 is that of the package ml_dtypes, which comes with JAX."""
        if self is ElementType.bfloat16:
            # Imported late: ml_dtypes isn't needed by those who don't use bfloat16.
            import ml_dtypes

            bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
            return bfloat16
        return np.dtype(self.name)

    def __str__(self) -> str:
        return self.name


_BY_NUMBER = {element_type.number: element_type for element_type in ElementType}
_BY_MLIR = {element_type.mlir: element_type for element_type in ElementType}


def from_dtype(dtype: Any) -> ElementType:
    """Returns the element type of a NumPy dtype, or of what `numpy.dtype` accepts (but None).

    Raises:
        UnsupportedError: cyxla has no such element type, or the byte order isn't the machine's.
    """
    try:
        if dtype is None:  # numpy.dtype(None) is float64
            raise TypeError("no dtype")
        native = np.dtype(dtype)
        if not native.isnative:
            raise TypeError("foreign byte order")
        return ElementType[native.name]
    except (TypeError, KeyError):
        raise UnsupportedError(_refusal(str(dtype))) from None


def from_number(number: int) -> ElementType:
    """Returns the element type with this `PJRT_Buffer_Type`.

    Raises:
        UnsupportedError: cyxla has no such element type.
    """
    try:
        return _BY_NUMBER[number]
    except KeyError:
        raise UnsupportedError(_refusal(f"PJRT_Buffer_Type {number}")) from None


def from_mlir(spelling: str) -> ElementType:
    """Returns the element type with this spelling in StableHLO, for example "complex<f32>".

    Raises:
        UnsupportedError: cyxla has no such element type.
    """
    try:
        return _BY_MLIR[spelling]
    except KeyError:
        raise UnsupportedError(_refusal(spelling)) from None


def _refusal(found: str) -> str:
    supported = ", ".join(ElementType.__members__)
    return f"element type {found} is not supported; supported are {supported}"
