"""Which engine runs what, who compiles for it, and what is said where nothing can."""

import dataclasses
import pickle
import re

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
import pytest

import cyxla as cx
from cyxla import _runtime, engines, jaxlib_compiler, platforms

VECTOR = jax.ShapeDtypeStruct((6,), jnp.float32)
X = np.float32([0, 1, 2, 3, 4, 5])


@pytest.fixture(autouse=True)
def engine_of_choice(monkeypatch):
    monkeypatch.delenv("CYXLA_ENGINE", raising=False)


@pytest.fixture(scope="module")
def plain():
    """A program of a kernel alone."""
    return cx.lower(lambda x: jnp.sin(x) * 2, [VECTOR], name="plain")


@pytest.fixture(scope="module")
def fourier():
    """A program that only PJRT's engine runs."""
    return cx.lower(lambda x: jnp.abs(jnp.fft.fft(x)), [VECTOR], name="fourier")


@pytest.fixture
def no_plugin(monkeypatch):
    monkeypatch.setattr(platforms, "find_plugins", lambda: [])
    monkeypatch.setattr(platforms, "_loaded", None)
    monkeypatch.setattr(platforms, "_initialized", False)


# ---- the choice ----


def check_direct(executable, statistics):
    assert executable.engine == statistics.engine == "direct"
    assert executable.engine_reason == "every thunk is supported"
    assert executable.thunks == {"kernel": 1}
    assert statistics.plugin is None


def test_the_default_is_direct(plain):
    executable, statistics = cx.compile_program(plain)
    check_direct(executable, statistics)
    assert statistics.compiler == f"jaxlib {jaxlib.__version__}"
    np.testing.assert_array_equal(executable.run([X])[0], jnp.sin(X) * 2)


def test_what_direct_refuses_is_for_the_plugin(fourier):
    executable, statistics = cx.compile_program(fourier)
    assert executable.engine == statistics.engine == "pjrt"
    assert "fft" in executable.engine_reason
    assert executable.thunks["fft"] == 1
    assert statistics.compiler == statistics.plugin.path
    np.testing.assert_allclose(executable.run([X])[0], np.abs(np.fft.fft(X)), rtol=1e-5)


@pytest.mark.parametrize("compiler", ["auto", "jaxlib", "plugin"])
def test_direct_or_an_error(plain, fourier, compiler):
    executable, _ = cx.compile_program(plain, engine="direct", compiler=compiler)
    assert executable.engine == "direct"
    with pytest.raises(cx.StatusError, match="fourier: .*direct engine can't .*fft") as caught:
        cx.compile_program(fourier, engine="direct", compiler=compiler)
    assert caught.value.status == "UNIMPLEMENTED"


@pytest.mark.parametrize("compiler", ["auto", "plugin"])
def test_pjrt(plain, compiler):
    executable, statistics = cx.compile_program(plain, engine="pjrt", compiler=compiler)
    assert executable.engine == statistics.engine == "pjrt"
    assert executable.engine_reason
    assert statistics.compiler == statistics.plugin.path


def test_the_plugin_compiles_for_both(plain, fourier):
    for program, engine in ((plain, "direct"), (fourier, "pjrt")):
        executable, statistics = cx.compile_program(program, compiler="plugin")
        assert executable.engine == engine
        assert statistics.compiler == statistics.plugin.path


def test_jaxlib_or_an_error(plain, fourier):
    assert cx.compile_program(plain, compiler="jaxlib")[1].plugin is None
    with pytest.raises(cx.StatusError, match="fourier: .*fft"):
        cx.compile_program(fourier, compiler="jaxlib")
    with pytest.raises(cx.ArgumentError, match="compiler='jaxlib' and engine='pjrt' don't go"):
        cx.compile_program(plain, compiler="jaxlib", engine="pjrt")


def test_both_give_the_same_bits(plain):
    direct, _ = cx.compile_program(plain, compiler="plugin", engine="direct")
    pjrt, _ = cx.load_executable(plain, direct.serialize(), engine="pjrt")
    assert pjrt.engine == "pjrt"
    assert direct.thunks == pjrt.thunks
    np.testing.assert_array_equal(direct.run([X])[0], pjrt.run([X])[0])


# ---- names ----


@pytest.mark.parametrize("wrong", ["Direct", "", 1, True], ids=repr)
def test_wrong_names(plain, wrong):
    with pytest.raises(cx.ArgumentError, match="engine must be 'auto', 'direct' or 'pjrt', not"):
        cx.compile_program(plain, engine=wrong)
    with pytest.raises(cx.ArgumentError, match="engine must be 'auto', 'direct' or 'pjrt', not"):
        cx.load_executable(plain, b"", engine=wrong)
    with pytest.raises(cx.ArgumentError, match="compiler must be 'auto', 'jaxlib' or 'plugin'"):
        cx.compile_program(plain, compiler=wrong)


def test_the_environment(plain, monkeypatch):
    monkeypatch.setenv("CYXLA_ENGINE", "pjrt")
    executable, _ = cx.compile_program(plain)
    assert executable.engine == "pjrt"
    assert cx.load_executable(plain, executable.serialize())[0].engine == "pjrt"
    assert cx.compile_program(plain, engine="direct")[0].engine == "direct"
    monkeypatch.setenv("CYXLA_ENGINE", "")
    assert cx.compile_program(plain)[0].engine == "direct"
    monkeypatch.setenv("CYXLA_ENGINE", "fast")
    with pytest.raises(cx.ArgumentError, match="variable CYXLA_ENGINE must be 'auto', .* 'fast'"):
        cx.compile_program(plain)
    assert cx.compile_program(plain, engine="auto")[0].engine == "direct"


def test_other_platforms_have_neither_direct_engine_nor_jaxlib(plain):
    other = dataclasses.replace(plain, platform="cuda")
    for options in ({"engine": "direct"}, {"compiler": "jaxlib"}):
        with pytest.raises(cx.ArgumentError, match="plain is for cuda: .* for the CPU"):
            cx.compile_program(other, **options)
    with pytest.raises(cx.ArgumentError, match="plain is for cuda: .* for the CPU"):
        cx.load_executable(other, b"", engine="direct")
    with pytest.raises(cx.CyxlaError, match="'cuda'"):
        cx.compile_program(other)


# ---- without a plugin ----


def test_most_programs_need_no_plugin(plain, no_plugin):
    executable, statistics = cx.compile_program(plain)
    check_direct(executable, statistics)
    check_direct(*cx.load_executable(plain, executable.serialize()))


def test_reasons_and_remedy_where_a_plugin_is_needed(plain, fourier, no_plugin):
    with pytest.raises(cx.CyxlaError) as caught:
        cx.compile_program(fourier)
    assert "fourier" in str(caught.value) and "fft" in str(caught.value)
    assert 'pip install "cyxla[cpu]"' in str(caught.value)
    with pytest.raises(cx.CyxlaError, match=r'no PJRT plugin .*pip install "cyxla\[cpu\]"'):
        cx.compile_program(plain, engine="pjrt")


def test_reasons_and_remedy_where_a_plugin_is_needed_to_load(fourier, monkeypatch):
    data = cx.compile_program(fourier)[0].serialize()
    monkeypatch.setattr(platforms, "find_plugins", lambda: [])
    monkeypatch.setattr(platforms, "_loaded", None)
    with pytest.raises(cx.CyxlaError, match=r'fft.*pip install "cyxla\[cpu\]"'):
        cx.load_executable(fourier, data)


# ---- a plugin that the user has chosen ----

CHOSEN = """
import pickle, sys
import cyxla as cx
plain, fourier = pickle.load(open(sys.argv[1], "rb"))
first = cx.compile_program(plain)[1].compiler
info = cx.initialize()
for program in (plain, fourier):
    executable, statistics = cx.compile_program(program)
    assert statistics.plugin == info and statistics.compiler == info.path
    loaded, loading = cx.load_executable(program, executable.serialize())
    assert loading.plugin == info
    print(executable.engine, loaded.engine)
_, statistics = cx.compile_program(plain, compiler="jaxlib")
print(first.split()[0], statistics.compiler.split()[0], statistics.plugin)
"""


