"""Memory: none is lost, and inputs belong to the caller again as soon as a run is over."""

import gc
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cyxla as cx

pytestmark = pytest.mark.usefixtures("engine")

F32 = cx.ElementType.float32.number
F64 = cx.ElementType.float64.number
MIB = 1 << 20
VECTOR = jax.ShapeDtypeStruct((16,), jnp.float32)


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(action, warm_up=None):
    """By how many bytes the process grows; the allocator's pools fill in the warm-up."""
    (warm_up or action)()
    before = resident()
    action()
    return resident() - before


def aligned(size, dtype=np.float32):
    """Zeros at a multiple of 64 bytes."""
    memory = np.zeros(size * np.dtype(dtype).itemsize + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size * np.dtype(dtype).itemsize].view(dtype)


@pytest.fixture(scope="module")
def doubled(engine):
    return cx.compile_program(cx.lower(lambda x: x * 2, [VECTOR]))[0]


def call_of(downstream, executable, x, result, zero_copy):
    number = executable.input_types[0].element_type.number
    inputs = [(x.ctypes.data, number, x.size)]
    return downstream.Call(executable, inputs, [result.ctypes.data], zero_copy)


# ---- growth ----


@pytest.mark.parametrize("zero_copy", [False, True])
def test_a_million_calls(downstream, doubled, zero_copy):
    x, result = aligned(16), aligned(16)
    call = call_of(downstream, doubled, x, result, zero_copy)
    # Less than a byte for each call.
    assert growth(lambda: call.repeat(1_000_000), lambda: call.repeat(10_000)) < MIB // 2
    assert cx.error_info()[1] == "" or call.execute() == 0


def test_many_failing_calls(downstream, doubled):
    x, result = aligned(16), aligned(16)
    inputs = [(x.ctypes.data, F64, 16)]
    call = downstream.Call(doubled, inputs, [result.ctypes.data])
    assert growth(lambda: call.repeat(100_000), lambda: call.repeat(1000)) < MIB // 4


def test_many_runs_from_python(doubled):
    def run():
        for _ in range(20_000):
            doubled.run([np.ones(16)])

    assert growth(run) < MIB // 4


def test_many_failing_runs_from_python(doubled):
    def run():
        for _ in range(20_000):
            with pytest.raises(cx.ArgumentError):
                doubled.run([np.ones(15)])

    assert growth(run) < MIB // 2


def test_large_results():
    """What a run returns is freed with its arrays."""
    shape = jax.ShapeDtypeStruct((MIB,), jnp.float32)
    executable, _ = cx.compile_program(cx.lower(lambda x: (x + 1, x * 2), [shape]))
    x = np.ones(MIB, np.float32)

    def run():
        for _ in range(50):
            executable.run([x])

    assert growth(run) < 64 * MIB  # 50 runs give 400 MiB; freed blocks may stay with the allocator


@pytest.mark.slow
def test_compile_and_close():
    """An executable that is not freed shows as 200 kB, and there are 100 of them."""

    def compile_and_close():
        for i in range(100):
            program = cx.lower(lambda x, i=i: jnp.sin(x) * i, [VECTOR])
            executable, _ = cx.compile_program(program)
            executable.run([np.ones(16)])
            if i % 2:
                executable.close()
        jax.clear_caches()

    per_program = growth(compile_and_close) / 100
    assert per_program < 20_000, per_program


def test_failing_compilations():
    program = cx.lower(lambda x: x + 1, [VECTOR])

    def compile_wrongly():
        for _ in range(100):
            with pytest.raises(cx.StatusError):
                cx.compile_program(program, options={"xla_no_such_option": True})

    assert growth(compile_wrongly) < MIB // 2


def test_serialize():
    program = cx.lower(lambda x: jnp.sin(x), [jax.ShapeDtypeStruct((1000,), jnp.float32)])
    executable, _ = cx.compile_program(program)

    def serialize():
        for _ in range(500):
            executable.serialize()

    assert growth(serialize) < MIB


# ---- inputs belong to the caller ----


