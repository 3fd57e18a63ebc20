"""`python -m cyxla`: its list where plugins are missing or broken (test_platforms has it where they
are), and what it tells of serialized executables."""

from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import cyxla
from cyxla import __main__ as command


def test_no_plugin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "find_plugins", lambda: [])
    assert command.main([]) == 1
    assert 'pip install "cyxla[cpu]"' in capsys.readouterr().out


def test_targets_without_a_plugin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def default() -> cyxla.PluginCandidate:
        raise cyxla.CyxlaError("no PJRT plugin is installed")

    monkeypatch.setattr(command, "default_candidate", default)
    assert command.main(["targets"]) == 1
    assert capsys.readouterr().out == "no PJRT plugin is installed\n"


def test_a_plugin_that_cant_be_loaded_is_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broken = cyxla.PluginCandidate("broken", "cpu", tmp_path / "missing.so", {})
    monkeypatch.setattr(command, "find_plugins", lambda: [broken])
    assert command.main([]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("broken\n")
    assert "unusable   can't load the plugin" in printed


def test_a_plugin_that_ends_its_process_is_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def load(candidate: cyxla.PluginCandidate) -> cyxla.PluginInfo:
        raise BrokenProcessPool

    deadly = cyxla.PluginCandidate("deadly", "cpu", tmp_path / "deadly.so", {})
    monkeypatch.setattr(command, "find_plugins", lambda: [deadly])
    monkeypatch.setattr(command, "_load_elsewhere", load)
    assert command.main([]) == 0
    assert "unusable   the process that loaded it died" in capsys.readouterr().out


# ---- inspect ----


@pytest.fixture
def serialized(tmp_path: Path) -> Callable[[Callable[..., Any]], Path]:
    def serialize(function: Callable[..., Any]) -> Path:
        shape = jax.ShapeDtypeStruct((3, 3), jnp.float32)
        program = cyxla.lower(function, [shape], name="example")
        executable, _ = cyxla.compile_program(program)
        path = tmp_path / "example.bin"
        path.write_bytes(executable.serialize())
        return path

    return serialize


def test_inspect(
    serialized: Callable[[Callable[..., Any]], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = serialized(lambda x: (jnp.linalg.cholesky(x), x.astype(jnp.int32).sum(0)))
    assert command.main(["inspect", str(path)]) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    texts = dict(lines)
    assert [key for key, _ in lines] == [
        "name", "input", "output", "output", "engine", "thunks", "code", "temp"
    ]  # fmt: skip
    assert texts["name"] == "jit_example"
    assert ["input", "arg0: float32[3,3]"] in lines
    assert ["output", "result[0]: float32[3,3]"] in lines
    assert ["output", "result[1]: int32[3]"] in lines
    assert texts["engine"] == "direct: every thunk is supported"
    assert "1 custom-call" in texts["thunks"] and "kernel" in texts["thunks"]
    assert texts["code"].split()[0].isdigit() and texts["temp"].split()[0].isdigit()


def test_inspect_what_does_not_run_direct(
    serialized: Callable[[Callable[..., Any]], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = serialized(jnp.fft.fft)
    assert command.main(["inspect", str(path)]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith(f"{path}: jit_example: the direct engine can't run it")
    assert "fft" in printed


def test_inspect_an_executable_without_thunks(
    serialized: Callable[[Callable[..., Any]], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = serialized(lambda x: ())
    assert command.main(["inspect", str(path)]) == 0
    assert "thunks  none" in capsys.readouterr().out


def test_inspect_what_is_no_executable(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command.main(["inspect", str(tmp_path / "missing")]) == 1
    assert "No such file" in capsys.readouterr().out
    (tmp_path / "text").write_text("no executable")
    assert command.main(["inspect", str(tmp_path / "text")]) == 1
    assert "no serialized executable" in capsys.readouterr().out
