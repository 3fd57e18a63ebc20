"""`export`: C functions of JAX functions, compiled, linked in every way, and called."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import cyxla
from cyxla import __main__ as command

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
COMPILERS = [cc for cc in ("gcc", "clang") if shutil.which(cc)]

# ---- functions ----


def rosenbrock(x: Any) -> Any:
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def newton(x: Any) -> Any:
    """Of unknown length."""
    return lax.while_loop(lambda y: jnp.abs(y * y - x).max() > 1e-9, lambda y: (y + x / y) / 2, x)


def steps(x: Any) -> Any:
    """Of known length, and too large for one kernel."""
    return lax.fori_loop(0, 5, lambda i, y: jnp.sin(y) @ y, x)


def branches(i: Any, x: Any) -> Any:
    functions = [jnp.sin, jnp.exp, lambda y: y * 2, lambda y: jnp.cumsum(y)]
    return lax.switch(i, functions, x), lax.cond(x[0] > 0, jnp.cos, jnp.tan, x)


def lookup(indices: Any, x: Any) -> Any:
    table = jnp.arange(2000.0).reshape(100, 20) ** 2
    return table[indices], x.at[indices].add(1.0), x.at[indices].set(-1.0)


def all_types(*arrays: Any) -> Any:
    return tuple(jnp.logical_not(x) if x.dtype == bool else x * 2 for x in arrays)


def conversions(x: Any) -> Any:
    kinds = (jnp.float16, jnp.bfloat16, jnp.float32, jnp.int32, jnp.uint8, jnp.complex64, bool)
    return tuple(x.astype(kind) for kind in kinds)


def nested(params: Any, x: Any) -> Any:
    y = jnp.tanh(x @ params["w"][0] + params["b"])
    return {"loss": jnp.sum(y**2), "y": (y, y.T)}


def functions_of_subnormal(x: Any, y: Any) -> Any:
    logarithms = jnp.log(x), jnp.log2(x), jnp.log1p(x), jnp.log(x.astype(np.float32))
    remainders = (
        jnp.fmod(x, y),
        jnp.fmod(y, x),
        jnp.fmod(y.astype(np.float32), x.astype(np.float32)),
    )
    return *logarithms, *remainders, x**y, jnp.power(y, x), jnp.hypot(x, y), jnp.exp(x), jnp.exp2(y)


def libm(x: Any) -> Any:
    return jnp.cbrt(x) + jnp.tan(x) + jnp.arctan2(x, 2.0) + jnp.power(jnp.abs(x), 1.7), jnp.fmod(
        x, 0.3
    )


def numbers(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "c":
        return (generator.normal(size=shape) + 1j * generator.normal(size=shape)).astype(dtype)
    return (10 * generator.normal(size=shape)).astype(dtype)


ALL_TYPES = [
    *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64, np.complex64, np.complex128, np.bool_, jnp.bfloat16),
]

SPECIAL = np.array(
    [5e-324, -1e-310, 1e-310, 0, -0.0, 1e-40, -3e-39, np.inf, -2, np.nan, 0.7, 1e308]
)

CASES: dict[str, tuple[Any, ...]] = {
    "sine": (lambda x: jnp.sin(x) * 2, numbers(8, dtype=np.float32)),
    "rosenbrock": (jax.value_and_grad(rosenbrock), numbers(10)),
    "hessian": (jax.hessian(rosenbrock), numbers(6)),
    "newton": (newton, np.abs(numbers(5)) + 1),
    "steps": (steps, numbers(20, 20) / 100),
    "branches": (branches, np.int32(2), numbers(7)),
    "last_branch": (branches, np.int32(99), -np.abs(numbers(7))),
    "lookup": (lookup, np.array([3, 99, 3, -1], np.int32), numbers(100)),
    "all_types": (all_types, *(np.abs(numbers(5)).astype(dtype) for dtype in ALL_TYPES)),
    "conversions": (conversions, np.array([0.1, -65519.9, 1e-7, 1e300, np.nan, 6e-8, -0.0, 3.0])),
    "nested": (nested, {"w": [numbers(4, 3)], "b": numbers(3)}, numbers(5, 4)),
    "libm": (libm, numbers(9)),
    "functions_of_subnormal": (functions_of_subnormal, SPECIAL, SPECIAL[::-1].copy()),
    "no_inputs": (lambda: (jnp.arange(5), jnp.full((2, 3), 0.1)),),
    "unused": (lambda x, y: y + 1, numbers(3), numbers(4)),
    "same_again": (lambda x: (x, x, x + 1), numbers(3)),
    "empty": (lambda x, y: (x * 2, y * 2), numbers(0, 3), numbers(2)),
    "scalars": (lambda a, b: (a + b, a > b), np.float64(1.5), np.float64(-2)),
    "random": (
        lambda key: jax.random.normal(jax.random.wrap_key_data(key), (50,)),
        np.array([0, 7], np.uint32),
    ),
    "large": (lambda x, y: (jnp.sin(x).T * y, jnp.cumsum(x)), numbers(70, 60), numbers(60, 70)),
    "subnormal": (lambda x: (x * 0.5, x + x), np.array([1e-310, 5e-324, 2.3e-308, 1.0])),
}


def lower(name: str) -> tuple[cyxla.Program, list[Any]]:
    function, *arguments = CASES[name]
    shapes = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(np.shape(x), np.asarray(x).dtype), arguments
    )
    return cyxla.lower(function, shapes, name=name), jax.tree.leaves(arguments)


@pytest.fixture(autouse=True)
def x64() -> None:
    jax.config.update("jax_enable_x64", True)


# ---- calling ----


class Library:
    """A shared library of an export, and how its function is called."""

    def __init__(self, exported: cyxla.ExportedFunction, program: cyxla.Program) -> None:
        library = ctypes.CDLL(str(exported.shared_library))
        self.program = program
        self.function = getattr(library, exported.name)
        self.supported = getattr(library, f"{exported.name}_supported")
        self.scratch: list[Any] = []
        if hasattr(library, f"{exported.name}_scratch_size"):
            scratch_size = getattr(library, f"{exported.name}_scratch_size")
            scratch_size.restype = ctypes.c_size_t
            self.scratch = [np.empty(scratch_size(), np.uint8)]

    def __call__(self, arrays: list[Any], shift: int = 0) -> list[Any]:
        """Runs with all arrays `shift` bytes behind a multiple of 64."""
        inputs = [placed(array, shift) for array in arrays]
        outputs = [
            placed(np.full(each.shape, 1).astype(each.dtype), shift)
            for each in self.program.outputs
        ]
        addresses = [
            ctypes.c_void_p(array.ctypes.data) for array in (*inputs, *outputs, *self.scratch)
        ]
        assert self.function(*addresses) == 0
        for before, after in zip(arrays, inputs, strict=True):
            assert before.tobytes() == after.tobytes()
        return outputs


def placed(array: Any, shift: int) -> Any:
    """A copy of an array at an address that is `shift` behind a multiple of 64."""
    array = np.asarray(array)
    memory = np.full(array.nbytes + 192, 0xEE, np.uint8)
    start = -memory.ctypes.data % 64 + shift
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def direct(program: cyxla.Program, arrays: list[Any]) -> list[Any]:
    executable, _ = cyxla.compile_program(program, engine="direct", low_latency=True)
    return executable.run(arrays)


def assert_same_bits(found: list[Any], expected: list[Any]) -> None:
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert a.tobytes() == b.tobytes(), f"output {i}: {a} instead of {b}"


# ---- results ----


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_direct_engine(name: str, tmp_path: Path) -> None:
    program, arrays = lower(name)
    exported = cyxla.export(program, tmp_path, cpu="native")
    assert exported.name == name
    library = Library(exported, program)
    assert library.supported() == 1
    expected = direct(program, arrays)
    for shift in (0, 16, 8, 0):
        assert_same_bits(library(arrays, shift), expected)


@pytest.mark.parametrize("cpu", ["sse4.2", "avx", "avx2"])
@pytest.mark.parametrize("name", ["rosenbrock", "branches", "nested", "libm", "random"])
def test_other_processors(name: str, cpu: str, tmp_path: Path) -> None:
    program, arrays = lower(name)
    exported = cyxla.export(program, tmp_path, cpu=cpu)
    library = Library(exported, program)
    assert library.supported() == 1
    for found, expected in zip(library(arrays, 8), direct(program, arrays), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    processor = re.search(r"Processor: x86-64(.*?)\. \*/", exported.header.read_text(), re.S)
    assert processor
    assert ("avx512" in processor[1], "avx2" in processor[1], "avx" in processor[1]) == {
        "sse4.2": (False, False, False),
        "avx": (False, False, True),
        "avx2": (False, True, True),
    }[cpu]


def test_half_precision_needs_avx(tmp_path: Path) -> None:
    program = cyxla.lower(
        lambda x: jnp.exp(x) * 2, [jax.ShapeDtypeStruct((4,), np.float16)], name="f"
    )
    with pytest.raises(cyxla.StatusError, match="half precision for sse4.2: export for cpu='avx'"):
        cyxla.export(program, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    exported = cyxla.export(program, tmp_path, cpu="avx")
    arrays = [np.array([0, 1, -2, 9], np.float16)]
    (found,) = Library(exported, program)(arrays)
    np.testing.assert_allclose(found, np.exp(arrays[0]) * 2, rtol=2e-3)


def test_eight_threads(tmp_path: Path) -> None:
    program, arrays = lower("newton")
    library = Library(cyxla.export(program, tmp_path, cpu="native"), program)
    expected = direct(program, arrays)

    def work(thread: int) -> None:
        for i in range(500):
            assert_same_bits(library(arrays, 8 * (i % 3)), expected)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


# ---- files ----


def test_files(tmp_path: Path) -> None:
    program, _ = lower("nested")
    exported = cyxla.export(program, tmp_path / "a" / "b", name="model")
    assert exported.name == "model"
    assert exported.header == tmp_path / "a/b/model.h"
    assert exported.sources == (tmp_path / "a/b/model.c", tmp_path / "a/b/model_kernels.S")
    assert exported.object_file == tmp_path / "a/b/model.o"
    assert exported.static_library == tmp_path / "a/b/libmodel.a"
    assert exported.shared_library == tmp_path / "a/b/libmodel.so"
    assert exported.compiler.startswith("jaxlib ")
    assert len(list((tmp_path / "a/b").iterdir())) == 6
    header = exported.header.read_text()
    assert "nested, a function that XLA has compiled" in header
    assert exported.compiler in header
    assert "const double *params_b, const double *params_w_0, const double *x," in header
    assert "double *result_loss" in header
    assert "input 1, params['w'][0]: f64[4,3], 12 elements in 96 bytes" in header


def test_default_name_is_an_identifier(tmp_path: Path) -> None:
    program = cyxla.lower(lambda x: x + 1, [jax.ShapeDtypeStruct((2,), np.float32)])
    assert cyxla.export(program, tmp_path, build=False).name == "lambda"


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    program, _ = lower("sine")
    exported = cyxla.export(program, tmp_path)
    assert exported.object_file is exported.static_library is exported.shared_library is None
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "sine.c",
        "sine.h",
        "sine_kernels.S",
    ]


def test_compilers_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, _ = lower("sine")
    monkeypatch.setenv("CC", "/no/such/compiler")
    with pytest.raises(cyxla.CyxlaError, match="/no/such/compiler can't be run"):
        cyxla.export(program, tmp_path)
    monkeypatch.setenv("CC", "gcc --no-such-option")
    with pytest.raises(cyxla.CyxlaError, match="no-such-option"):
        cyxla.export(program, tmp_path)
    assert not list(tmp_path.iterdir())


# ---- refusals ----


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (jnp.sort, "1 x sort"),
        (lambda x: lax.top_k(x, 2), "1 x topk"),
        (lambda x: jnp.linalg.cholesky(x.reshape(3, 3)), "1 x custom-call"),
        (jnp.fft.fft, "1 x fft"),
    ],
)
def test_what_cant_be_exported(function: Callable[..., Any], message: str, tmp_path: Path) -> None:
    program = cyxla.lower(function, [jax.ShapeDtypeStruct((9,), np.float32)], name="f")
    with pytest.raises(cyxla.StatusError, match=message) as caught:
        cyxla.export(program, tmp_path / "new")
    assert caught.value.status == "UNIMPLEMENTED"
    assert not (tmp_path / "new").exists()


def test_only_what_the_direct_engine_runs(tmp_path: Path) -> None:
    program, _ = lower("sine")
    executable, _ = cyxla.compile_program(program, engine="pjrt")
    with pytest.raises(cyxla.StatusError, match="and it has PJRT's: it was asked for"):
        executable.export(tmp_path, "sine")


def test_arguments(tmp_path: Path) -> None:
    program, _ = lower("sine")
    with pytest.raises(cyxla.ArgumentTypeError, match="export needs a Program"):
        cyxla.export(jnp.sin, tmp_path)  # type: ignore[arg-type]
    with pytest.raises(cyxla.ArgumentError, match="cpu must be 'sse4.2', .* not 'sse'"):
        cyxla.export(program, tmp_path, cpu="sse")
    with pytest.raises(cyxla.StatusError, match='"sin" can\'t be the name of a C function'):
        cyxla.export(program, tmp_path, name="sin")
    with pytest.raises(cyxla.StatusError, match="no_such_option"):
        cyxla.export(program, tmp_path, options={"no_such_option": True})
    with pytest.raises(cyxla.CyxlaError, match="low_latency"):
        cyxla.export(program, tmp_path, low_latency="perhaps")  # type: ignore[arg-type]
    gpu = cyxla.lower(jnp.sin, [jax.ShapeDtypeStruct((3,), np.float32)], platform="cuda")
    with pytest.raises(cyxla.ArgumentError, match="only programs for the CPU"):
        cyxla.export(gpu, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_process_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, _ = lower("sine")
    monkeypatch.setenv("XLA_FLAGS", "--no_such_flag=1")
    with pytest.raises(cyxla.CyxlaError, match="--no_such_flag, which is no flag of"):
        cyxla.export(program, tmp_path)
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=maybe")  # XLA aborts
    with pytest.raises(cyxla.CyxlaError, match="sine: the process that compiles died"):
        cyxla.export(program, tmp_path)


def test_an_executable_writes_sources(tmp_path: Path) -> None:
    program, _ = lower("sine")
    executable, _ = cyxla.compile_program(program, engine="direct")
    executable.export(tmp_path, "sine")
    executable.export(str(tmp_path), "sine", "myself")
    assert "compiled by myself" in (tmp_path / "sine.h").read_text()
    with pytest.raises(cyxla.ArgumentTypeError, match="a name must be a str"):
        executable.export(tmp_path, 3)  # type: ignore[arg-type]
    executable.close()
    with pytest.raises(cyxla.CyxlaError, match="closed"):
        executable.export(tmp_path, "sine")


# ---- programs in C ----

MAIN = """
#include <stdio.h>
#include "sine.h"
#include "newton.h"
#ifndef SHARED
int main(void)
#else
int both(void)
#endif
{
  float x[8], y[8];
  double a[5] = {1, 4, 9, 16, 25}, b[5];
  for (int i = 0; i < 8; ++i) x[i] = (float)i;
  if (!sine_supported() || !newton_supported()) return 1;
  if (sine(x, y) || newton(a, b)) return 2;
  for (int i = 0; i < 8; ++i) printf("%a ", y[i]);
  for (int i = 0; i < 5; ++i) printf("%a ", b[i]);
  return 0;
}
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of two exports, and what the program that calls both prints."""
    folder = tmp_path_factory.mktemp("two")
    jax.config.update("jax_enable_x64", True)
    printed = ""
    for name, array in (
        ("sine", np.arange(8, dtype=np.float32)),
        ("newton", np.array([1, 4, 9, 16, 25.0])),
    ):
        program, _ = lower(name)
        (result,) = Library(cyxla.export(program, folder, cpu="avx"), program)([array])
        printed += "".join(f"{to_hex(value)} " for value in result)
    (folder / "main.c").write_text(MAIN)
    (folder / "main.cpp").write_text(MAIN)
    return folder, printed


def to_hex(value: Any) -> str:
    """As printf's %a."""
    text = float(value).hex()
    return re.sub(r"\.?0*p", "p", text)


