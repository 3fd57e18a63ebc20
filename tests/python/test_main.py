"""`python -m cyxla` where plugins are missing or broken; test_platforms has it where they are."""

from pathlib import Path

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
