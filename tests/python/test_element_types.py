"""The table of element types against NumPy, ml_dtypes and MLIR's spelling."""

import ml_dtypes
import numpy as np
import pytest

from cyxla import element_types
from cyxla.element_types import ElementType
from cyxla.errors import UnsupportedError

# From the enumeration PJRT_Buffer_Type of the PJRT C API.
NUMBERS = {
    "bool": 1,
    "int8": 2,
    "int16": 3,
    "int32": 4,
    "int64": 5,
    "uint8": 6,
    "uint16": 7,
    "uint32": 8,
    "uint64": 9,
    "float16": 10,
    "float32": 11,
    "float64": 12,
    "bfloat16": 13,
    "complex64": 14,
    "complex128": 15,
}


def test_the_table_has_exactly_these_types_and_numbers():
    assert {each.name: each.number for each in ElementType} == NUMBERS


@pytest.mark.parametrize("element_type", ElementType)
def test_conversions_round_trip(element_type):
    assert element_types.from_dtype(element_type.dtype) is element_type
    assert element_types.from_number(element_type.number) is element_type
    assert element_types.from_mlir(element_type.mlir) is element_type


@pytest.mark.parametrize("element_type", ElementType)
def test_sizes_and_names_are_numpys(element_type):
    assert element_type.dtype.itemsize == element_type.itemsize
    assert element_type.dtype.name == element_type.name == str(element_type)


def test_bfloat16_is_that_of_ml_dtypes():
    assert ElementType.bfloat16.dtype == np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize(
    ("dtype", "name"), [(np.float32, "float32"), ("int16", "int16"), (bool, "bool")]
)
def test_from_dtype_takes_what_numpy_takes(dtype, name):
    assert element_types.from_dtype(dtype) is ElementType[name]


@pytest.mark.parametrize(
    "dtype",
    [None, "U4", object, "datetime64[s]", np.longdouble, "no dtype", np.dtype([("a", "f4")])],
)
def test_from_dtype_refuses_other_types(dtype):
    with pytest.raises(UnsupportedError, match="is not supported; supported are bool, int8"):
        element_types.from_dtype(dtype)


@pytest.mark.parametrize("name", ["int2", "int4", "uint4", "float8_e4m3fn", "float8_e5m2"])
def test_from_dtype_refuses_narrow_types(name):
    with pytest.raises(UnsupportedError, match=f"element type {name} is not supported"):
        element_types.from_dtype(np.dtype(getattr(ml_dtypes, name)))


def test_from_dtype_refuses_foreign_byte_order():
    with pytest.raises(UnsupportedError, match="element type >f4"):
        element_types.from_dtype(np.dtype("f4").newbyteorder("S"))


def test_unknown_numbers_and_spellings_are_refused():
    with pytest.raises(UnsupportedError, match="PJRT_Buffer_Type 0 is not supported"):
        element_types.from_number(0)
    with pytest.raises(UnsupportedError, match="element type f8E4M3FN is not supported"):
        element_types.from_mlir("f8E4M3FN")
