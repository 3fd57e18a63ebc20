"""Many threads at once, on one executable and on many."""

import concurrent.futures
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cyxla as cx

THREADS = 8
VECTOR = jax.ShapeDtypeStruct((10,), jnp.float32)


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def compile_function(function, *shapes):
    return cx.compile_program(cx.lower(function, shapes))[0]


@pytest.fixture(scope="module")
def functions(engine):
    """Executables of one float32[10] each: of kernels alone, with a loop, with a sort."""
    return [
        compile_function(jax.grad(rosenbrock), VECTOR),
        compile_function(lambda x: jax.lax.fori_loop(0, 5, lambda i, y: jnp.sin(y) + x, x), VECTOR),
        compile_function(lambda x: jnp.sort(x)[::-1] + x, VECTOR),
    ]


class Work:
    """For each thread several calls, with memory of its own, and what they must give."""

    def __init__(self, downstream, executables, zero_copy):
        generator = np.random.default_rng(0)
        self.memory = []
        self.calls, self.expected = [], []
        for _ in range(THREADS):
            pairs = [self.call(downstream, each, zero_copy, generator) for each in executables]
            self.calls.append([call for call, _ in pairs])
            self.expected.append([address for _, address in pairs])

    def call(self, downstream, executable, zero_copy, generator):
        # A whole number of cache lines, so that an array starts at a multiple of 64 bytes.
        memory = np.zeros(64, np.float32)
        start = -memory.ctypes.data % 64 // 4
        x, result = memory[start : start + 10], memory[start + 16 : start + 26]
        x[:] = generator.normal(size=10)
        (expected,) = executable.run([x])
        self.memory += [memory, expected]
        inputs = [(x.ctypes.data, cx.ElementType.float32.number, 10)]
        call = downstream.Call(executable, inputs, [result.ctypes.data], zero_copy)
        return call, expected.ctypes.data


@pytest.mark.slow
@pytest.mark.parametrize("zero_copy", [False, True])
def test_one_executable(downstream, functions, zero_copy):
    work = Work(downstream, functions[:1], zero_copy)
    failures, _ = cx.error_info()
    assert downstream.check_in_threads(work.calls, work.expected, 100_000) == 0
    assert cx.error_info()[0] == failures


@pytest.mark.parametrize("zero_copy", [False, True])
def test_several_executables_in_turn(downstream, functions, zero_copy):
    work = Work(downstream, functions, zero_copy)
    assert downstream.check_in_threads(work.calls, work.expected, 10_000) == 0


def test_the_check_finds_wrong_results(downstream, functions):
    """A test of the test: one wrong number is seen in each run that has it."""
    work = Work(downstream, functions[:1], False)
    work.memory[1][3] += 1
    assert downstream.check_in_threads(work.calls, work.expected, 10) == 10


def test_failures_of_threads_are_counted(downstream, functions):
    """Half of the threads fail all the time, which doesn't disturb the others."""
    work = Work(downstream, functions[:1], True)
    spare = np.zeros(10, np.float32)
    wrong = downstream.Call(functions[0], [(0, 0, 0)], [spare.ctypes.data])
    for thread in range(0, THREADS, 2):
        work.calls[thread] = [wrong]
    failures, _ = cx.error_info()
    expected = THREADS // 2 * 2000
    assert downstream.check_in_threads(work.calls, work.expected, 2000) == expected
    assert cx.error_info()[0] == failures + expected


def test_run_in_threads(functions):
    """`Executable.run`, with the GIL taken and released all the time."""

    def run(seed):
        generator = np.random.default_rng(seed)
        wrong = 0
        for _ in range(50):
            x = generator.normal(size=10).astype(np.float32)
            for executable in functions:
                first = executable.run([x])[0]
                wrong += sum(not np.array_equal(first, executable.run([x])[0]) for _ in range(5))
        np.testing.assert_allclose(functions[2].run([x])[0], np.sort(x)[::-1] + x)
        return wrong

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        assert sum(pool.map(run, range(THREADS))) == 0


def test_compile_run_and_close_in_threads():
    """Executables come and go in some threads while others run theirs."""
    program = cx.lower(lambda x: x * 2 + 1, [VECTOR])
    x = np.arange(10, dtype=np.float32)
    done = threading.Event()

    def run_always():
        count = 0
        with cx.compile_program(program)[0] as executable:
            while not done.is_set():
                np.testing.assert_array_equal(executable.run([x])[0], x * 2 + 1)
                count += 1
        return count

    def compile_always():
        for _ in range(10):
            with cx.compile_program(program)[0] as executable:
                np.testing.assert_array_equal(executable.run([x])[0], x * 2 + 1)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        runners = [pool.submit(run_always) for _ in range(2)]
        try:
            for each in [pool.submit(compile_always) for _ in range(2)]:
                each.result()
        finally:
            done.set()
        assert all(each.result() > 0 for each in runners)


def test_close_and_run_at_once():
    """Whoever comes first: a run is right, or it is refused."""
    program = cx.lower(lambda x: x + 1, [VECTOR])
    x = np.zeros(10, np.float32)

    def run(executable, start):
        start.wait()
        try:
            while True:
                np.testing.assert_array_equal(executable.run([x])[0], x + 1)
        except cx.ArgumentError as error:
            return "closed" in str(error)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(10):
            executable, _ = cx.compile_program(program)
            start = threading.Barrier(5)
            runs = [pool.submit(run, executable, start) for _ in range(4)]
            start.wait()
            executable.close()
            assert all(each.result() for each in runs)
