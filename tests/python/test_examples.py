"""The examples, and the snippets of the README, do what they say."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cyxla

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(cyxla.__file__).parent

needs_library = pytest.mark.skipif(
    not (PACKAGE / "lib").exists(), reason="an editable installation keeps the library elsewhere"
)


def snippet(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found
    return found[1]


def run_python(*arguments: object) -> str:
    command = [sys.executable, *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_minimize() -> None:
    pytest.importorskip("nlopt", reason="needs the extra `examples`")
    output = run_python(ROOT / "examples/minimize/minimize.py")
    assert "lowest energy     -44.3268" in output
    assert int(re.search(r"calls +([\d,]+)", output)[1].replace(",", "")) > 10_000
    assert re.search(r"ns per call +[\d,]+", output)


@needs_library
def test_c_program(tmp_path: Path) -> None:
    program = tmp_path / "sine"
    library = PACKAGE / "lib"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    paths = ["-I", cyxla.get_include()[0], "-L", library, "-lcyxla", f"-Wl,-rpath,{library}"]
    subprocess.run(["cc", *flags, ROOT / "examples/c/sine.c", *paths, "-o", program], check=True)
    plugin = next(each for each in cyxla.find_plugins() if each.platform == "cpu")
    run = subprocess.run([program, plugin.path], capture_output=True, text=True)
    assert run.stdout == "0.000000 0.958851 1.682942\n", run.stderr
    missing = subprocess.run([program, "/no/such/plugin.so"], capture_output=True, text=True)
    assert missing.returncode == 1
    assert missing.stderr.startswith("PLUGIN_NOT_LOADED: can't load the plugin /no/such/plugin.so")


# ---- program files, without Python ----

#: The command that builds each example; FLAGS are those of `cyxla config`.
LANGUAGES = {
    "c/load.c": ["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"],
    "cpp/load.cpp": ["c++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"],
    "fortran/load.f90": ["gfortran", "-std=f2008", "-Wall", "-Werror"],
    "rust/load.rs": ["rustc", "-D", "warnings"],
}

DESCENT = "step    0: 58.500000\nstep 1000:  0.162122\nstep 2000:  0.035112\n"


@pytest.fixture(scope="module")
def rosenbrock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program file of the examples, made as they say."""
    path = tmp_path_factory.mktemp("files") / "rosenbrock.cyxla"
    function = "examples.rosenbrock:value_and_gradient"
    command = ["-m", "cyxla", "compile", function, "--input", "f64[10]", "-o", str(path)]
    subprocess.run([sys.executable, *command], cwd=ROOT, check=True)
    return path


def build(example: str | Path, command: list[str], program: Path) -> None:
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    config = [sys.executable, "-m", "cyxla", "config", "--cflags", "--libs"]
    flags = subprocess.run(config, capture_output=True, text=True, check=True).stdout.split()
    if command[0] == "rustc":
        flags = ["-C", f"link-args={' '.join(flags[1:])}"]
    subprocess.run([*command, example, *flags, "-o", program], cwd=program.parent, check=True)


