"""What the direct engine costs beside the bare kernels, and beside the cheapest raw PJRT loop.

    python bench/direct.py [--rounds 301] [function ...]

Needs cyxla with a CPU plugin installed, a C compiler, and a quiet machine.  Contenders and rounds
are those of bench/execute.py: in each round every contender runs a batch of about 1 ms on every
function, in an order that rotates.  All run one and the same executable, which the plugin compiled
with the options of `low_latency="auto"`: `raw` is the loop over PJRT's C API, `bare` the kernels
alone, `state` the kernels and the floating-point state that each run needs, `direct` cyxla_execute
and `bound` a bound call, on aligned arrays.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics

from execute import Function, build
from functions import FUNCTIONS

CONTENDERS = ["bare", "state", "bound", "direct", "raw"]


def measure(functions: list[Function], rounds: int) -> dict[tuple[str, str], list[float]]:
    """ns per call, by function and contender, one figure for each round."""
    times: dict[tuple[str, str], list[float]] = {}
    for round_ in range(rounds):
        for each in functions:
            for step in range(len(CONTENDERS)):
                contender = CONTENDERS[(round_ + step) % len(CONTENDERS)]
                if contender in each.kinds:
                    count = int(1e6 / each.time(contender, 3)) + 1
                    found = times.setdefault((each.name, contender), [])
                    found.append(each.time(contender, count))
    return times


def text(times: list[float] | None) -> str:
    return f"{statistics.median(times):,.1f} ({min(times):,.1f})" if times else "-"


def over_bare(times: dict, name: str, contender: str, base: float, step: float, thunks: int) -> str:
    """How much more than the bare kernels: the median of the rounds' differences, the difference of
    the minima, and how much the bar allows."""
    if (name, "bare") not in times:
        return "-"
    mine, bare = times[name, contender], times[name, "bare"]
    median = statistics.median(a - b for a, b in zip(mine, bare, strict=True))
    return f"{median:.1f} ({min(mine) - min(bare):.1f}) of {base + step * thunks:.1f}"


def over_direct(times: dict, name: str) -> str:
    """How often a direct call fits into a raw one: by the medians, and by the minima."""
    raw, direct = times[name, "raw"], times[name, "direct"]
    ratio = statistics.median(raw) / statistics.median(direct)
    return f"{ratio:.1f} ({min(raw) / min(direct):.1f})"


def print_calls(functions: list[Function], times: dict, rounds: int) -> None:
    print(f"ns per call: median (minimum) over {rounds} rounds")
    print("| function | thunks |" + "".join(f" {name} |" for name in CONTENDERS), end="")
    print(" direct - bare | bound - bare | raw/direct |")
    print("| --- |" + " ---: |" * (len(CONTENDERS) + 4))
    for each in functions:
        if "direct" not in each.kinds:
            print(f"| {each.name} | {each.executable.engine_reason} |")
            continue
        thunks = each.loops.loop_thunk_count(each.loop)
        cells = [
            each.name,
            str(thunks),
            *(text(times.get((each.name, contender))) for contender in CONTENDERS),
            over_bare(times, each.name, "direct", 15, 1.5, thunks),
            over_bare(times, each.name, "bound", 10, 1, thunks),
            over_direct(times, each.name),
        ]
        print(f"| {' | '.join(cells)} |")


def print_threads(functions: list[Function], rounds: int) -> None:
    """`bare` tells what the machine can do: its threads share nothing but the kernels' code."""
    contenders = ["direct", "bare"]
    print("| function |" + "".join(f" {name} |" for name in contenders))
    print("| --- |" + " ---: |" * len(contenders))
    for each in functions:
        ratios: dict[str, list[float]] = {}
        for round_ in range(max(4, rounds // 5)):
            for contender in contenders[:: -1 if round_ % 2 else 1]:
                if contender in each.kinds:
                    count = int(1e7 / each.time(contender, 100)) + 1
                    kind = each.kinds[contender]
                    one, two = (
                        each.loops.loop_throughput(each.loop, kind, threads, count)
                        for threads in (1, 2)
                    )
                    ratios.setdefault(contender, []).append(two / one)
        cells = [
            f"{statistics.median(found):.2f} ({max(found):.2f})" if found else "-"
            for found in (ratios.get(contender) for contender in contenders)
        ]
        print(f"| {each.name} | {' | '.join(cells)} |")


def print_loading(functions: list[Function], rounds: int) -> None:
    for each in functions:
        arguments = (ctypes.byref(each.program), each.bytes, len(each.bytes), 10)
        times = [each.loops.load_time(*arguments) / 1e3 for _ in range(rounds)]
        print(
            f"{each.name}: {len(each.bytes):,} bytes, loaded in {statistics.median(times):,.0f} us "
            f"(at best {min(times):,.0f})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=301)
    parser.add_argument("functions", nargs="*", default=list(FUNCTIONS))
    arguments = parser.parse_args()
    loops = build()
    functions = [Function(loops, name) for name in arguments.functions]
    print_calls(functions, measure(functions, arguments.rounds), arguments.rounds)
    direct = [each for each in functions if "direct" in each.kinds]
    small = [each for each in direct if each.time("raw", 10) < 1e5]
    for title, report in (
        ("calls of two threads on one executable over those of one: median (best)", print_threads),
        ("load: parse, link, plan, and destroy", print_loading),
    ):
        print(f"\n{title}")
        report(small, arguments.rounds)


if __name__ == "__main__":
    main()
