"""Linters, types, and the header in every compiler that is here."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cyxla

ROOT = Path(__file__).resolve().parents[2]


def run(*command: object) -> None:
    process = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.mark.parametrize("arguments", [["check", "."], ["format", "--check", "."]], ids=str)
def test_ruff(arguments: list[str]) -> None:
    run(sys.executable, "-m", "ruff", *arguments, "--extend-exclude=*.md")


def test_types() -> None:
    run(sys.executable, "-m", "mypy", "--cache-dir", "/dev/null", "python/cyxla")


@pytest.mark.parametrize(
    ("compiler", "standard"),
    [("gcc", "c11"), ("clang", "c11"), ("g++", "c++17"), ("clang++", "c++17")],
)
def test_header_alone(compiler: str, standard: str) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    language = "c" if standard == "c11" else "c++"
    name = "cyxla.h" if standard == "c11" else "cyxla.hpp"
    header = Path(cyxla.get_include()[0]) / "cyxla" / name
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    includes = ["-I", header.parents[1], "-include", header]
    run(compiler, f"-std={standard}", *flags, "-x", language, *includes, "/dev/null")
