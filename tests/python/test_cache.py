"""The disk cache: what its keys depend on, what it takes and refuses, and what can't break it."""

from __future__ import annotations

import dataclasses
import errno
import functools
import importlib.metadata
import inspect
import os
import re
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cyxla
from cyxla import __main__ as command
from cyxla import (
    _runtime,
    cache,
    cache_keys,
    cache_settings,
    executable_cache,
    files,
    jaxlib_compiler,
    low_latency,
    platforms,
)
from cyxla.errors import CyxlaError, StatusError, VersionError

KEY = "0123456789abcdef" * 4
OTHER_KEY = "f" * 64

# An entry that is as small as one can be.
SMALL = files.Contents("f", "cpu", (), (), executable=b"some code")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test, and nothing that earlier ones have left in this process."""
    monkeypatch.setenv("CYXLA_CACHE", "1")
    monkeypatch.setenv("CYXLA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_warned", set())
    monkeypatch.setattr(cache_keys, "_kept_flags", None)
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def program() -> cyxla.Program:
    return lowered(lambda x: jnp.sin(x) @ x)


def lowered(function: Callable[..., Any]) -> cyxla.Program:
    return cyxla.lower(function, [jax.ShapeDtypeStruct((3, 3), jnp.float32)], name="f")


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.cyxla"))


def run_alone(code: str, *arguments: object, **environment: str) -> str:
    """Runs code in a process where JAX is not imported unless the code does it."""
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


# ---- entries ----


def test_an_entry_comes_back(folder: Path) -> None:
    assert cache.load(KEY) is None
    assert not folder.exists(), "a look makes no directory"
    cache.store(KEY, SMALL)
    found = cache.load(KEY)
    assert found is not None and found.executable == SMALL.executable
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in entries(folder)] == [f"{KEY}.cyxla"]
    assert cache.load(OTHER_KEY) is None


def test_an_entry_is_replaced() -> None:
    cache.store(KEY, SMALL)
    cache.store(KEY, dataclasses.replace(SMALL, executable=b"other code"))
    found = cache.load(KEY)
    assert found is not None and found.executable == b"other code"


def test_every_changed_byte_is_noticed(folder: Path) -> None:
    cache.store(KEY, SMALL)
    (path,) = entries(folder)
    good = path.read_bytes()
    for position in range(len(good)):
        for bits in (0x01, 0xFF):
            bad = bytearray(good)
            bad[position] ^= bits
            path.write_bytes(bad)
            assert cache.load(KEY) is None, position
    path.write_bytes(good)
    assert cache.load(KEY) is not None


def test_every_cut_is_noticed(folder: Path) -> None:
    cache.store(KEY, SMALL)
    (path,) = entries(folder)
    good = path.read_bytes()
    for length in range(len(good)):
        path.write_bytes(good[:length])
        assert cache.load(KEY) is None, length
    path.write_bytes(good + b"\0")
    assert cache.load(KEY) is None
    cache.store(KEY, SMALL)
    assert path.read_bytes() == good


def test_an_entry_of_another_name_is_a_miss(folder: Path) -> None:
    cache.store(KEY, SMALL)
    (path,) = entries(folder)
    path.rename(folder / f"{OTHER_KEY}.cyxla")
    assert cache.load(OTHER_KEY) is None
    assert cache.load(KEY) is None


def test_what_is_no_file_of_its_own_is_a_miss(folder: Path) -> None:
    cache.store(KEY, SMALL)
    (path,) = entries(folder)
    path.rename(folder / "elsewhere")
    path.symlink_to(folder / "elsewhere")
    assert cache.load(KEY) is None
    path.unlink()
    path.mkdir()
    assert cache.load(KEY) is None
    with pytest.warns(RuntimeWarning, match="can't be used"):
        cache.store(KEY, SMALL)


# ---- others must not write it ----


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702], ids=oct)
def test_a_directory_that_others_can_write_is_refused(folder: Path, mode: int) -> None:
    cache.store(KEY, SMALL)
    folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match=f"has mode {mode:04o}") as caught:
        assert cache.load(KEY) is None
        cache.store(OTHER_KEY, SMALL)
    assert len(caught) == 1, "once is enough"
    assert len(entries(folder)) == 1
    folder.chmod(0o755)
    assert cache.load(KEY) is not None


def test_a_directory_of_another_user_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store(KEY, SMALL)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.warns(RuntimeWarning, match=f"it belongs to user {folder.stat().st_uid}"):
        assert cache.load(KEY) is None


@pytest.mark.parametrize("mode", [0o666, 0o646, 0o664], ids=oct)
def test_an_entry_that_others_can_write_is_a_miss(folder: Path, mode: int) -> None:
    cache.store(KEY, SMALL)
    (path,) = entries(folder)
    path.chmod(mode)
    assert cache.load(KEY) is None
    cache.store(KEY, SMALL)
    assert cache.load(KEY) is not None


def test_an_entry_of_another_user_is_a_miss(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    cache.store(KEY, SMALL)
    (path,) = entries(folder)
    os.chown(path, 12345, -1)
    assert cache.load(KEY) is None
    cache.store(KEY, SMALL)
    assert cache.load(KEY) is not None


# ---- what is broken is told once ----


def test_a_file_in_the_place_of_the_directory(folder: Path) -> None:
    folder.write_text("in the way")
    with pytest.warns(RuntimeWarning, match="it is no directory") as caught:
        assert cache.load(KEY) is None
        cache.store(KEY, SMALL)
    assert len(caught) == 1


def test_a_file_in_the_place_of_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CYXLA_CACHE_DIR", str(tmp_path / "file/cache"))
    with pytest.warns(RuntimeWarning, match="Not a directory") as caught:
        assert cache.load(KEY) is None
        cache.store(KEY, SMALL)
    assert len(caught) == 1
    assert cache.status().entries == 0


def test_a_directory_that_can_not_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise PermissionError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.warns(RuntimeWarning, match="Read-only"):
        cache.store(KEY, SMALL)


def test_a_disk_that_can_only_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store(KEY, SMALL)
    os.utime(entries(folder)[0], (0, 0))

    def refuse(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    def refuse_writing(*arguments: Any) -> None:
        raise StatusError(7, "PERMISSION_DENIED", "can't create a file in its directory")

    monkeypatch.setattr(os, "utime", refuse)
    monkeypatch.setattr(_runtime, "write_file", refuse_writing)
    assert cache.load(KEY) is not None
    with pytest.warns(RuntimeWarning, match="can't create a file") as caught:
        cache.store(OTHER_KEY, SMALL)
        cache.store(OTHER_KEY, SMALL)
    assert len(caught) == 1


def test_a_full_disk(folder: Path, program: cyxla.Program) -> None:
    """No file may grow: the program is compiled, told once, and nothing is left behind."""
    program.save(folder.parent / "program")
    printed = run_alone(
        """
        import resource, sys, warnings
        import cyxla
        from cyxla import cache
        program = cyxla.load_program(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                executable, statistics = cyxla.compile_program(program)
                assert not statistics.from_cache
        print(len(caught), caught[0].category.__name__, caught[0].message)
        """,
        folder.parent / "program",
    )
    assert printed.startswith("1 RuntimeWarning cyxla's cache in "), printed
    assert "File too large" in printed
    assert list(folder.iterdir()) == []


# ---- size ----


def test_entries_that_served_longest_ago_go_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    big = dataclasses.replace(SMALL, executable=bytes(10_000))
    monkeypatch.setenv("CYXLA_CACHE_MAX_BYTES", "35000")
    keys = [f"{number:064x}" for number in range(4)]
    for age, key in enumerate(keys[:3]):
        cache.store(key, big)
        os.utime(folder / f"{key}.cyxla", (0, 10_000 + age))
    assert cache.load(keys[0]) is not None  # it is young again
    cache.store(keys[3], big)
    assert {path.stem for path in entries(folder)} == {keys[0], keys[2], keys[3]}
    assert cache.status().bytes <= 35_000


def test_an_entry_larger_than_the_cache_is_not_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store(KEY, SMALL)
    monkeypatch.setenv("CYXLA_CACHE_MAX_BYTES", "5000")
    cache.store(OTHER_KEY, dataclasses.replace(SMALL, executable=bytes(6000)))
    assert [path.stem for path in entries(folder)] == [KEY]


def test_a_hit_makes_an_old_entry_young(folder: Path) -> None:
    cache.store(KEY, SMALL)
    (path,) = entries(folder)
    os.utime(path, (1000, 1000))
    cache.load(KEY)
    young = path.stat().st_mtime
    assert young > 1000
    os.utime(path, (young - 60, young - 60))
    cache.load(KEY)
    assert path.stat().st_mtime == pytest.approx(young - 60), "not at every hit"


def test_unfinished_files_are_removed_when_they_are_old(folder: Path) -> None:
    cache.store(KEY, SMALL)
    old, new, foreign = (
        folder / name for name in (".cyxla-1-2.tmp", ".cyxla-3-4.tmp", "notes.tmp")
    )
    for path in (old, new, foreign):
        path.write_text("half of it")
    os.utime(old, (0, 0))
    os.utime(foreign, (0, 0))
    cache.store(OTHER_KEY, SMALL)
    assert not old.exists() and new.exists() and foreign.exists()


def test_a_file_that_vanishes_is_no_matter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store(KEY, SMALL)

    class Vanished(SimpleNamespace):
        def stat(self, **options: Any) -> os.stat_result:
            raise FileNotFoundError

    class Listing(list[Any]):
        def __enter__(self) -> Any:
            return self

        def __exit__(self, *exception: object) -> None:
            pass

    monkeypatch.setattr(os, "scandir", lambda path: Listing([Vanished(path="gone")]))
    assert cache.status().entries == 0


# ---- processes ----


def test_killed_while_storing(folder: Path) -> None:
    """Wherever a process ends, an entry is all there or not at all; what it leaves is removed."""
    printed = run_alone(
        """
        import os, random, signal, sys, time
        from pathlib import Path
        from cyxla import cache, files
        keys = [f"{number:064x}" for number in range(4)]
        contents = files.Contents("f", "cpu", (), (), executable=bytes(range(256)) * 100)
        cache.store(keys[0], contents)
        folder = Path(sys.argv[1])
        loaded = left = 0
        for kill in range(300):
            child = os.fork()
            if not child:
                while True:
                    cache.store(random.choice(keys), contents)
            time.sleep(random.random() * 0.004)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            for key in keys:
                found = cache.load(key)
                assert found is None or found.executable == contents.executable
                loaded += found is not None
        assert cache.verify() == []
        for path in folder.glob(".cyxla-*"):
            left += 1
            os.utime(path, (0, 0))
        cache.store(keys[0], contents)
        assert not list(folder.glob(".cyxla-*"))
        print(loaded, left)
        """,
        folder,
    )
    loaded, left = map(int, printed.split())
    assert loaded >= 300
    assert left > 0, "no kill came in the middle of a store"


def test_processes_at_the_same_time(folder: Path) -> None:
    """Many begin with a cold cache that is too small for them, while another one clears it."""
    run_alone(
        """
        import os, signal, time
        from cyxla import cache, files
        keys = [f"{number:064x}" for number in range(6)]
        def contents(key):
            return files.Contents("f", "cpu", (), (), executable=key.encode() * 50)
        clearing = os.fork()
        if not clearing:
            while True:
                cache.clear()
                time.sleep(0.003)
        children = []
        for number in range(32):
            child = os.fork()
            if child:
                children.append(child)
                continue
            status = 1
            try:
                for key in keys * 4:
                    found = cache.load(key)
                    if found is None:
                        cache.store(key, contents(key))
                    else:
                        assert found.executable == contents(key).executable
                status = 0
            finally:
                os._exit(status)
        failures = [child for child in children if os.waitpid(child, 0)[1]]
        os.kill(clearing, signal.SIGKILL)
        os.waitpid(clearing, 0)
        assert not failures
        assert cache.verify() == []
        assert cache.status().bytes <= 3 * 5000
        """,
        CYXLA_CACHE_MAX_BYTES="15000",
    )


# ---- settings ----


def test_the_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CYXLA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert cache_settings.directory() == tmp_path / "home/cyxla"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CYXLA_CACHE_DIR", "here")
    assert cache_settings.directory() == tmp_path / "here"


@pytest.mark.parametrize("text,enabled", [("0", False), ("1", True), ("", True), (None, True)])
def test_the_switch(monkeypatch: pytest.MonkeyPatch, text: str | None, enabled: bool) -> None:
    monkeypatch.delenv("CYXLA_CACHE")
    if text is not None:
        monkeypatch.setenv("CYXLA_CACHE", text)
    assert cache_settings.is_enabled() is enabled


def test_settings_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CYXLA_CACHE_MAX_BYTES", "")
    assert cache_settings.size_limit() == 1 << 30
    monkeypatch.setenv("CYXLA_CACHE_MAX_BYTES", "1 GiB")
    with pytest.raises(cyxla.ArgumentError, match="CYXLA_CACHE_MAX_BYTES must be a number"):
        cache_settings.size_limit()
    monkeypatch.setenv("CYXLA_CACHE", "off")
    with pytest.raises(cyxla.ArgumentError, match="CYXLA_CACHE must be 0 or 1, not 'off'"):
        cache_settings.is_enabled()


# ---- for people ----


def test_status_clear_verify(folder: Path) -> None:
    assert cache.status() == cache.CacheStatus(folder, True, 0, 0, 1 << 30, 0)
    assert cache.clear() == 0
    cache.store(KEY, SMALL)
    cache.store(OTHER_KEY, SMALL)
    for _ in range(3):
        cache.load(KEY)
    status = cache.status()
    assert (status.entries, status.hits) == (2, 3)
    assert status.bytes == sum(path.stat().st_size for path in entries(folder))
    assert cache.verify() == []
    bad = folder / f"{KEY}.cyxla"
    bad.write_bytes(bad.read_bytes()[:-1])
    empty = folder / f"{'a' * 64}.cyxla"
    empty.touch()
    assert sorted(cache.verify()) == [bad, empty]
    assert cache.verify() == []
    (folder / ".cyxla-5-6.tmp").touch()
    os.utime(folder / ".cyxla-5-6.tmp", (0, 0))
    assert cache.clear() == 1
    assert list(folder.iterdir()) == []


def test_the_command(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store(KEY, SMALL)
    cache.load(KEY)
    size = cache.status().bytes
    assert command.main(["cache"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"directory  {folder}",
        "entries    1",
        f"bytes      {size} of at most {1 << 30}",
        "hits       1",
    ]
    assert command.main(["cache", "verify"]) == 0
    assert capsys.readouterr().out == "1 of 1 entries are good\n"
    bad = folder / f"{OTHER_KEY}.cyxla"
    bad.touch()
    assert command.main(["cache", "verify"]) == 1
    assert capsys.readouterr().out == f"removed {bad}\n1 of 2 entries are good\n"
    assert command.main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == "removed 1 entries\n"
    monkeypatch.setenv("CYXLA_CACHE", "0")
    assert command.main(["cache", "show"]) == 0
    assert capsys.readouterr().out.startswith(f"directory  {folder} (switched off)\nentries    0\n")


def test_files_of_the_user_stay(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may have put the cache where his program files are."""
    cache.store(KEY, SMALL)
    mine = folder / "energy.cyxla"
    mine.write_bytes(bytes(3000))
    os.utime(mine, (0, 0))
    monkeypatch.setenv("CYXLA_CACHE_MAX_BYTES", "1000")
    cache.store(OTHER_KEY, SMALL)
    assert cache.verify() == []
    cache.clear()
    assert entries(folder) == [mine]


def test_a_broken_count_of_hits_begins_again(folder: Path) -> None:
    cache.store(KEY, SMALL)
    (folder / "hits").write_text("many")
    assert cache.status().hits == 0
    cache.load(KEY)
    assert cache.status().hits == 1


# ---- keys of executables ----


@dataclasses.dataclass
class Asked:
    """What goes into a key, with the surroundings."""

    program: cyxla.Program
    monkeypatch: pytest.MonkeyPatch
    tmp_path: Path
    options: dict[str, Any]
    low_latency: str = "False"
    engine: str = "auto"
    compiler: str = "auto"

    def key(self) -> str:
        request = executable_cache.Request(
            self.program, self.options, self.low_latency, self.engine, self.compiler
        )
        return next(executable_cache._keys(request))

    def change(self, **fields: Any) -> None:
        self.program = dataclasses.replace(self.program, **fields)


@pytest.fixture
def asked(program: cyxla.Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Asked:
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    monkeypatch.delenv("NPROC", raising=False)
    return Asked(program, monkeypatch, tmp_path, {"xla_cpu_prefer_vector_width": 128})


Change = Callable[[Asked], Any]


def fields(**values: Any) -> Change:
    return lambda asked: asked.change(**values)


def options(**values: Any) -> Change:
    return lambda asked: asked.options.update(values)


def request(name: str, value: str) -> Change:
    return lambda asked: setattr(asked, name, value)


def environment(name: str, value: str) -> Change:
    return lambda asked: asked.monkeypatch.setenv(name, value)


def found(module: Any, name: str, value: Any) -> Change:
    """What functions find out is another."""
    return lambda asked: asked.monkeypatch.setattr(module, name, lambda *_: value)


def flags_in_a_file(asked: Asked) -> None:
    path = asked.tmp_path / "flags"
    path.write_text("--xla_cpu_enable_fast_math=true")
    asked.monkeypatch.setenv("XLA_FLAGS", str(path))


def other_type(asked: Asked) -> None:
    (array,) = asked.program.inputs
    asked.change(inputs=(dataclasses.replace(array, shape=(9,)),))


def other_names(asked: Asked) -> None:
    (array,) = asked.program.inputs
    asked.change(inputs=(dataclasses.replace(array, name="y"),), name="g")


CHANGES: dict[str, tuple[bool, Change]] = {
    # what is another, whether the key is another then, how
    "nothing": (False, lambda asked: None),
    "stablehlo": (True, lambda asked: asked.change(stablehlo=asked.program.stablehlo + b" ")),
    "platform": (True, fields(platform="other")),
    "input types": (True, other_type),
    "output types": (True, fields(outputs=())),
    "names": (False, other_names),
    "JAX that lowered it": (False, fields(jax_version="1.2.3")),
    "value of an option": (True, options(xla_cpu_prefer_vector_width=64)),
    "type of an option": (True, options(xla_cpu_prefer_vector_width=128.0)),
    "another option": (True, options(xla_cpu_enable_fast_math=False)),
    "no option": (True, lambda asked: asked.options.clear()),
    "low latency": (True, request("low_latency", "True")),
    "low latency if known": (True, request("low_latency", "if known")),
    "engine": (False, request("engine", "direct")),
    "compiler, jaxlib anyway": (False, request("compiler", "jaxlib")),
    "compiler, the plugin": (True, request("compiler", "plugin")),
    "XLA_FLAGS": (True, environment("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")),
    "XLA_FLAGS, a file": (True, flags_in_a_file),
    "XLA_FLAGS, no file": (True, environment("XLA_FLAGS", "missing")),
    "XLA_FLAGS, blanks": (False, environment("XLA_FLAGS", "  ")),
    "NPROC": (True, environment("NPROC", "77")),
    "processors": (True, found(os, "sched_getaffinity", range(99))),
    "CPU": (True, found(_runtime, "describe_cpu", "x86_64")),
    "jaxlib": (True, found(cache_keys, "jaxlib_identity", "1.2")),
    "cyxla": (True, found(_runtime, "library_version", "9.9")),
    "format": (True, lambda asked: asked.monkeypatch.setattr(cache_keys, "_VERSION", 99)),
    "CYXLA_THREADS": (False, environment("CYXLA_THREADS", "1")),
    "CYXLA_LOG": (False, environment("CYXLA_LOG", "info")),
    "CYXLA_CACHE_MAX_BYTES": (False, environment("CYXLA_CACHE_MAX_BYTES", "1")),
    "TF_CPP_MIN_LOG_LEVEL": (False, environment("TF_CPP_MIN_LOG_LEVEL", "0")),
}


@pytest.mark.parametrize(("changes", "change"), CHANGES.values(), ids=CHANGES)
def test_what_changes_the_key(asked: Asked, changes: bool, change: Change) -> None:
    before = asked.key()
    cache.check_key(before)
    change(asked)
    assert (asked.key() != before) is changes


@pytest.mark.parametrize("engine", ["auto", "direct"])
def test_after_jaxlib_the_engine_counts(asked: Asked, engine: str) -> None:
    def last() -> str:
        wanted = executable_cache.Request(asked.program, {}, "False", asked.engine, "auto")
        return list(executable_cache._keys(wanted))[-1]

    before = last()
    asked.engine = engine
    assert (last() == before) is (engine == "auto")


def test_flags_that_xla_has_read_count(asked: Asked) -> None:
    asked.monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    cache_keys.keep_flags()
    before = asked.key()
    asked.monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
    assert asked.key() == before, "XLA does not read them again"


def test_the_plugin_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plugin.so"
    path.write_bytes(b"a plugin")
    monkeypatch.setattr(platforms, "_loaded", None)
    monkeypatch.setenv("CYXLA_PLUGIN", str(path))
    before = platforms.plugin_identity("cpu")
    assert str(path) in before
    assert platforms.plugin_identity("cpu") == before
    os.utime(path, (1000, 1000))
    touched = platforms.plugin_identity("cpu")
    assert touched != before
    path.write_bytes(b"another plugin")
    os.utime(path, (1000, 1000))
    assert platforms.plugin_identity("cpu") not in (before, touched)
    path.unlink()
    assert platforms.plugin_identity("cpu") == ""


def test_without_a_plugin_there_is_no_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platforms, "_loaded", None)
    monkeypatch.setattr(platforms, "find_plugins", lambda: [])
    assert platforms.plugin_identity("cpu") == ""


def test_create_options_of_the_plugin_count(tmp_path: Path) -> None:
    path = tmp_path / "plugin.so"
    path.touch()
    assert platforms._identity(path, {"a": 1}) != platforms._identity(path, {"a": 2})


def test_versions_without_importlib_metadatas_parser() -> None:
    for name in ("jax", "jaxlib", "numpy", "cyxla", "platformdirs"):
        assert cache_keys._version(name) == importlib.metadata.version(name)
    assert cache_keys._version_of(SimpleNamespace(read_text=lambda name: None)) == "unknown"


def test_jaxlib_by_version_and_libraries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def identity() -> str | None:
        cache_keys.jaxlib_identity.cache_clear()
        return cache_keys.jaxlib_identity()

    with monkeypatch.context() as patch:
        real = cache_keys.jaxlib_identity()
        assert real is not None and ".so " in real
        spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
        patch.setattr(cache_keys.importlib.util, "find_spec", lambda name: spec)
        version, library = tmp_path / "version.py", tmp_path / "libjax.so"
        version.write_text("'0.11.2'")
        library.write_bytes(b"code")
        found = [real, identity()]
        version.write_text("'0.11.3'")
        found.append(identity())
        os.utime(library, (1000, 1000))
        found.append(identity())
        library.write_bytes(b"other code")
        os.utime(library, (1000, 1000))
        found.append(identity())
        version.unlink()
        found.append(identity())
        spec.origin = str(tmp_path / "in a zip" / "__init__.py")
        found.append(identity())
        assert None not in found and len(set(found)) == len(found)
        spec.origin = None
        assert identity() is None
        patch.setattr(cache_keys.importlib.util, "find_spec", lambda name: None)
        assert identity() is None
    assert identity() == real


# ---- compile_program ----


def test_a_second_process_loads(folder: Path, program: cyxla.Program) -> None:
    """It needs neither jaxlib, nor JAX, nor a plugin."""
    program.save(folder.parent / "program")
    code = """
        import sys
        import numpy as np
        import cyxla
        program = cyxla.load_program(sys.argv[1])
        executable, statistics = cyxla.compile_program(program)
        print(statistics.from_cache, statistics.compiler, statistics.low_latency,
              statistics.engine, statistics.plugin)
        print(executable.run([np.arange(9).reshape(3, 3)])[0].tobytes().hex())
        modules = {"jax", "jaxlib", "jaxlib.xla_client"} & set(sys.modules)
        libraries = {each for each in ("libjax_common", "pjrt")
                     if each in open("/proc/self/maps").read()}
        print(sorted(modules), sorted(libraries))
        """
    first = run_alone(code, folder.parent / "program").splitlines()
    assert len(entries(folder)) == 1
    second = run_alone(code, folder.parent / "program").splitlines()
    assert first[0] == f"False jaxlib {jaxlib_compiler.version()} True direct None"
    assert second[0] == first[0].replace("False", "True", 1)
    assert second[1] == first[1]
    assert "libjax_common" in first[2] and second[2] == "[] []"
    assert cache.status().hits == 1


def compiled(program: cyxla.Program, **options: Any) -> tuple[bool, list[Any]]:
    """Whether it came from the cache, and the results for numbers from 0 to 9."""
    executable, statistics = cyxla.compile_program(program, **options)
    inputs = [np.arange(9).reshape(3, 3).astype(each.dtype) for each in program.inputs]
    assert executable.statistics == statistics
    return statistics.from_cache, [each.tolist() for each in executable.run(inputs)]


@pytest.mark.parametrize(
    "function,options",
    [
        (lambda x: jnp.sort(x, axis=0), {}),
        (lambda x: jnp.sort(x, axis=0), {"engine": "pjrt"}),
        (jnp.linalg.cholesky, {}),
        (jnp.fft.fft2, {}),
        (jnp.fft.fft2, {"engine": "pjrt", "low_latency": False}),
        (jnp.sin, {"compiler": "plugin"}),
        (jnp.sin, {"compiler": "jaxlib", "options": {"xla_cpu_enable_fast_math": False}}),
    ],
    ids=["sort", "sort pjrt", "lapack", "fft", "fft pjrt", "plugin", "jaxlib"],
)  # fmt: skip
def test_hits(function: Callable[..., Any], options: dict[str, Any]) -> None:
    program = lowered(function)
    first, expected = compiled(program, **options)
    second, found = compiled(program, **options)
    assert (first, second) == (False, True)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "function,engine,options",
    [
        (jnp.sin, "direct", {}),
        (jnp.fft.fft, "pjrt", {}),
        (jnp.sin, "direct", {"compiler": "plugin"}),
    ],
    ids=["jaxlib", "pjrt", "plugin"],
)
def test_a_hit_tells_what_the_compilation_told(
    function: Callable[..., Any], engine: str, options: dict[str, Any]
) -> None:
    program = lowered(function)
    first = cyxla.compile_program(program, **options)[1]
    second = cyxla.compile_program(program, **options)[1]
    assert first.engine == second.engine == engine
    if engine == "direct" and not options:
        assert first.plugin is second.plugin is None
    unlike = {"seconds", "from_cache", "code_bytes", "temp_bytes", "plugin"}
    for each in dataclasses.fields(first):
        if each.name not in unlike:
            assert getattr(first, each.name) == getattr(second, each.name), each.name


