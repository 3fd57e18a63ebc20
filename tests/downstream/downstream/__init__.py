"""Runs cyxla's programs from native code."""

from downstream._calls import (
    ELEMENT_TYPES,
    Bound,
    Call,
    aligned_address,
    check_in_threads,
    item_sizes,
    run_from_fresh_memory,
)
from downstream._repeat import repeat

__all__ = [
    "ELEMENT_TYPES",
    "Bound",
    "Call",
    "aligned_address",
    "check_in_threads",
    "item_sizes",
    "repeat",
    "run_from_fresh_memory",
]