def run(*command: Any, cwd: Path) -> str:
    process = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


SOURCES = ["sine.c", "sine_kernels.S", "newton.c", "newton_kernels.S"]


@pytest.mark.parametrize("cc", COMPILERS)
@pytest.mark.parametrize(
    "flags",
    [
        ["-fPIE", "-pie", "-Wl,-z,text"],
        ["-fno-pie", "-no-pie"],
        ["-static", "-fno-pie"],
        ["-fPIE", "-static-pie"],
        ["-O3", "-flto"],
        ["-O0", "-Wl,--gc-sections"],
        ["-Wl,-z,now", "-fstack-protector-all", "-D_FORTIFY_SOURCE=2", "-O2"],
    ],
    ids=" ".join,
)
def test_sources_link_everywhere(two: tuple[Path, str], cc: str, flags: list[str]) -> None:
    folder, printed = two
    program = f"program_{cc}_{abs(hash(tuple(flags)))}"
    run(cc, "-std=c99", *WARNINGS, *flags, "main.c", *SOURCES, "-lm", "-o", program, cwd=folder)
    assert run(f"./{program}", cwd=folder) == printed
    assert "TEXTREL" not in run("readelf", "-d", program, cwd=folder)


@pytest.mark.parametrize("libraries", [["sine.o", "newton.o"], ["libsine.a", "libnewton.a"]])
@pytest.mark.parametrize("flags", [["-pie", "-fPIE"], ["-no-pie"], ["-static"]], ids=" ".join)
def test_what_is_built_links_everywhere(
    two: tuple[Path, str], libraries: list[str], flags: list[str]
) -> None:
    folder, printed = two
    program = f"built_{abs(hash((*flags, *libraries)))}"
    run("gcc", *flags, "main.c", *libraries, "-lm", "-o", program, cwd=folder)
    assert run(f"./{program}", cwd=folder) == printed