def test_a_plugin_that_is_chosen_compiles(run_python, tmp_path, plain, fourier):
    path = tmp_path / "programs"
    path.write_bytes(pickle.dumps((plain, fourier)))
    assert run_python(CHOSEN, path).splitlines() == [
        "direct direct",
        "pjrt pjrt",
        "jaxlib jaxlib None",
    ]


def test_a_plugin_that_was_needed_is_not_chosen(plain, fourier):
    cx.compile_program(fourier)
    assert platforms.plugin_if_loaded("cpu")
    assert not platforms.is_initialized("cpu")
    assert cx.compile_program(plain)[1].compiler == f"jaxlib {jaxlib.__version__}"


# ---- load_executable ----


@pytest.mark.parametrize("engine", [None, "auto", "direct"])
def test_loading_needs_no_plugin(plain, engine, no_plugin):
    executable, _ = cx.compile_program(plain)
    loaded, statistics = cx.load_executable(plain, executable.serialize(), engine=engine)
    check_direct(loaded, statistics)
    assert statistics.from_cache
    assert statistics.compiler is None and statistics.low_latency is None
    assert loaded.input_types == plain.inputs
    np.testing.assert_array_equal(loaded.run([X])[0], jnp.sin(X) * 2)


def test_what_direct_cannot_load_is_for_the_plugin(fourier):
    data = cx.compile_program(fourier)[0].serialize()
    loaded, statistics = cx.load_executable(fourier, data)
    assert loaded.engine == "pjrt"
    assert statistics.plugin and statistics.from_cache
    with pytest.raises(cx.StatusError, match="direct engine can't run it.*fft"):
        cx.load_executable(fourier, data, engine="direct")


def test_executables_of_jaxlib(plain):
    """Its own serialization, wrapped or not, is read by both engines."""
    data = jaxlib_compiler.compile_to_bytes(plain, {})
    for engine in ("direct", "pjrt"):
        loaded, _ = cx.load_executable(plain, data, engine=engine)
        assert loaded.engine == engine
        np.testing.assert_array_equal(loaded.run([X])[0], jnp.sin(X) * 2)


@pytest.mark.parametrize("data", [b"", b"garbage" * 100])
@pytest.mark.parametrize("engine", ["auto", "direct", "pjrt"])
def test_garbage_is_refused(plain, data, engine):
    with pytest.raises(cx.StatusError, match="plain: "):
        cx.load_executable(plain, data, engine=engine)


@pytest.mark.parametrize("engine", ["auto", "direct", "pjrt"])
def test_another_signature_is_refused(plain, engine):
    data = cx.compile_program(plain)[0].serialize()
    other = cx.lower(lambda x: x, [jax.ShapeDtypeStruct((4,), jnp.float32)])
    with pytest.raises(cx.StatusError) as caught:
        cx.load_executable(other, data, engine=engine)
    assert caught.value.status == "SIGNATURE_MISMATCH"


def for_another_processor(data):
    """Claims that the code needs what no processor has."""
    changed = data.replace(b"-amx-fp8", b"+amx-fp8")
    assert changed != data
    return changed


@pytest.mark.parametrize("engine", ["auto", "direct", "pjrt"])
def test_what_needs_another_processor_is_compiled_again(plain, engine):
    executable, _ = cx.compile_program(plain, engine=engine)
    data = for_another_processor(executable.serialize())
    with pytest.raises(cx.StatusError, match="amx-fp8") as caught:
        plugin = platforms.loaded_plugin("cpu").handle if engine == "pjrt" else None
        _runtime.load_executable(plugin, plain, data, engine)
    assert caught.value.status == "FAILED_PRECONDITION"
    again, statistics = cx.load_executable(plain, data, engine=engine)
    assert statistics.from_cache is False
    assert statistics.compiler
    assert again.engine == executable.engine
    np.testing.assert_array_equal(again.run([X])[0], executable.run([X])[0])


