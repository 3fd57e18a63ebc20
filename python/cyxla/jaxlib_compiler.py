"""The XLA compiler inside of jaxlib, which has the same version as the JAX that lowers programs.

This is the only file that uses jaxlib's client. It is not a public interface: where it has changed,
the error names jaxlib's version. The client is cyxla's own, and JAX's backends are neither started
nor used; JAX need not even be imported. As JAX's it has one device, and so XLA makes the same code.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cyxla import _runtime, custom_calls
from cyxla.background import ProcessLock
from cyxla.errors import CyxlaError, StatusError, VersionError
from cyxla.platforms import Option
from cyxla.program import Program

__all__ = ["compile_to_bytes", "version"]

# The log level of TensorFlow's logging library that JAX sets before it imports jaxlib.
_LOG_LEVEL_OF_JAX = "1"

# Numbers of Abseil's statuses, by the names with which jaxlib's messages begin.
_STATUSES = {_runtime.status_name(code): code for code in range(1, 17)}


@dataclass(frozen=True)
class _Compiler:
    """jaxlib's client, and the process in which its threads are."""

    client: Any
    device: Any
    make_options: Any
    error: type[Exception]
    process: int


_lock = ProcessLock()
_compiler: _Compiler | None = None


def version() -> str:
    """jaxlib's version."""
    from jaxlib import version

    return str(version.__version__)


def compile_to_bytes(program: Program, options: Mapping[str, Option]) -> bytes:
    """Compiles a program for the CPU with JAX's options, and `options`, which win over those.

    The bytes are jaxlib's own serialization, written before any run: afterwards XLA can't write
    programs that sort. jaxlib releases the GIL while it compiles.

    Raises:
        CyxlaError: jaxlib is not at hand, or this process is a fork of one that used it.
        VersionError: its interfaces have changed, or it is too old for the program's StableHLO.
        StatusError: it refuses the program, or an option, which it names.
    """
    compiler = _started()
    try:
        compile_options = compiler.make_options()
        compile_options.num_replicas = compile_options.num_partitions = 1
        compile_options.env_option_overrides = list(options.items())
        executable = compiler.client.compile_and_load(
            program.stablehlo, [compiler.device], compile_options
        )
        data: bytes = executable.serialize()
        return data
    except compiler.error as error:
        raise _refusal(program, str(error)) from error
    except (AttributeError, TypeError) as error:
        raise _changed(error) from error


# The client


def _started() -> _Compiler:
    global _compiler
    with _lock:
        if _compiler is None:
            _compiler = _start()
    if _compiler.process != os.getpid():
        raise CyxlaError(
            f"jaxlib's compiler was started in process {_compiler.process}, of which this one is a "
            "fork: it can't compile here; compile only after the fork, or spawn processes instead"
        )
    return _compiler


def _start() -> _Compiler:
    """Makes a client. Called with the lock held."""
    if _is_fork_of_jax:
        raise CyxlaError(
            "this process is a fork of one that used JAX: jaxlib's compiler would hang or crash in "
            "it; compile before the fork, or with a plugin, or spawn processes instead"
        )
    with _quiet():
        try:
            from jaxlib import xla_client
        except ImportError as error:
            raise CyxlaError(f"jaxlib is not at hand: {error}") from error
        _check_flags()
        custom_calls.collect()  # a client takes from JAX the targets that wait for one
        try:
            client: Any = xla_client.make_cpu_client(asynchronous=False, num_devices=1)
            return _Compiler(
                client=client,
                device=client.local_devices()[0],
                make_options=xla_client.CompileOptions,
                error=xla_client.XlaRuntimeError,
                process=os.getpid(),
            )
        except (AttributeError, TypeError) as error:
            raise _changed(error) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """jaxlib reads once, while it is loaded, how much it logs. What the user has set stays."""
    variable = "TF_CPP_MIN_LOG_LEVEL"
    if variable in os.environ:
        yield
        return
    os.environ[variable] = _LOG_LEVEL_OF_JAX
    try:
        yield
    finally:
        del os.environ[variable]


def _check_flags() -> None:
    """jaxlib ends the process where XLA_FLAGS has a flag that it does not know.

    It looks once: where JAX's backend is there, it has done so.

    Raises:
        StatusError: there is one.
    """
    import jaxlib

    libraries = Path(jaxlib.__file__).parent.glob("*.so")
    if "XLA_FLAGS" in os.environ and not _jax_has_started():
        _runtime.check_xla_flags(str(max(libraries, key=lambda path: path.stat().st_size)))


# Forks of processes that used JAX
#
# XLA's threads don't come along, and its locks may be held for ever.


def _jax_has_started() -> bool:
    bridge: Any = sys.modules.get("jax._src.xla_bridge")
    return bridge is not None and bool(bridge.backends_are_initialized())


def _has_only_python_threads() -> bool:
    threads = len(list(Path("/proc/self/task").glob("*")))  # none where there is no such folder
    return 0 < threads <= threading.active_count()


def _note_fork() -> None:
    global _is_fork_of_jax
    _is_fork_of_jax = _is_fork_of_jax or _jax_has_started()


# Of a fork that was before this import, XLA's threads tell, which are not there.
_is_fork_of_jax = _jax_has_started() and _has_only_python_threads()
os.register_at_fork(after_in_child=_note_fork)


# Errors


def _changed(error: Exception) -> VersionError:
    return VersionError(
        f"jaxlib {version()} has changed the interfaces that cyxla uses ({error}); install a "
        "version that this cyxla knows"
    )


def _refusal(program: Program, message: str) -> CyxlaError:
    """The error for what jaxlib said."""
    newest = re.search(r"Failed to parse using StableHLO v(\d+)\.(\d+)\.(\d+)", message)
    if newest and program.stablehlo_version > tuple(map(int, newest.groups())):
        written = ".".join(map(str, program.stablehlo_version))
        return VersionError(
            f"{program.name} was written for StableHLO {written}, and jaxlib {version()} reads "
            f"versions up to {'.'.join(newest.groups())}"
        )
    status, _, said = message.partition(": ")
    if status not in _STATUSES:
        status, said = "UNKNOWN", message
    return StatusError(_STATUSES[status], status, f"{program.name}: jaxlib {version()}: {said}")