def test_a_hit_tells_the_workaround(program: cyxla.Program) -> None:
    executable, statistics = cyxla.compile_program(program, compiler="jaxlib")
    mended = dataclasses.replace(statistics, workaround="arctan: mended")
    _runtime.set_history(executable, mended, executable.origin)
    request = executable_cache.Request(program, {}, "False", "auto", "jaxlib")
    executable_cache.keep(request, executable, None, True)
    hit = executable_cache.find(request)
    assert hit and hit.workaround == "arctan: mended"


def test_a_hit_can_be_saved(tmp_path: Path, program: cyxla.Program) -> None:
    origins = [cyxla.compile_program(program)[0].origin for _ in range(2)]
    assert dataclasses.replace(origins[1], producers={}) == dataclasses.replace(
        origins[0], producers={}
    )
    executable = cyxla.compile_program(program)[0]
    executable.save(tmp_path / "file")
    assert cyxla.load(tmp_path / "file").statistics.recompiled is None


def test_switched_off(monkeypatch: pytest.MonkeyPatch, folder: Path, program: Any) -> None:
    monkeypatch.setenv("CYXLA_CACHE", "0")
    assert [compiled(program)[0] for _ in range(2)] == [False, False]
    cyxla.store_lowered(KEY, program)
    assert cyxla.load_lowered(KEY) is None
    assert not folder.exists()


