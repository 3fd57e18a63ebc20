"""How much memory stays after very many calls, loads and compilations.

    python bench/memory.py [--calls 10000000] [function ...]

Prints, for each kind of step, how much the process has grown from the end of a warm-up, of a tenth
as many steps, to their end.  Needs cyxla with a CPU plugin installed, and a C compiler.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import os
from collections.abc import Callable
from pathlib import Path

from execute import Function, build
from functions import FUNCTIONS

import cyxla


def resident() -> int:
    """Bytes of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def show(function: str, step: str, count: int, run: Callable[[int], object]) -> None:
    run(max(count // 10, 50))
    before = resident()
    run(count)
    grown = (resident() - before) / 1024
    each = 1024 * grown / count
    print(f"| {function} | {step} | {count:,} | {grown:,.0f} | {each:,.1f} |", flush=True)


def compile_often(program: cyxla.Program, compiler: str) -> Callable[[int], None]:
    def run(count: int) -> None:
        for _ in range(count):
            cyxla.compile_program(program, compiler=compiler)[0].close()

    return run


def main() -> None:
    os.environ["CYXLA_CACHE"] = "0"  # what is compiled again and again is to be compiled
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", metavar="function", help=", ".join(FUNCTIONS))
    parser.add_argument("--calls", type=int, default=10_000_000)
    arguments = parser.parse_args()
    loops = build()
    print("| function | step | times | KiB more | bytes each |")
    print("| --- | --- | ---: | ---: | ---: |")
    for name in arguments.functions or ["sin3"]:
        each = Function(loops, name)
        for contender in ("direct", "bound", "copy", "zero-copy"):
            calls = arguments.calls if contender in ("direct", "bound") else arguments.calls // 50
            if contender in each.kinds:
                show(name, contender, calls, functools.partial(each.time, contender))
        arguments_of_load = (ctypes.byref(each.program), each.bytes, len(each.bytes))
        load = functools.partial(loops.load_time, *arguments_of_load)
        show(name, "load and destroy", 1000, load)
        program = cyxla.lower(*FUNCTIONS[name])
        for compiler in ("jaxlib", "plugin"):
            step = f"compile with {compiler} and close"
            show(name, step, 100, compile_often(program, compiler))


if __name__ == "__main__":
    main()
