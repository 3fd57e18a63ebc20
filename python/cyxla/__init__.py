"""Run JAX functions from native code.

program = cyxla.lower(function, shapes)             # JAX to StableHLO, needs JAX
executable, statistics = cyxla.compile_program(program)
results = executable.run(arrays)                    # or from Cython and C, without the GIL
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyxla import _runtime, custom_calls, engines
from cyxla._runtime import Executable, error_info
from cyxla.cache_keys import cache_key
from cyxla.compilation import compile_program, load_executable
from cyxla.custom_calls import FfiTarget, register_ffi_target, register_ffi_type
from cyxla.element_types import ElementType
from cyxla.engines import set_thread_count
from cyxla.errors import (
    ArgumentError,
    ArgumentTypeError,
    CyxlaError,
    StatusError,
    UnsupportedError,
    VersionError,
)
from cyxla.exporting import ExportedFunction, export
from cyxla.files import load_program
from cyxla.history import CompileStatistics
from cyxla.loading import load
from cyxla.lowered_cache import load_lowered, store_lowered
from cyxla.platforms import PluginCandidate, PluginInfo, find_plugins, initialize
from cyxla.program import ArrayType, Program

if TYPE_CHECKING:
    from cyxla.lowering import lower
    from cyxla.stablehlo import from_stablehlo

__all__ = [
    "ABI_VERSION",
    "ArgumentError",
    "ArgumentTypeError",
    "ArrayType",
    "CompileStatistics",
    "CyxlaError",
    "ElementType",
    "Executable",
    "ExportedFunction",
    "FfiTarget",
    "PluginCandidate",
    "PluginInfo",
    "Program",
    "StatusError",
    "UnsupportedError",
    "VersionError",
    "cache_key",
    "check_abi",
    "compile_program",
    "error_info",
    "export",
    "find_plugins",
    "from_stablehlo",
    "get_include",
    "initialize",
    "load",
    "load_executable",
    "load_lowered",
    "load_program",
    "lower",
    "register_ffi_target",
    "register_ffi_type",
    "set_thread_count",
    "store_lowered",
]

__version__: str = _runtime.library_version()

#: Version of the Cython API; it increases whenever a declaration of `cyxla/_runtime.pxd` changes.
ABI_VERSION: int = _runtime.abi_version()

engines.read_thread_count()

# Now: once JAX has started its backend, it no longer tells the types of handlers' states.
custom_calls.collect()


def check_abi(version: int) -> None:
    """Raises VersionError unless `version` is that of this cyxla.

    A Cython module calls it with the `ABI_VERSION` that it was compiled with.
    """
    if version != ABI_VERSION:
        raise VersionError(
            f"a module was compiled for version {version} of cyxla's Cython API, and the installed "
            f"cyxla {__version__} has version {ABI_VERSION}: compile the module again"
        )


def get_include() -> list[str]:
    """The directory of the C header `cyxla/cyxla.h`, and that of the Cython files `cyxla/*.pxd`."""
    package = Path(__file__).parent
    headers = package / "include"
    if not headers.is_dir():  # an editable installation: the package is where its source is
        headers = package.parent.parent / "include"
    return [str(headers), str(package.parent)]


def __getattr__(name: str) -> Any:
    # These two need JAX, which takes most of a second to import: not before they are used.
    if name == "lower":
        from cyxla.lowering import lower

        return lower
    if name == "from_stablehlo":
        from cyxla.stablehlo import from_stablehlo

        return from_stablehlo
    raise AttributeError(f"module 'cyxla' has no attribute {name!r}")