@needs_library
@pytest.mark.parametrize("example", LANGUAGES)
def test_load(example: str, rosenbrock: Path, tmp_path: Path) -> None:
    program = tmp_path / "load"
    build(ROOT / "examples" / example, LANGUAGES[example], program)
    run = subprocess.run([program, rosenbrock], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    if example == "c/load.c":  # it takes any function, of which it prints all results
        assert run.stdout.startswith("result[0]: 605841.000000\nresult[1]: -2.000000 -200.000000")
    else:
        assert re.sub(r": +", ":", run.stdout) == re.sub(r": +", ":", DESCENT)
    missing = subprocess.run([program, "missing.cyxla"], capture_output=True, text=True)
    assert missing.returncode != 0
    assert "missing.cyxla: can't open it" in missing.stdout + missing.stderr


@pytest.mark.parametrize("example", LANGUAGES)
def test_examples_are_short(example: str) -> None:
    lines = (ROOT / "examples" / example).read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 60


@needs_library
def test_cpp_header(rosenbrock: Path, tmp_path: Path) -> None:
    """What the example does not show: single calls, views of the signature, and what it refuses."""
    build(ROOT / "tests/python/use_header.cpp", LANGUAGES["cpp/load.cpp"], tmp_path / "use")
    run = subprocess.run([tmp_path / "use", rosenbrock], capture_output=True, text=True)
    assert run.stdout == (
        "9 0\n"
        "wrong number of inputs or outputs\n"
        "output 1 has another type or size\n"
        "output 1 has another type or size\n"
        "INPUT_MISMATCH\n"
        "INPUT_MISMATCH\n"
    ), run.stderr


MAPS = r"""
#include <cyxla/cyxla.h>
#include <stdio.h>

int main(int argc, char **argv) {
  double x[10] = {0}, value = argc, gradient[10];
  cyxla_input input = {x, CYXLA_F64, 10};
  void *const outputs[] = {&value, gradient};
  cyxla_executable *executable;
  cyxla_error error = CYXLA_ERROR_INIT;
  if (cyxla_load(argv[1], NULL, CYXLA_ENGINE_AUTO, &executable, &error) ||
      cyxla_execute(executable, &input, outputs, 0, &error))
    return puts(error.message), 1;
  printf("%g\n", value);
  for (int i = 2; i < argc; ++i) {
    FILE *file = fopen(argv[i], "r");
    for (int c = getc(file); c != EOF; c = getc(file)) putchar(c);
  }
  return 0;
}
"""


@needs_library
def test_no_python_and_no_plugin(rosenbrock: Path, tmp_path: Path) -> None:
    """A C program that runs a program file has nothing else in its memory, and little of it."""
    (tmp_path / "maps.c").write_text(MAPS)
    program = tmp_path / "maps"
    build(tmp_path / "maps.c", LANGUAGES["c/load.c"], program)
    command = [program, rosenbrock, "/proc/self/maps", "/proc/self/status"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.stdout.startswith("9\n"), run.stdout + run.stderr
    mapped = {Path(name).name for name in re.findall(r" (/\S+)$", run.stdout, re.MULTILINE)}
    system = re.compile(r"(libc|libdl|libm|libpthread|ld-linux.*|ld)[-.].*")
    assert {each for each in mapped if not system.match(each)} == {"maps", "libcyxla.so"}
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", run.stdout)
    assert int(peak) < 8 << 10


@needs_library
def test_library_needs_nothing_of_python() -> None:
    library = PACKAGE / "lib/libcyxla.so"
    symbols = subprocess.run(
        ["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True
    )
    names = [line.split()[-1] for line in symbols.stdout.splitlines()]
    assert names and not [name for name in names if re.match("_?Py", name)]


@needs_library
def test_readme_without_python(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (commands,) = re.findall(
        r"```sh\n(cyxla compile.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    script = re.sub(r"\bcyxla (compile|run|config)", rf"{sys.executable} -m cyxla \1", commands)
    run = subprocess.run(
        ["sh", "-ec", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "direct engine\nresult[0]: float64[] = 605841.0\n" in run.stdout
    assert run.stdout.endswith(
        "result[1]: -2.000000 -200.000000 1002.000000 5804.000000 "
        "16606.000000 35808.000000 65810.000000 109012.000000 167814.000000 -11000.000000\n"
    )


@needs_library
def test_cmake(rosenbrock: Path, tmp_path: Path) -> None:
    """The Python package is found as an installation of the C library is."""
    if not shutil.which("cmake") or subprocess.run(["cmake", "--version"]).returncode:
        pytest.skip("cmake is not installed")
    config = [sys.executable, "-m", "cyxla", "config", "--cmakedir"]
    folder = subprocess.run(config, capture_output=True, text=True, check=True).stdout.strip()
    options = [f"-Dcyxla_DIR={folder}", f"-DEXAMPLE={ROOT / 'examples/c/load.c'}"]
    for command in (
        ["cmake", "-S", ROOT / "tests/install", "-B", tmp_path, *options],
        ["cmake", "--build", tmp_path],
    ):
        subprocess.run(command, check=True)
    for program in ("load-cyxla", "load-static"):
        run = subprocess.run([tmp_path / program, rosenbrock], capture_output=True, text=True)
        assert run.stdout.startswith("result[0]: 605841.000000\n"), run.stderr


def test_readme_python(tmp_path: Path) -> None:
    script = tmp_path / "snippet.py"
    script.write_text(snippet("python") + "\nprint(result, result.dtype)\n")
    assert run_python(script) == "[0.        1.6829419 1.8185948] float32\n"


def test_readme_cython(tmp_path: Path) -> None:
    (tmp_path / "snippet.pyx").write_text(snippet("cython"))
    script = tmp_path / "use.py"
    script.write_text(
        "import sys, numpy as np, cyxla, jax, pyximport\n"
        f"pyximport.install(build_dir={str(tmp_path / 'build')!r}, language_level=3,\n"
        "                  setup_args={'include_dirs': cyxla.get_include()})\n"
        "import snippet\n"
        "program = cyxla.lower(lambda x: x * 2, [np.zeros(3, np.float32)])\n"
        "executable, _ = cyxla.compile_program(program)\n"
        "x, y = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)\n"
        "snippet.call(executable, x, y, 1000)\n"
        "print(y)\n"
    )
    pytest.importorskip("setuptools", reason="needs the extra `examples`")
    assert run_python(script) == "[0. 2. 4.]\n"


def test_wrong_abi_is_refused() -> None:
    with pytest.raises(cyxla.VersionError, match="version 0 of cyxla's Cython API"):
        cyxla.check_abi(0)
    cyxla.check_abi(cyxla.ABI_VERSION)


def test_include_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    headers, cython = map(Path, cyxla.get_include())
    assert (headers / "cyxla/cyxla.h").is_file()
    assert (cython / "cyxla/_runtime.pxd").is_file()
    # An editable installation runs from the source tree.
    monkeypatch.setattr(cyxla, "__file__", str(ROOT / "python/cyxla/__init__.py"))
    assert cyxla.get_include() == [str(ROOT / "include"), str(ROOT / "python")]


def test_names_that_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="module 'cyxla' has no attribute 'nonsense'"):
        cyxla.nonsense  # noqa: B018


@needs_library
def test_bench_runs() -> None:
    output = run_python(ROOT / "bench/execute.py", "--rounds", "3", "sin3", "mlp")
    assert re.search(r"\| sin3 \| .* \|", output)
    assert np.all([float(each) > 0 for each in re.findall(r"(\d+\.\d+) \|", output)])


@needs_library
def test_bench_start_runs() -> None:
    """Its exit status says whether it was fast enough, which a busy machine can't promise."""
    command = [sys.executable, ROOT / "bench/start.py", "--rounds", "1"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert re.findall(r"^\| (\w+) \| [\d.,]+ \(", run.stdout, re.MULTILINE) == [
        "C",
        "Python",
        "JAX",
    ]
    assert run.returncode == ("yes" not in run.stdout), run.stderr
