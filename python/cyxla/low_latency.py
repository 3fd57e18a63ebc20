"""Low latency: compiling small programs so that one call takes as little time as possible.

XLA's CPU compiler thinks of large arrays: it hands matrix products and sums to a library (YNNPACK),
and splits work for several threads. On small arrays both cost more than they bring, and only XLA's
own runtime can call that library.
"""

from __future__ import annotations

from collections.abc import Mapping

from cyxla.engines import check_choice
from cyxla.errors import ArgumentError, StatusError
from cyxla.platforms import Option
from cyxla.program import Program

__all__ = ["CHOICES", "LARGEST_WORK", "OPTIONS", "is_refused", "is_wanted"]

CHOICES = ("auto", True, False)

#: XLA's options: dots and sums as kernels of XLA's own, without threads, and one task per kernel.
OPTIONS: Mapping[str, Option] = {
    "xla_cpu_experimental_ynn_fusion_type": "",
    "xla_cpu_multi_thread_eigen": False,
    "xla_disable_hlo_passes": "cpu-parallel-task-assigner",
}

#: Up to here a program is small: the product of two matrices of 64 x 64.
LARGEST_WORK = 64**3


def is_wanted(program: Program, choice: str | bool) -> bool:
    """Whether to compile a program with OPTIONS.

    "auto" wants them for a small program that has more than scalars: without arrays, nothing is to
    be gained.

    Raises:
        ArgumentError: `choice` is none, or it is True and the program is not for the CPU.
    """
    check_choice("low_latency", choice, CHOICES)
    if program.platform != "cpu":
        if choice is True:
            raise ArgumentError(
                f"low_latency=True is for programs for the CPU; {program.name} is for "
                f"{program.platform}"
            )
        return False
    if isinstance(choice, bool):
        return choice
    work = program.largest_work
    return work is not None and 1 < work <= LARGEST_WORK


def is_refused(error: StatusError, options: Mapping[str, Option]) -> bool:
    """Whether a compiler does not know one of OPTIONS, which `options` of the user don't have."""
    return error.status == "INVALID_ARGUMENT" and any(
        f"'{name}'" in str(error) for name in OPTIONS if name not in options
    )
