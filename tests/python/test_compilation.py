"""`compile_program`: options, statistics, refusals, threads, other processes."""

import concurrent.futures
import dataclasses
import functools
import multiprocessing
import pickle
import time

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
import pytest

import cyxla as cx

pytestmark = pytest.mark.usefixtures("engine")

VECTOR = jax.ShapeDtypeStruct((3,), jnp.float32)


@pytest.fixture(scope="module")
def program():
    return cx.lower(lambda x: jnp.sin(x) * 2, [VECTOR])


def test_the_main_job():
    program = cx.lower(lambda x: jnp.sin(x) * 2, [jax.ShapeDtypeStruct((3,), jnp.float32)])
    executable, statistics = cx.compile_program(program)
    (result,) = executable.run([np.array([0.0, 1.0, 2.0])])
    np.testing.assert_array_equal(result, jnp.sin(jnp.array([0.0, 1.0, 2.0])) * 2)
    assert not statistics.from_cache


# ---- statistics ----


def test_statistics(program, engine):
    start = time.perf_counter()
    executable, statistics = cx.compile_program(program)
    assert 0 < statistics.seconds <= time.perf_counter() - start
    assert statistics.from_cache is False
    assert statistics.code_bytes == executable.code_bytes
    assert statistics.temp_bytes == executable.temp_bytes
    assert statistics.platform == "cpu"
    assert statistics.engine == executable.engine == engine
    assert statistics.low_latency is True
    assert statistics.workaround is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        statistics.seconds = 0


def test_statistics_of_the_plugin(program, engine):
    _, statistics = cx.compile_program(program)
    plugin = statistics.plugin
    if engine == "direct":
        assert statistics.compiler == f"jaxlib {jaxlib.__version__}"
        assert plugin is None
        return
    assert statistics.compiler == plugin.path
    assert plugin.platform == "cpu"
    assert plugin.path.endswith(".so")
    assert plugin.pjrt_version >= (0, 81)
    assert plugin.stablehlo_version >= (1, 13, 0)
    assert plugin.device_count == 1
    assert plugin.reads_in_place


def test_temp_bytes_grow_with_the_temporaries():
    def several_passes(x):
        return jnp.sort(jnp.cos(jnp.sort(jnp.sin(x))))[::-1].sum()

    temporaries = [
        cx.compile_program(cx.lower(several_passes, [jax.ShapeDtypeStruct((n,), jnp.float32)]))[1]
        for n in (1000, 100_000)
    ]
    small, large = (each.temp_bytes for each in temporaries)
    if small is None:
        pytest.skip("the plugin does not tell")
    assert large >= 100_000 * 4 > small


# ---- options ----


@pytest.mark.parametrize(
    "options",
    [
        None,
        {},
        {"xla_cpu_prefer_vector_width": 128},
        {"xla_cpu_multi_thread_eigen": False},
        {"xla_cpu_experimental_ynn_fusion_type": ""},
        {"xla_cpu_max_isa": "AVX2", "xla_backend_optimization_level": 1},
    ],
    ids=str,
)
def test_options(program, options):
    executable, _ = cx.compile_program(program, options=options)
    (result,) = executable.run([[0, 1, 2]])
    np.testing.assert_allclose(result, np.sin([0, 1, 2]) * 2, rtol=1e-6)


def test_options_reach_the_compiler():
    """Without fast minima, which JAX switches off and this switches on again, NaN is kept."""
    program = cx.lower(jnp.minimum, [VECTOR, VECTOR])
    arguments = [[np.nan, 1, np.nan], [1, np.nan, np.nan]]
    (result,) = cx.compile_program(program)[0].run(arguments)
    assert np.isnan(result).all()
    options = {"xla_cpu_enable_fast_min_max": True}
    (fast,) = cx.compile_program(program, options=options)[0].run(arguments)
    assert not np.isnan(fast).all()


def test_an_option_of_JAX_can_be_replaced_by_any_kind(program):
    for value in (True, False):
        cx.compile_program(program, options={"xla_cpu_enable_fast_math": value})


def test_unknown_option_is_named(program):
    with pytest.raises(cx.StatusError, match="xla_cpu_no_such_thing") as caught:
        cx.compile_program(program, options={"xla_cpu_no_such_thing": True})
    assert caught.value.status == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("xla_cpu_prefer_vector_width", "wide"),
        ("xla_cpu_multi_thread_eigen", "perhaps"),
    ],
)
def test_wrong_value_is_named(program, name, value):
    with pytest.raises(cx.CyxlaError, match=f"{name}|{value}"):
        cx.compile_program(program, options={name: value})


@pytest.mark.parametrize("value", [None, 1j, {}, b"bytes", object, [1, 2]], ids=repr)
def test_option_of_no_kind(program, value):
    with pytest.raises(cx.ArgumentTypeError, match="xla_cpu_max_isa"):
        cx.compile_program(program, options={"xla_cpu_max_isa": value})


def test_option_names_are_text(program):
    for name in (3, "a\0b", b"xla_cpu_max_isa"):
        with pytest.raises(cx.ArgumentTypeError, match="name"):
            cx.compile_program(program, options={name: 1})


def test_integers_too_large(program):
    with pytest.raises((OverflowError, cx.CyxlaError)):
        cx.compile_program(program, options={"xla_cpu_prefer_vector_width": 2**70})


# ---- refusals ----


def broken(program, stablehlo):
    return dataclasses.replace(program, stablehlo=stablehlo)


