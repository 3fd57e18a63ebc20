"""Custom calls: handlers of the typed FFI in tests/ffi_library, and how they reach the plugin.

The library is compiled here, with the headers that jaxlib ships; its handlers are registered with
JAX by the fixture `ffi_library`, so that both call the same functions.  What depends on who comes
first, and what a plugin forgets only with its process, runs in processes of its own.
"""

import ctypes
import gc
import importlib.util
import os
import pickle
import re
import shutil
import subprocess
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differential import DTYPES
from jax.experimental import io_callback

import cyxla as cx
from cyxla import __main__ as command
from cyxla import custom_calls, platforms

SOURCE = Path(__file__).resolve().parents[1] / "ffi_library" / "ffi_library.cc"
STAGES = ("instantiate", "prepare", "initialize", "execute")
COUNTS = ("made", "freed", "prepared", "initialized")
HANDLERS = (
    "dump_attributes",
    "decode_attributes",
    "fail",
    "divide",
    "echo",
    "thread_id",
    "call_back",
)
#: The numbers of XLA's element types.
XLA_NUMBERS = {
    "b1": 1, "i8": 2, "i16": 3, "i32": 4, "i64": 5, "u8": 6, "u16": 7, "u32": 8, "u64": 9,
    "f16": 10, "f32": 11, "f64": 12, "c64": 15, "bf16": 16, "c128": 18,
}  # fmt: skip

both_engines = pytest.mark.usefixtures("engine")

# A process of its own gets the library's path as its first argument, and starts with this.
PRELUDE = """
import ctypes, os, sys
import numpy as np

library = ctypes.CDLL(sys.argv[1])

def address(function):
    return ctypes.cast(function, ctypes.c_void_p).value

def function_result(name, type):
    function = getattr(library, name)
    function.restype = type
    return function()

def counts():
    return [function_result("counters_" + each, ctypes.c_int64) for each in ("made", "freed")]

def counter_type():
    from jax.ffi import pycapsule
    return {each: pycapsule(function_result("counter_" + each, ctypes.c_void_p))
            for each in ("type_id", "type_info")}

def counter_stages():
    from jax.ffi import pycapsule
    return {each: pycapsule(getattr(library, "counter_" + each))
            for each in ("instantiate", "execute")}

def counting(name, start=10):
    import jax
    shape = jax.ShapeDtypeStruct((), np.int32)
    return lambda x: jax.ffi.ffi_call(name, jax.ShapeDtypeStruct((), np.int64))(
        x.astype(np.int64), start=np.int64(start))

def copying(name):
    import jax
    return lambda x: jax.ffi.ffi_call(name, x)(x, code=np.int32(3), message="no")

def attempt(action):
    try:
        return action()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""


@pytest.fixture(scope="session")
def library_path(tmp_path_factory):
    compiler = os.environ.get("CXX", "g++").split()
    assert shutil.which(compiler[0]), f"there is no C++ compiler {compiler[0]}"
    target = tmp_path_factory.mktemp("ffi_library") / "libffi_library.so"
    flags = ["-std=c++17", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    include = ["-isystem", jax.ffi.include_dir()]
    subprocess.run([*compiler, *flags, *include, str(SOURCE), "-o", str(target)], check=True)
    return target


@pytest.fixture(scope="session")
def ffi_library(library_path):
    """The library, with its handlers registered with JAX, by their names."""
    library = ctypes.CDLL(str(library_path))
    for each in COUNTS:
        getattr(library, f"counters_{each}").restype = ctypes.c_int64
    for name in ("counter_type_id", "counter_type_info", "other_type_id"):
        getattr(library, name).restype = ctypes.c_void_p
    for name in HANDLERS:
        jax.ffi.register_ffi_target(name, capsule(library, name))
    types = {each: address_capsule(getattr(library, f"counter_{each}")()) for each in
             ("type_id", "type_info")}  # fmt: skip
    jax.ffi.register_ffi_type("counter", types)
    cx.register_ffi_type("counter", types)
    jax.ffi.register_ffi_target("counter", stages_of(library, "counter", STAGES))
    return library


@pytest.fixture
def in_process(library_path, run_python):
    """Runs Python code with the library in a new process, and returns the lines that it printed."""

    def run(code, *arguments, **options):
        return run_python(PRELUDE + code, library_path, *arguments, **options).splitlines()

    return run


def capsule(library, name):
    return jax.ffi.pycapsule(getattr(library, name))


def address_capsule(address):
    return jax.ffi.pycapsule(address)


def stages_of(library, name, stages):
    return {stage: capsule(library, f"{name}_{stage}") for stage in stages}


def address(library, name):
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value


def counts(library):
    return [getattr(library, f"counters_{each}")() for each in COUNTS]


def states(library):
    """How many there are now. jaxlib's compiler makes some of its own, and frees them.

    What a traceback holds of an earlier test is collected first, at whatever time that would be."""
    gc.collect()
    made, freed, *_ = counts(library)
    return made - freed


@pytest.fixture(autouse=True)
def engine_of_plugin(request, monkeypatch):
    """Where a test does not ask for both engines, it is about the plugin."""
    if "engine" not in request.fixturenames:
        monkeypatch.setenv("CYXLA_ENGINE", "pjrt")


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def compiled(function, shapes, *targets):
    program = cx.lower(function, shapes, custom_calls=targets)
    return cx.compile_program(program)[0]


def check_equal(function, arguments, *targets):
    """Runs a function by both, and returns cyxla's results."""
    results = compiled(function, arguments, *targets).run(arguments)
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    for result, other in zip(results, expected, strict=True):
        assert result.dtype == other.dtype
        np.testing.assert_array_equal(result, other)
    return results