def test_without_a_program(plain):
    """The signature is the executable's own, which has no names."""
    data = cx.compile_program(plain)[0].serialize()
    executable = _runtime.load_executable(None, None, data)
    assert executable.platform == "cpu"
    assert list(map(str, executable.input_types)) == ["arg0: float32[6]"]
    assert list(map(str, executable.output_types)) == ["result[0]: float32[6]"]
    np.testing.assert_array_equal(executable.run([X])[0], jnp.sin(X) * 2)


# ---- attributes ----


def test_attributes_are_read_only(plain):
    executable, _ = cx.compile_program(plain)
    for name in ("engine", "engine_reason", "thunks", "program", "statistics", "origin"):
        with pytest.raises(AttributeError):
            setattr(executable, name, None)


# ---- results in place ----


@pytest.mark.parametrize("engine", ["direct", "pjrt"])
def test_large_results_are_aligned(engine):
    shape = jax.ShapeDtypeStruct((700, 800), jnp.float32)
    program = cx.lower(lambda x: (x + 1, x.T * 2), [shape])
    executable, _ = cx.compile_program(program, engine=engine)
    x = np.random.default_rng(0).normal(size=(700, 800)).astype(np.float32)
    results = executable.run([x])
    for result, expected in zip(results, (x + 1, x.T * 2), strict=True):
        assert result.ctypes.data % 64 == 0
        assert result.flags.c_contiguous and result.flags.writeable
        np.testing.assert_array_equal(result, expected)
    first = results[0].copy()
    executable.run([2 * x])
    np.testing.assert_array_equal(results[0], first)  # its memory is its own


# ---- threads of one call ----


@pytest.fixture
def thread_count():
    yield cx.set_thread_count
    cx.set_thread_count(0)


@pytest.mark.parametrize("count", [1, 2, 5, 0])
def test_thread_count(thread_count, count):
    """However many, the results are the same."""
    shape = jax.ShapeDtypeStruct((1000, 1000), jnp.float32)
    program = cx.lower(lambda x: jnp.sin(x) * jnp.cos(x), [shape])
    executable, _ = cx.compile_program(program)
    x = np.random.default_rng(0).normal(size=(1000, 1000)).astype(np.float32)
    thread_count(1)
    (expected,) = executable.run([x])
    thread_count(count)
    np.testing.assert_array_equal(executable.run([x])[0], expected)


@pytest.mark.parametrize(
    ("count", "error"),
    [(-1, cx.ArgumentError), (2**31, cx.ArgumentError), (1.0, cx.ArgumentTypeError),
     (True, cx.ArgumentTypeError), (None, cx.ArgumentTypeError), ("2", cx.ArgumentTypeError)],
)  # fmt: skip
def test_wrong_thread_counts(count, error):
    with pytest.raises(error, match=re.escape(repr(count))):
        cx.set_thread_count(count)


@pytest.mark.parametrize("text", ["", "0", "1", "12"])
def test_thread_count_of_the_environment(monkeypatch, text):
    counts = []
    monkeypatch.setattr(_runtime, "set_thread_count", counts.append)
    monkeypatch.setenv("CYXLA_THREADS", text)
    engines.read_thread_count()
    assert counts == ([int(text)] if text else [])


@pytest.mark.parametrize("text", ["two", "-1", "1.5", " 1", "²", str(2**31)])
def test_wrong_thread_count_of_the_environment(monkeypatch, text):
    monkeypatch.setenv("CYXLA_THREADS", text)
    with pytest.raises(cx.ArgumentError, match=f"CYXLA_THREADS must be .* not '{text}'"):
        engines.read_thread_count()


def test_the_environment_is_read_at_import(run_python):
    code = """
try:
    import cyxla
except ValueError as error:
    print(type(error).__name__, error)
"""
    assert run_python(code, env={"CYXLA_THREADS": "3"}) == ""
    assert run_python(code, env={"CYXLA_THREADS": "x"}).startswith("ArgumentError the environment")
