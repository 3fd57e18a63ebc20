"""Program files: what is written is read again, and a stored executable runs where it fits; else
the program is compiled again, and the executable says why."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cyxla as cx
from cyxla import _runtime, compilation, files

X = np.array([0.5, 1.0, 2.0], np.float32)
SHAPE = jax.ShapeDtypeStruct((3,), jnp.float32)


def example(x: Any) -> Any:
    return {"doubled": 2 * x, "square": x @ x}


@pytest.fixture(scope="module")
def program() -> cx.Program:
    return cx.lower(example, [SHAPE])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "example.cyxla"


def rewrite(path: Path, **changes: Any) -> None:
    """Changes what is in a file."""
    _runtime.write_file(str(path), dataclasses.replace(files.read(path), **changes))


def for_another_processor(data: bytes) -> bytes:
    """Claims that the code needs what no processor has."""
    assert b"-amx-fp8" in data
    return data.replace(b"-amx-fp8", b"+amx-fp8")


def check_results(executable: cx.Executable) -> None:
    doubled, square = executable.run([X])
    np.testing.assert_array_equal(doubled, 2 * X)
    assert square == 5.25
    assert [each.name for each in executable.output_types] == [
        "result['doubled']", "result['square']"
    ]  # fmt: skip


# ---- programs ----


def test_program(program: cx.Program, path: Path) -> None:
    program.save(path)
    assert cx.load_program(path) == program
    executable = cx.load(path)
    assert executable.program == program
    statistics = executable.statistics
    assert not statistics.from_cache and statistics.low_latency
    assert statistics.recompiled == f"{path}: there is no executable in it"
    check_results(executable)


def test_program_that_calls_what_xla_makes_operations_of(path: Path) -> None:
    program = cx.lower(lambda x: jax.lax.approx_max_k(x, 2), [SHAPE], custom_calls=["ApproxTopK"])
    assert program.custom_calls == ("ApproxTopK",)
    counted = dataclasses.replace(program, largest_work=None, jax_version=None)
    counted.save(path)
    assert files.read(path).targets == ()
    assert cx.load_program(path) == counted


def test_program_of_others(path: Path) -> None:
    """C programs may store StableHLO as text, and names of their own."""
    text = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }"
    arrays = (cx.ArrayType("mine", cx.ElementType.float32, (3,)),)
    _runtime.write_file(str(path), files.Contents("same", "cpu", arrays, arrays, text.encode()))
    program = cx.load_program(path)
    assert (program.name, program.inputs, program.outputs) == ("same", arrays, arrays)
    np.testing.assert_array_equal(cx.load(path).run([X]), [X])


def test_no_program_file(path: Path) -> None:
    with pytest.raises(cx.StatusError, match="missing") as caught:
        cx.load(path.parent / "missing")
    assert caught.value.status == "NOT_FOUND"
    path.write_bytes(b"something else")
    with pytest.raises(cx.StatusError, match="no program file"):
        cx.load_program(path)


def test_no_such_directory(program: cx.Program, path: Path) -> None:
    with pytest.raises(cx.StatusError, match="no/such"):
        program.save(path.parent / "no/such")


# ---- executables ----


def test_executable(program: cx.Program, path: Path) -> None:
    executable, statistics = cx.compile_program(
        program, options={"xla_cpu_copy_insertion_use_region_analysis": True}
    )
    assert executable.statistics is statistics
    executable.save(str(path))
    contents = files.read(path)
    assert contents.executable == executable.serialize()
    assert contents.fingerprint == statistics.compiler
    assert contents.cpu_features.startswith("x86_64,")
    assert contents.options["xla_cpu_copy_insertion_use_region_analysis"] is True
    assert {"python", "cyxla", "jax", "jaxlib"} == set(contents.producers)
    loaded = cx.load(path)
    assert loaded.statistics.from_cache and loaded.statistics.recompiled is None
    assert loaded.engine == "direct" and loaded.program == program
    check_results(loaded)


def test_all_kinds_of_options(path: Path) -> None:
    arrays = (cx.ArrayType("x", cx.ElementType.float32, (3,)),)
    options = {"a": True, "b": -3, "c": 0.5, "d": "text"}
    _runtime.write_file(str(path), files.Contents("f", "cpu", arrays, (), b"code", options=options))
    assert files.read(path).options == options
    assert list(map(type, files.read(path).options.values())) == [bool, int, float, str]


def test_saved_again(program: cx.Program, path: Path) -> None:
    cx.compile_program(program)[0].save(path)
    again = path.with_name("again.cyxla")
    cx.load(path).save(again)
    assert again.read_bytes() == path.read_bytes()


def test_loaded_from_bytes_and_saved(program: cx.Program, path: Path) -> None:
    """What has compiled the bytes is not known, and does not matter for the direct engine."""
    executable, _ = cx.load_executable(program, cx.compile_program(program)[0].serialize())
    executable.save(path)
    assert files.read(path).fingerprint == ""
    assert cx.load(path).statistics.from_cache


def test_plugin(program: cx.Program, path: Path) -> None:
    executable, statistics = cx.compile_program(program, engine="pjrt")
    executable.save(path)
    contents = files.read(path)
    assert statistics.plugin
    assert contents.fingerprint == statistics.plugin.fingerprint != ""
    assert {"plugin", "xla"} < set(contents.producers)
    loaded = cx.load(path, engine="pjrt")
    assert loaded.statistics.from_cache and loaded.engine == "pjrt"
    check_results(loaded)
    assert cx.load(path).engine == "direct"
    # PJRT refuses what it can't read, and then the program is compiled.
    rewrite(path, executable=b"nonsense", cpu_features="")
    again = cx.load(path, engine="pjrt")
    assert again.statistics.recompiled and not again.statistics.from_cache
    check_results(again)


def test_plugin_that_does_not_tell_xlas_version(
    program: cx.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable, statistics = cx.compile_program(program, engine="pjrt")
    assert statistics.plugin
    info = dataclasses.replace(statistics.plugin, xla_version=0)
    plugin = compilation.LoadedPlugin(None, info)  # type: ignore[arg-type]
    made = compilation._Made(executable, info.path, plugin)
    assert set(compilation._origin(made, {}).producers) == {"plugin"}


# ---- executables that don't fit ----


def test_another_processor(program: cx.Program, path: Path) -> None:
    executable, _ = cx.compile_program(program, low_latency=True)
    executable.save(path)
    rewrite(path, executable=for_another_processor(executable.serialize()))
    loaded = cx.load(path)
    assert loaded.statistics.recompiled.startswith(f"{path}: ")
    assert "amx-fp8" in loaded.statistics.recompiled
    assert loaded.statistics.low_latency
    assert loaded.origin.options == executable.origin.options
    check_results(loaded)


def test_options_are_those_of_the_file(program: cx.Program, path: Path) -> None:
    executable, _ = cx.compile_program(program, low_latency=False)
    executable.save(path)
    rewrite(path, executable=for_another_processor(executable.serialize()))
    loaded = cx.load(path, engine="auto")
    assert loaded.statistics.low_latency is False
    assert loaded.origin.options == {}
    # Low latency that nobody would choose but the user.
    scalar = cx.lower(lambda x: x + 1, [jax.ShapeDtypeStruct((), jnp.float32)])
    executable, _ = cx.compile_program(scalar, low_latency=True)
    executable.save(path)
    rewrite(path, executable=for_another_processor(executable.serialize()))
    assert cx.load(path).statistics.low_latency is True


def test_another_compiler(program: cx.Program, path: Path) -> None:
    cx.compile_program(program)[0].save(path)
    loaded = cx.load(path, engine="pjrt")
    assert "not that of jaxlib" in (loaded.statistics.recompiled or "")
    check_results(loaded)
    rewrite(path, fingerprint="")
    assert "an unknown one" in (cx.load(path, engine="pjrt").statistics.recompiled or "")
    rewrite(path, fingerprint="PJRT 0.1, another build")
    assert "another build" in (cx.load(path, engine="pjrt").statistics.recompiled or "")


def test_no_plugin(program: cx.Program, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(platform: str) -> None:
        raise cx.CyxlaError("no plugin is installed")

    cx.compile_program(program, engine="pjrt")[0].save(path)
    monkeypatch.setattr("cyxla.platforms.loaded_plugin", nothing)
    with pytest.raises(cx.CyxlaError, match="it can't be compiled again: no plugin is installed"):
        cx.load(path, engine="pjrt")


def test_executable_alone(program: cx.Program, path: Path) -> None:
    executable, _ = cx.compile_program(program)
    executable.save(path)
    rewrite(path, stablehlo=b"")
    loaded = cx.load(path)
    assert loaded.program is None
    check_results(loaded)
    with pytest.raises(cx.CyxlaError, match="there is an executable in it, and no StableHLO"):
        cx.load_program(path)
    again = path.with_name("again.cyxla")
    loaded.save(again)
    assert files.read(again).executable == files.read(path).executable
    rewrite(path, executable=for_another_processor(executable.serialize()))
    with pytest.raises(cx.CyxlaError, match="amx-fp8.*there is no StableHLO in it"):
        cx.load(path)


def test_signature_of_another_program(program: cx.Program, path: Path) -> None:
    """Nothing would be right after that: it is not compiled again."""
    cx.compile_program(program)[0].save(path)
    rewrite(path, inputs=(cx.ArrayType("x", cx.ElementType.float32, (4,)),))
    with pytest.raises(cx.StatusError, match="x") as caught:
        cx.load(path)
    assert caught.value.status in ("SIGNATURE_MISMATCH", "INPUT_MISMATCH")


def test_direct_only(path: Path) -> None:
    program = cx.lower(jnp.fft.fft, [SHAPE])
    cx.compile_program(program)[0].save(path)
    assert cx.load(path).engine == "pjrt"
    with pytest.raises(cx.CyxlaError, match="the direct engine can't run it"):
        cx.load(path, engine="direct")


# ---- custom calls ----


def test_lapack(path: Path, run_python: Any) -> None:
    shape = jax.ShapeDtypeStruct((3, 3), jnp.float32)
    cx.compile_program(cx.lower(jnp.linalg.cholesky, [shape]))[0].save(path)
    assert files.read(path).targets == ("lapack_spotrf_ffi",)
    code = """
        import sys, numpy, cyxla
        executable = cyxla.load(sys.argv[1])
        print(executable.statistics.from_cache, executable.run([4 * numpy.eye(3)])[0].trace())
    """
    assert run_python(code, path) == "True 6.0\n"


def test_target_that_nothing_calls(path: Path) -> None:
    shape = jax.ShapeDtypeStruct((3, 3), jnp.float32)
    cx.compile_program(cx.lower(jnp.linalg.cholesky, [shape]))[0].save(path)
    rewrite(path, stablehlo=b"", targets=("lapack_spotrf_ffi", "no_such_target"))
    assert cx.load(path).statistics.from_cache  # it does not call it


def test_file_of_another_name(program: cx.Program, path: Path) -> None:
    cx.compile_program(program)[0].save(path)
    other = path.with_name("eine Datei für später")
    shutil.move(path, other)
    check_results(cx.load(other))


# ---- without JAX ----


def test_load_needs_no_jax(program: cx.Program, path: Path, run_python: Any) -> None:
    cx.compile_program(program)[0].save(path)
    code = """
        import sys
        sys.modules["jax"] = sys.modules["jaxlib"] = None
        import cyxla
        print(cyxla.load(sys.argv[1]).run([[0.5, 1, 2]])[1])
    """
    assert run_python(code, path) == "5.25\n"