# ---- attributes ----


class Nested(dict):
    """JAX takes dictionaries inside of dictionaries if they are hashable."""

    def __hash__(self):
        return hash(tuple(self.items()))


ATTRIBUTES = {
    "i32": np.int32(-7),
    "i64": np.int64(2**40 + 1),
    "f32": np.float32(0.1),
    "f64": np.float64(1e-300),
    "boolean": True,
    "text": 'two words, "quoted" \\ and a line\nmore, ä',
    "i32s": np.array([1, -2, 3], np.int32),
    "i64s": np.array([2**40, -1], np.int64),
    "f32s": np.array([0.1, np.inf, -0.0], np.float32),
    "f64s": np.array([1e300, 5e-324], np.float64),
    "nested": {"inner": Nested(value=np.float64(2.5)), "other": "text"},
    "empty": {},
}

MORE_ATTRIBUTES = {
    "none": {},
    "u8": {"value": np.uint8(200)},
    "i8": {"value": np.int8(-100)},
    "i16": {"value": np.int16(-30000)},
    "u16": {"value": np.uint16(60000)},
    "u32": {"value": np.uint32(2**32 - 1)},
    "u64": {"value": np.uint64(2**63 - 1)},
    "false": {"value": False},
    "nan": {"value": np.float32(np.nan)},
    "minus_infinity": {"value": np.float64(-np.inf)},
    "minus_zero": {"value": np.float32(-0.0)},
    "empty_text": {"value": ""},
    "empty_array": {"value": np.array([], np.float64)},
    "one_element": {"value": np.array([5], np.int64)},
    "equal_elements": {"value": np.array([5, 5, 5], np.int32)},
    "long_array": {"value": np.arange(100, dtype=np.int64)},
    "python_numbers": {"integer": 3, "real": 2.5, "truth": True},
    "deep": {"a": {"b": Nested(c=Nested(d=np.int32(1), e=Nested()))}},
    "order": {"z": np.int32(1), "a": np.int32(2), "M": np.int32(3), "_": np.int32(4)},
}


def dump(attributes):
    call = jax.ffi.ffi_call("dump_attributes", jax.ShapeDtypeStruct((4096,), np.uint8))
    return lambda: call(**attributes)


@both_engines
def test_each_type_of_attribute_is_decoded(ffi_library):
    def function():
        call = jax.ffi.ffi_call("decode_attributes", jax.ShapeDtypeStruct((19,), np.float64))
        return call(**ATTRIBUTES)

    (result,) = check_equal(function, [], "decode_attributes")
    numbers = [-7, 2**40 + 1, np.float32(0.1), 1e-300, 1, len(ATTRIBUTES["text"].encode())]
    arrays = [*ATTRIBUTES["i32s"], *ATTRIBUTES["i64s"], *ATTRIBUTES["f32s"], *ATTRIBUTES["f64s"]]
    np.testing.assert_array_equal(result, np.array([*numbers, *arrays, 2.5, 2, 0], np.float64))


@pytest.mark.parametrize("name", ["all", *MORE_ATTRIBUTES])
@both_engines
def test_attributes_reach_a_handler_as_in_jax(ffi_library, name):
    attributes = ATTRIBUTES if name == "all" else MORE_ATTRIBUTES[name]
    (result,) = check_equal(dump(attributes), [], "dump_attributes")
    text = result.tobytes().rstrip(b"\0").decode()
    assert text.startswith("{") and text.endswith("}")
    assert all(f"{key}=" in text for key in attributes)


@both_engines
def test_a_missing_attribute_is_an_error_of_the_handler(ffi_library):
    def function():
        return jax.ffi.ffi_call("decode_attributes", jax.ShapeDtypeStruct((19,), np.float64))(x=1)

    executable = compiled(function, [], "decode_attributes")
    with pytest.raises(cx.StatusError, match="(?i)attributes") as caught:
        executable.run([])
    assert caught.value.status == "INVALID_ARGUMENT"


# ---- errors ----


def failing(code, message):
    return lambda x: jax.ffi.ffi_call("fail", x)(x, code=np.int32(code), message=message) * 2


@pytest.mark.parametrize("code", range(1, 17))
@both_engines
def test_an_error_reaches_the_caller(ffi_library, code):
    executable = compiled(failing(code, f"number {code}, ä"), [np.ones(2, np.float32)], "fail")
    for _ in range(3):
        with pytest.raises(cx.StatusError, match=f"number {code}, ä") as caught:
            executable.run([[-1, 2]])
        assert caught.value.code == code
        np.testing.assert_array_equal(executable.run([[1, 2]])[0], [2, 4])


@both_engines
def test_a_long_message_reaches_the_caller(ffi_library):
    executable = compiled(failing(13, "long " * 400), [np.ones(2, np.float32)], "fail")
    with pytest.raises(cx.StatusError) as caught:
        executable.run([[-1, 2]])
    assert str(caught.value).count("long") == 400


