"""Calls of the direct engine by the C interface: where arrays lie, and the state of the processor.

Neither alignment, nor overlaps, nor the caller's rounding mode change a bit of the results.
"""

import contextlib
import ctypes
import itertools
import platform

import c_api
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from c_api import ZERO_COPY, Memory
from jax import lax

import cyxla as cx

SIZE = 21  # of which vector code takes a part, and a remainder


def function(x, y):
    """Kernels, a sort, loops: x and y are read early and late, outputs written early and late."""
    z = lax.fori_loop(0, 3, lambda i, z: jnp.sort(z) * 0.5 + x[::-1], x * y)
    n = jnp.sum(x > 0.5)
    return jnp.sin(x) + y, z, lax.cond(n > 3, lambda z: jnp.sort(z - y), lambda z: z + y, z), n


def serialized(function, *arguments, **options):
    program = cx.lower(function, arguments, **options)
    executable, _ = cx.compile_program(program, engine="direct", low_latency=False)
    return executable.serialize()


@pytest.fixture(scope="module")
def inputs():
    generator = np.random.default_rng(0)
    return [generator.normal(size=SIZE).astype(np.float32) for _ in range(2)]


@pytest.fixture(scope="module")
def executable(inputs):
    return c_api.Executable(serialized(function, *inputs))


@pytest.fixture(scope="module")
def expected(inputs):
    return [np.asarray(each) for each in jax.jit(function)(*inputs)]


def check(outputs, expected):
    for output, wanted in zip(outputs, expected, strict=True):
        assert output is None or output.tobytes() == wanted.tobytes()


def apart(memory, arrays, misalignment):
    """Arrays at so many bytes behind multiples of 64, far enough from each other."""
    return [memory.array(i * 1024 + misalignment, each) for i, each in enumerate(arrays)]


@pytest.mark.parametrize("flags", [0, ZERO_COPY])
def test_any_alignment(executable, inputs, expected, flags):
    """Nothing is written but the outputs."""
    zeros = [np.zeros_like(each) for each in expected]
    for input_offset, output_offset in itertools.product(range(64), (0, 1, 4, 33)):
        memory, results = Memory(4096), Memory(4096)
        arrays = apart(memory, inputs, input_offset)
        outputs = apart(results, zeros, output_offset)
        before = memory.bytes.copy()
        executable.execute(arrays, outputs, flags)
        check(outputs, expected)
        assert (memory.bytes == before).all()
        for output in outputs:
            output.reshape(-1).view(np.uint8)[...] = 0xA5
        assert (results.bytes == 0xA5).all()


def test_any_alignment_of_outputs(executable, inputs, expected):
    zeros = [np.zeros_like(each) for each in expected]
    for output_offset in range(64):
        outputs = apart(Memory(4096), zeros, output_offset)
        executable.execute(inputs, outputs, ZERO_COPY)
        check(outputs, expected)


@pytest.mark.parametrize("misalignment", range(0, 64, 7))
def test_any_alignment_of_bound_calls(executable, inputs, expected, misalignment):
    arrays = apart(Memory(4096), inputs, misalignment)
    outputs = apart(Memory(4096), [np.zeros_like(each) for each in expected], misalignment)
    call = executable.bind(arrays, outputs)
    for _ in range(3):
        for output in outputs:
            output[...] = 0
        call.execute()
        check(outputs, expected)
    arrays[0][...] = inputs[1]
    call.execute()
    check(outputs, [np.asarray(each) for each in jax.jit(function)(inputs[1], inputs[1])])


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("shift", [-64, -4, -1, 0, 1, 4, 32, 64, 80])
@pytest.mark.parametrize("output", range(3))
def test_outputs_over_inputs(executable, inputs, expected, output, shift, bound):
    """Results are those of the inputs before the call, though it writes to where they lie."""
    for number, base in itertools.product(range(2), (64, 65)):
        memory = Memory(512)
        arrays = list(inputs)
        outputs = [np.zeros_like(each) for each in expected]
        arrays[number] = memory.array(base + 64, inputs[number])
        place = memory.bytes[base + 64 + shift :][: expected[output].nbytes]
        outputs[output] = np.frombuffer(place, np.float32)
        if bound:
            executable.bind(arrays, outputs).execute()
        else:
            executable.execute(arrays, outputs)
        check(outputs, expected)


def test_an_output_in_the_place_of_each_input(executable, inputs, expected):
    """Aligned, so that a step of an iteration needs no other memory."""
    memory = Memory(4096)
    x, y = apart(memory, inputs, 0)
    executable.execute([x, y], [y, x, None, None])
    check([y, x], expected[:2])


