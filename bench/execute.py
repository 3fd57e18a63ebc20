"""What `execute` costs beside the cheapest raw PJRT loop: ratios of medians, from one run.

    python bench/execute.py [--rounds 301] [function ...]

Needs cyxla with a CPU plugin installed, a C compiler, and a quiet machine.  In each round every
contender runs a batch of about 1 ms on every function, in an order that rotates; a contender's
figure is the median over the rounds.  `raw` is bench/raw_loop.c, on the same executable and with
input buffers that stay; `copy` is cyxla_execute as it is called by default, `zero-copy` with the
flag; `jax.jit` is called from Python with a NumPy array and waited for.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np
from functions import FUNCTIONS

import cyxla

os.environ["CYXLA_CACHE"] = "0"  # what comes from the disk cache does not load the plugin
HERE = Path(__file__).resolve().parent
KINDS = {"raw": 0, "copy": 1, "zero-copy": 2}


class ArrayType(ctypes.Structure):
    """cyxla_array_type"""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("element_type", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dimensions", ctypes.POINTER(ctypes.c_int64)),
    ]


class Program(ctypes.Structure):
    """cyxla_program"""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_char_p),
        ("code_size", ctypes.c_size_t),
        ("inputs", ctypes.POINTER(ArrayType)),
        ("input_count", ctypes.c_size_t),
        ("outputs", ctypes.POINTER(ArrayType)),
        ("output_count", ctypes.c_size_t),
    ]


def build() -> ctypes.CDLL:
    """Compiles raw_loop.c against this source tree and the installed libcyxla."""
    library = Path(cyxla.__file__).parent / "lib"
    output = Path(tempfile.mkdtemp()) / "raw_loop.so"
    subprocess.run(
        ["cc", "-O2", "-std=gnu11", "-shared", "-fPIC", f"-I{HERE.parent / 'include'}"]
        + [f"-I{HERE.parent / 'src'}", str(HERE / "raw_loop.c"), "-o", str(output)]
        + [f"-L{library}", "-lcyxla", f"-Wl,-rpath,{library}"],
        check=True,
    )
    loops = ctypes.CDLL(str(output))
    loops.loop_create.restype = ctypes.c_void_p
    loops.loop_create.argtypes = [
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_void_p,
        ctypes.c_void_p,
    ]
    loops.loop_has_bare.argtypes = loops.loop_thunk_count.argtypes = [ctypes.c_void_p]
    loops.loop_thunk_count.restype = ctypes.c_size_t
    loops.loop_throughput.restype = ctypes.c_double
    loops.loop_throughput.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    loops.load_time.restype = ctypes.c_double
    loops.load_time.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_long]
    loops.loop_time.restype = ctypes.c_double
    loops.loop_time.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_long]
    return loops


def load_plugin(path: str) -> ctypes.c_void_p:
    """The plugin that cyxla has loaded, as C sees it."""
    library = ctypes.CDLL(str(Path(cyxla.__file__).parent / "lib" / "libcyxla.so"))
    plugin = ctypes.c_void_p()
    if library.cyxla_plugin_load(
        path.encode(), None, None, ctypes.c_size_t(0), ctypes.byref(plugin), None
    ):
        sys.exit(f"can't load {path}")
    return plugin


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy of `array` at a multiple of 64."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def c_types(types: tuple[cyxla.ArrayType, ...]) -> ctypes.Array:
    return (ArrayType * len(types))(
        *(
            ArrayType(
                b"",
                each.element_type.number,
                each.ndim,
                (ctypes.c_int64 * max(1, each.ndim))(*each.shape),
            )
            for each in types
        )
    )


def pointers(arrays: list[np.ndarray]) -> ctypes.Array:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


class Function:
    """One function, ready to be timed by each contender; its results are JAX's."""

    def __init__(self, loops: ctypes.CDLL, name: str, **compile_options: object):
        function, arguments = FUNCTIONS[name]
        self.loops, self.name = loops, name
        program = cyxla.lower(function, arguments)
        executable, statistics_ = cyxla.compile_program(
            program, compiler="plugin", **compile_options
        )
        self.executable, self.bytes = executable, executable.serialize()
        self.inputs = [aligned(np.asarray(each)) for each in arguments]
        self.outputs = [aligned(np.zeros(each.shape, each.dtype)) for each in program.outputs]
        self.program = Program(
            struct_size=ctypes.sizeof(Program),
            name=name.encode(),
            code=program.stablehlo,
            code_size=len(program.stablehlo),
            inputs=c_types(program.inputs),
            input_count=len(program.inputs),
            outputs=c_types(program.outputs),
            output_count=len(program.outputs),
        )
        self.loop = loops.loop_create(
            load_plugin(statistics_.plugin.path),
            ctypes.byref(self.program),
            self.bytes,
            len(self.bytes),
            pointers(self.inputs),
            pointers(self.outputs),
        )
        self.jitted = jax.jit(function)
        self.kinds = dict(KINDS)
        if loops.loop_thunk_count(self.loop):
            self.kinds |= {"direct": 3, "bound": 4}
        if loops.loop_has_bare(self.loop):
            self.kinds |= {"bare": 5, "state": 6}
        self.check()

    def check(self) -> None:
        expected = [np.asarray(each) for each in jax.tree.leaves(self.jitted(*self.inputs))]
        for kind in self.kinds.values():
            for output in self.outputs:
                output[...] = 0
            self.loops.loop_time(self.loop, kind, 1)
            for output, want in zip(self.outputs, expected, strict=True):
                np.testing.assert_allclose(output, want, rtol=1e-5)

    def time(self, contender: str, count: int) -> float:
        """ns per call."""
        if contender in self.kinds:
            return self.loops.loop_time(self.loop, self.kinds[contender], count)
        start = time.perf_counter_ns()
        for _ in range(count):
            jax.block_until_ready(self.jitted(*self.inputs))
        return (time.perf_counter_ns() - start) / count


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=301)
    parser.add_argument("functions", nargs="*", default=list(FUNCTIONS))
    arguments = parser.parse_args()
    contenders = [*KINDS, "jax.jit"]
    loops = build()
    functions = [Function(loops, name, low_latency=False) for name in arguments.functions]
    times = {(each.name, contender): [] for each in functions for contender in contenders}
    for round_ in range(arguments.rounds):
        for each in functions:
            for step in range(len(contenders)):
                contender = contenders[(round_ + step) % len(contenders)]
                probe = each.time(contender, 3)
                times[each.name, contender].append(each.time(contender, int(1e6 / probe) + 1))

    print(f"ns per call: median (minimum) over {arguments.rounds} rounds; ratios are of medians")
    print(
        "| function |"
        + "".join(f" {name} |" for name in contenders)
        + " copy/raw | zero-copy/raw |"
    )
    print("| --- |" + " ---: |" * (len(contenders) + 2))
    for each in functions:
        medians = {name: statistics.median(times[each.name, name]) for name in contenders}
        cells = [
            f"{medians[name]:,.0f} ({min(times[each.name, name]):,.0f})" for name in contenders
        ]
        ratios = [f"{medians[name] / medians['raw']:.3f}" for name in ("copy", "zero-copy")]
        print(f"| {each.name} | " + " | ".join(cells + ratios) + " |")


if __name__ == "__main__":
    main()
