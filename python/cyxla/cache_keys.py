"""Keys of the disk cache: SHA-256 of everything that an entry depends on.

All of it can be had without a compiler: a hit loads neither a plugin nor jaxlib.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import inspect
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cyxla import _runtime
from cyxla.errors import ArgumentError, ArgumentTypeError
from cyxla.platforms import Option
from cyxla.program import ArrayType, Program

__all__ = ["cache_key", "executable_key", "jaxlib_identity", "keep_flags", "stablehlo_hash"]

# Increases whenever what is in entries, or what keys are made of, changes.
_VERSION = 2

# JAX's settings that change what a function is lowered to, or whether it is.
SETTINGS_OF_JAX = (
    "jax_allow_f16_reductions",
    "jax_auto_pcast",
    "jax_bcoo_cusparse_lowering",
    "jax_check_static_indices",
    "jax_custom_jvp3",
    "jax_custom_vjp3",
    "jax_default_matmul_precision",
    "jax_default_prng_impl",
    "jax_disable_jit",
    "jax_embedded_constants_max_bytes",
    "jax_enable_custom_prng",
    "jax_enable_x64",
    "jax_error_checking_behavior_divide",
    "jax_error_checking_behavior_nan",
    "jax_error_checking_behavior_oob",
    "jax_explicit_x64_dtypes",
    "jax_export_calling_convention_version",
    "jax_high_dynamic_range_gumbel",
    "jax_legacy_prng_key",
    "jax_mutable_array_checks",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_pallas_enable_debug_checks",
    "jax_ragged_dot_use_gpu_pallas_triton_lowering",
    "jax_random_seed_offset",
    "jax_remat3",
    "jax_remat_barrier_no_cotangents",
    "jax_remove_size_one_mesh_axis_from_type",
    "jax_scan3",
    "jax_softmax_custom_jvp",
    "jax_threefry_gpu_kernel_lowering",
    "jax_threefry_partitionable",
    "jax_use_direct_linearize",
    "jax_use_hlo_logistic_lowering",
    "jax_use_shardy_partitioner",
    "jax_use_simplified_jaxpr_constants",
)


# Executables


def executable_key(
    program: Program,
    options: Mapping[str, Option],
    low_latency: str,
    compiler: Mapping[str, object],
) -> str:
    """The key of a compiled program.

    Args:
        options: those that the compiler is given besides JAX's.
        low_latency: what was asked for, as more than `options` may depend on it.
        compiler: which compiler it is, in any words.
    """
    return _hash(
        "executable",
        stablehlo=stablehlo_hash(program),
        platform=program.platform,
        inputs=_types(program.inputs),
        outputs=_types(program.outputs),
        options=dict(options),
        low_latency=low_latency,
        compiler=dict(compiler),
        xla_flags=_xla_flags(),
        cpu=_runtime.describe_cpu(),
        processors=_processors(),
    )


def stablehlo_hash(program: Program) -> str:
    """The SHA-256 of the program's StableHLO."""
    return hashlib.sha256(program.stablehlo).hexdigest()


def _types(arrays: Sequence[ArrayType]) -> list[tuple[str, tuple[int, ...]]]:
    return [(str(array.element_type), array.shape) for array in arrays]


@functools.cache
def jaxlib_identity() -> str | None:
    """The version of jaxlib and its build, by the sizes and times of its libraries; None: there is
    no jaxlib.

    The version is there as a hash of the file that tells it: to ask importlib.metadata takes longer
    than a hit.
    """
    spec = importlib.util.find_spec("jaxlib")
    if spec is None or spec.origin is None:  # a folder of that name is no jaxlib
        return None
    folder = Path(spec.origin).parent
    version, libraries = b"", {}
    with contextlib.suppress(OSError):  # packers of programs leave it out
        version = (folder / "version.py").read_bytes()
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        libraries = {each.name: each.stat() for each in entries if each.name.endswith(".so")}
    sizes = (f"{name} {of.st_size} {of.st_mtime_ns}" for name, of in sorted(libraries.items()))
    return ", ".join([hashlib.sha256(version).hexdigest(), *sizes])