def test_one_array_for_both_inputs(executable, inputs):
    x = Memory(128).array(0, inputs[0])
    outputs = [np.zeros_like(each) for each in (x, x, x)]
    executable.execute([x, x], [*outputs, None], ZERO_COPY)
    check(outputs, [np.asarray(each) for each in jax.jit(function)(x, x)][:3])


def test_dropped_outputs(executable, inputs, expected):
    for kept in itertools.product([False, True], repeat=4):
        outputs = [
            np.zeros_like(each) if keep else None for keep, each in zip(kept, expected, strict=True)
        ]
        executable.execute(inputs, outputs)
        check(outputs, expected)
        executable.bind(inputs, outputs).execute()
        check(outputs, expected)


@pytest.mark.parametrize("type_name", ["int8", "float16", "complex64", "float64", "complex128"])
def test_other_types_at_odd_addresses(type_name):
    x = (np.arange(33) - 9).astype(type_name)
    with jax.enable_x64(True):
        odd = c_api.Executable(serialized(lambda x: (x * x + 1, x[::-1]), x))
        wanted = [np.asarray(each) for each in jax.jit(lambda x: (x * x + 1, x[::-1]))(x)]
    for offset in range(64):
        (array,) = apart(Memory(4096), [x], offset)
        outputs = apart(Memory(4096), [np.zeros((33,), type_name)] * 2, 3 * offset % 64)
        odd.execute([array], outputs, ZERO_COPY)
        check(outputs, wanted)


# ---- the floating-point environment ----

FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO = 0x400, 0x800, 0xC00
FTZ, DAZ = 0x8000, 0x40
CONTROL = 0xFFC0  # all but the flags of what has happened

on_x86_64 = pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc",
    reason="it sets MXCSR by glibc's fenv_t",
)


class Environment(ctypes.Structure):
    """glibc's fenv_t for x86-64: the x87 unit's state, and MXCSR."""

    _fields_ = [("x87", ctypes.c_uint32 * 7), ("mxcsr", ctypes.c_uint32)]


def mxcsr():
    environment = Environment()
    _libm().fegetenv(ctypes.byref(environment))
    return environment.mxcsr & CONTROL


@contextlib.contextmanager
def control(rounding=0, bits=0):
    """Has the processor round in a direction, and take subnormals as zero, for a moment."""
    before = Environment()
    _libm().fegetenv(ctypes.byref(before))
    _libm().fesetround(rounding)
    now = Environment()
    _libm().fegetenv(ctypes.byref(now))
    now.mxcsr |= bits
    _libm().fesetenv(ctypes.byref(now))
    try:
        yield
    finally:
        _libm().fesetenv(ctypes.byref(before))


def _libm():
    return ctypes.CDLL("libm.so.6")


STATES = [
    {"bits": FTZ},
    {"bits": DAZ},
    {"bits": FTZ | DAZ},
    {"rounding": FE_UPWARD},
    {"rounding": FE_DOWNWARD, "bits": FTZ},
    {"rounding": FE_TOWARDZERO, "bits": FTZ | DAZ},
]


def sensitive(x):
    """Subnormals, and roundings in every operation."""
    return x / 3, x * 1e-30, jnp.sum(jnp.sin(x) / 7), lax.top_k(x, 3)[0], jnp.sort(x * 1e-30)


@on_x86_64
@pytest.mark.parametrize("state", STATES)
def test_the_callers_floating_point_state_does_not_matter(state):
    """And is what it was, after the call."""
    x = np.float32([1, -2, 1e-9, 3e-39, -1e-44, 7, 0.1, 1e-38, 2e-38])
    lone = c_api.Executable(serialized(sensitive, x))
    wanted = [np.asarray(each) for each in jax.jit(sensitive)(x)]
    outputs = [np.zeros_like(each) for each in wanted]
    call = lone.bind([x], outputs)
    for run in (lambda: lone.execute([x], outputs), call.execute):
        for output in outputs:
            output[...] = 0
        with control(**state):
            before = mxcsr()
            run()
            after = mxcsr()
        assert before == after
        assert before & (FTZ | DAZ) == state.get("bits", 0)
        check(outputs, wanted)


# ---- handlers, here functions of Python ----


class Frame(ctypes.Structure):
    """XLA_FFI_CallFrame, with the operands and results opened up as far as is needed here."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("api", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int),
        ("args", ctypes.c_void_p * 5),
        ("rets", ctypes.c_void_p * 5),
        ("attrs", ctypes.c_void_p * 6),
    ]


class Metadata(ctypes.Structure):
    """XLA_FFI_Metadata_Extension, and the version in what it points to."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("type", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("metadata", ctypes.c_void_p),
    ]