def test_damaged_entries_are_compiled_again(folder: Path, program: cyxla.Program) -> None:
    assert compiled(program)[0] is False
    (path,) = entries(folder)
    good = path.read_bytes()
    path.write_bytes(good[:-5])
    assert compiled(program)[0] is False
    assert compiled(program)[0] is True
    contents = dataclasses.replace(files.read(path), executable=b"no code at all")
    _runtime.write_file(str(path), contents)
    assert compiled(program)[0] is False
    assert compiled(program)[0] is True


def test_what_the_plugin_must_run_is_not_tried_for_the_direct_engine() -> None:
    program = lowered(jnp.fft.fft2)
    compiled(program)
    compiled(program, compiler="plugin")
    for _ in range(2):
        with pytest.raises(StatusError, match="the direct engine can't run it"):
            cyxla.compile_program(program, engine="direct")
        with pytest.raises(StatusError, match="the direct engine can't run it"):
            cyxla.compile_program(program, engine="direct", compiler="plugin")


def test_entries_of_another_plugin_are_misses(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = lowered(jnp.fft.fft2)
    compiled(program)
    (path,) = entries(folder)
    contents = files.read(path)
    _runtime.write_file(str(path), dataclasses.replace(contents, fingerprint="another build"))
    assert compiled(program)[0] is False
    assert compiled(program)[0] is True
    other = {**contents.metadata, "plugin_identity": "elsewhere"}
    _runtime.write_file(str(path), dataclasses.replace(contents, metadata=other))
    assert compiled(program)[0] is False
    assert compiled(program)[0] is True


def test_a_plugin_without_identity_is_not_cached(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nameless = dataclasses.replace(platforms.loaded_plugin("cpu"), identity="")
    monkeypatch.setattr(platforms, "_loaded", nameless)
    assert compiled(lowered(jnp.sin), compiler="plugin")[0] is False
    assert entries(folder) == []


def test_what_can_not_be_serialized_is_not_cached(folder: Path, program: cyxla.Program) -> None:
    def refuse() -> bytes:
        raise StatusError(12, "UNIMPLEMENTED", "can't serialize")

    request = executable_cache.Request(program, {}, "False", "auto", "auto")
    executable: Any = SimpleNamespace(serialize=refuse)
    executable_cache.keep(request, executable, None, True)
    assert entries(folder) == []


@pytest.mark.parametrize(
    "error,from_cache",
    [
        (VersionError("jaxlib has changed"), True),
        (CyxlaError("this process is a fork"), False),
    ],
    ids=["lasting", "passing"],
)
def test_only_what_would_come_again_is_kept(
    error: CyxlaError, from_cache: bool, monkeypatch: pytest.MonkeyPatch, program: cyxla.Program
) -> None:
    """What the plugin has compiled in jaxlib's place, because of something that passes, is not for
    processes where jaxlib works."""

    def refuse(*arguments: Any) -> bytes:
        raise error

    monkeypatch.setattr(jaxlib_compiler, "compile_to_bytes", refuse)
    assert compiled(program)[0] is False
    assert compiled(program)[0] is from_cache
    monkeypatch.setattr(cache_keys, "jaxlib_identity", lambda: None)
    assert [compiled(program)[0] for _ in range(2)] == [False, True]


def test_options_that_the_compiler_does_not_know(
    monkeypatch: pytest.MonkeyPatch, program: cyxla.Program
) -> None:
    compile_to_bytes = jaxlib_compiler.compile_to_bytes

    def refuse(program: cyxla.Program, options: Any) -> bytes:
        if set(options) & set(low_latency.OPTIONS):
            message = f"No such option: '{next(iter(low_latency.OPTIONS))}'"
            raise StatusError(3, "INVALID_ARGUMENT", message)
        return compile_to_bytes(program, options)

    monkeypatch.setattr(jaxlib_compiler, "compile_to_bytes", refuse)
    for from_cache in (False, True):
        statistics = cyxla.compile_program(program)[1]
        assert (statistics.from_cache, statistics.low_latency) == (from_cache, False)
    with pytest.raises(StatusError, match="No such option"):
        cyxla.compile_program(program, low_latency=True)
    monkeypatch.setattr(jaxlib_compiler, "compile_to_bytes", compile_to_bytes)
    assert cyxla.compile_program(program, low_latency=True)[1].from_cache is False


def test_threads(program: cyxla.Program) -> None:
    from concurrent.futures import ThreadPoolExecutor

    expected = compiled(program, compiler="jaxlib")[1]
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: compiled(program), range(40)):
            assert found == (True, expected)


def test_fork(folder: Path, program: cyxla.Program) -> None:
    """A fork of a process that has compiled can't compile, and can load."""
    program.save(folder.parent / "program")
    run_alone(
        """
        import os, sys
        import numpy as np
        import cyxla
        program = cyxla.load_program(sys.argv[1])
        assert not cyxla.compile_program(program)[1].from_cache
        child = os.fork()
        if not child:
            executable, statistics = cyxla.compile_program(program)
            executable.run([np.ones((3, 3))])
            os._exit(0 if statistics.from_cache else 1)
        assert os.waitpid(child, 0)[1] == 0
        """,
        folder.parent / "program",
    )


# ---- lowered programs ----


def wave(x: Any) -> Any:
    return jnp.sin(x)


def other_wave(x: Any) -> Any:
    return jnp.cos(x)


def test_lowered_programs_come_back(program: cyxla.Program) -> None:
    key = cyxla.cache_key(wave, "float32[3,3]")
    assert cyxla.load_lowered(key) is None
    cyxla.store_lowered(key, program)
    assert cyxla.load_lowered(key) == program


def test_loading_needs_no_jax(folder: Path, program: cyxla.Program) -> None:
    run_alone(
        """
        import sys
        import cyxla
        program = cyxla.load_program(sys.argv[1])
        key = cyxla.cache_key("a text", distributions=["numpy"])
        assert cyxla.load_lowered(key) is None
        cyxla.store_lowered(key, program)
        assert cyxla.load_lowered(key) == program
        assert "jax" not in sys.modules and "jaxlib" not in sys.modules
        """,
        saved(program, folder),
    )


def saved(program: cyxla.Program, folder: Path) -> Path:
    path = folder.parent / "program"
    program.save(path)
    return path


def test_an_entry_without_stablehlo_is_no_lowered_program() -> None:
    cache.store(KEY, SMALL)
    assert cyxla.load_lowered(KEY) is None


@pytest.mark.parametrize("key", ["", "../../etc/passwd", KEY.upper(), KEY + "\n", None])
def test_keys_that_are_none(key: Any, program: cyxla.Program) -> None:
    with pytest.raises(cyxla.ArgumentError, match="a key is what cyxla.cache_key returns"):
        cyxla.load_lowered(key)
    with pytest.raises(cyxla.ArgumentError, match="a key is what cyxla.cache_key returns"):
        cyxla.store_lowered(key, program)


def test_what_is_no_program() -> None:
    with pytest.raises(cyxla.ArgumentTypeError, match="store_lowered needs a Program, not 3"):
        cyxla.store_lowered(KEY, 3)  # type: ignore[arg-type]


def test_what_changes_the_key_of_a_lowered_program(monkeypatch: pytest.MonkeyPatch) -> None:
    key = cyxla.cache_key(wave)
    assert key == cyxla.cache_key(wave) == cyxla.cache_key(jax.jit(wave))
    others = [
        cyxla.cache_key(other_wave),
        cyxla.cache_key(wave, "float32[3]"),
        cyxla.cache_key(wave, "float32[4]"),
        cyxla.cache_key(wave, other_wave),
        cyxla.cache_key("wave"),
        cyxla.cache_key(wave, distributions=["numpy"]),
        cyxla.cache_key(wave, distributions=["numpy", "jax"]),
    ]
    for name, value in (
        ("jax_enable_x64", not jax.config.jax_enable_x64),
        ("jax_default_matmul_precision", "highest"),
        ("jax_numpy_dtype_promotion", "strict"),
        ("jax_default_prng_impl", "rbg"),
        ("jax_threefry_partitionable", False),
    ):
        before = getattr(jax.config, name)
        jax.config.update(name, value)
        others.append(cyxla.cache_key(wave))
        jax.config.update(name, before)
    for module, name, replacement in (
        (cache_keys.platform, "python_version", lambda: "3.99"),
        (cache_keys, "_version", lambda name: "1.2.3"),
        (_runtime, "library_version", lambda: "9.9"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, replacement)
            others.append(cyxla.cache_key(wave))
    assert len({key, *others}) == 1 + len(others)
    assert cyxla.cache_key(wave) == key


def test_settings_are_those_of_the_thread() -> None:
    with jax.enable_x64(not jax.config.jax_enable_x64):
        inside = cyxla.cache_key(wave)
    assert inside != cyxla.cache_key(wave)


def test_settings_of_a_process_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jax")
    key = cyxla.cache_key("text")
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    assert cyxla.cache_key("text") != key


def test_functions_without_source() -> None:
    with pytest.raises(cyxla.ArgumentError, match="has no source text"):
        cyxla.cache_key(len)
    with pytest.raises(cyxla.ArgumentError, match="has no source text .*: give a text"):
        cyxla.cache_key(functools.partial(wave))
    with pytest.raises(cyxla.ArgumentTypeError, match="needs functions and texts, not a int"):
        cyxla.cache_key(3)  # type: ignore[arg-type]


def test_distributions_that_are_not_installed() -> None:
    with pytest.raises(cyxla.ArgumentError, match="'no-such-thing' is not installed"):
        cyxla.cache_key(wave, distributions=["no-such-thing"])
    assert cache_keys._version("no-such-thing") == "unknown"


# Of what JAX traces by, these don't change what a program computes, only where, when and with which
# checks; programs with several devices or callbacks are refused.
OTHER_SETTINGS = {
    "check_vma",
    "eager_constant_folding",
    "jax_debug_key_reuse",
    "jax_default_device",
    "jax_enable_pgle",
    "jax_hlo_source_file_canonicalization_regex",
    "jax_no_execution",
    "jax_pallas_use_mosaic_gpu",
    "jax_pgle_profiling_runs",
    "jax_raise_on_ppermute_sort_diff",
    "jax_xla_profile_version",
}


def test_no_setting_of_jax_is_forgotten() -> None:
    """JAX marks the settings by which it traces where it defines them."""
    source = inspect.getsource(pytest.importorskip("jax._src.config"))
    definitions = re.split(r"\bname='", source)[1:]
    marked = {each.split("'")[0] for each in definitions if "include_in_trace_context=True" in each}
    marked &= set(jax.config.values)
    assert len(marked) > 20
    assert marked <= {*cache_keys.SETTINGS_OF_JAX, *OTHER_SETTINGS}


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield
