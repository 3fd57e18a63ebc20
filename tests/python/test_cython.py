"""The Cython API, as the package in tests/downstream uses it."""

import concurrent.futures
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cyxla as cx

pytestmark = pytest.mark.usefixtures("engine")

F32 = cx.ElementType.float32.number
F64 = cx.ElementType.float64.number


def address(array):
    return array.ctypes.data


def inputs_of(executable, arrays):
    return [
        (address(array), array_type.element_type.number, array.size)
        for array, array_type in zip(arrays, executable.input_types, strict=True)
    ]


def results_of(executable):
    return [np.empty(each.shape, each.dtype) for each in executable.output_types]


@pytest.fixture(scope="module")
def two_results(engine):
    """x + y and x * y, of float32[5]."""
    shape = jax.ShapeDtypeStruct((5,), jnp.float32)
    return cx.compile_program(cx.lower(lambda x, y: (x + y, x * y), [shape, shape]))[0]


@pytest.fixture
def arguments():
    x = np.arange(5, dtype=np.float32)
    return [x, 10 * x + 1]


# ---- pure Python mode ----


def test_pure_mode_runs(downstream, two_results, arguments):
    results = results_of(two_results)
    downstream.repeat(two_results, arguments, results, 1000)
    x, y = arguments
    np.testing.assert_array_equal(results, [x + y, x * y])


def test_pure_mode_reports_errors(downstream, two_results, arguments):
    with pytest.raises(RuntimeError, match="3 of 3 runs failed: .*input 1 y"):
        downstream.repeat(two_results, [arguments[0], arguments[1][:3]], results_of(two_results), 3)


def test_old_module_is_refused():
    with pytest.raises(
        cx.VersionError, match=f"version {cx.ABI_VERSION + 1} .* compile the module"
    ):
        cx.check_abi(cx.ABI_VERSION + 1)
    cx.check_abi(cx.ABI_VERSION)


# ---- Input, ProgramSpec ----


def test_spec_tells_sizes(downstream, two_results):
    call = downstream.Call(two_results, [], [])
    assert call.output_bytes == list(two_results.output_bytes) == [20, 20]
    assert call.counts == (2, 2)


def test_element_types_have_numbers_of_pjrt(downstream):
    numbers = {each.name: each.number for each in cx.ElementType}
    assert numbers == downstream.ELEMENT_TYPES


def test_itemsize(downstream):
    numbers = [each.number for each in cx.ElementType]
    assert downstream.item_sizes(numbers) == [each.itemsize for each in cx.ElementType]
    assert downstream.item_sizes([0, -1, 16, 1000]) == [0, 0, 0, 0]


@pytest.mark.parametrize("zero_copy", [False, True])
@pytest.mark.parametrize("element_type", cx.ElementType, ids=str)
def test_all_element_types(downstream, element_type, zero_copy):
    dtype = element_type.dtype
    x = np.arange(6).reshape(2, 3).astype(dtype)
    with jax.enable_x64(True):
        program = cx.lower(lambda x: x.T, [jax.ShapeDtypeStruct((2, 3), dtype)])
    executable, _ = cx.compile_program(program)
    result = np.zeros((3, 2), dtype)
    call = downstream.Call(executable, inputs_of(executable, [x]), [address(result)], zero_copy)
    assert call.execute() == 0, cx.error_info()
    np.testing.assert_array_equal(result, x.T)


# ---- outputs ----


@pytest.mark.parametrize("zero_copy", [False, True])
def test_null_drops_an_output(downstream, two_results, arguments, zero_copy):
    x, y = arguments
    inputs = inputs_of(two_results, arguments)
    total, product = results_of(two_results)
    for outputs in ([0, address(product)], [address(total), 0], [0, 0]):
        assert downstream.Call(two_results, inputs, outputs, zero_copy).execute() == 0
    np.testing.assert_array_equal([total, product], [x + y, x * y])


@pytest.mark.parametrize("zero_copy", [False, True])
@pytest.mark.parametrize("offset", [1, 2, 4, 8, 16, 32, 63])
def test_any_alignment(downstream, two_results, arguments, offset, zero_copy):
    memory = np.zeros(4 * 128, np.uint8)
    start = -address(memory) % 64 + offset
    places = [address(memory) + start + 64 * i for i in range(4)]
    slots = [memory[start + 64 * i :][:20] for i in range(4)]
    for slot, array in zip(slots, arguments, strict=False):
        slot[:] = array.view(np.uint8)
    inputs = [(place, F32, 5) for place in places[:2]]
    assert downstream.Call(two_results, inputs, places[2:], zero_copy).repeat(3) == 0
    x, y = arguments
    np.testing.assert_array_equal(np.frombuffer(slots[2].tobytes(), np.float32), x + y)
    np.testing.assert_array_equal(np.frombuffer(slots[3].tobytes(), np.float32), x * y)


def test_writes_nothing_else(downstream, two_results, arguments):
    memory = np.full(200, 7, np.uint8)
    outputs = [address(memory) + 33, address(memory) + 133]
    assert downstream.Call(two_results, inputs_of(two_results, arguments), outputs).execute() == 0
    written = np.zeros(200, bool)
    written[33:53] = written[133:153] = True
    assert (memory[~written] == 7).all()


@pytest.mark.parametrize("zero_copy", [False, True])
def test_empty_arrays_may_be_null(downstream, zero_copy):
    shape = jax.ShapeDtypeStruct((0, 3), jnp.float32)
    program = cx.lower(lambda x: (x * 2, x.sum(0)), [shape])
    executable, _ = cx.compile_program(program)
    total = np.ones(3, np.float32)
    assert executable.output_bytes == (0, 12)
    assert downstream.Call(executable, [(0, F32, 0)], [0, address(total)], zero_copy).execute() == 0
    np.testing.assert_array_equal(total, np.zeros(3))


def test_no_inputs(downstream):
    executable, _ = cx.compile_program(cx.lower(lambda: jnp.arange(3), []))
    result = np.zeros(3, np.int32)
    assert downstream.Call(executable, [], [address(result)]).execute() == 0
    np.testing.assert_array_equal(result, [0, 1, 2])


# ---- memory ----


@pytest.mark.parametrize("size", [1, 63, 64, 1000, 1 << 22])
def test_aligned_memory(downstream, size):
    assert downstream.aligned_address(size) % 64 == 0


# ---- failures ----


@pytest.mark.parametrize(
    ("index", "change", "words"),
    [
        (0, {"type": F64}, ["input 0 x", "f32[5]", "f64[5]"]),
        (1, {"type": 0}, ["input 1 y", "f32[5]", "unknown"]),
        (1, {"type": 99}, ["input 1 y", "f32[5]", "unknown"]),
        (0, {"size": 4}, ["input 0 x", "f32[5]", "f32[4]"]),
        (1, {"size": 6}, ["input 1 y", "f32[5]", "f32[6]"]),
        (1, {"size": 2**61}, ["input 1 y", "f32[5]", str(2**61)]),
        (0, {"address": 0}, ["input 0 x", "no data"]),
    ],
)
def test_wrong_input(downstream, two_results, arguments, index, change, words):
    inputs = inputs_of(two_results, arguments)
    fields = dict(zip(("address", "type", "size"), inputs[index], strict=True))
    inputs[index] = tuple((fields | change).values())
    results = results_of(two_results)
    failures, _ = cx.error_info()
    outputs = [address(each) for each in results]
    assert downstream.Call(two_results, inputs, outputs).execute() == -1
    count, message = cx.error_info()
    assert count == failures + 1
    assert all(word in message for word in [two_results.name, *words]), message
    # And the next call works.
    good = downstream.Call(two_results, inputs_of(two_results, arguments), outputs)
    assert good.execute() == 0
    assert cx.error_info() == (count, message)


def test_closed_executable(downstream):
    program = cx.lower(lambda x: x + 1, [jax.ShapeDtypeStruct((3,), jnp.float32)])
    executable, _ = cx.compile_program(program)
    x, result = np.ones(3, np.float32), np.zeros(3, np.float32)
    call = downstream.Call(executable, inputs_of(executable, [x]), [address(result)])
    assert call.execute() == 0
    executable.close()
    assert call.execute() == -1
    assert "closed" in cx.error_info()[1]