class ErrorArguments(ctypes.Structure):
    """XLA_FFI_Error_Create_Args"""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("message", ctypes.c_char_p),
        ("code", ctypes.c_int),
    ]


HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Frame))
_ERROR_CREATE = 48  # where in XLA_FFI_Api the first function is
_handlers = []  # they stay registered, and so must live


def register(name, execute):
    """Registers `execute`, called with addresses of operands and results; what it raises fails."""

    def handle(frame):
        frame = frame.contents
        if frame.extension_start:
            return _tell_version(frame)
        buffers = [_data(frame.args), _data(frame.rets)]
        try:
            execute(*buffers)
        except RuntimeError as error:
            return _make_error(frame.api, str(error).encode())
        return None

    handler = HANDLER(handle)
    _handlers.append(handler)
    cx.register_ffi_target(name, handler)


def _tell_version(frame):
    extension = Metadata.from_address(frame.extension_start)
    # Metadata {size, extension, api_version {size, extension, major, minor}, traits}
    numbers = (ctypes.c_int32 * 2).from_address(extension.metadata + 24)
    numbers[:] = 0, 3
    return None


def _data(list_):
    """The addresses of the arrays of XLA_FFI_Args or XLA_FFI_Rets."""
    count = list_[2] or 0
    buffers = (ctypes.c_void_p * count).from_address(list_[4]) if count else []
    return [ctypes.c_void_p.from_address(each + 24).value for each in buffers]


def _make_error(api, message):
    create = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ErrorArguments))(
        ctypes.c_void_p.from_address(api + _ERROR_CREATE).value
    )
    arguments = ErrorArguments(ctypes.sizeof(ErrorArguments), None, message, 13)
    return create(ctypes.byref(arguments))


def floats(address, count=4):
    return np.frombuffer((ctypes.c_float * count).from_address(address), np.float32)


def calling(name):
    shape = jax.ShapeDtypeStruct((4,), jnp.float32)
    return lambda x: jax.ffi.ffi_call(name, shape)(x + 1) * 2


def calling_executable(name, x):
    program = cx.lower(calling(name), [x], custom_calls=[name])
    # Only cyxla knows the handler, and so jaxlib can't compile for it.
    compiled, _ = cx.compile_program(program, engine="direct", compiler="plugin")
    return c_api.Executable(compiled.serialize())


@on_x86_64
@pytest.mark.parametrize("fails", [False, True])
def test_handlers_run_in_xlas_floating_point_state(fails):
    """Which is left again, also where they fail, or change it."""
    seen = []
    name = f"look_at_state_{fails}"

    def look(operands, results):
        seen.append(mxcsr())
        floats(results[0])[:] = floats(operands[0])
        _libm().fesetround(FE_UPWARD)
        if fails:
            raise RuntimeError("it looked")

    register(name, look)
    x, result = np.float32([1, 2, 3, 4]), np.zeros(4, np.float32)
    executable = calling_executable(name, x)
    for run in (lambda: executable.execute([x], [result]), executable.bind([x], [result]).execute):
        with control(FE_DOWNWARD, DAZ):
            before = mxcsr()
            with (
                pytest.raises(RuntimeError, match="it looked")
                if fails
                else contextlib.nullcontext()
            ):
                run()
            after = mxcsr()
        assert before == after
        assert fails or result.tolist() == [4, 6, 8, 10]
    assert {each & (FTZ | DAZ) for each in seen} == {FTZ | DAZ}
    assert {each & FE_TOWARDZERO << 3 for each in seen} == {0}


def test_a_handler_may_run_the_executable_that_calls_it():
    """The inner call has memory of its own."""
    depth = 0

    def again(operands, results):
        nonlocal depth
        depth += 1
        x = floats(operands[0]).copy()
        result = np.zeros(4, np.float32)
        if depth < 5:
            executable.execute([x], [result])
        assert (floats(operands[0]) == x).all()
        floats(results[0])[:] = result + x
        depth -= 1

    register("again_and_again", again)
    x, result = np.float32([1, 2, 3, 4]), np.zeros(4, np.float32)
    executable = calling_executable("again_and_again", x)
    expected = x
    sums = np.zeros(4, np.float32)
    for level in range(5, 0, -1):
        sums = (sums + expected + level) * 2
    executable.execute([x], [result])
    np.testing.assert_array_equal(result, sums)
    executable.bind([x], [result]).execute()
    np.testing.assert_array_equal(result, sums)
