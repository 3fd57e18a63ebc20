"""The examples, and the snippets of the README, do what they say."""

import re
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
