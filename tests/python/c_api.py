"""libcyxla by ctypes: calls with whatever addresses a test wants."""

import ctypes
from ctypes import POINTER, byref, c_char, c_char_p, c_int32, c_size_t, c_uint32, c_void_p
from pathlib import Path

import numpy as np

import cyxla as cx

ENGINES = {"auto": 0, "direct": 1, "pjrt": 2}
ZERO_COPY = 1


class Error(ctypes.Structure):
    """cyxla_error"""

    _fields_ = [("struct_size", c_size_t), ("code", c_int32), ("message", c_char * 4084)]

    def __init__(self):
        super().__init__(struct_size=ctypes.sizeof(Error))


class Input(ctypes.Structure):
    """cyxla_input"""

    _fields_ = [("data", c_void_p), ("type", c_int32), ("size", c_size_t)]


def _load():
    library = ctypes.CDLL(str(Path(cx.__file__).parent / "lib" / "libcyxla.so"))
    library.cyxla_executable_deserialize.argtypes = [
        *(c_void_p, c_void_p, c_char_p, c_size_t, c_int32),
        *(POINTER(c_void_p), POINTER(Error)),
    ]
    arrays = [POINTER(Input), POINTER(c_void_p)]
    library.cyxla_execute.argtypes = [c_void_p, *arrays, c_uint32, POINTER(Error)]
    library.cyxla_bind.argtypes = [c_void_p, *arrays, POINTER(c_void_p), POINTER(Error)]
    library.cyxla_bound_call_execute.argtypes = [c_void_p, POINTER(Error)]
    for name in ("cyxla_executable_destroy", "cyxla_bound_call_destroy"):
        getattr(library, name).argtypes = [c_void_p]
        getattr(library, name).restype = None
    return library


library = _load()


def check(status, error):
    if status:
        raise RuntimeError(f"{status}: {error.message.decode()}")


class Executable:
    """What the direct engine makes of serialized bytes, without program or plugin."""

    def __init__(self, data):
        self.handle, error = c_void_p(), Error()
        status = library.cyxla_executable_deserialize(
            None, None, data, len(data), ENGINES["direct"], byref(self.handle), byref(error)
        )
        check(status, error)

    def execute(self, inputs, outputs, flags=0):
        """`inputs` and `outputs` are NumPy arrays wherever they lie; None drops an output."""
        error = Error()
        lists = input_list(inputs), output_list(outputs)
        check(library.cyxla_execute(self.handle, *lists, flags, byref(error)), error)

    def bind(self, inputs, outputs):
        return BoundCall(self, inputs, outputs)

    def __del__(self):
        library.cyxla_executable_destroy(self.handle)


class BoundCall:
    def __init__(self, executable, inputs, outputs):
        self.handle, self.executable, error = c_void_p(), executable, Error()
        self.arrays = inputs, outputs
        lists = input_list(inputs), output_list(outputs)
        status = library.cyxla_bind(executable.handle, *lists, byref(self.handle), byref(error))
        check(status, error)

    def execute(self):
        error = Error()
        check(library.cyxla_bound_call_execute(self.handle, byref(error)), error)

    def __del__(self):
        library.cyxla_bound_call_destroy(self.handle)


def input_list(arrays):
    numbers = [cx.ElementType[each.dtype.name].number for each in arrays]
    inputs = [
        Input(each.ctypes.data, number, each.size)
        for each, number in zip(arrays, numbers, strict=True)
    ]
    return (Input * (len(inputs) + 1))(*inputs)


def output_list(arrays):
    addresses = [None if each is None else each.ctypes.data for each in arrays]
    return (c_void_p * (len(addresses) + 1))(*addresses)


class Memory:
    """Bytes from a multiple of 64 on, to lay arrays in."""

    def __init__(self, size, fill=0xA5):
        block = np.full(size + 64, fill, np.uint8)
        start = -block.ctypes.data % 64
        self.bytes = block[start : start + size]

    def array(self, offset, values):
        """An array with these values, at this offset."""
        values = np.asarray(values)
        place = self.bytes[offset : offset + values.nbytes]
        array = np.frombuffer(place, values.dtype).reshape(values.shape)
        array[...] = values
        return array