def test_shared_libraries(two: tuple[Path, str]) -> None:
    folder, printed = two
    options = ["-L.", "-lsine", "-lnewton", "-Wl,-rpath,$ORIGIN"]
    run("gcc", "main.c", *options, "-o", "with_libraries", cwd=folder)
    assert run("./with_libraries", cwd=folder) == printed
    run("gcc", "-shared", "-fPIC", "-DSHARED", "-Wl,-z,text", "-Wl,-z,defs", "main.c", "libsine.a",
        "libnewton.a", "-lm", "-o", "libboth.so", cwd=folder)  # fmt: skip
    assert "TEXTREL" not in run("readelf", "-d", "libboth.so", cwd=folder)


@pytest.mark.skipif(not shutil.which("g++"), reason="there is no C++ compiler")
def test_cpp(two: tuple[Path, str]) -> None:
    folder, printed = two
    run(
        "g++",
        "-std=c++11",
        *WARNINGS,
        "main.cpp",
        "libsine.a",
        "libnewton.a",
        "-o",
        "cpp",
        cwd=folder,
    )
    assert run("./cpp", cwd=folder) == printed


def test_symbols(two: tuple[Path, str]) -> None:
    folder, _ = two
    lines = [line.split() for line in run("nm", "sine.o", "newton.o", cwd=folder).splitlines()]
    undefined = {line[1] for line in lines if len(line) == 2 and line[0] == "U"}
    assert undefined <= {"sinf", "memcpy", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
    visible = run("nm", "-D", "--defined-only", "libsine.so", cwd=folder).split()[2::3]
    assert set(visible) == {"sine", "sine_supported"}
    assert not {line[1] for line in lines if len(line) == 3} & set("dDbBC")  # no state
    assert " RWE" not in run("readelf", "-lW", "libsine.so", cwd=folder)


@pytest.mark.parametrize("name", ["branches", "lookup", "large", "empty", "no_inputs"])
def test_sanitizers(name: str, tmp_path: Path) -> None:
    """The driver under sanitizers, with each array in a block of its size."""
    program, arrays = lower(name)
    exported = cyxla.export(program, tmp_path, cpu="native", build=False)
    has_scratch = "scratch_size" in exported.header.read_text()
    expected = direct(program, arrays)
    (tmp_path / "data").write_bytes(b"".join(np.asarray(each).tobytes() for each in arrays))
    sizes = [each.nbytes for each in (*program.inputs, *program.outputs)]
    count, inputs = len(sizes), len(program.inputs)
    call = [f"(void *)arrays[{i}]" for i in range(count)] + [f"arrays[{count}]"] * has_scratch
    main = f"""
        #include <stdio.h>
        #include <stdlib.h>
        #include "{name}.h"
        int main(void) {{
          const size_t sizes[] = {{{", ".join(map(str, [*sizes, 0]))}}};
          void *arrays[{count + 1}];
          FILE *data = fopen("data", "rb");
          for (int i = 0; i < {count}; ++i) {{
            arrays[i] = malloc(sizes[i]);
            if (i < {inputs} && fread(arrays[i], 1, sizes[i], data) != sizes[i]) return 3;
          }}
          arrays[{count}] = malloc({f"{name}_scratch_size()" if has_scratch else "1"});
          if ({name}({", ".join(call)})) return 4;
          for (int i = {inputs}; i < {count}; ++i) fwrite(arrays[i], 1, sizes[i], stdout);
          for (int i = 0; i <= {count}; ++i) free(arrays[i]);
          fclose(data);
          return 0;
        }}"""
    (tmp_path / "main.c").write_text(textwrap.dedent(main))
    flags = ["-std=c99", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    run(
        "gcc", *flags, "main.c", f"{name}.c", f"{name}_kernels.S", "-lm", "-o", "main", cwd=tmp_path
    )
    process = subprocess.run(
        [tmp_path / "main"],
        cwd=tmp_path,
        capture_output=True,
        env={**os.environ, "ASAN_OPTIONS": "detect_stack_use_after_return=1"},
    )
    assert process.returncode == 0, process.stderr.decode()
    assert process.stdout == b"".join(each.tobytes() for each in expected)


# ---- the command ----


FILES = ["sine.h", "sine.c", "sine_kernels.S", "sine.o", "libsine.a", "libsine.so"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = str(tmp_path / "new")
    arguments = ["--output", output, "--name", "sine", "--cpu", "avx"]
    assert command.main(["export", "jax.numpy:sin", "float64[3, 4]", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("compiled by jaxlib ")
    assert lines[1:] == [str(tmp_path / "new" / file) for file in FILES]
    assert "f64[3,4]" in (tmp_path / "new/sine.h").read_text()


def test_the_command_with_stablehlo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    program, _ = lower("newton")
    (tmp_path / "newton.mlir").write_bytes(program.stablehlo)
    monkeypatch.chdir(tmp_path)
    assert command.main(["export", "newton.mlir", "--name", "newton"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == ["newton.h", "newton.c", "newton_kernels.S"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jax.numpy:sin", "double[3]"], "double[3]"),
        (["jax.numpy:sin", "float32[3]"], "can't be the name of a C function"),
        (["jax.numpy:no_such_function", "float32[3]"], "no_such_function"),
        (["no_such_module:f"], "no_such_module"),
        (["no_such_file"], "No such file"),
        (["file", "float32[3]"], "has its own signature"),
    ],
)
def test_the_command_refuses(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        assert command.main(["export", *arguments, "-o", str(tmp_path)]) == 1
    except SystemExit as end:  # arguments that argparse refuses
        assert end.code == 2
    printed = capsys.readouterr()
    assert message in printed.out + printed.err
    assert not list(tmp_path.iterdir())


# ---- the example ----


def test_the_example(tmp_path: Path) -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "export"
    run(sys.executable, example / "export.py", tmp_path, cwd=tmp_path)
    flags = ["-std=c99", *WARNINGS, "-I", tmp_path, "libchain_energy.a", "-lm", "-o", "relax"]
    run("gcc", example / "relax.c", *flags, cwd=tmp_path)
    assert run("./relax", cwd=tmp_path) == (
        "energy at first  22.555705\nenergy at last   0.000000\n"
    )