def _version(distribution: str) -> str:
    try:
        return _installed_version(distribution)
    except ArgumentError:
        return "unknown"


def _installed_version(distribution: str) -> str:
    try:
        return _version_of(importlib.metadata.distribution(distribution))
    except importlib.metadata.PackageNotFoundError:
        raise ArgumentError(f"the distribution {distribution!r} is not installed") from None


def _version_of(distribution: importlib.metadata.Distribution) -> str:
    """As its attribute, which imports a parser of mail: that takes longer than many hits."""
    metadata = distribution.read_text("METADATA") or ""
    version = re.search(r"^Version:\s*(\S+)", metadata, re.MULTILINE)
    return version[1] if version else "unknown"


# XLA reads its flags once.
_kept_flags: str | None = None


def keep_flags() -> None:
    """Says that XLA is about to read XLA_FLAGS: what changes later, it does not see."""
    global _kept_flags
    _kept_flags = _xla_flags()


def _xla_flags() -> str:
    """XLA_FLAGS, or what is in the file that it names, as anything but a dash begins a name."""
    if _kept_flags is not None:
        return _kept_flags
    text = os.environ.get("XLA_FLAGS", "").strip()
    if not text or text.startswith("-"):
        return text
    try:
        return f"{text}: {Path(text).read_text(errors='surrogateescape')!r}"
    except OSError:
        return text


def _processors() -> str:
    """For how many threads XLA splits kernels; NPROC is its own variable for that."""
    return os.environ.get("NPROC") or str(len(os.sched_getaffinity(0)))


# Lowered programs


def cache_key(
    function: Callable[..., Any] | str,
    *more: Callable[..., Any] | str,
    distributions: Sequence[str] = (),
) -> str:
    """The key of a lowered program, for `store_lowered` and `load_lowered`.

    It changes with what is given here, with the versions of Python, JAX, jaxlib and cyxla, and with
    the settings of JAX that change what functions are lowered to, such as `jax_enable_x64`; set
    those before.

    Args:
        function: of which the source text counts, with module and name, or any text.
        more: further functions and texts. Shapes are not known here, nor what the functions
            call or capture: give texts for them, such as `str(shapes)`.
        distributions: installed packages of which the versions count, such as that of the
            functions.

    Raises:
        ArgumentError: a function has no source text, or a distribution is not installed.
        ArgumentTypeError: neither functions nor texts.
    """
    return _hash(
        "lowered",
        parts=[_text_of(part) for part in (function, *more)],
        python=platform.python_version(),
        versions={name: _version(name) for name in ("jax", "jaxlib")},
        distributions={name: _installed_version(name) for name in distributions},
        settings=_settings_of_jax(),
    )


def _text_of(part: object) -> str:
    if isinstance(part, str):
        return part
    if not callable(part):
        raise ArgumentTypeError(
            f"cache_key needs functions and texts, not a {type(part).__name__}: {part!r:.80}"
        )
    function = inspect.unwrap(part)
    name = getattr(function, "__qualname__", None)
    try:
        source = inspect.getsource(function)
    except (TypeError, OSError) as error:
        raise ArgumentError(
            f"{name or repr(function)} has no source text ({error}): give a text in its place"
        ) from None
    return json.dumps([function.__module__, name, source])


def _settings_of_jax() -> dict[str, str]:
    """JAX's settings; where it is not imported, what the environment says of them."""
    jax = sys.modules.get("jax")
    if jax is not None:
        found = {name: getattr(jax.config, name, None) for name in SETTINGS_OF_JAX}
    else:
        found = {name.upper(): os.environ.get(name.upper()) for name in SETTINGS_OF_JAX}
    return {name: str(value) for name, value in found.items()}


def _hash(kind: str, **parts: object) -> str:
    text = json.dumps([kind, _VERSION, _runtime.library_version(), parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
