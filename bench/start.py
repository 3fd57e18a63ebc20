"""From nothing to the first result of the README's first program: how long, and how much memory.

    python bench/start.py [--rounds 21]

Needs cyxla installed, a C compiler, and a quiet machine.  Each contender is a new process: `C`
loads a program file by libcyxla, `Python` by cyxla.load, and `JAX` imports JAX, and traces,
compiles and runs the function.  Time is from before the process is made to when it has the result;
memory is the most that was resident until then.  Rounds rotate the order.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cyxla

HERE = Path(__file__).parent

# What the project promises for the contender in C.
MOST_MS = 5.0
MOST_MIB = 8.0

#: Tells when the result was there, and the memory until then.
REPORT = """
import re, time
now = time.monotonic_ns()
print(now, re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""

PYTHON = """
import sys, cyxla, numpy as np
cyxla.load(sys.argv[1]).run([np.zeros(3, np.float32)])
"""

JAX = """
import jax, jax.numpy as jnp, numpy as np
np.asarray(jax.jit(lambda x: jnp.sin(x) * 2)(np.zeros(3, np.float32)))
"""


def make_file(folder: Path) -> Path:
    import jax
    import jax.numpy as jnp

    shape = jax.ShapeDtypeStruct((3,), jnp.float32)
    program = cyxla.lower(lambda x: jnp.sin(x) * 2, [shape], name="sine")
    cyxla.compile_program(program)[0].save(folder / "sine.cyxla")
    return folder / "sine.cyxla"


def build(folder: Path) -> Path:
    library = Path(cyxla.__file__).parent / "lib"
    paths = ["-I", cyxla.get_include()[0], f"-L{library}", "-lcyxla", f"-Wl,-rpath,{library}"]
    program = folder / "start"
    subprocess.run(["cc", "-O2", HERE / "start.c", "-o", program, *paths], check=True)
    return program


def measure(command: list[str]) -> tuple[float, float]:
    """Milliseconds, and MiB."""
    start = time.monotonic_ns()
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    end, memory = map(int, run.stdout.split())
    return (end - start) / 1e6, memory / 1024


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = str(make_file(folder))
        commands = {
            "C": [str(build(folder)), file],
            "Python": [sys.executable, "-c", PYTHON + REPORT, file],
            "JAX": [sys.executable, "-c", JAX + REPORT],
        }
        found: dict[str, list[tuple[float, float]]] = {each: [] for each in commands}
        for round_ in range(rounds):
            for step in range(len(commands)):
                each = list(commands)[(round_ + step) % len(commands)]
                found[each].append(measure(commands[each]))
    times = {each: [ms for ms, _ in its] for each, its in found.items()}
    memory = {each: statistics.median(mib for _, mib in its) for each, its in found.items()}
    print(f"median (minimum) of {rounds} rounds")
    print("| process | ms to the first result | MiB resident | JAX takes |")
    print("| --- | ---: | ---: | ---: |")
    for each in commands:
        median = statistics.median(times[each])
        ratio = statistics.median(times["JAX"]) / median
        times_memory = memory["JAX"] / memory[each]
        print(
            f"| {each} | {median:,.2f} ({min(times[each]):,.2f}) | {memory[each]:,.1f} "
            f"| {ratio:,.1f} times as long, {times_memory:,.1f} times the memory |"
        )
    is_met = statistics.median(times["C"]) < MOST_MS and memory["C"] < MOST_MIB
    print(f"less than {MOST_MS:g} ms and {MOST_MIB:g} MiB in C: {'yes' if is_met else 'no'}")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
