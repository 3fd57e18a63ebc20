"""The command line: what its verbs print and write, and what they say where something is wrong.

(`plugins` where there are some is in test_platforms, `export` in test_export.)
"""

import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import cyxla
from cyxla import __main__ as command
from cyxla import files
from cyxla.commands import functions, plugins, progress, targets

MODULE = '''
import jax.numpy as jnp

def scale(x, factor):
    """Two results."""
    return x * factor, (x * factor).sum()

def wrong(x):
    return x @ jnp.zeros(7)

class inner:
    constant = staticmethod(lambda: jnp.arange(3))
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a module that only there can be found."""
    (tmp_path / "functions_of_the_test.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.delitem(sys.modules, "functions_of_the_test", raising=False)
    return tmp_path


@pytest.fixture
def scale(here: Path) -> Path:
    """A program file: 2 x and its sum, for bfloat16."""
    return save(lambda x, factor: (x * factor, (x * factor).sum()), here / "scale.cyxla")


def save(function: Callable[..., Any], path: Path) -> Path:
    shapes = [jax.ShapeDtypeStruct((3,), jnp.bfloat16), jax.ShapeDtypeStruct((), jnp.bfloat16)]
    cyxla.compile_program(cyxla.lower(function, shapes, name="scale"))[0].save(path)
    return path


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs what can't work; returns the one line that it says."""

    def run(*arguments: object) -> str:
        assert command.main(list(map(str, arguments))) == 1
        said = capsys.readouterr().err
        assert said.startswith("cyxla: ") and said.count("\n") == 1
        return said

    return run


# ---- all verbs ----


def test_wrong_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command.main(["no-such-verb"])
    assert caught.value.code == 2
    assert "no-such-verb" in capsys.readouterr().err


def test_nobody_reads_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def list_plugins(chosen: object) -> int:
        raise BrokenPipeError

    monkeypatch.setattr(plugins, "list_plugins", list_plugins)
    with open(tmp_path / "output", "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert command.main([]) == 1
        print("nothing", file=output)
    assert (tmp_path / "output").read_text() == ""


def test_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def list_plugins(chosen: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(plugins, "list_plugins", list_plugins)
    assert command.main([]) == 130


def test_the_command_is_installed() -> None:
    script = Path(sys.executable).with_name("cyxla")
    if not script.exists():
        pytest.skip("the package is installed elsewhere")
    run = subprocess.run([script, "--version"], capture_output=True, text=True)
    assert run.stdout == f"cyxla {cyxla.__version__}\n"


# ---- plugins and targets ----


def test_no_plugin(monkeypatch: pytest.MonkeyPatch, fails: Callable[..., str]) -> None:
    monkeypatch.setattr(plugins, "find_plugins", lambda: [])
    assert 'pip install "cyxla[cpu]"' in fails("plugins")


def test_targets_without_a_plugin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(targets, "find_plugins", lambda: [])
    assert command.main(["targets"]) == 0
    found = capsys.readouterr().out
    assert re.search(r"^lapack_dpotrf_ffi +cpu +jaxlib +FFI 0\.\d+$", found, re.MULTILINE)


def test_a_plugin_that_cant_be_loaded_is_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broken = cyxla.PluginCandidate("broken", "cpu", tmp_path / "missing.so", {})
    monkeypatch.setattr(plugins, "find_plugins", lambda: [broken])
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
    monkeypatch.setattr(plugins, "find_plugins", lambda: [deadly])
    monkeypatch.setattr(plugins, "_load_elsewhere", load)
    assert command.main([]) == 0
    assert "unusable   the process that loaded it died" in capsys.readouterr().out


# ---- compile ----


def test_compile(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["functions_of_the_test:scale", "--input", "f64[2, 3]", "-i", "float64"]
    assert command.main(["compile", *arguments, "-o", "f.cyxla", "--low-latency", "on"]) == 0
    printed = capsys.readouterr()
    assert re.fullmatch(
        r"f\.cyxla: [\d,]+ bytes, compiled by jaxlib .* in \d+\.\d s, direct engine\n", printed.out
    )
    assert printed.err == ""
    program = cyxla.load_program(here / "f.cyxla")
    assert program.name == "scale"
    assert list(map(str, program.inputs)) == ["x: float64[2,3]", "factor: float64[]"]
    assert cyxla.load(here / "f.cyxla").statistics.from_cache


def test_compile_what_has_no_inputs(here: Path) -> None:
    assert command.main(["compile", "functions_of_the_test:inner.constant", "--x64"]) == 0
    (constant,) = cyxla.load(here / "constant.cyxla").run([])
    assert constant.tolist() == [0, 1, 2] and constant.dtype == np.int64


def test_compile_for_an_engine(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["jax.numpy:sin", "-i", "bf16[3]", "--engine", "pjrt", "--compiler", "plugin"]
    assert command.main(["compile", *arguments, "--name", "sine"]) == 0
    assert files.read(here / "sine.cyxla").fingerprint.startswith("PJRT")
    assert "compiled by pjrt_c_api_cpu_plugin.so" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("functions_of_the_test:wrong", "TypeError: .*functions_of_the_test.py, line 9"),
        ("functions_of_the_test:missing", "AttributeError: .*'missing'"),
        ("no_such_module:function", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("jax.numpy:fft.fft", "the direct engine can't run it"),
        ("cyxla:get_include", "can't be called with 1 positional arguments"),
    ],
)
def test_compile_refuses(
    here: Path, fails: Callable[..., str], function: str, message: str
) -> None:
    assert re.search(message, fails("compile", function, "-i", "f32[3]", "--engine", "direct"))
    assert not list(here.glob("*.cyxla"))


def test_compile_refuses_what_cyxla_does(
    here: Path, fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = fails(
        "compile", "jax.numpy:sin", "-i", "f32[3]", "--platform", "tpu", "--engine", "direct"
    )
    assert "tpu" in said


@pytest.mark.parametrize(
    "arguments", [["sin"], ["a:"], ["a:b", "-i", "f99[3]"], ["a:b", "-i", "["]]
)
def test_compile_with_wrong_arguments(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command.main(["compile", *arguments])
    assert caught.value.code == 2


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("pred[2]", "bool[2]"), ("i8", "int8[]"), ("s16[1,2]", "int16[1,2]"), ("u64[]", "uint64[]"),
        ("f16[0]", "float16[0]"), ("c64[1]", "complex64[1]"), ("complex128[1]", "complex128[1]"),
    ],
)  # fmt: skip
def test_array_types(text: str, meaning: str) -> None:
    element_type, shape = functions.array_type(text)
    assert f"{element_type}[{','.join(map(str, shape))}]" == meaning
    wide = element_type.itemsize == 8 and text != "c64[1]" or element_type.itemsize == 16
    assert functions.needs_x64([(element_type, shape)]) == wide


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_INTERVAL", 0.01)
    with progress.shown("waiting"):
        while "waiting" not in terminal.getvalue():
            time.sleep(0.01)
    assert terminal.getvalue().startswith("\rwaiting: 0 s")
    assert terminal.getvalue().endswith("\r\x1b[K")


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


def inspected(path: Path, capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    assert command.main(["inspect", str(path)]) == 0
    return [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]


def test_inspect(
    serialized: Callable[[Callable[..., Any]], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = serialized(lambda x: (jnp.linalg.cholesky(x), x.astype(jnp.int32).sum(0)))
    lines = inspected(path, capsys)
    texts = dict(lines)
    assert [key for key, _ in lines] == [
        "name", "input", "output", "output", "engine", "thunks", "code", "temp"
    ]  # fmt: skip
    assert texts["name"] == "jit_example"
    assert ["input", "arg0: float32[3, 3]"] in lines
    assert ["output", "result[0]: float32[3, 3]"] in lines
    assert ["output", "result[1]: int32[3]"] in lines
    assert texts["engine"] == "direct: every thunk is supported"
    assert "1 custom-call" in texts["thunks"] and "kernel" in texts["thunks"]
    assert texts["code"].split()[0].isdigit() and texts["temp"].split()[0].isdigit()


def test_inspect_what_does_not_run_direct(
    serialized: Callable[[Callable[..., Any]], Path], fails: Callable[..., str]
) -> None:
    path = serialized(jnp.fft.fft)
    said = fails("inspect", path)
    assert said.startswith(f"cyxla: {path}: jit_example: the direct engine can't run it")
    assert "fft" in said


def test_inspect_an_executable_without_thunks(
    serialized: Callable[[Callable[..., Any]], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ["thunks", "none"] in inspected(serialized(lambda x: ()), capsys)


def test_inspect_what_is_no_executable(fails: Callable[..., str], tmp_path: Path) -> None:
    assert "No such file" in fails("inspect", tmp_path / "missing")
    (tmp_path / "text").write_text("no executable")
    assert "no serialized executable" in fails("inspect", tmp_path / "text")


def test_inspect_a_program_file(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = dict(inspected(scale, capsys))
    assert texts["input"] == "factor: bfloat16[]"
    assert re.fullmatch(r"\d+ bytes, version \d+\.\d+\.\d+", texts["stablehlo"])
    assert texts["engine"] == "direct: every thunk is supported"
    assert texts["compiler"].startswith("jaxlib ")
    assert texts["processor"].startswith("x86_64,")
    assert "xla_cpu_multi_thread_eigen False" in texts["options"]
    assert f"cyxla '{cyxla.__version__}'" in texts["producers"]
    assert texts["metadata"] == "largest_work '3'"


def test_inspect_for_programs(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["inspect", "--json", str(scale)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["inputs"][0] == {"name": "x", "dtype": "bfloat16", "shape": [3]}
    assert facts["targets"] == [] and facts["thunks"]["kernel"] >= 1
    assert facts["options"]["xla_cpu_multi_thread_eigen"] is False


def test_inspect_a_program_alone(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cyxla.load_program(scale).save(scale)
    assert "there is no executable in it" in dict(inspected(scale, capsys))["engine"]


def test_inspect_a_program_file_for_pjrt(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(lambda x, factor: jnp.fft.fft(x.astype(jnp.float32)), here / "f.cyxla")
    texts = dict(inspected(here / "f.cyxla", capsys))
    assert texts["engine"].startswith("not direct: ") and "fft" in texts["engine"]


def test_inspect_program_files_of_others(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrays = (cyxla.ArrayType("x", cyxla.ElementType.float32, (3,)),)
    for code, executable in ((b"module {}", b""), (b"", b"nothing")):
        contents = files.Contents("f", "cpu", arrays, (), code, executable, targets=("a", "b"))
        cyxla._runtime.write_file(str(here / "f.cyxla"), contents)
        lines = inspected(here / "f.cyxla", capsys)
        assert ["target", "a"] in lines and ["target", "b"] in lines
        said = "9 bytes, no portable artifact" if code else "none"
        assert ["stablehlo", said] in lines
        assert (["compiler", "not told"] in lines) == bool(executable)


def test_inspect_a_damaged_program_file(scale: Path, fails: Callable[..., str]) -> None:
    scale.write_bytes(scale.read_bytes()[:-1])
    assert str(scale) in fails("inspect", scale)


# ---- run ----


def test_run_prints(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["run", str(scale), "-i", "[1, 2, 3]", "--input", "-2"]) == 0
    assert capsys.readouterr().out == (
        "result[0]: bfloat16[3] = [-2 -4 -6]\nresult[1]: bfloat16[] = -12.0\n"
    )
    assert command.main(["run", str(scale), "-i", "[1, 2, 3]", "-i", "inf"]) == 0
    assert "= inf" in capsys.readouterr().out


def test_run_reads_and_writes(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", np.array([1, 2, 3], ml_dtypes.bfloat16))
    np.save("factor.npy", np.float32(2))
    arguments = ["-i", "x.npy", "-i", "factor.npy", "-o", "y.npy", "-o", "without-ending"]
    assert command.main(["run", str(scale), *arguments]) == 0
    assert capsys.readouterr().out == ""
    # What it writes can be read again.
    assert command.main(["run", str(scale), "-i", "y.npy", "-i", "1"]) == 0
    assert "[2 4 6]" in capsys.readouterr().out
    assert np.load("without-ending").view(ml_dtypes.bfloat16) == 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes x: bfloat16\\[3\\], factor: bfloat16\\[\\]; 0 inputs are given"),
        (["-i", "1", "-i", "2", "-o", "y.npy"], "gives .*; 1 files are given"),
        (["-i", "1", "-i", "2"], "can't be made of an array of shape"),
        (["-i", "one", "-i", "2"], "'one' is neither a file"),
        (["-i", "missing.npy", "-i", "2"], "No such file"),
        (["-i", "text.npy", "-i", "2"], "text.npy"),
        (["-i", "empty.npy", "-i", "2"], "empty.npy"),
    ],
)
def test_run_refuses(
    scale: Path, fails: Callable[..., str], arguments: list[str], message: str
) -> None:
    Path("text.npy").write_text("text")
    Path("empty.npy").touch()
    assert re.search(message, fails("run", scale, *arguments))


# ---- bench ----


def test_bench(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["bench", str(scale), "--samples", "5"]) == 0
    printed = capsys.readouterr().out
    numbers = r"(?: [\d,]+ \|){5}"
    assert re.search(rf"^\| direct \|{numbers} as stored \|$", printed, re.MULTILINE)
    assert re.search(rf"^\| pjrt \|{numbers} compiled again \|$", printed, re.MULTILINE)


def test_bench_where_an_engine_cant(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(lambda x, factor: jnp.fft.fft(x.astype(jnp.float32)), here / "f.cyxla")
    arguments = ["f.cyxla", "--samples", "5", "-i", "[1, 2, 3]", "-i", "1"]
    assert command.main(["bench", *arguments]) == 0
    assert re.search(r"^\| direct \| -.*fft", capsys.readouterr().out, re.MULTILINE)
    assert command.main(["bench", *arguments, "--engine", "direct"]) == 1
    assert "no engine can run it" in capsys.readouterr().err


def test_bench_refuses(
    scale: Path, fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "takes 2 inputs, not 1" in fails("bench", scale, "-i", "1")
    assert "at least 1, not 0" in fails("bench", scale, "--samples", "0")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert 'pip install "cyxla[bench]"' in fails("bench", scale, "--plot", "plot.svg")


def test_bench_plots(scale: Path, fails: Callable[..., str]) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `bench`")
    arguments = ["bench", str(scale), "--samples", "5", "--engine", "direct", "--plot"]
    assert command.main([*arguments, "plot.svg"]) == 0
    assert "</svg>" in Path("plot.svg").read_text()
    assert "no-such-format" in fails(*arguments, "plot.no-such-format")


def test_failing_runs_are_not_timed(here: Path) -> None:
    shape = jax.ShapeDtypeStruct((3,), jnp.float32)
    executable, _ = cyxla.compile_program(cyxla.lower(jnp.sin, [shape]))
    assert cyxla._runtime.time_calls(executable, [[1, 2, 3]], 3, 2).shape == (3,)
    with pytest.raises(cyxla.ArgumentError):
        cyxla._runtime.time_calls(executable, [[1, 2]], 3, 2)
    executable.close()
    with pytest.raises(cyxla.ArgumentError, match="closed"):
        cyxla._runtime.time_calls(executable, [[1, 2, 3]], 3, 2)


# ---- config ----


def test_config(capsys: pytest.CaptureFixture[str]) -> None:
    package = Path(cyxla.__file__).parent
    if not (package / "lib").exists():
        pytest.skip("an editable installation keeps the library elsewhere")
    flags = f"-I{package}/include"
    libraries = f"-L{package}/lib -Wl,-rpath,{package}/lib -lcyxla"
    for arguments, expected in (
        (["--cflags"], flags),
        (["--libs"], libraries),
        ([], f"{flags} {libraries}"),
    ):
        assert command.main(["config", *arguments]) == 0
        assert capsys.readouterr().out == f"{expected}\n"
    assert command.main(["config", "--cmakedir"]) == 0
    assert (Path(capsys.readouterr().out.strip()) / "cyxlaConfig.cmake").is_file()


def test_config_of_an_editable_installation(
    fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(__file__).parents[2] / "python/cyxla/__init__.py"
    monkeypatch.setattr(cyxla, "__file__", str(source))
    assert "editable installation" in fails("config", "--libs")
