"""Runs a function in four ways, and compares the results bit for bit.

The ways: `jax.jit`; the plugin's executable by PJRT's engine, and the same executable by the direct
engine; jaxlib's executable by the direct engine.  An engine must not change a bit: the second and
the third way have the same bits, and so have the first and the fourth.  Plugin and jaxlib, which
are two builds of XLA, are what a Comparison compares.
"""

import contextlib
import importlib.metadata
import re
import zlib
from dataclasses import dataclass

import jax
import ml_dtypes
import numpy as np
import pytest

import cyxla as cx
from cyxla.low_latency import OPTIONS as LOW_LATENCY

# The names of element types in the tables of tests, as JAX abbreviates them.
DTYPES = {
    "b1": np.dtype(bool),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}


# ---- inputs ----


@dataclass(frozen=True)
class Array:
    """A kind of input: its shape, what its values are like, and its type where that is fixed.

    Values are "any" finite ones, "edge" (with infinities, NaN, zeros of both signs, subnormals,
    and the ends of the range), "unit" (inside of (0, 1)), or integers below a limit.
    """

    shape: tuple
    values: str | int = "any"
    type: str | None = None


class _Kind:
    """`kind[2, 3]` is an Array of that shape, `kind[()]` a scalar."""

    def __init__(self, values="any", type=None):
        self.values, self.type = values, type

    def __getitem__(self, shape):
        return Array(shape if isinstance(shape, tuple) else (shape,), self.values, self.type)


T = _Kind()
EDGE = _Kind("edge")
UNIT = _Kind("unit")
KEY = _Kind("any", "u32")
BOOL = _Kind("any", "b1")


def INDEX(limit):
    return _Kind(limit, "i32")


def make(array, type_name, generator):
    """Returns a NumPy array as an Array describes it."""
    dtype = DTYPES[array.type or type_name]
    if isinstance(array.values, int):
        return generator.integers(0, array.values, array.shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, array.shape).astype(bool)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        real, imaginary = (_floats(array, part, generator) for _ in range(2))
        values = np.empty(array.shape, dtype)
        values.real, values.imag = real, imaginary
        return values
    if dtype.kind in "iu":
        return _integers(array, dtype, generator)
    return _floats(array, dtype, generator)


def _integers(array, dtype, generator):
    info = np.iinfo(dtype)
    if array.values == "edge":
        values = generator.integers(info.min, info.max, array.shape, dtype, endpoint=True)
        return _sprinkle(values, np.array([info.min, info.max, 0, 1], dtype), generator)
    # Sums and products of small numbers don't all wrap around.
    low = max(info.min, -9)
    return np.asarray(generator.integers(low, 10, array.shape)).astype(dtype)


def _floats(array, dtype, generator):
    if array.values == "unit":
        return np.asarray(generator.uniform(0.01, 0.99, array.shape)).astype(dtype)
    values = np.asarray(generator.normal(scale=3, size=array.shape)).astype(dtype)
    if array.values == "edge":
        info = ml_dtypes.finfo(dtype)
        tiny, least = info.smallest_normal, info.smallest_subnormal
        special = [np.nan, np.inf, -np.inf, 0.0, -0.0, info.max, info.min, tiny, -tiny]
        values = _sprinkle(values, np.array([*special, least, -least]).astype(dtype), generator)
    return values


def _sprinkle(values, special, generator):
    """Replaces up to half of the values by special ones, which then occur several times: ties."""
    flat = np.atleast_1d(values).reshape(-1)
    count = (flat.size + 1) // 2
    where = generator.permutation(flat.size)[:count]
    flat[where] = np.resize(special, count)
    return flat.reshape(values.shape)


# ---- tables of functions ----


def generator_of(name):
    # hash() of strings isn't the same in each process.
    return np.random.default_rng(zlib.crc32(name.encode()))


def arguments_of(case, type_name):
    generator = generator_of(f"{case.name} {type_name}")
    return [make(each, type_name, generator) for each in case.inputs]


def with_types(cases):
    return [(case, type_name) for case in cases for type_name in case.types.split()]


def over(cases):
    """A test for each case and type."""
    parameters = with_types(cases)
    names = [f"{case.name}-{type_name}" for case, type_name in parameters]
    return pytest.mark.parametrize(("case", "type_name"), parameters, ids=names)