@both_engines
def test_errors_in_many_threads(ffi_library):
    """Each thread gets its own error, and the others' calls go on."""
    functions = [compiled(failing(3 + i % 3, f"of {i}"), [np.ones(2, np.float32)], "fail")
                 for i in range(4)]  # fmt: skip

    def call(number):
        executable = functions[number % 4]
        if number % 3:
            return executable.run([[number, 0]])[0][0] == 2 * number
        with pytest.raises(cx.StatusError, match=f"of {number % 4}"):
            executable.run([[-1, 0]])
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(400)))


@both_engines
def test_an_error_of_a_bound_call(ffi_library, downstream):
    """As of `execute`: it can be called again."""
    executable = compiled(failing(3, "of a bound call"), [np.ones(2, np.float32)], "fail")
    x, result = np.ones(2, np.float32), np.zeros(2, np.float32)
    inputs = [(x.ctypes.data, cx.ElementType.float32.number, 2)]
    bound = downstream.Bound(downstream.Call(executable, inputs, [result.ctypes.data]))
    assert bound.repeat(10) == 0
    failures, _ = cx.error_info()
    x[0] = -1
    assert bound.repeat(3) == 3
    assert cx.error_info()[0] == failures + 3
    assert "of a bound call" in cx.error_info()[1]
    x[0] = 5
    assert bound.repeat() == 0
    np.testing.assert_array_equal(result, [10, 2])


# ---- operands and results ----


@both_engines
def test_several_results(ffi_library):
    def function(a, b):
        numbers = jax.ShapeDtypeStruct((4,), np.int32)
        return jax.ffi.ffi_call("divide", [numbers, numbers, jax.ShapeDtypeStruct((), np.int64)])(
            a, b
        )

    a, b = np.array([7, -7, 9, 1], np.int32), np.array([2, 2, -3, 5], np.int32)
    quotients, remainders, total = check_equal(function, [a, b], "divide")
    assert quotients.tolist() == [3, -3, -3, 0]
    assert remainders.tolist() == [1, -1, 0, 1]
    assert total == -3


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 3), (0,), (2, 3, 5)])
@pytest.mark.parametrize("type_name", DTYPES)
@both_engines
def test_a_handler_sees_types_and_shapes(ffi_library, type_name, shape):
    dtype = DTYPES[type_name]

    def function(x):
        rank = jax.ShapeDtypeStruct((2 + len(shape),), np.int64)
        return jax.ffi.ffi_call("echo", [x, rank])(x)

    values = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2 * (1 - 2j)
    x = (values if dtype.kind == "c" else values.real).astype(dtype)
    _, type_ = check_equal(function, [x], "echo")
    assert type_.tolist() == [XLA_NUMBERS[type_name], len(shape), *shape]


@both_engines
def test_a_wrong_type_is_refused_by_the_handler_as_in_jax(ffi_library):
    def function(x):
        return jax.ffi.ffi_call("fail", x)(x, code=np.int32(3), message="")

    executable = compiled(function, [np.ones(3)], "fail")
    with pytest.raises(cx.StatusError, match="F32.*F64") as caught:
        executable.run([np.ones(3)])
    assert caught.value.status == "INVALID_ARGUMENT"
    with pytest.raises(Exception, match="F32.*F64"):
        jax.jit(function)(np.ones(3)).block_until_ready()


@both_engines
def test_a_wrong_number_of_results_is_refused_by_the_handler(ffi_library):
    def function(x):
        return jax.ffi.ffi_call("fail", [x, x])(x, code=np.int32(3), message="")

    executable = compiled(function, [np.ones(3, np.float32)], "fail")
    with pytest.raises(cx.StatusError, match="results: expected 1 but got 2"):
        executable.run([np.ones(3)])


# ---- threads ----


def call_thread_id():
    return jax.ffi.ffi_call(
        "thread_id", jax.ShapeDtypeStruct((), np.uint64), has_side_effect=True
    )()


@both_engines
def test_a_handler_runs_in_the_thread_of_the_caller(ffi_library):
    executable = compiled(call_thread_id, [], "thread_id")

    def call(_):
        return {int(executable.run([])[0]) for _ in range(20)} == {threading.get_ident()}

    assert call(None)
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(20)))


@both_engines
def test_a_handler_may_run_another_executable(ffi_library):
    inner = compiled(failing(5, "from inside"), [np.ones(2, np.float32)], "fail")
    caught = []

    @ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    def call(x):
        try:
            return float(inner.run([[x, 0]])[0][0])
        except cx.StatusError as error:
            caught.append(error.status)
            return -1.0

    def outer(x):
        result = jax.ffi.ffi_call("call_back", x)(x, address=np.int64(pointer)) + 1
        return jax.ffi.ffi_call("fail", x.astype(np.float32))(
            result.astype(np.float32), code=np.int32(9), message="from outside"
        )

    pointer = ctypes.cast(call, ctypes.c_void_p).value
    executable = compiled(outer, [np.float64(0)], "call_back", "fail")
    assert executable.run([3.0]) == [7]
    assert executable.run([-3.0]) == [0]
    assert caught == ["NOT_FOUND"]
    assert executable.run([4.0]) == [9]