@pytest.mark.parametrize("zero_copy", [False, True])
@pytest.mark.parametrize("size", [16, 300_000])
def test_inputs_may_be_overwritten_after_a_run(downstream, size, zero_copy):
    """Each run sees what the memory holds then, though its address stays the same."""
    shape = jax.ShapeDtypeStruct((size,), jnp.uint8)
    executable, _ = cx.compile_program(cx.lower(lambda x: x[::-1] ^ 1, [shape]))
    x, result = aligned(size, np.uint8), aligned(size, np.uint8)
    x[:] = np.arange(size) % 251
    start = x.copy()
    call = call_of(downstream, executable, x, result, zero_copy)
    for count in range(1, 20):
        assert call.repeat_and_spoil(1, size, 3) == 0
        np.testing.assert_array_equal(result, (start + (count - 1) * 3)[::-1].astype(np.uint8) ^ 1)
        np.testing.assert_array_equal(x, (start + count * 3).astype(np.uint8))
    assert call.repeat_and_spoil(200, size, 1) == 0
    np.testing.assert_array_equal(result, (x - 1)[::-1] ^ 1)


def test_run_sees_changed_arguments():
    """`run` reads large arrays in place."""
    size = 1 << 19
    shape = jax.ShapeDtypeStruct((size,), jnp.float32)
    executable, _ = cx.compile_program(cx.lower(lambda x: x + 1, [shape]))
    x = np.zeros(size, np.float32)
    results = []
    for i in range(5):
        x[:] = i
        results.append(executable.run([x])[0])
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result, np.full(size, i + 1))


@pytest.mark.parametrize("size", [4, 4000, 500_000])
def test_inputs_may_be_freed_after_a_run(downstream, size):
    """Large blocks go back to the system at once: reading them later would be a crash."""
    shape = jax.ShapeDtypeStruct((size,), np.float64)
    with jax.enable_x64(True):
        program = cx.lower(lambda x: x * 2, [shape])
    executable, _ = cx.compile_program(program)
    values, result = np.arange(size, dtype=np.float64), np.zeros(size)
    for count in (1, 2, 20):
        assert downstream.run_from_fresh_memory(executable, values, result, count) == 0
        np.testing.assert_array_equal(result, (values + count - 1) * 2)
    # Nor does closing it touch that memory.
    executable.close()


def test_an_array_may_go_and_another_come_to_its_place(downstream):
    """Of another size: what is kept for an address must not outlive its array's size."""
    small = cx.compile_program(cx.lower(lambda x: x + 1, [VECTOR]))[0]
    large = cx.compile_program(
        cx.lower(lambda x: x + 1, [jax.ShapeDtypeStruct((64,), jnp.float32)])
    )[0]
    x, result = aligned(64), aligned(64)
    for i in range(10):
        x[:] = i
        for executable, size in ((small, 16), (large, 64)):
            call = call_of(downstream, executable, x[:size], result, True)
            assert call.execute() == 0
            np.testing.assert_array_equal(result[:size], x[:size] + 1)


def test_one_array_for_several_inputs(downstream):
    executable, _ = cx.compile_program(cx.lower(lambda x, y: x * 10 + y, [VECTOR, VECTOR]))
    x, y, result = aligned(16), aligned(16), aligned(16)
    x[:], y[:] = 1, 2
    addresses = {"x": x.ctypes.data, "y": y.ctypes.data}
    for names, expected in (("xy", 12), ("yx", 21), ("xx", 11), ("yy", 22), ("xy", 12)):
        inputs = [(addresses[name], F32, 16) for name in names]
        for zero_copy in (True, False, True):
            call = downstream.Call(executable, inputs, [result.ctypes.data], zero_copy)
            assert call.execute() == 0
            np.testing.assert_array_equal(result, np.full(16, expected))


def test_inputs_are_not_written(downstream):
    """XLA could use an input's memory for a result: here it never may."""

    def in_place(x):
        counted = jax.lax.fori_loop(0, 3, lambda i, y: y.at[i].add(1), x)
        return x.at[0].set(7.0), jnp.sort(x), counted

    executable, _ = cx.compile_program(cx.lower(in_place, [VECTOR]))
    x = aligned(16)
    x[:] = np.arange(16)[::-1]
    before = x.copy()
    results = [aligned(16) for _ in range(3)]
    outputs = [each.ctypes.data for each in results]
    call = downstream.Call(executable, [(x.ctypes.data, F32, 16)], outputs, True)
    assert call.repeat(5) == 0
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(results[1], np.sort(before))
