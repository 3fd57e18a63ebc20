"""`config`: what a compiler must know to build against the library of this installation."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import cyxla
from cyxla.errors import CyxlaError

__all__ = ["add"]


def add(commands: Any) -> None:
    """Declares the verb."""
    parser = commands.add_parser(
        "config",
        help="tell compilers where the C library is",
        description="Prints what a compiler must know to build against the C library that is "
        "installed with this package.",
        epilog="example: cc load.c $(cyxla config --cflags --libs) -o load",
    )
    parser.add_argument("--cflags", action="store_true", help="options of the C compiler")
    parser.add_argument("--libs", action="store_true", help="options of the linker")
    parser.add_argument(
        "--cmakedir", action="store_true", help="the directory of cyxlaConfig.cmake"
    )
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    everything = not (chosen.cflags or chosen.libs or chosen.cmakedir)
    words = []
    if chosen.cflags or everything:
        words.append(f"-I{cyxla.get_include()[0]}")
    if chosen.libs or everything:
        library = _library()
        words += [f"-L{library}", f"-Wl,-rpath,{library}", "-lcyxla"]
    if chosen.cmakedir:
        words.append(str(_library() / "cmake" / "cyxla"))
    print(" ".join(words))
    return 0


def _library() -> Path:
    library = Path(cyxla.__file__).parent / "lib"
    if not library.is_dir():
        raise CyxlaError(
            "this is an editable installation, which keeps the library in its build directory; "
            "install cyxla from a wheel, or the C library by Meson"
        )
    return library