@both_engines
def test_a_stateful_handler_may_run_another_executable(ffi_library):
    """Both are called through cyxla's functions for state."""
    inner = compiled(counter_function(100), [np.int64(0)], "counter")
    pointer = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(
        lambda x: float(inner.run([int(x)])[0])
    )

    def outer(x):
        first = jax.ffi.ffi_call("counter", x, has_side_effect=True)(x, start=np.int64(0))
        called = jax.ffi.ffi_call("call_back", jax.ShapeDtypeStruct((), np.float64))(
            first.astype(np.float64), address=np.int64(ctypes.cast(pointer, ctypes.c_void_p).value)
        )
        second = jax.ffi.ffi_call("counter", x, has_side_effect=True)(
            called.astype(np.int64), start=np.int64(1000)
        )
        return first, called, second

    executable = compiled(outer, [np.int64(0)], "counter", "call_back")
    assert executable.run([5]) == [5, 105, 1105]
    assert executable.run([5]) == [6, 107, 1108]


# ---- state ----


def counter_function(*starts):
    def function(x):
        call = jax.ffi.ffi_call("counter", x, has_side_effect=True)
        return [call(x, start=np.int64(start)) for start in starts]

    return function


@both_engines
def test_state_is_made_once_for_each_call_site_and_freed_once(ffi_library):
    before = states(ffi_library)
    executable = compiled(counter_function(0, 100, 0), [np.int64(0)], "counter")
    assert states(ffi_library) == before + 3
    made, *_ = counts(ffi_library)
    for i in range(5):
        assert executable.run([10]) == [10 + i, 110 + i, 10 + i]
    assert states(ffi_library) == before + 3
    executable.close()
    assert states(ffi_library) == before
    assert counts(ffi_library)[0] == made


@both_engines
def test_state_is_the_executables_own(ffi_library):
    program = cx.lower(counter_function(0), [np.int64(0)], custom_calls=["counter"])
    first, second = (cx.compile_program(program)[0] for _ in range(2))
    assert [first.run([0]), first.run([0]), second.run([0])] == [[0], [1], [0]]
    first.close()
    assert second.run([0]) == [1]


def test_stages_are_called_as_in_jax(ffi_library):
    """XLA's CPU runtime passes over prepare and initialize."""
    function = counter_function(7)
    before = counts(ffi_library)
    executable = compiled(function, [np.int64(0)], "counter")
    cyxlas = [executable.run([1])[0] for _ in range(3)]
    executable.close()
    between = counts(ffi_library)
    jitted = jax.jit(function).lower(np.int64(0)).compile()
    jaxs = [int(jitted(np.int64(1))[0]) for _ in range(3)]
    del jitted
    jax.clear_caches()
    after = counts(ffi_library)
    assert cyxlas == jaxs == [8, 9, 10]
    assert np.subtract(between, before).tolist() == np.subtract(after, between).tolist()
    assert np.subtract(between, before).tolist()[:2] == [1, 1]


@both_engines
def test_a_serialized_executable_makes_its_own_state(ffi_library):
    program = cx.lower(counter_function(3, 4), [np.int64(0)], custom_calls=["counter"])
    executable, _ = cx.compile_program(program)
    executable.run([0])
    data = executable.serialize()
    executable.close()
    made, freed, *_ = counts(ffi_library)
    loaded, _ = cx.load_executable(program, data)
    assert counts(ffi_library)[:2] == [made + 2, freed]
    assert loaded.run([0]) == [3, 4]
    loaded.close()
    assert counts(ffi_library)[:2] == [made + 2, freed + 2]


@both_engines
def test_an_error_while_state_is_made_reaches_the_caller(ffi_library):
    program = cx.lower(counter_function(5, -1), [np.int64(0)], custom_calls=["counter"])
    made, freed, *_ = counts(ffi_library)
    with pytest.raises(cx.StatusError, match="counters start at 0 or later"):
        cx.compile_program(program)
    now = counts(ffi_library)
    assert now[0] - made == now[1] - freed  # whatever was made before it is freed


@both_engines
def test_threads_share_a_state(ffi_library):
    executable = compiled(counter_function(0, 10**6), [np.int64(0)], "counter")
    threads, rounds = 8, 200

    def call(_):
        return [tuple(map(int, executable.run([0]))) for _ in range(rounds)]

    with ThreadPoolExecutor(threads) as pool:
        results = [each for part in pool.map(call, range(threads)) for each in part]
    everything = list(range(threads * rounds))
    assert sorted(first for first, _ in results) == everything
    assert sorted(second - 10**6 for _, second in results) == everything


@both_engines
def test_closing_while_others_run(ffi_library):
    """The state lives as long as the last call that runs."""
    program = cx.lower(counter_function(0), [np.int64(0)], custom_calls=["counter"])
    before = states(ffi_library)
    for _ in range(10):
        executable, _ = cx.compile_program(program)
        started = threading.Barrier(5)

        def call(executable=executable, started=started):
            started.wait()
            with pytest.raises(cx.ArgumentError, match="closed"):
                while True:
                    executable.run([0])

        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        started.wait()
        executable.close()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    del executable
    assert states(ffi_library) == before


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@both_engines
def test_thousands_of_states_leave_nothing(ffi_library):
    program = cx.lower(counter_function(1, 2), [np.int64(0)], custom_calls=["counter"])
    data = cx.compile_program(program)[0].serialize()

    def cycle(times):
        for _ in range(times):
            executable, _ = cx.load_executable(program, data)
            executable.run([0])
            executable.close()

    cycle(300)
    made, freed, *_ = counts(ffi_library)
    before = resident_bytes()
    cycle(2000)
    assert counts(ffi_library)[:2] == [made + 4000, freed + 4000]
    assert resident_bytes() - before < 8 << 20


