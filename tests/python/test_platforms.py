"""Plugins: finding them, which one is taken, and `initialize`. A process for each case."""

import importlib.metadata
import importlib.util
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cyxla as cx
from cyxla import platforms

pytestmark = pytest.mark.usefixtures("plugin_only")

# What the processes have. They get their program ready made, as importing JAX takes long.
HELLO = """
import os, pickle, sys
from pathlib import Path
import numpy as np
import cyxla as cx

def run():
    program = pickle.loads(Path(os.environ["HELLO_PROGRAM"]).read_bytes())
    executable, statistics = cx.compile_program(program)
    (result,) = executable.run([np.array([0.0, 1.0, 2.0])])
    np.testing.assert_allclose(result, np.sin([0, 1, 2]) * 2, rtol=1e-6)
    return statistics.plugin

def refused(function, *arguments, **options):
    try:
        function(*arguments, **options)
    except cx.CyxlaError as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("it raised nothing")
"""


def candidates():
    return {each.name: each for each in cx.find_plugins()}


def needs(module):
    try:
        found = importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        found = False
    return pytest.mark.skipif(not found, reason=f"{module} is not installed")


needs_two_plugins = needs("xla_plugins.xla_cpu_pjrt")


@pytest.fixture(scope="module")
def hello_program(tmp_path_factory):
    program = cx.lower(lambda x: jnp.sin(x) * 2, [jax.ShapeDtypeStruct((3,), jnp.float32)])
    path = tmp_path_factory.mktemp("hello") / "program"
    path.write_bytes(pickle.dumps(program))
    return {"HELLO_PROGRAM": str(path)}


@pytest.fixture
def run_hello(run_python, hello_program):
    def run(code, *arguments, env=None):
        return run_python(HELLO + code, *arguments, env=hello_program | (env or {}))

    return run


@pytest.fixture
def announced(tmp_path):
    """Makes a package with an entry point in the group `cyxla.plugins`; returns its directory."""

    def make(source, name="aaa", module="announced_plugin"):
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[cyxla.plugins]\n{name} = {module}\n")
        paths = [str(tmp_path), os.environ.get("PYTHONPATH")]
        return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}

    return make


# ---- finding ----


def test_find_plugins():
    found = cx.find_plugins()
    assert found
    for each in found:
        assert each.platform == "cpu"
        assert each.path.is_file()


@needs("lammps_jax_pjrt_cpu")
def test_the_newest_xla_is_the_default():
    assert cx.find_plugins()[0].name == "lammps_jax_pjrt_cpu"
    _, statistics = cx.compile_program(
        cx.lower(lambda x: x, [jax.ShapeDtypeStruct((), jnp.float32)])
    )
    assert statistics.plugin.path == str(candidates()["lammps_jax_pjrt_cpu"].path)


def test_importing_loads_no_plugin(run_hello):
    """Not even finding does; XLA is a large library."""
    printed = run_hello(
        """
cx.find_plugins(), cx.get_include(), cx.__version__, cx.error_info()
print([line for line in open("/proc/self/maps") if "pjrt" in line])
"""
    )
    assert printed.strip() == "[]"


def test_the_environment_names_the_plugin(run_hello, tmp_path):
    path = cx.find_plugins()[-1].path
    printed = run_hello(
        "print(cx.find_plugins()[0].name, run().path)", env={"CYXLA_PLUGIN": str(path)}
    )
    assert printed.split() == ["CYXLA_PLUGIN", str(path)]
    missing = tmp_path / "missing.so"
    code = """
try:
    cx.initialize()
except cx.StatusError as error:
    print(error)
"""
    assert str(missing) in run_hello(code, env={"CYXLA_PLUGIN": str(missing)})


