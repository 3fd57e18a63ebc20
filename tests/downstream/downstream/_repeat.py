# cython: language_level=3
# ruff: noqa: I001
"""Runs an executable many times without the GIL, in Cython's pure Python mode."""

import cython
from cython.cimports.cyxla._runtime import ABI_VERSION, Input, ProgramSpec, execute
from cython.cimports.cyxla._runtime import Executable
from cython.cimports.libc.stdlib import calloc, free

import cyxla

# Before anything else: the cyxla that is installed may be another one than this was compiled with.
cyxla.check_abi(ABI_VERSION)


def repeat(executable: Executable, arrays: list, results: list, count: cython.long) -> None:
    """Runs `count` times, with C-contiguous NumPy arrays of the executable's types."""
    spec: cython.pointer[ProgramSpec] = cython.address(executable.spec)
    inputs: cython.pointer[Input]
    outputs: cython.pointer[cython.p_void]
    address: cython.size_t
    i: cython.long
    failures: cython.long = 0

    # One more than needed: without inputs or outputs, calloc may return NULL.
    inputs = cython.cast(cython.pointer[Input], calloc(len(arrays) + 1, cython.sizeof(Input)))
    outputs = cython.cast(
        cython.pointer[cython.p_void], calloc(len(results) + 1, cython.sizeof(cython.p_void))
    )
    try:
        for i, (array, array_type) in enumerate(zip(arrays, executable.input_types, strict=True)):
            address = array.ctypes.data
            inputs[i].data = cython.cast(cython.p_void, address)
            inputs[i].type = array_type.element_type.number
            inputs[i].size = array.size
        for i, result in enumerate(results):
            address = result.ctypes.data
            outputs[i] = cython.cast(cython.p_void, address)
        with cython.nogil:
            for i in range(count):  # noqa: B007
                if execute(spec, inputs, outputs, True) != 0:
                    failures += 1
    finally:
        free(inputs)
        free(outputs)
    if failures:
        raise RuntimeError(f"{failures} of {count} runs failed: {cyxla.error_info()[1]}")
