"""What a hit of the disk cache costs, beside a compilation.

    python bench/cache.py [--rounds 301]

Needs cyxla installed.  Each function is lowered and compiled into a cache of its own; then a new
process, in which JAX is not imported, asks for it: `first` is its first hit, `hit` the median of
those that follow.  The bar is 2 ms for a hit.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# A small program, and larger ones: how many layers of a product and a sort.
SIZES = {"sin": 1, "10 layers": 10, "100 layers": 100}


def lower(depth: int, path: Path) -> None:
    import jax
    import jax.numpy as jnp

    import cyxla

    def function(x):
        for _ in range(depth):
            x = jnp.sort(jnp.sin(x) @ x if depth > 1 else jnp.sin(x), axis=0)
        return x

    cyxla.lower(function, [jax.ShapeDtypeStruct((8, 8), jnp.float32)]).save(path)


def measure(path: Path, rounds: int) -> None:
    """Prints seconds of the first one and of the median of the others, and the entry's bytes."""
    import cyxla
    from cyxla import cache

    program = cyxla.load_program(path)
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        _, found = cyxla.compile_program(program)
        times.append(time.perf_counter() - start)
        assert found.from_cache or len(times) == 1
    print(times[0], statistics.median(times[1:]), min(times[1:]), cache.status().bytes)


def ask(path: Path, rounds: int, folder: str) -> list[float]:
    command = [sys.executable, __file__, "--rounds", str(rounds), "--measure", str(path)]
    environment = {**os.environ, "CYXLA_CACHE": "1", "CYXLA_CACHE_DIR": folder}
    return list(map(float, subprocess.check_output(command, env=environment, text=True).split()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=301)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(chosen.measure, chosen.rounds)
        return
    print("| program | entry | compile | first hit | hit (minimum) | compile/hit |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, depth in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "program"
            lower(depth, path)
            compiled = ask(path, 1, f"{folder}/cache")[0]
            first, hit, least, size = ask(path, chosen.rounds, f"{folder}/cache")
        print(
            f"| {name} | {size:,.0f} bytes | {compiled * 1e3:.1f} ms | {first * 1e3:.1f} ms "
            f"| {hit * 1e3:.2f} ms ({least * 1e3:.2f}) | {compiled / hit:.0f} |"
        )


if __name__ == "__main__":
    main()