def test_the_environment_names_the_platform(monkeypatch, tmp_path):
    cpu = platforms.PluginCandidate("one", "cpu", tmp_path, {})
    tpu = platforms.PluginCandidate("other", "tpu", tmp_path, {})
    monkeypatch.setattr(platforms, "find_plugins", lambda: [cpu, tpu])
    monkeypatch.setenv("CYXLA_PLATFORM", "tpu")
    assert platforms.default_candidate() == tpu
    assert platforms.default_candidate("cpu") == cpu
    monkeypatch.setenv("CYXLA_PLATFORM", "cuda")
    with pytest.raises(cx.CyxlaError, match="for the platform 'cuda' is installed"):
        platforms.default_candidate()
    monkeypatch.setenv("CYXLA_PLUGIN", "libcuda_plugin.so")
    named = platforms.default_candidate()
    assert (named.name, named.platform, str(named.path)) == (
        "CYXLA_PLUGIN", "cuda", "libcuda_plugin.so"
    )  # fmt: skip
    assert platforms.default_candidate("cpu") == cpu
    monkeypatch.delenv("CYXLA_PLATFORM")
    assert platforms.default_candidate("tpu").name == "CYXLA_PLUGIN", "as the C library does"


def test_announced_plugins_come_first(announced, run_hello):
    path = cx.find_plugins()[0].path
    environment = announced(
        f"PLATFORM = 'cpu'\nCREATE_OPTIONS = {{}}\ndef library_path(): return {str(path)!r}\n"
    )
    printed = run_hello("print(cx.find_plugins()[0].name, run().path)", env=environment)
    assert printed.split() == ["announced_plugin", str(path)]


def test_announced_create_options_are_used(announced, run_hello):
    """`cpu_device_count` shows; those given to `initialize` win."""
    path = cx.find_plugins()[0].path
    environment = announced(
        "PLATFORM = 'cpu'\nCREATE_OPTIONS = {'cpu_device_count': 3}\n"
        f"def library_path(): return {str(path)!r}\n"
    )
    assert run_hello("print(run().device_count)", env=environment).split() == ["3"]
    code = "print(cx.initialize(options={'cpu_device_count': 2}).device_count)"
    assert run_hello(code, env=environment).split() == ["2"]


def test_announced_plugin_of_another_platform_is_not_the_default(announced, run_hello):
    environment = announced(
        "PLATFORM = 'tpu'\nCREATE_OPTIONS = {}\ndef library_path(): return '/no/such/file'\n"
    )
    printed = run_hello(
        "print(run().platform); print(refused(cx.initialize, 'tpu'))", env=environment
    )
    assert printed.startswith("cpu\nCyxlaError:")
    printed = run_hello("print(refused(cx.initialize, 'tpu'))", env=environment)
    assert printed.startswith("StatusError:")
    assert "/no/such/file" in printed


@pytest.mark.parametrize("source", ["PLATFORM = 'cpu'\n", "import no_such_module\n"])
def test_ill_formed_announcement_is_left_out(announced, run_hello, source):
    """A warning names it, and the other plugins are found."""
    printed = run_hello(
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    print([each.name for each in cx.find_plugins()][0])\n"
        "print(caught[0].message)\n",
        env=announced(source),
    )
    assert printed.startswith("lammps_jax_pjrt_cpu\n")
    assert "the plugin module announced_plugin (cyxla.plugins) is left out" in printed
    assert "CREATE_OPTIONS" in printed or "no_such_module" in printed


def test_without_a_plugin_for_the_cpu_the_first_one_is_the_default(monkeypatch):
    others = [cx.PluginCandidate(name, "cuda", Path(name), {}) for name in ("one", "other")]
    monkeypatch.setattr(platforms, "find_plugins", lambda: others)
    assert platforms.default_candidate() == others[0]


def test_packages_that_are_not_installed_are_passed_over(monkeypatch):
    missing = ("no_such_package.module", "cpu", "file.so")
    monkeypatch.setattr(platforms, "_KNOWN_PACKAGES", (missing, ("pytest", "cpu", "missing.so")))
    assert list(platforms._known_plugins()) == []


# ---- initialize ----