# ---- running ----


def same_xla():
    """Whether the plugin's XLA is that of jaxlib: its package has the version of its JAX."""
    return importlib.metadata.version("lammps-jax-pjrt-cpu") == jax.__version__


def x64_for(*type_names):
    """JAX has 64-bit types only in this mode; without it where no 64-bit type is concerned."""
    wide = any(name in ("i64", "u64", "f64", "c128") for name in type_names)
    return jax.enable_x64(True) if wide else contextlib.nullcontext()


@dataclass(frozen=True)
class Comparison:
    """Results of the plugin and of `jax.jit`, flat; the kinds of thunks that made the former."""

    program: cx.Program
    results: list
    expected: list
    thunks: frozenset

    @property
    def equal(self):
        """Whether all bits are equal; any NaN equals any other."""
        return all(map(_same_bits, self.results, self.expected))

    def close(self, epsilons):
        """Whether they are equal to within some units of rounding of each array's largest value."""
        return all(
            _error(*pair) <= epsilons for pair in zip(self.results, self.expected, strict=True)
        )

    def __str__(self):
        differences = [
            f"result {i}: {_difference(*pair)}"
            for i, pair in enumerate(zip(self.results, self.expected, strict=True))
            if not _same_bits(*pair)
        ]
        return f"{'; '.join(differences) or 'equal'} (thunks: {', '.join(sorted(self.thunks))})"


def compare(function, *arguments, custom_calls=()):
    """Runs a function in all ways; `arguments` are pytrees of NumPy arrays.

    What the two engines make of one executable is checked here.
    """
    program = cx.lower(function, arguments, custom_calls=custom_calls)
    leaves = jax.tree.leaves(arguments)
    expected = [np.asarray(each) for each in jax.tree.leaves(jax.jit(function)(*arguments))]
    results, thunks = run_by_plugin(program, leaves)
    run_by_jaxlib(program, leaves, expected)
    for array_type, result, other in zip(program.outputs, results, expected, strict=True):
        assert result.dtype == other.dtype == array_type.dtype, array_type
        assert result.shape == other.shape == array_type.shape, array_type
    return Comparison(program, results, expected, thunks)


def run_by_plugin(program, arguments):
    """Runs the plugin's executable by both engines: (results, kinds of its thunks)."""
    executable, _ = cx.compile_program(program, engine="pjrt", low_latency=False)
    # Before the first run: then XLA can't serialize a program that sorts any more.
    data = executable.serialize()
    results = executable.run(arguments)
    try:
        direct, _ = cx.load_executable(program, data, engine="direct")
    except cx.StatusError as error:
        check_refusal(error, data)
        chosen, _ = cx.load_executable(program, data, engine="auto")
        assert chosen.engine == "pjrt", chosen.engine_reason
        assert_same(chosen.run(arguments), results, "a second PJRT executable")
    else:
        assert_same(direct.run(arguments), results, "PJRT's engine", direct)
        assert direct.thunks == executable.thunks
    return results, thunk_kinds(data)


def run_by_jaxlib(program, arguments, expected, low_latency=False):
    """Runs jaxlib's executable by the direct engine, and returns it; None where that refuses it.

    The results must be `expected`, JAX's.
    """
    try:
        executable, _ = cx.compile_program(
            program, engine="direct", compiler="jaxlib", low_latency=low_latency
        )
    except cx.StatusError as error:
        check_refusal(error)
        return None
    assert executable.engine == "direct"
    assert_same(executable.run(arguments), expected, "jax.jit", executable)
    return executable


def run_at_low_latency(function, *arguments, custom_calls=()):
    """Compares with JAX under the same options of XLA; None where the direct engine refuses."""
    compiled = jax.jit(function).lower(*arguments).compile(compiler_options=dict(LOW_LATENCY))
    expected = [np.asarray(each) for each in jax.tree.leaves(compiled(*arguments))]
    program = cx.lower(function, arguments, custom_calls=custom_calls)
    return run_by_jaxlib(program, jax.tree.leaves(arguments), expected, low_latency=True)