def test_a_state_of_another_type_is_an_error(ffi_library):
    cx.register_ffi_type("other", {"type_id": ffi_library.other_type_id()})
    handlers = {
        "instantiate": address(ffi_library, "counter_instantiate"),
        "execute": address(ffi_library, "other_execute"),
    }
    cx.register_ffi_target("other_state", handlers)
    text = module_text("other_state", "{start = 0 : i64}", "i64")
    executable, _ = cx.compile_program(cx.from_stablehlo(text))
    with pytest.raises(cx.StatusError, match="asks for a state of type .* has set one of type"):
        executable.run([0])


# ---- registration ----


def module_text(target, config='{code = 3 : i32, message = "no"}', type_="f32", api_version=4):
    shape = f"tensor<{type_}>" if type_ == "i64" else f"tensor<2x{type_}>"
    config = config if api_version == 4 else '""'
    return f"""
        func.func public @main(%x: {shape}) -> {shape} {{
          %0 = stablehlo.custom_call @{target}(%x)
            {{api_version = {api_version} : i32, backend_config = {config}}} : ({shape}) -> {shape}
          return %0 : {shape}
        }}"""


def run_module(target):
    executable, _ = cx.compile_program(cx.from_stablehlo(module_text(target)))
    return executable.run([[1, 2]])[0].tolist()


@pytest.mark.parametrize("form", ["capsule", "ctypes", "address", "stages", "stages_of_addresses"])
def test_forms_of_a_handler(ffi_library, form):
    handler = {
        "capsule": capsule(ffi_library, "fail"),
        "ctypes": ffi_library.fail,
        "address": address(ffi_library, "fail"),
        "stages": {"execute": ffi_library.fail},
        "stages_of_addresses": {"execute": address(ffi_library, "fail")},
    }[form]
    name = f"form_{form}"
    cx.register_ffi_target(name, handler, platform="cpu", api_version=1)
    assert run_module(name) == [1, 2]
    (target,) = (each for each in custom_calls.targets() if each.name == name)
    assert (target.platform, target.origin) == ("cpu", "cyxla")


def test_the_same_handler_again_is_nothing_and_another_is_an_error(ffi_library):
    cx.register_ffi_target("again", ffi_library.fail)
    count = len(custom_calls.targets())
    cx.register_ffi_target("again", address(ffi_library, "fail"))
    assert len(custom_calls.targets()) == count
    with pytest.raises(cx.StatusError, match="FFI target again.*already") as caught:
        cx.register_ffi_target("again", ffi_library.echo)
    assert caught.value.status == "ALREADY_EXISTS"
    with pytest.raises(cx.StatusError, match="already"):
        cx.register_ffi_target("again", {"execute": ffi_library.fail, "prepare": ffi_library.fail})
    assert run_module("again") == [1, 2]


def test_a_name_may_be_taken_on_several_platforms(ffi_library):
    cx.register_ffi_target("elsewhere", ffi_library.echo, platform="cuda")
    cx.register_ffi_target("elsewhere", ffi_library.fail)
    assert run_module("elsewhere") == [1, 2]
    plugin = platforms.loaded_plugin("cpu")
    states = {each.platform: each.state for each in custom_calls.targets(plugin)
              if each.name == "elsewhere"}  # fmt: skip
    assert states == {"cpu": "registered", "cuda": "not seen"}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("bad", 1, "cpu", 0), cx.ArgumentError, "bad.*api_version 0.*untyped"),
        (("bad", 1, "cpu", 2), cx.ArgumentError, "bad.*api_version 2"),
        (("bad", 0), cx.ArgumentError, "bad, execute: the address is NULL"),
        (("bad", "text"), cx.ArgumentTypeError, "bad, execute: .* not str"),
        (("bad", None), cx.ArgumentTypeError, "bad, execute: .* not NoneType"),
        (("bad", True), cx.ArgumentTypeError, "bad, execute: .* not bool"),
        (("bad", {}), cx.ArgumentError, "bad: its stages are .*there must be execute"),
        (("bad", {"prepare": 1}), cx.ArgumentError, "bad: its stages are .*there must be execute"),
        (("bad", {"execute": 1, "record": 1}), cx.ArgumentError, "bad: .*record"),
        (("bad", {"execute": 1, "prepare": None}), cx.ArgumentTypeError, "bad, prepare: "),
    ],
)
def test_what_is_no_handler_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        cx.register_ffi_target(*arguments)
    assert "bad" not in {each.name for each in custom_calls.targets()}


