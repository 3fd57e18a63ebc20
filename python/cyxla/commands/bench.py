"""`bench`: how long one run of a program file takes, with each engine."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cyxla import _runtime, engines, loading
from cyxla.commands import run
from cyxla.errors import ArgumentError, CyxlaError
from cyxla.program import ArrayType

__all__ = ["add"]

# A sample is so many runs that reading the clock, some 25 ns, does not count.
_SAMPLE_NS = 5_000

# Samples end when they have taken so long, all together.
_ALL_NS = 3e9


def add(commands: Any) -> None:
    """Declares the verb."""
    parser = commands.add_parser(
        "bench",
        help="measure how long a run takes",
        description="Runs a program file again and again, without Python in between, with each "
        "engine that can, and tells how long one run takes. Unless inputs are given, they are "
        "numbers between 0 and 1.",
    )
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "-i", "--input", action="append", metavar="VALUE", dest="inputs", help="as for `run`"
    )
    parser.add_argument(
        "--engine", action="append", choices=engines.ENGINES[1:], dest="engines", help="only this"
    )
    parser.add_argument("--samples", type=int, default=2000, help="to take of each engine (2000)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw it, as *.svg or *.png")
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    if chosen.samples < 1:
        raise ArgumentError(f"--samples must be at least 1, not {chosen.samples}")
    draw = _plotter() if chosen.plot else None
    times: dict[str, np.ndarray[Any, Any]] = {}
    print(f"{chosen.file}: ns per run\n")
    print("| engine | samples | runs per sample | min | median | p99 | |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for engine in chosen.engines or engines.ENGINES[1:]:
        try:
            executable = loading.load(chosen.file, engine=engine)
        except CyxlaError as error:
            print(f"| {engine} | - | - | - | - | - | {' '.join(str(error).split())} |")
            continue
        count, times[engine] = _measure(executable, chosen.inputs, chosen.samples)
        low, median, high = np.quantile(times[engine], [0, 0.5, 0.99])
        note = "compiled again" if executable.statistics.recompiled else "as stored"
        numbers = f"{len(times[engine])} | {count} | {low:,.0f} | {median:,.0f} | {high:,.0f}"
        print(f"| {engine} | {numbers} | {note} |")
    if not times:
        raise CyxlaError(f"{chosen.file}: no engine can run it")
    if draw:
        draw(times, chosen.file.name, chosen.plot)
    return 0


def _measure(
    executable: _runtime.Executable, inputs: list[str] | None, samples: int
) -> tuple[int, np.ndarray[Any, Any]]:
    """The number of calls in a sample, and ns per call of each sample."""
    types = executable.input_types
    if inputs is None:
        random = np.random.default_rng(0)
        arrays = [_random_array(each, random) for each in types]
    elif len(inputs) != len(types):
        raise ArgumentError(f"{executable.name} takes {len(types)} inputs, not {len(inputs)}")
    else:
        arrays = [run.read_input(value, each) for value, each in zip(inputs, types, strict=True)]
    one = max(1.0, _runtime.time_calls(executable, arrays, 5, 1).min())
    count = max(1, round(_SAMPLE_NS / one))
    most = max(5, round(_ALL_NS / (count * one)))
    return count, _runtime.time_calls(executable, arrays, min(samples, most), count)


def _random_array(array_type: ArrayType, random: np.random.Generator) -> Any:
    return random.random(array_type.shape).astype(array_type.dtype)


def _plotter() -> Any:
    """A function that draws; it is looked for before anything is measured."""
    try:
        matplotlib: Any = importlib.import_module("matplotlib.figure")
    except ImportError as error:
        raise CyxlaError(
            f'--plot needs matplotlib: pip install "cyxla[bench]" ({error})'
        ) from error

    def draw(times: Mapping[str, np.ndarray[Any, Any]], name: str, path: Path) -> None:
        """The share of samples that took no longer than a time."""
        figure = matplotlib.Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        for engine, found in times.items():
            axes.ecdf(found, label=engine)
        axes.set(xscale="log", xlabel="ns per run", ylabel="share of samples", title=name)
        axes.grid(alpha=0.3)
        axes.legend()
        try:
            figure.savefig(path)
        except ValueError as error:  # no such format
            raise ArgumentError(f"--plot {path}: {error}") from error

    return draw
