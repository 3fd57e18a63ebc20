"""The share of CUTEst problems that the direct engine runs by default, and whether it is right.

    python bench/coverage.py [--variables 1000] [--every 1] [--name HS]

Needs cyxla, a CPU plugin, and sif2jax, which has the problems.  Compiles objective, gradient and
constraints of each with up to so many variables, as cyxla does by default, and compares the
results with those of `jax.jit` under the same options of XLA, bit for bit.  All of them take half
an hour or more; --every 10 takes every tenth problem.
"""

from __future__ import annotations

import argparse
import collections
import os
import sys
import time
from pathlib import Path

import jax
import numpy as np

os.environ["CYXLA_CACHE"] = "0"  # what was compiled earlier would be of another cyxla

import cyxla
from cyxla.low_latency import OPTIONS

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))
import sif2jax_cases  # noqa: E402

#: XLA takes minutes to compile these.
SLOW = {"EXTROSNBNE", "GENROSEBNE", "GENROSENE"}

KINDS = ("objective", "gradient", "constraints")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--variables", type=int, default=1000, help="the most of a problem")
    parser.add_argument("--every", type=int, default=1, help="take one problem of so many")
    parser.add_argument("--name", default="", help="take problems whose names begin so")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    engines: collections.Counter[str] = collections.Counter()
    differing = []
    for label, function, point in programs(arguments):
        start = time.perf_counter()
        executable, equal = run(function, point)
        engines[executable.engine] += 1
        if executable.engine != "direct":
            print(f"{label}: {executable.engine_reason}", flush=True)
        elif not equal:
            differing.append(label)
            print(f"{label}: DIFFERS", flush=True)
        if (seconds := time.perf_counter() - start) > 20:
            print(f"{label}: {seconds:.0f} s", flush=True)
    count = engines.total()
    print(f"direct: {engines['direct']} of {count}, {100 * engines['direct'] / count:.1f} %")
    print(f"bits that differ from jax.jit's: {len(differing)} {' '.join(differing)}")


def programs(arguments):
    """(label, function, point) of each program."""
    problems = sif2jax_cases.problems_by_name(with_slow=True)
    names = sorted(name for name in problems if name.startswith(arguments.name))
    for name in names[:: arguments.every]:
        problem = problems[name]
        if name in SLOW or sif2jax_cases.size(problem) > arguments.variables:
            continue
        functions = sif2jax_cases.functions_of(problem)
        point = sif2jax_cases.start(problem)
        for kind in KINDS:
            if kind in functions:
                yield f"{name}.{kind}", functions[kind], point


def run(function, point):
    """Compiles by default, and compares: (executable, whether all bits are those of JAX)."""
    program = cyxla.lower(function, [point])
    executable, statistics = cyxla.compile_program(program)
    if executable.engine != "direct":
        return executable, True
    options = dict(OPTIONS) if statistics.low_latency else {}
    compiled = jax.jit(function).lower(point).compile(compiler_options=options)
    expected = [np.asarray(each) for each in jax.tree.leaves(compiled(point))]
    results = executable.run(jax.tree.leaves(point))
    pairs = zip(results, expected, strict=True)
    return executable, all(result.tobytes() == wanted.tobytes() for result, wanted in pairs)


if __name__ == "__main__":
    main()