def assert_same(results, expected, other, executable=None):
    """All bytes are the same, of any NaN too."""
    for i, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape), f"result {i}"
        if result.tobytes() != wanted.tobytes():
            thunks = executable and executable.thunks
            raise AssertionError(
                f"result {i} is not that of {other}: {_difference(result, wanted)}; {thunks}"
            )


# ---- what the direct engine refuses ----

#: The kinds of thunks that it runs; dots only of integers.
SUPPORTED = frozenset(
    "call conditional copy custom-call dot kernel partition-id replica-id "
    "rng-get-and-update-state sort topk while".split()
)


def check_refusal(error, data=None):
    """A refusal names each kind of thunk that it is for, and there is one."""
    assert error.status == "UNIMPLEMENTED", error
    if data is not None:
        for kind in thunk_kinds(data) - SUPPORTED:
            assert kind in str(error), f"{kind} is missing: {error}"
    assert refused_kinds(error), error


def refused_kinds(error):
    """The kinds of thunks that a refusal names."""
    words = set(re.findall(r"[a-z]+(?:-[a-z]+)*", str(error)))
    return words & {"dot", "ynn-fusion", "convolution", "fft", "rng-seed"}


def _same_bits(a, b):
    return not _differing(_parts(a), _parts(b)).any()


def _differing(a, b):
    differing = a.view(f"u{a.itemsize}") != b.view(f"u{b.itemsize}")
    if a.dtype.kind not in "biu":
        differing &= ~(np.isnan(a) & np.isnan(b))
    return differing


def _error(a, b):
    """The largest difference, in units of rounding of the largest finite value, or of 1."""
    a, b = _parts(a), _parts(b)
    if a.dtype.kind in "biu":
        return 0.0 if _same_bits(a, b) else float("inf")
    epsilon = float(ml_dtypes.finfo(a.dtype).eps)
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    a, b = a[finite], b[finite]
    scale = min(np.abs(b).max(initial=1.0), 1e6)  # values at the end of the range hide nothing
    return float(np.abs(a - b).max(initial=0.0) / scale / epsilon)


def _difference(a, b):
    error = _error(a, b)
    a, b = _parts(a), _parts(b)
    where = np.flatnonzero(_differing(a, b))
    first = ", ".join(f"[{i}] {a[i]!r} != {b[i]!r}" for i in where[:3])
    return f"{len(where)} of {a.size} {a.dtype} differ, by {error:.3g} roundings: {first}"


def _parts(array):
    """The array flat, complex numbers as their two parts."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(f"f{flat.itemsize // 2}") if flat.dtype.kind == "c" else flat


# ---- the kinds of thunks in a serialized executable ----


def thunk_kinds(data):
    """The kinds of all thunks, also nested ones, of an executable that XLA's CPU plugin serialized.

    A reader of its own: ExecutableAndOptions.1 is the CompilationResult, whose field 6 is the thunk
    sequence; field 1 of a sequence is a thunk, and field 1 of a thunk is its kind.
    """
    compilation = _submessage(data, 1)
    return frozenset(_kinds_of_sequence(_submessage(compilation, 6)))


# Where thunks hold sequences: {field of the thunk: fields of its message that are sequences}.
_NESTED = {3: (1,), 4: (1,), 10: (1, 2)}  # call, conditional, while


def _kinds_of_sequence(sequence):
    for field, thunk in _fields(sequence):
        if field != 1:
            continue
        for field, value in _fields(thunk):
            if field == 1:
                yield value.decode()
            elif field in _NESTED:
                for inner, nested in _fields(value):
                    if inner in _NESTED[field]:
                        yield from _kinds_of_sequence(nested)


def _submessage(message, number):
    return b"".join(value for field, value in _fields(message) if field == number)


def _fields(message):
    """The length-delimited fields of a protobuf message, as (number, bytes); others are skipped."""
    position = 0

    def varint():
        nonlocal position
        value = shift = 0
        while True:
            byte = message[position]
            position += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while position < len(message):
        tag = varint()
        wire_type = tag & 7
        if wire_type == 0:
            varint()
        elif wire_type == 2:
            size = varint()
            position += size
            assert position <= len(message)
            yield tag >> 3, message[position - size : position]
        else:
            position += {1: 8, 5: 4}[wire_type]
