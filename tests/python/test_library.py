"""What leaves the library, and what the header says of it."""

import re
import subprocess
from pathlib import Path

import pytest

import cyxla

ROOT = Path(__file__).resolve().parents[2]
HEADER = (ROOT / "include/cyxla/cyxla.h").read_text()
LIBRARY = Path(cyxla.__file__).parent / "lib/libcyxla.so"

# A comment and the declaration of a public function that follows it.
FUNCTIONS = re.findall(
    r"/\*((?:(?!\*/).)*)\*/\nCYXLA_API [\w *]*?\b(cyxla_\w+)\(", HEADER, re.DOTALL
)


@pytest.fixture
def library() -> Path:
    if not LIBRARY.exists():
        pytest.skip("an editable installation keeps the library elsewhere")
    return LIBRARY


def test_exports_are_the_declared_functions(library: Path) -> None:
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True
    )
    exported = {line.split()[-1] for line in symbols.stdout.splitlines()}
    assert exported == {name for _, name in FUNCTIONS}


def test_each_function_is_declared_with_a_comment() -> None:
    assert len(FUNCTIONS) == HEADER.count("CYXLA_API ") - HEADER.count("#define CYXLA_API ")


@pytest.mark.parametrize("comment,name", FUNCTIONS, ids=[name for _, name in FUNCTIONS])
def test_comment_says_threads_and_version(comment: str, name: str) -> None:
    assert re.search(r"Threads:\s+(shared|owned|startup)", comment), name
    assert re.search(r"Since\s+\d+\.\d+\.", comment), name


def test_library_needs_nothing_but_libc(library: Path) -> None:
    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True).stdout
    needed = re.findall(r"NEEDED.*\[(.*)\]", dynamic)
    libc = re.compile(r"(libc|libdl|libm|libpthread|ld-linux.*)\.so")
    assert all(map(libc.match, needed)), needed
