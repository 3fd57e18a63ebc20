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
    """How much more than the bare kernels, and how much the bar allows."""
    if (name, "bare") not in times:
        return "-"
    more = statistics.median(
        mine - bare for mine, bare in zip(times[name, contender], times[name, "bare"], strict=True)
    )
    return f"{more:.1f} of {base + step * thunks:.1f}"


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
        ratio = statistics.median(times[each.name, "raw"]) / statistics.median(
            times[each.name, "direct"]
        )
        cells = [
            each.name,
            str(thunks),
            *(text(times.get((each.name, contender))) for contender in CONTENDERS),
            over_bare(times, each.name, "direct", 15, 1.5, thunks),
            over_bare(times, each.name, "bound", 10, 1, thunks),
            f"{ratio:.1f}",
        ]
        print(f"| {' | '.join(cells)} |")


def print_threads(functions: list[Function], rounds: int) -> None:
    for each in functions:
        if "direct" not in each.kinds:
            continue
        count = int(2e7 / each.time("direct", 100)) + 1
        ratios = []
        for _ in range(max(3, rounds // 10)):
            one = each.loops.loop_throughput(each.loop, 1, count)
            two = each.loops.loop_throughput(each.loop, 2, count)
            ratios.append(two / one)
        print(
            f"{each.name}: two threads make {statistics.median(ratios):.2f} (at best "
            f"{max(ratios):.2f}) times the calls of one"
        )


def print_loading(functions: list[Function], rounds: int) -> None:
    for each in functions:
        if "direct" not in each.kinds:
            continue
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
    small = [each for each in functions if each.time("raw", 10) < 1e5]
    for title, report in (
        ("one executable, two threads", print_threads),
        ("load: parse, link, plan, and destroy", print_loading),
    ):
        print(f"\n{title}")
        report(small, arguments.rounds)


if __name__ == "__main__":
    main()