def test_garbage(program):
    """What claims to be StableHLO and isn't is an error, not a crash."""
    header = program.stablehlo[:24]
    for rest in (b"", b"\0" * 50, b"garbage" * 100, program.stablehlo[24:-20]):
        with pytest.raises(cx.StatusError, match="bytecode"):
            cx.compile_program(broken(program, header + rest))


def test_signature_must_be_the_modules(program):
    (output,) = program.outputs
    for outputs in (
        (dataclasses.replace(output, shape=(4,)),),
        (dataclasses.replace(output, element_type=cx.ElementType.int32),),
        (output, dataclasses.replace(output, name="another")),
        (),
    ):
        with pytest.raises(cx.StatusError) as caught:
            cx.compile_program(dataclasses.replace(program, outputs=outputs))
        assert caught.value.status in ("INVALID_ARGUMENT", "SIGNATURE_MISMATCH")


def test_wrong_inputs_are_no_crash(program):
    """PJRT tells the types of outputs only: wrong inputs are refused at the latest by a run."""
    (x,) = program.inputs
    for inputs in (
        (dataclasses.replace(x, shape=(5,)),),
        (x, dataclasses.replace(x, name="y")),
        (),
    ):
        wrong = dataclasses.replace(program, inputs=inputs)
        with pytest.raises(cx.StatusError):
            executable, _ = cx.compile_program(wrong)
            executable.run([np.zeros(each.shape) for each in inputs])


def test_custom_call_that_nobody_knows():
    text = """
    module @calls_home {
      func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
        %0 = stablehlo.custom_call @no_such_target(%x) {api_version = 4 : i32}
            : (tensor<3xf32>) -> tensor<3xf32>
        return %0 : tensor<3xf32>
      }
    }
    """
    program = cx.from_stablehlo(text)
    assert program.custom_calls == ("no_such_target",)
    with pytest.raises(cx.StatusError, match="no_such_target"):
        cx.compile_program(program)


def test_only_programs():
    for wrong in (None, lambda x: x, b"ML\xefR", "module {}"):
        with pytest.raises(cx.ArgumentTypeError, match="compile_program needs a Program"):
            cx.compile_program(wrong)


def test_other_platform(program):
    other = dataclasses.replace(program, platform="tpu")
    with pytest.raises(cx.CyxlaError, match="(?i)tpu.*cpu"):
        cx.compile_program(other)


def test_a_refusal_leaves_everything_usable(program):
    with pytest.raises(cx.StatusError):
        cx.compile_program(program, options={"xla_no": 1})
    assert cx.compile_program(program)[0].run([[0, 0, 0]])[0].sum() == 0


# ---- threads ----


def long_program(seed):
    """Compiling it takes a good part of a second, and its name and constants are its own."""

    def function(x):
        for i in range(60):
            x = jnp.sort(jnp.sin(x) * (i + seed) + jnp.roll(x, i))
        return x

    return cx.lower(function, [jax.ShapeDtypeStruct((50,), jnp.float32)])


def test_gil_is_free_while_compiling(ticks_during):
    program = long_program(0)
    assert ticks_during(lambda: cx.compile_program(program)) > 5


def test_threads_compile_at_once():
    programs = [cx.lower(functools.partial(jnp.add, float(i)), [VECTOR]) for i in range(8)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = [
            executable.run([[0, 0, 0]])[0]
            for executable, _ in pool.map(cx.compile_program, programs)
        ]
    np.testing.assert_array_equal(results, [[i] * 3 for i in range(8)])


# ---- other processes ----


def compile_and_run(program, arguments):
    """Runs in a process of its own; nothing of JAX is needed there but what compiling imports."""
    executable, statistics = cx.compile_program(program)
    return executable.run(arguments), statistics


def test_programs_are_sent_to_other_processes(program):
    """As multiprocessing, Dask and mpi4py do: by pickle; results and statistics come back so."""
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, spawn) as pool:
        (result,), statistics = pool.submit(compile_and_run, program, [[0.0, 1.0, 2.0]]).result(120)
        with pytest.raises(cx.StatusError, match="xla_no") as caught:
            pool.submit(cx.compile_program, program, options={"xla_no": 1}).result(120)
    np.testing.assert_array_equal(result, cx.compile_program(program)[0].run([[0, 1, 2]])[0])
    assert statistics.plugin == cx.compile_program(program)[1].plugin
    assert caught.value.status == "INVALID_ARGUMENT"


def test_executables_are_not_picklable(affine):
    with pytest.raises(TypeError):
        pickle.dumps(affine)


def test_compiling_needs_no_jax(run_python, tmp_path, program):
    """Whoever gets a program from elsewhere need not even import JAX."""
    path = tmp_path / "program"
    path.write_bytes(pickle.dumps(program))
    printed = run_python(
        """
        import pickle, sys
        import cyxla
        program = pickle.load(open(sys.argv[1], "rb"))
        executable, _ = cyxla.compile_program(program)
        print(executable.run([[0, 0, 0]])[0].sum(), "jax" in sys.modules)
        """,
        path,
    )
    assert printed.split() == ["0.0", "False"]


@pytest.mark.parametrize("value", [1.5, True, 3, "text"], ids=repr)
def test_options_of_all_kinds_reach_the_compiler(program, value):
    with pytest.raises(cx.StatusError, match="xla_nope"):
        cx.compile_program(program, options={"xla_nope": value})
