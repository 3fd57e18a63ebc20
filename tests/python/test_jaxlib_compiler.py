"""Compiling with jaxlib: the same bits as jax.jit, its errors, and what it leaves alone."""

import dataclasses
import os
import pickle
import sys

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
import pytest
from jaxlib import lapack, xla_client

import cyxla as cx
from cyxla import jaxlib_compiler

VECTOR = jax.ShapeDtypeStruct((5,), jnp.float32)
VERSION = f"jaxlib {jaxlib.__version__}"


@pytest.fixture(autouse=True)
def engine_of_choice(monkeypatch):
    monkeypatch.delenv("CYXLA_ENGINE", raising=False)


@pytest.fixture(scope="module")
def program():
    return cx.lower(lambda x: jnp.sin(x) * 2, [VECTOR])


@pytest.fixture
def not_started(monkeypatch):
    """As if jaxlib's compiler had not been used yet; the one of other tests comes back."""
    monkeypatch.setattr(jaxlib_compiler, "_compiler", None)


def compile_it(program, **options):
    return cx.compile_program(program, compiler="jaxlib", **options)


# ---- what it makes ----


def several(x):
    return jnp.tanh(x) @ jnp.cumsum(x), jnp.sort(x)[::-1], jnp.linalg.norm(x), jnp.minimum(x, 0)


def test_the_same_bits_as_jit():
    program = cx.lower(several, [VECTOR])
    executable, statistics = compile_it(program, low_latency=False)
    assert (statistics.engine, statistics.compiler) == ("direct", VERSION)
    assert statistics.plugin is None
    for x in (np.float32([3, -1, 2, 5, 4]), np.float32([np.nan, 0, -0.0, np.inf, 1e-40])):
        for result, expected in zip(executable.run([x]), jax.jit(several)(x), strict=True):
            np.testing.assert_array_equal(result, expected)


def test_it_serializes_before_any_run():
    """Programs with a sort can't be serialized by XLA after they have run; these can."""
    program = cx.lower(jnp.sort, [VECTOR])
    executable, _ = compile_it(program)
    x = np.float32([3, -1, 2, 5, 4])
    np.testing.assert_array_equal(executable.run([x])[0], np.sort(x))
    loaded, statistics = cx.load_executable(program, executable.serialize())
    assert statistics.from_cache and statistics.compiler is None
    np.testing.assert_array_equal(loaded.run([x])[0], np.sort(x))


def test_options_reach_the_compiler():
    program = cx.lower(jnp.minimum, [VECTOR, VECTOR])
    x, y = np.float32([np.nan, 1, 2, np.nan, 3]), np.float32([1, np.nan, 1, 1, 1])
    (exact,) = compile_it(program)[0].run([x, y])
    (fast,) = compile_it(program, options={"xla_cpu_enable_fast_min_max": True})[0].run([x, y])
    assert np.isnan(exact).sum() == 3
    assert np.isnan(fast).sum() < 3


# ---- what it leaves alone ----

ALONE = """
import pickle, sys
import cyxla as cx
program = pickle.load(open(sys.argv[1], "rb"))
executable, statistics = cx.compile_program(program)
print(statistics.engine, executable.run([[0, 0, 0, 0, 0]])[0].sum(), "jax" in sys.modules)
print([line for line in open("/proc/self/maps") if "pjrt_c_api" in line])
import jax
from jax._src import xla_bridge
print(xla_bridge.backends_are_initialized(), jax.devices()[0].platform)
"""


@pytest.fixture
def path(tmp_path, program):
    path = tmp_path / "program"
    path.write_bytes(pickle.dumps(program))
    return path


@pytest.mark.parametrize("platforms", ["", "cpu", "no_such_platform"])
def test_neither_jax_nor_a_plugin_is_needed(run_python, path, platforms):
    """Nor does JAX's backend start, whatever it would be; if it starts later, nothing is wrong."""
    code = ALONE if platforms != "no_such_platform" else ALONE.replace("jax.devices()[0]", "jax")
    code = code.replace("jax.platform", "'cpu'")
    printed = run_python(code, path, env={"JAX_PLATFORMS": platforms}).splitlines()
    assert printed == ["direct 0.0 False", "[]", "False cpu"]


