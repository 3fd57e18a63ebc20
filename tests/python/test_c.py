"""The C tests: built by Meson without Python, and run with the fake plugin and the real one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cyxla

ROOT = Path(__file__).resolve().parents[2]
# Meson and ninja are where Python is, which need not be on the PATH.
ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def meson(*arguments: object, **variables: object) -> str:
    """Runs Meson and returns what it printed."""
    environment = ENVIRONMENT | {name: str(value) for name, value in variables.items()}
    command = ["meson", *map(str, arguments)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("c") / "build"
    meson("setup", folder, ROOT, "-Dpython=false", "-Dtests=true", "--werror")
    meson("compile", "-C", folder)
    return folder


def run_suite(build: Path, plugin_name: str, *suites: str) -> str:
    (plugin,) = (each for each in cyxla.find_plugins() if each.name == plugin_name)
    options = ["--print-errorlogs", *suites]
    return meson("test", "-C", build, *options, CYXLA_TEST_PLUGIN=plugin.path)


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["unit", "fake", "real"])
def test_suite(build: Path, suite: str) -> None:
    output = run_suite(build, "lammps_jax_pjrt_cpu", "--suite", suite)
    assert "Skipped:" not in output, output


@pytest.mark.slow
def test_old_plugin(build: Path) -> None:
    """The oldest plugin that is tried: PJRT 0.81."""
    suites = ["--suite", "real", "--no-suite", "direct", "--no-suite", "slow"]
    run_suite(build, "xla_plugins.xla_cpu_pjrt", *suites)