def test_spec_lives_as_long_as_the_executable(downstream):
    program = cx.lower(lambda x: x + 1, [jax.ShapeDtypeStruct((3,), jnp.float32)])
    x, result = np.ones(3, np.float32), np.zeros(3, np.float32)
    # The call holds the only reference.
    call = downstream.Call(
        cx.compile_program(program)[0], [(address(x), F32, 3)], [address(result)]
    )
    del program
    assert call.repeat(100) == 0
    np.testing.assert_array_equal(result, [2, 2, 2])


def test_messages_are_per_thread_and_the_count_is_not(downstream, two_results, arguments):
    good = inputs_of(two_results, arguments)
    wrong = {"x": [(good[0][0], F64, 5), good[1]], "y": [good[0], (good[1][0], F32, 3)]}
    messages = {}
    failures, mine = cx.error_info()
    together = threading.Barrier(2)

    def fail(name):
        assert cx.error_info()[1] == ""
        assert downstream.Call(two_results, wrong[name], [0, 0]).execute() == -1
        together.wait()
        messages[name] = cx.error_info()

    threads = [threading.Thread(target=fail, args=name) for name in wrong]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "input 0 x" in messages["x"][1]
    assert "input 1 y" in messages["y"][1]
    assert cx.error_info() == (failures + 2, mine)
    assert {count for count, _ in messages.values()} == {failures + 2}


# ---- bound calls ----


def bound_call(downstream, executable, arrays, results):
    outputs = [each if isinstance(each, int) else address(each) for each in results]
    return downstream.Bound(downstream.Call(executable, inputs_of(executable, arrays), outputs))


def test_bound_calls(downstream, two_results, arguments):
    results = results_of(two_results)
    bound = bound_call(downstream, two_results, arguments, results)
    assert bound.repeat(1000) == 0
    x, y = arguments
    np.testing.assert_array_equal(results, [x + y, x * y])


def test_bound_calls_read_inputs_anew(downstream, two_results, arguments):
    results = results_of(two_results)
    bound = bound_call(downstream, two_results, arguments, results)
    x, y = arguments
    for i in range(5):
        x[:] = i
        y += 1
        assert bound.repeat() == 0
        np.testing.assert_array_equal(results, [x + y, x * y])


@pytest.mark.parametrize("offset", [0, 4, 32])
def test_bound_calls_of_any_alignment(downstream, two_results, arguments, offset):
    memory = np.zeros(4 * 128 + 64, np.uint8)
    start = -address(memory) % 64 + offset
    slots = [memory[start + 128 * i :][:20].view(np.float32) for i in range(4)]
    slots[0][:], slots[1][:] = arguments
    bound = bound_call(downstream, two_results, slots[:2], slots[2:])
    assert bound.repeat(3) == 0
    x, y = arguments
    np.testing.assert_array_equal(slots[2:], [x + y, x * y])


def test_bound_calls_drop_outputs(downstream, two_results, arguments):
    total, product = results_of(two_results)
    x, y = arguments
    for outputs in ([0, product], [total, 0], [0, 0]):
        assert bound_call(downstream, two_results, arguments, outputs).repeat() == 0
    np.testing.assert_array_equal([total, product], [x + y, x * y])


def test_wrong_inputs_are_not_bound(downstream, two_results, arguments):
    failures, _ = cx.error_info()
    with pytest.raises(RuntimeError, match=r"input 1 y .*f32\[5\]"):
        inputs = [*inputs_of(two_results, arguments)[:1], (address(arguments[1]), F64, 5)]
        downstream.Bound(downstream.Call(two_results, inputs, [0, 0]))
    assert cx.error_info()[0] == failures + 1


def test_closed_executables_are_not_bound(downstream):
    program = cx.lower(lambda x: x + 1, [jax.ShapeDtypeStruct((3,), jnp.float32)])
    executable, _ = cx.compile_program(program)
    executable.close()
    x = np.ones(3, np.float32)
    with pytest.raises(RuntimeError, match="closed"):
        bound_call(downstream, executable, [x], [x.copy()])


def test_bound_calls_in_threads(downstream, two_results):
    """One for each thread, of one executable."""

    def run(seed):
        x, y = np.random.default_rng(seed).normal(size=(2, 5)).astype(np.float32)
        results = results_of(two_results)
        assert bound_call(downstream, two_results, [x, y], results).repeat(20_000) == 0
        np.testing.assert_array_equal(results, [x + y, x * y])

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