@pytest.mark.parametrize(
    "call",
    [
        "cx.initialize()",
        "cx.initialize('cpu')",
        "cx.initialize(platform='cpu')",
        "cx.initialize(Path(sys.argv[1]), platform='cpu')",
        "cx.initialize(Path(sys.argv[1]))",
        "cx.initialize('cpu', {'cpu_device_count': 1, 'asynchronous': False})",
        "cx.initialize('cpu', options={})",
    ],
)
def test_initialize(run_hello, call):
    path = cx.find_plugins()[0].path
    printed = run_hello(f"info = {call}\nprint(info.path, info.platform, info == run())", path)
    assert printed.split() == [str(path), "cpu", "True"]


def test_initialize_options(run_hello):
    code = "print(cx.initialize(options={'cpu_device_count': 2}).device_count); run()"
    assert run_hello(code).split() == ["2"]


@pytest.mark.parametrize("first", ["cx.initialize()", "run()"])
def test_initialize_comes_once_and_first(run_hello, first):
    printed = run_hello(f"{first}\nprint(refused(cx.initialize))\nrun()")
    assert re.match(r"CyxlaError: .*loaded already.*before", printed)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("'quantum'", ["CyxlaError", "quantum", "cpu"]),
        ("platform='quantum'", ["CyxlaError", "quantum", "cpu"]),
        ("'cpu', platform='cpu'", ["ArgumentError", "Path"]),
        ("Path('/no/such/file.so'), platform='cpu'", ["PLUGIN_NOT_LOADED", "/no/such/file.so"]),
        ("Path(__import__('math').__file__)", ["PLUGIN_INVALID", "GetPjrtApi"]),
        ("Path(sys.argv[1]), platform='cuda'", ["PLUGIN_INVALID", "cuda", "cpu"]),
        ("options={'no_such_option': 1}", ["no_such_option"]),
        ("options={'cpu_device_count': 'many'}", ["cpu_device_count"]),
        ("options={'cpu_device_count': None}", ["ArgumentTypeError", "cpu_device_count", "None"]),
    ],
)
def test_initialize_refuses(run_hello, call, words):
    """And the process can still use the default plugin."""
    path = cx.find_plugins()[0].path
    printed = run_hello(
        f"""
try:
    cx.initialize({call})
except cx.CyxlaError as error:
    print(type(error).__name__, getattr(error, "status", ""), error)
else:
    raise AssertionError("it raised nothing")
""",
        path,
    )
    assert all(word in printed for word in words), printed


def test_after_a_refusal_the_default_can_be_taken(run_hello):
    printed = run_hello("refused(cx.initialize, Path('/no/such/file.so'))\nprint(run().platform)")
    assert printed.split() == ["cpu"]


def test_text_that_is_no_plugin(run_hello, tmp_path):
    file = tmp_path / "plugin.so"
    file.write_text("text")
    printed = run_hello("print(refused(cx.initialize, Path(sys.argv[1])))", file)
    assert str(file) in printed


def test_threads_load_one_plugin(run_hello):
    printed = run_hello(
        """
import concurrent.futures
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    plugins = list(pool.map(lambda _: run(), range(8)))
print(len(set(plugins)))
"""
    )
    assert printed.split() == ["1"]


def test_no_plugin(run_hello):
    """Where no plugin is installed, the error says how to get one."""
    printed = run_hello(
        """
import cyxla.platforms
cyxla.platforms.find_plugins = list
print(refused(run))
"""
    )
    assert "cyxla[cpu]" in printed


# ---- the older plugin ----