@pytest.mark.parametrize(
    ("registration", "error", "message"),
    [
        ({}, cx.ArgumentError, "FFI type bad: type_id is missing"),
        ({"type_id": 0}, cx.ArgumentError, "type_id: the address is NULL"),
        ({"type_id": "x"}, cx.ArgumentTypeError, "type_id: .* not str"),
        ({"type_id": 1, "type_info": "x"}, cx.ArgumentTypeError, "type_info: .* not str"),
    ],
)
def test_what_is_no_type_is_refused(registration, error, message):
    with pytest.raises(error, match=message):
        cx.register_ffi_type("bad", registration)


def test_a_type_has_one_deleter(ffi_library):
    type_id = ffi_library.counter_type_id()
    cx.register_ffi_type("counter", {"type_id": type_id, "type_info": counter_info(ffi_library)})
    with pytest.raises(cx.StatusError, match="another deleter"):
        cx.register_ffi_type("counter", {"type_id": type_id})


def counter_info(library):
    return library.counter_type_info()


def test_custom_calls_of_jax_need_no_permission_and_others_do(ffi_library):
    cx.lower(jnp.linalg.cholesky, [np.eye(3)])
    function = failing(3, "no")
    with pytest.raises(cx.UnsupportedError, match=r"fail; custom_calls=\[...\] allows them"):
        cx.lower(function, [np.ones(2, np.float32)])
    program = cx.lower(function, [np.ones(2, np.float32)], custom_calls=["fail"])
    assert program.custom_calls == ("fail",)


# ---- the order of things ----


def test_targets_reach_the_plugin_whenever_they_are_registered(in_process):
    """With JAX, before or after cyxla, the plugin and JAX's backend."""
    code = """
import jax
register = lambda name: jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(library.fail))
register("before_all")
import cyxla as cx
register("after_cyxla")
cx.initialize()
register("after_plugin")
jax.devices()
register("after_backend")
x = np.ones(2, np.float32)

def run(*names):
    for name in names:
        program = cx.lower(copying(name), [x], custom_calls=[name])
        result = cx.compile_program(program)[0].run([x])[0]
        assert result.tolist() == jax.jit(copying(name))(x).tolist() == [1, 1], name

run("before_all", "after_cyxla", "after_plugin", "after_backend")
register("after_compiling")
run("after_compiling")
cx.register_ffi_target("by_cyxla", library.fail)
program = cx.lower(copying("by_cyxla"), [x], custom_calls=["by_cyxla"])
register("by_cyxla")
run("by_cyxla")
print("fine")
"""
    assert in_process(code) == ["fine"]


def test_targets_are_found_that_jaxs_backend_has_already(in_process):
    code = """
import jax
register = lambda name: jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(library.fail))
register("before_backend")
jax.devices()
register("after_backend")
import cyxla as cx
x = np.ones(2, np.float32)
for name in ("before_backend", "after_backend"):
    program = cx.lower(copying(name), [x], custom_calls=[name])
    print(cx.compile_program(program)[0].run([x])[0].tolist())
"""
    assert in_process(code) == ["[1.0, 1.0]"] * 2


def test_a_program_without_jax(in_process, tmp_path, ffi_library):
    """cyxla.register_ffi_target is all that a process needs that doesn't import JAX."""
    path = tmp_path / "program"
    program = cx.lower(failing(3, "no"), [np.ones(2, np.float32)], custom_calls=["fail"])
    path.write_bytes(pickle.dumps(program))
    code = """
import pickle
import cyxla as cx
program = pickle.load(open(sys.argv[2], "rb"))
print(attempt(lambda: cx.compile_program(program)))
cx.register_ffi_target("fail", library.fail)
print(cx.compile_program(program)[0].run([[1, 2]])[0].tolist(), "jax" in sys.modules)
"""
    missing, result = in_process(code, path)
    assert "its custom call fail is not registered" in missing
    assert result == "[2.0, 4.0] False"


STATE = """
import jax
{before}
import cyxla as cx
{after}
jax.config.update("jax_enable_x64", True)
x = np.int32(5)
function = counting("counter")
program = cx.lower(function, [x], custom_calls=["counter"])
def use():
    executable, _ = cx.compile_program(program)
    result = [executable.run([x])[0].item() for _ in range(2)]
    executable.close()
    return result, counts()
print(attempt(use))
{finally_}
print(int(jax.jit(function)(x)))
print(attempt(use))
"""

REGISTER = (
    'jax.ffi.register_ffi_type("counter", counter_type()); '
    'jax.ffi.register_ffi_target("counter", counter_stages())'
)
REGISTER_HERE = REGISTER.replace("jax.ffi", "cx")


#: JAX itself fails to start its backend where both a target and its type wait for that, unless the
#: type has a number already, as cyxla gives to it.
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (REGISTER, ""),
        (REGISTER, "jax.devices()"),
        ("", f"cx.initialize(); {REGISTER}"),
        ("jax.devices()", REGISTER),
        (f"jax.devices(); {REGISTER}", REGISTER_HERE),
    ],
    ids=[
        "before cyxla",
        "before cyxla, then JAX's backend",
        "after the plugin",
        "after JAX's backend",
        "after JAX's backend, before cyxla",
    ],
)
def test_states_and_their_types_reach_the_plugin(in_process, before, after):
    """JAX tells types and stages until its backend starts; cyxla hears of later ones. What was
    registered between the two is registered again."""
    first, jaxs, second = in_process(STATE.format(before=before, after=after, finally_=""))
    assert first == "([15, 16], [1, 1])"
    assert jaxs == "15"
    assert second == "([15, 16], [3, 2])"