def test_quiet(run_python, path):
    code = "import os, sys; os.dup2(1, 2); sys.stderr = sys.stdout\n" + ALONE.split("print")[0]
    assert run_python(code, path) == ""


@pytest.mark.parametrize("value", [None, "2"])
def test_the_log_level_is_set_while_jaxlib_is_loaded(monkeypatch, value):
    variable = "TF_CPP_MIN_LOG_LEVEL"
    if value is None:
        monkeypatch.delenv(variable, raising=False)
    else:
        monkeypatch.setenv(variable, value)
    with jaxlib_compiler._quiet():
        assert os.environ[variable] == (value or "1")
    assert os.environ.get(variable) == value


def test_not_in_a_fork(run_python, path):
    """The threads of XLA did not come along. A plugin that was not loaded before can compile."""
    code = """
import os, pickle, sys
import cyxla as cx
program = pickle.load(open(sys.argv[1], "rb"))
executable, _ = cx.compile_program(program)
child = os.fork()
if not child:
    loaded, _ = cx.load_executable(program, executable.serialize())
    print(sum(each.run([[0, 0, 0, 0, 0]])[0].sum() for each in (executable, loaded)), flush=True)
    try:
        cx.compile_program(program, compiler="jaxlib")
    except cx.CyxlaError as error:
        print(error, flush=True)
    _, statistics = cx.compile_program(program)
    print(statistics.engine, statistics.compiler == statistics.plugin.path, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    result, refusal, instead = run_python(code, path).splitlines()
    assert result == "0.0"
    assert "of which this one is a fork" in refusal
    assert instead == "direct True"


def test_a_fork_is_recognised_by_its_process(program, monkeypatch):
    started = jaxlib_compiler._started()
    monkeypatch.setattr(jaxlib_compiler, "_compiler", dataclasses.replace(started, process=1))
    with pytest.raises(cx.CyxlaError, match="started in process 1, of which this one is a fork"):
        compile_it(program)


# ---- errors ----


def test_unknown_option_is_named(program):
    with pytest.raises(cx.StatusError, match="xla_cpu_no_such_thing") as caught:
        compile_it(program, options={"xla_cpu_no_such_thing": True})
    assert (caught.value.status, caught.value.code) == ("INVALID_ARGUMENT", 3)
    assert VERSION in str(caught.value)
    with pytest.raises(cx.StatusError, match="xla_cpu_no_such_thing"):  # nor does a plugin get it
        cx.compile_program(program, options={"xla_cpu_no_such_thing": True})


def test_errors_of_unknown_form_are_unknown(program):
    error = jaxlib_compiler._refusal(program, "it just broke")
    assert isinstance(error, cx.StatusError)
    assert (error.code, error.status) == (2, "UNKNOWN")
    assert str(error).endswith("it just broke")


def test_ill_formed_stablehlo(program):
    broken = dataclasses.replace(program, stablehlo=program.stablehlo[:-20])
    with pytest.raises(cx.StatusError, match="bytecode"):
        compile_it(broken)


def test_newer_stablehlo(program):
    """Both versions are named."""
    newer = program.stablehlo[:-20].replace(b"StableHLO_v1.", b"StableHLO_v9.", 1)
    broken = dataclasses.replace(program, stablehlo=newer)
    with pytest.raises(cx.VersionError, match=r"StableHLO 9\.\d+\.\d+, and jaxlib .* up to 1\.\d+"):
        compile_it(broken)


def test_a_signature_that_is_not_the_modules(program):
    (x,) = program.inputs
    wrong = dataclasses.replace(program, inputs=(dataclasses.replace(x, shape=(6,)),))
    with pytest.raises(cx.StatusError) as caught:
        compile_it(wrong)
    assert caught.value.status == "SIGNATURE_MISMATCH"


# ---- jaxlib that is not there, or another one ----


def test_no_jaxlib(program, not_started, monkeypatch):
    monkeypatch.setitem(sys.modules, "jaxlib.xla_client", None)
    monkeypatch.delattr(jaxlib, "xla_client")
    with pytest.raises(cx.CyxlaError, match="jaxlib is not at hand: "):
        compile_it(program)
    executable, statistics = cx.compile_program(program)
    assert statistics.compiler == statistics.plugin.path
    assert executable.run([[0] * 5])[0].sum() == 0


class Changed:
    """A client whose method takes other arguments."""

    def local_devices(self):
        return [None]

    def compile_and_load(self, program):
        raise AssertionError


@pytest.mark.parametrize("change", ["gone", "arguments", "client"])
def test_changed_interfaces(program, not_started, monkeypatch, change):
    def make_cpu_client(*, asynchronous, num_devices):
        return Changed()

    if change == "gone":
        monkeypatch.delattr(xla_client, "make_cpu_client")
    elif change == "arguments":
        monkeypatch.setattr(xla_client, "make_cpu_client", lambda: None)
    else:
        monkeypatch.setattr(xla_client, "make_cpu_client", make_cpu_client)
    with pytest.raises(cx.VersionError, match=f"{VERSION} has changed the interfaces"):
        compile_it(program)
    _, statistics = cx.compile_program(program)
    assert statistics.compiler == statistics.plugin.path


# ---- threads ----


def test_gil_is_free_while_compiling(ticks_during):
    def function(x):
        for i in range(60):
            x = jnp.sort(jnp.sin(x) * i + jnp.roll(x, i))
        return x

    program = cx.lower(function, [jax.ShapeDtypeStruct((50,), jnp.float32)])
    assert ticks_during(lambda: compile_it(program)) > 5


# ---- custom calls ----


def calling(name):
    return cx.from_stablehlo(
        f"""
        func.func @main(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>) {{
          %0:2 = stablehlo.custom_call @{name}(%x)
              {{api_version = 4 : i32, backend_config = {{uplo = 76 : ui8}}}}
              : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
          return %0#0, %0#1 : tensor<2x2xf32>, tensor<i32>
        }}
        """
    )


def test_a_target_that_only_cyxla_knows_goes_to_the_plugin():
    # What it is does not matter: nothing runs.
    cx.register_ffi_target("only_cyxla_knows", lapack._lapack.registrations()["lapack_spotrf_ffi"])
    program = calling("only_cyxla_knows")
    _, statistics = cx.compile_program(program)
    assert statistics.compiler == statistics.plugin.path
    with pytest.raises(cx.StatusError, match="only_cyxla_knows") as caught:
        compile_it(program)
    assert caught.value.status == "NOT_FOUND"


def test_a_target_that_nobody_knows():
    with pytest.raises(cx.StatusError, match="custom call nobody_knows is not registered"):
        cx.compile_program(calling("nobody_knows"))


def test_targets_that_jax_gets_after_the_compiler_started(run_python):
    """cyxla hears of them with all their stages, as before."""
    code = """
import cyxla as cx
from cyxla import jaxlib_compiler
jaxlib_compiler._started()
import jax, jax.ffi
from jaxlib import xla_client, lapack
print(hasattr(xla_client.register_custom_call_target, "heard_by_cyxla"))
"""
    assert run_python(code) == "True\n"


def test_linear_algebra():
    program = cx.lower(jnp.linalg.cholesky, [jax.ShapeDtypeStruct((3, 3), jnp.float32)])
    executable, statistics = compile_it(program)
    assert statistics.engine == "direct"
    (result,) = executable.run([np.diag([1, 4, 9])])
    np.testing.assert_array_equal(result, np.diag([1, 2, 3]))
