"""What all tests share.

A process has one plugin, so whatever needs another plugin, other options of it, or a process that
has not loaded it yet, runs in a process of its own: the fixture `run_python`.
"""

import importlib
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
import zipfile
import zlib
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import cyxla as cx

# No test sees what others have compiled, the user least of all; those of the cache switch it on.
os.environ["CYXLA_CACHE"] = "0"


def pytest_collection_modifyitems(config, items):
    """With the oldest Python comes an older JAX: of tables of cases it takes an eighth, by chance,
    unless -k says what it should take."""
    if sys.version_info >= (3, 12) or config.option.keyword:
        return
    kept, left_out = [], []
    for item in items:
        share = zlib.crc32(item.nodeid.encode()) % 8 if item.get_closest_marker("table") else 0
        (left_out if share else kept).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


X64 = jax.config.jax_enable_x64


@pytest.fixture(autouse=True)
def settings_of_jax():
    """Puts back what some libraries set when they are imported, and commands for functions."""
    jax.config.update("jax_enable_x64", X64)
    yield
    jax.config.update("jax_enable_x64", X64)


@pytest.fixture(scope="session")
def run_python():
    """Runs Python code in a new process and returns what it printed."""

    def run(code, *arguments, env=None):
        process = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    return run


@pytest.fixture(scope="module", params=["direct", "pjrt"])
def engine(request):
    """Tests that use it run once with each engine, and the compilers that are its default.

    Fixtures of theirs that compile must use it, too.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CYXLA_ENGINE", request.param)
        yield request.param


@pytest.fixture
def plugin_only(monkeypatch):
    """Has the plugin compile and run everything, in processes of their own too."""
    monkeypatch.setenv("CYXLA_ENGINE", "pjrt")


@pytest.fixture(scope="module")
def affine(engine):
    """An executable of one input and output: 2 x + 1 for float32[3]. Not to be closed."""
    program = cx.lower(double_and_one, [jax.ShapeDtypeStruct((3,), jnp.float32)])
    return cx.compile_program(program)[0]


def double_and_one(x):
    return 2 * x + 1


@pytest.fixture(scope="session")
def downstream(tmp_path_factory):
    """The package of tests/downstream, built here and now for this Python."""
    source = tmp_path_factory.mktemp("source") / "downstream"
    target = tmp_path_factory.mktemp("site")
    shutil.copytree(Path(__file__).parents[1] / "downstream", source)
    # What pip would call: environments that uv makes have no pip.
    build = "import mesonpy; print(mesonpy.build_wheel('.'))"
    scripts = os.path.dirname(sys.executable)
    process = subprocess.run(
        [sys.executable, "-c", build],
        cwd=source,
        env={**os.environ, "PATH": os.pathsep.join([scripts, os.environ["PATH"]])},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    (wheel,) = source.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(target)
    sys.path.insert(0, str(target))
    return importlib.import_module("downstream")


@pytest.fixture
def ticks_during():
    """Counts, while an action goes on, what another thread gets to do."""

    def count(action):
        """How often it gets to do something, every five milliseconds at most."""
        done = threading.Event()
        ticks = []

        def tick():
            while not done.wait(0.005):
                ticks.append(time.perf_counter())

        thread = threading.Thread(target=tick)
        thread.start()
        start = time.perf_counter()
        action()
        end = time.perf_counter()
        done.set()
        thread.join()
        # Without the GIL's release, all of them would come at the start and the end.
        margin = (end - start) / 10
        return sum(start + margin < each < end - margin for each in ticks)

    return count