def test_an_unknown_type_of_state_is_named_with_the_remedy(in_process):
    """JAX's backend has started, and does not tell the type any more."""
    first, jaxs, second = in_process(
        STATE.format(
            before=f"jax.devices(); {REGISTER}",
            after='cx.register_ffi_target("counter", counter_stages())',
            finally_='cx.register_ffi_type("counter", counter_type())',
        )
    )
    assert "cyxla.register_ffi_type" in first and first.startswith("StatusError")
    assert jaxs == "15"
    assert second.startswith("([15, 16]")


# ---- what is refused ----


@both_engines
def test_an_unknown_target_is_named_with_similar_ones(ffi_library):
    cx.register_ffi_target("my_favourite_target", ffi_library.fail)
    with pytest.raises(cx.StatusError, match="my_favorite_target is not registered; similar ones "
                       "are my_favourite_target"):  # fmt: skip
        run_module("my_favorite_target")
    with pytest.raises(cx.StatusError, match="custom call qqqq is not registered \\(") as caught:
        run_module("qqqq")
    assert caught.value.status == "NOT_FOUND"


def test_a_target_of_another_platform_is_named(ffi_library):
    cx.register_ffi_target("only_cuda", ffi_library.fail, platform="cuda")
    with pytest.raises(cx.StatusError, match="only_cuda is registered for cuda, not for cpu"):
        run_module("only_cuda")


@pytest.mark.parametrize(
    "target",
    [
        "xla_ffi_python_cpu_callback",
        "xla_ffi_partitioned_python_cpu_callback",
        "xla_buffer_python_cpu_callback",
        "xla_python_cpu_callback",
    ],
)
def test_callbacks_into_python_are_refused_when_they_are_compiled(target):
    program = cx.from_stablehlo(module_text(target))
    with pytest.raises(cx.UnsupportedError, match=f"calls back into Python.*{target}"):
        cx.compile_program(program)
    with pytest.raises(cx.UnsupportedError, match=f"calls back into Python.*{target}"):
        cx.load_executable(program, b"")


CALLBACKS = {
    "pure_callback": lambda x: jax.pure_callback(np.sin, x, x),
    "io_callback": lambda x: io_callback(np.sin, x, x),
    "debug_callback": lambda x: (jax.debug.callback(print, x), x)[1],
    "debug_print": lambda x: (jax.debug.print("{}", x), x)[1],
    "in a loop": lambda x: jax.lax.fori_loop(0, 3, lambda _, y: jax.pure_callback(np.sin, y, y), x),
}


@pytest.mark.parametrize("name", CALLBACKS)
def test_callbacks_into_python_are_refused_by_lower(name):
    with pytest.raises(
        cx.UnsupportedError, match=r"back into Python, by \w+ at .*test_custom_call"
    ):
        cx.lower(CALLBACKS[name], [np.ones(2, np.float32)])


@pytest.mark.parametrize("api_version", [1, 2, 3])
def test_untyped_custom_calls_are_named(api_version):
    name = f"untyped_{api_version}"
    with pytest.raises(cx.UnsupportedError, match=f"untyped custom call of {name} .*{api_version}"):
        cx.from_stablehlo(module_text(name, api_version=api_version))


def test_a_target_that_jax_has_as_an_untyped_one_is_named(ffi_library):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jax.ffi.register_ffi_target("untyped", capsule(ffi_library, "fail"), api_version=0)
    with pytest.raises(cx.CyxlaError, match="untyped is refused: JAX has it as an untyped one"):
        cx.compile_program(cx.from_stablehlo(module_text("untyped")))


def test_a_target_of_jax_that_fails_is_named_only_where_it_is_called(ffi_library):
    """Libraries may register what cyxla can't take, as long as nobody calls it."""
    jax.ffi.register_ffi_target("fine", capsule(ffi_library, "fail"))
    assert run_module("fine") == [1, 2]
    with pytest.raises(cx.CyxlaError, match="conflicting"):
        cx.register_ffi_target("conflicting", ffi_library.fail)
        cx.register_ffi_target("conflicting", ffi_library.echo)


def test_a_target_of_jax_that_is_refused_is_named(monkeypatch):
    monkeypatch.setattr(custom_calls, "_jax_targets", lambda: [("null_target", 0, "cpu", True)])
    custom_calls.collect()
    with pytest.raises(cx.StatusError, match="custom call null_target is refused: .* is NULL"):
        run_module("null_target")


def test_without_lapack_its_calls_are_refused(monkeypatch):
    program = cx.lower(jnp.linalg.cholesky, [np.eye(3)])
    monkeypatch.delattr("jaxlib.lapack._lapack")
    with pytest.raises(cx.CyxlaError, match="needs jaxlib's LAPACK functions, which can't be had"):
        cx.compile_program(program)


# ---- the list ----


