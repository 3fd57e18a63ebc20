"""`inspect`: what is in a program file or in a serialized executable."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cyxla import _runtime, custom_calls, files
from cyxla.compilation import ready_custom_calls
from cyxla.errors import CyxlaError, StatusError
from cyxla.program import ArrayType, artifact_version

__all__ = ["add"]

# How facts are called where people read them, if otherwise than in JSON.
_LABELS = {
    "inputs": "input",
    "outputs": "output",
    "targets": "target",
    "executable_bytes": "executable",
    "code_bytes": "code",
    "temp_bytes": "temp",
}


def add(commands: Any) -> None:
    """Declares the verb."""
    parser = commands.add_parser(
        "inspect",
        help="describe a program file or a serialized executable",
        description="Tells what is in a program file, or in what Executable.serialize or jaxlib "
        "wrote. Nothing of it is run.",
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", action="store_true", help="for programs to read")
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    data = chosen.file.read_bytes()
    if files.is_program_file(data):
        facts = _program_file(chosen.file)
    else:
        facts = _executable(_serialized(chosen.file, data))
    if chosen.json:
        print(json.dumps(facts, indent=2))
        return 0
    for name, value in facts.items():
        for line in _lines(name, value):
            print(f"{_LABELS.get(name, name):10} {line}")
    return 0


def _serialized(file: Path, data: bytes) -> _runtime.Executable:
    custom_calls.bring_those_of_jax()  # it may call any of them, and does not say so
    try:
        return _runtime.load_executable(None, None, data, "direct")
    except StatusError as error:
        raise CyxlaError(f"{file}: {error}") from error


# Facts: by name, in the order in which they are told; the names are those of the JSON text.


def _program_file(file: Path) -> dict[str, Any]:
    contents = files.read(file)
    facts: dict[str, Any] = {
        "name": contents.name,
        "platform": contents.platform,
        "inputs": _types(contents.inputs),
        "outputs": _types(contents.outputs),
        "targets": list(contents.targets),
        "stablehlo": _stablehlo(contents.stablehlo),
    }
    if contents.executable:
        facts |= {
            **_stored(contents),
            "compiler": contents.fingerprint or "not told",
            "options": dict(contents.options),
            "processor": contents.cpu_features or "not told",
        }
    else:
        facts["engine"] = "none: there is no executable in it; cyxla.load compiles the program"
    return {
        **facts,
        "producers": dict(contents.producers),
        "metadata": dict(contents.metadata),
    }


def _stored(contents: files.Contents) -> dict[str, Any]:
    """What runs the stored executable here."""
    try:
        with ready_custom_calls(contents):
            executable = _runtime.load_executable(None, contents, contents.executable, "direct")
    except CyxlaError as error:
        return {"executable_bytes": len(contents.executable), "engine": f"not direct: {error}"}
    facts = _executable(executable)
    return {
        "executable_bytes": len(contents.executable),
        **{name: facts[name] for name in ("engine", "thunks", "code_bytes", "temp_bytes")},
    }


def _executable(executable: _runtime.Executable) -> dict[str, Any]:
    return {
        "name": executable.name,
        "inputs": _types(executable.input_types),
        "outputs": _types(executable.output_types),
        "engine": f"{executable.engine}: {executable.engine_reason}",
        "thunks": executable.thunks or {},
        "code_bytes": executable.code_bytes,
        "temp_bytes": executable.temp_bytes,
    }


def _types(arrays: Iterable[ArrayType]) -> list[dict[str, Any]]:
    return [
        {"name": each.name, "dtype": str(each.element_type), "shape": each.shape} for each in arrays
    ]


def _stablehlo(code: bytes) -> str:
    if not code:
        return "none"
    version = artifact_version(code)
    kind = f"version {'.'.join(map(str, version))}" if version else "no portable artifact"
    return f"{len(code)} bytes, {kind}"


def _lines(name: str, value: Any) -> list[str]:
    """A fact as text: a list has a line for each item."""
    if name in ("inputs", "outputs"):
        return [f"{each['name']}: {each['dtype']}{list(each['shape'])}" for each in value]
    if isinstance(value, list):
        return value
    if name == "thunks":
        return [", ".join(f"{count} {kind}" for kind, count in value.items()) or "none"]
    if isinstance(value, dict):
        return [", ".join(f"{key} {item!r:.60}" for key, item in value.items()) or "none"]
    return [f"{value} bytes" if name.endswith("_bytes") else str(value)]