@needs_two_plugins
def test_older_plugin_runs_programs_of_todays_jax(run_hello):
    """PJRT 0.81 and StableHLO 1.13: programs are rewritten for it."""
    path = candidates()["xla_plugins.xla_cpu_pjrt"].path
    printed = run_hello(
        """
import jax, jax.numpy as jnp
info = cx.initialize(Path(sys.argv[1]), platform="cpu")
print(info.pjrt_version, info.stablehlo_version)
assert run() == info

def newton(x):
    return jax.lax.while_loop(lambda x: jnp.abs(x * x - 2) > 1e-5, lambda x: (x + 2 / x) / 2, x)

def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

x = np.linspace(0.5, 2, 9, dtype=np.float32)
functions = {
    "newton": (newton, x[0]),
    "gradient": (jax.value_and_grad(rosenbrock), x),
    "hessian": (jax.hessian(rosenbrock), x),
    "sort": (lambda x: (jnp.sort(-x), jnp.argsort(-x), jax.lax.top_k(x, 3)), x),
    "dot": (lambda x: jnp.outer(x, x) @ x, x),
    "fft": (jnp.fft.fft, x),
    "erf": (jax.scipy.special.erf, x),
    "random": (lambda k: jax.random.normal(jax.random.wrap_key_data(k), (9,)), np.uint32([0, 7])),
    "bfloat16": (lambda x: x.astype(jnp.bfloat16) * 3, x),
    "integers": (lambda x: (x.astype(int) << 3, x > 1), x),
}
for name, (function, argument) in functions.items():
    executable, _ = cx.compile_program(cx.lower(function, [argument]))
    results = executable.run([argument])
    expected = jax.tree.leaves(jax.jit(function)(argument))
    for result, other in zip(results, expected, strict=True):
        np.testing.assert_allclose(
            result.astype(complex), np.asarray(other, complex), rtol=1e-5, atol=1e-5, err_msg=name
        )
""",
        path,
    )
    assert printed.startswith("(0, 81) (1, 13, ")


@needs_two_plugins
def test_both_plugins_can_be_chosen_by_their_paths(run_hello):
    for each in cx.find_plugins():
        assert run_hello(
            "cx.initialize(Path(sys.argv[1])); print(run().path)", each.path
        ).split() == [str(each.path)]


# ---- python -m cyxla ----


def test_main_lists_plugins():
    process = subprocess.run(
        [sys.executable, "-m", "cyxla"], capture_output=True, text=True, timeout=120
    )
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    for each in cx.find_plugins():
        assert str(each.path) in process.stdout
    assert "cpu" in process.stdout
    assert "default" in process.stdout
    assert re.search(r"PJRT\D*0\.\d+", process.stdout)
    assert re.search(r"StableHLO\D*1\.\d+\.\d+", process.stdout)


# ---- versions and directories ----


def test_get_include():
    header, cython = map(Path, cx.get_include())
    assert (header / "cyxla" / "cyxla.h").is_file()
    assert {"_runtime.pxd", "_pjrt.pxd"} <= {each.name for each in (cython / "cyxla").glob("*.pxd")}


def test_versions_are_equal():
    """Of the package, the C library, and the declarations that were installed with them."""
    assert cx.__version__ == importlib.metadata.version("cyxla")
    declarations = (Path(cx.get_include()[1]) / "cyxla" / "_runtime.pxd").read_text()
    assert re.search(rf"^    ABI_VERSION = {cx.ABI_VERSION}$", declarations, re.MULTILINE)


def test_a_program_tells_its_versions():
    program = cx.lower(lambda x: x, [np.float32(1)])
    assert program.jax_version == jax.__version__
    assert program.cyxla_version == cx.__version__


def test_jax_is_imported_late(run_python):
    """It takes most of a second, and who only runs programs doesn't need it."""
    printed = run_python("import sys, cyxla; print('jax' in sys.modules, cyxla.lower.__name__)")
    assert printed.split() == ["False", "lower"]


def test_quiet(run_hello):
    """Neither cyxla nor the plugin prints anything."""
    assert run_hello("sys.stderr = sys.stdout; os.dup2(1, 2); run()") == ""


def test_nothing_compiles_in_a_fork(run_hello):
    printed = run_hello(
        "import os\n"
        "cx.initialize()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    print(refused(run), flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
    )
    assert "of which this one is a fork" in printed


@pytest.mark.parametrize("platform", ["'cpu'", "None"])
def test_too_few_devices_are_refused(run_hello, platform):
    """XLA's client would end the process, whoever names the platform."""
    printed = run_hello(
        "path = cx.find_plugins()[0].path\n"
        "options = {'cpu_device_count': -1}\n"
        f"print(refused(cx.initialize, path, options, platform={platform}))\n"
    )
    assert "cpu_device_count: -1 devices are too few" in printed