def test_the_command_lists_targets(ffi_library, capsys):
    assert command.main(["targets"]) == 0
    lines = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()}
    version = f"0.{ffi_minor()}"
    assert lines["lapack_spotrf_ffi"] == ["cpu", "jaxlib", "FFI", version, "registered"]
    assert lines["fail"] == ["cpu", "jax", "FFI", version, "registered"]
    assert lines["counter"] == ["cpu", "jax", "FFI", version, "bridged"]
    cx.register_ffi_target("listed", ffi_library.fail, platform="cuda")
    command.main(["targets"])
    assert f"cuda     cyxla    FFI {version}   not seen" in capsys.readouterr().out


def ffi_minor():
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    (line,) = (
        each for each in header.read_text().splitlines() if "define XLA_FFI_API_MINOR" in each
    )
    return int(line.split()[-1])


def test_the_command_in_a_process_of_its_own(run_python):
    code = "import sys; from cyxla.__main__ import main; sys.exit(main(['targets']))"
    lines = run_python(code).splitlines()
    assert sum("jaxlib" in line for line in lines) >= 61
    assert all(line.split()[-1] == "registered" for line in lines)


# ---- another plugin ----

OTHER_PLUGIN = """
import jax
import cyxla as cx
from cyxla import custom_calls, platforms
(plugin,) = (each for each in cx.find_plugins() if each.name == "xla_plugins.xla_cpu_pjrt")
cx.initialize(plugin.path, platform="cpu")
jax.config.update("jax_enable_x64", True)
jax.ffi.register_ffi_type("counter", counter_type())
jax.ffi.register_ffi_target("counter", counter_stages())
for name in ("fail", "echo", "divide", "thread_id", "dump_attributes", "decode_attributes"):
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)))

def compiled(function, shapes, *names):
    return cx.compile_program(cx.lower(function, shapes, custom_calls=names))[0]

x = np.ones(2, np.float32)
executable = compiled(copying("fail"), [x], "fail")
print(executable.run([[1, 2]])[0].tolist())
print(attempt(lambda: executable.run([[-1, 2]])))
print(executable.run([[1, 2]])[0].tolist())

def dump(**attributes):
    call = jax.ffi.ffi_call("dump_attributes", jax.ShapeDtypeStruct((2048,), np.uint8))
    return lambda: call(**attributes)

function = dump(a=np.int32(1), b="text", c=np.arange(3.0), d={"e": "", "f": True}, g=np.int64(5))
print((compiled(function, [], "dump_attributes").run([])[0] == jax.jit(function)()).all())
function = lambda a, b: jax.ffi.ffi_call("divide", [a, a, jax.ShapeDtypeStruct((), np.int64)])(a, b)
a = np.array([7, 9], np.int32)
print([each.tolist() for each in compiled(function, [a, a], "divide").run([a, a // 3])])
import threading
function = lambda: jax.ffi.ffi_call("thread_id", jax.ShapeDtypeStruct((), np.uint64))()
print(compiled(function, [], "thread_id").run([])[0] == threading.get_ident())
print(attempt(lambda: compiled(counting("counter"), [np.int32(0)], "counter")))
print({each.name: each.state for each in custom_calls.targets(platforms.loaded_plugin("cpu"))
       if each.name in ("fail", "counter")})
"""


def test_an_older_plugin_gets_bridged_handlers(in_process):
    """It can't keep handlers' states, and says so."""
    first, failure, again, attributes, results, thread, state, states = in_process(OTHER_PLUGIN)
    assert first == again == "[1.0, 2.0]"
    assert failure.startswith("StatusError") and "no" in failure
    assert attributes == thread == "True"
    assert results == "[[3, 3], [1, 0], 6]"
    assert "FFI target counter keeps state" in state and f"0.{ffi_minor()}" in state
    assert states == "{'counter': 'failed', 'fail': 'bridged'}"


# ---- a package of PyPI with handlers of its own ----

KLUJAX = pytest.mark.skipif(
    importlib.util.find_spec("klujax") is None, reason="klujax is not installed"
)


@KLUJAX
@pytest.mark.parametrize("type_", [np.float64, np.complex128])
@pytest.mark.parametrize("batched", [False, True])
@both_engines
def test_sparse_solver_of_klujax_equals_jax(type_, batched):
    import klujax

    generator = np.random.default_rng(3)
    dense = np.diag(np.arange(2.0, 12)) + np.diag(np.ones(9), 1) + np.diag(-np.ones(7), -3)
    rows, columns = (each.astype(np.int32) for each in np.nonzero(dense))
    values = dense[rows, columns].astype(type_)
    right = generator.normal(size=(10, 2)).astype(type_)
    if batched:
        values = np.stack([values, values * 2])
        right = np.stack([right, right])

    def solve(values, right):
        return klujax.solve(rows, columns, values, right)

    def multiply(values, right):
        return klujax.dot(rows, columns, values, right)

    for function in (solve, multiply):
        allowed = klujax_targets(function, values, right)
        check_equal(function, [values, right], *allowed)
    (solution,) = compiled(solve, [values, right], *klujax_targets(solve, values, right)).run(
        [values, right]
    )
    first = solution[0] if batched else solution
    np.testing.assert_allclose(dense @ first, right[0] if batched else right, rtol=1e-12)


def klujax_targets(function, *arguments):
    """All custom calls of a function that JAX has no promise for."""
    return sorted(
        set(re.findall(r"custom_call @(\w+)", jax.jit(function).lower(*arguments).as_text()))
    )
