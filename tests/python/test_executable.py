"""`Executable`: what `run` takes and gives, attributes, and its life."""

import gc
import threading
import time
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cyxla as cx
from cyxla import _runtime

pytestmark = pytest.mark.usefixtures("engine")

ALL_DTYPES = [each.dtype for each in cx.ElementType]


def struct(shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def compile_function(function, *shapes):
    with jax.enable_x64(True):
        program = cx.lower(function, shapes)
    return cx.compile_program(program)[0]


def scale(x, factor):
    return x * factor


@pytest.fixture(scope="module")
def scaled(engine):
    """x * factor, of float32[2, 3] and float32[]."""
    return compile_function(scale, struct((2, 3)), struct(()))


@pytest.fixture(scope="module")
def identities(engine):
    """For each dtype, the identity of two elements."""
    return {dtype: compile_function(lambda x: x, struct((2,), dtype)) for dtype in ALL_DTYPES}


@pytest.fixture(scope="module")
def scalars(engine):
    """For each dtype, the identity of a scalar."""
    return {dtype: compile_function(lambda x: x, struct((), dtype)) for dtype in ALL_DTYPES}


# ---- results ----


def test_results(scaled):
    results = scaled.run([np.ones((2, 3), np.float32), np.float32(2)])
    assert isinstance(results, list)
    (result,) = results
    assert type(result) is np.ndarray
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, np.full((2, 3), 2))


def test_results_are_new_arrays(affine):
    (first,) = affine.run([[1, 2, 3]])
    (second,) = affine.run([[4, 5, 6]])
    np.testing.assert_array_equal(first, [3, 5, 7])
    first[:] = 0  # writable, and not the other's memory
    np.testing.assert_array_equal(second, [9, 11, 13])


def test_scalar_results_are_arrays():
    (result,) = compile_function(lambda x: x.sum(), struct((3,))).run([[1, 2, 3]])
    assert type(result) is np.ndarray
    assert result.shape == ()
    assert result == 6


def test_arguments_stay_as_they_are(affine):
    x = np.arange(3, dtype=np.float32)
    affine.run([x])
    np.testing.assert_array_equal(x, [0, 1, 2])


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_every_dtype(identities, dtype):
    x = np.array([1, 0], dtype)
    (result,) = identities[dtype].run([x])
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, x)


# ---- casts ----


@pytest.mark.parametrize("source", ALL_DTYPES, ids=str)
def test_casts_are_those_of_same_kind(identities, source):
    x = np.array([1, 0], source)
    for target, identity in identities.items():
        # NumPy thinks that complex numbers are of the kind of bfloat16.
        loses_imaginary_part = source.kind == "c" and target.kind != "c"
        if np.can_cast(source, target, "same_kind") and not loses_imaginary_part:
            (result,) = identity.run([x])
            assert result.dtype == target
            np.testing.assert_array_equal(result, x.astype(target))
        else:
            with pytest.raises(cx.ArgumentTypeError, match=f"{source}.*{target}"):
                identity.run([x])


@pytest.mark.parametrize("dtype", ["S3", "U3", "O", "M8[s]", "m8[s]", [("a", "f4")], "longdouble"])
def test_foreign_dtypes(identities, dtype):
    x = np.zeros(2, dtype)
    target = np.dtype(np.float32)
    if np.can_cast(x.dtype, target, "same_kind"):
        np.testing.assert_array_equal(identities[target].run([x])[0], [0, 0])
    else:
        with pytest.raises(cx.ArgumentTypeError, match="float32"):
            identities[target].run([x])


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_cast_is_one_of_values(identities):
    (result,) = identities[np.dtype(np.int8)].run([np.array([300, -1])])
    np.testing.assert_array_equal(result, [44, -1])
    (result,) = identities[np.dtype(np.float16)].run([np.array([1e9, 0.1])])
    np.testing.assert_array_equal(result, np.array([np.inf, 0.1], np.float16))


# ---- Python numbers ----

INTEGER = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
FLOAT = "float16 bfloat16 float32 float64".split()
COMPLEX = "complex64 complex128".split()
TAKES = {
    True: ["bool", *INTEGER, *FLOAT, *COMPLEX],
    7: [*INTEGER, *FLOAT, *COMPLEX],
    1.5: [*FLOAT, *COMPLEX],
    1 + 2j: COMPLEX,
}


@pytest.mark.parametrize("value", TAKES, ids=str)
def test_python_numbers(scalars, value):
    for dtype, identity in scalars.items():
        if dtype.name in TAKES[value]:
            (result,) = identity.run([value])
            assert result.dtype == dtype
            assert result == value
        else:
            with pytest.raises(cx.ArgumentTypeError, match=str(dtype)):
                identity.run([value])


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("int8", 128), ("int8", -129), ("uint8", -1), ("uint64", 2**64), ("int64", 2**63)],
)
def test_python_integers_must_fit(scalars, dtype, value):
    with pytest.raises(cx.ArgumentError, match=rf"{dtype}.*{value}"):
        scalars[np.dtype(dtype)].run([value])


def test_large_python_integers(scalars):
    (result,) = scalars[np.dtype(np.uint64)].run([2**64 - 1])
    assert result == np.uint64(2**64 - 1)


# ---- array-likes and memory layouts ----


def layouts():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    wide = np.zeros((4, 9), np.float32)
    wide[::2, ::3] = x
    unaligned = np.frombuffer(b"-" + x.tobytes(), np.float32, offset=1).reshape(2, 3)
    readonly = x.copy()
    readonly.flags.writeable = False
    return {
        "contiguous": x,
        "Fortran": np.asfortranarray(x),
        "strided": wide[::2, ::3],
        "reversed": x[::-1, ::-1].copy()[::-1, ::-1],
        "transposed": x.T.copy().T,
        "byte-swapped": x.astype(">f4"),
        "unaligned": unaligned,
        "read-only": readonly,
        "broadcast": np.broadcast_to(np.float32([0, 1, 2]), (2, 3)),
        "list": x.tolist(),
        "tuple of arrays": tuple(x),
        "JAX": jnp.asarray(x),
        "float64": x.astype(np.float64),
        "masked": np.ma.array(x),
        "memoryview": memoryview(x),
    }


@pytest.mark.parametrize("layout", layouts())
def test_layouts(scaled, layout):
    x = layouts()[layout]
    (result,) = scaled.run([x, 2])
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, np.asarray(x, np.float32) * 2)


@pytest.mark.parametrize("order", ["C", "F", "strided", "swapped", "offset"])
def test_large_arrays_of_any_layout(order):
    """Large ones are read in place where they can be."""
    shape = (600, 700)
    x = np.arange(600 * 700, dtype=np.float64).reshape(shape)
    expected = x * 2 + 1
    if order == "F":
        x = np.asfortranarray(x)
    elif order == "strided":
        x = np.repeat(x, 2, 1)[:, ::2]
    elif order == "swapped":
        x = x.astype(">f8")
    elif order == "offset":
        x = np.frombuffer(b"-" + x.tobytes(), np.float64, offset=1).reshape(shape)
    (result,) = compile_function(lambda x: x * 2 + 1, struct(shape, np.float64)).run([x])
    np.testing.assert_array_equal(result, expected)


def test_zero_dimensional(scalars):
    identity = scalars[np.dtype(np.float32)]
    for value in (np.float32(3), np.array(3, np.float32), jnp.float32(3), np.array([3.0])[0]):
        assert identity.run([value])[0] == 3


def test_zero_sizes():
    total = compile_function(lambda x: (x, x.sum(1), x.sum(0)), struct((2, 0)))
    for empty in (np.zeros((2, 0), np.float32), [[], []], np.zeros((0, 2)).T):
        same, rows, columns = total.run([empty])
        assert same.shape == (2, 0)
        np.testing.assert_array_equal(rows, [0, 0])
        assert columns.shape == (0,)


def test_no_arguments():
    (result,) = compile_function(lambda: jnp.arange(3)).run([])
    np.testing.assert_array_equal(result, [0, 1, 2])


def test_no_results():
    assert compile_function(lambda x: (), struct((2,))).run([[1, 2]]) == []


def test_any_sequence_of_arguments(scaled):
    arguments = [np.ones((2, 3)), 3]
    for args in (arguments, tuple(arguments), np.array([*arguments, 0], object)[:2]):
        np.testing.assert_array_equal(scaled.run(args)[0], np.full((2, 3), 3))


# ---- refusals ----


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        ([], cx.ArgumentError, "2 arguments, not 0"),
        ([np.ones((2, 3))], cx.ArgumentError, "2 arguments, not 1"),
        ([np.ones((2, 3)), 1, 2], cx.ArgumentError, "2 arguments, not 3"),
        ([np.ones((3, 2)), 1], cx.ArgumentError, r"x: float32\[2,3\] .*\(3, 2\)"),
        ([np.ones(6), 1], cx.ArgumentError, r"x: float32\[2,3\] .*\(6,\)"),
        ([np.ones((2, 3, 1)), 1], cx.ArgumentError, r"x: float32\[2,3\] .*\(2, 3, 1\)"),
        ([np.ones((2, 3)), [1.0]], cx.ArgumentError, r"factor: float32\[\] .*\(1,\)"),
        ([1.0, 1.0], cx.ArgumentError, r"x: float32\[2,3\] .*\(\)"),
        ([np.ones((2, 3)), 1j], cx.ArgumentTypeError, r"factor: float32\[\] .*complex128"),
        (
            [np.ones((2, 3)), np.complex64(1)],
            cx.ArgumentTypeError,
            r"factor: float32\[\] .*complex64",
        ),
        ([np.ones((2, 3)), None], cx.ArgumentTypeError, r"factor: float32\[\] .*object"),
        ([np.ones((2, 3)), "1"], cx.ArgumentTypeError, r"factor: float32\[\] .*<U1"),
        ([[[1, 2, 3], [4, 5]], 1], cx.ArgumentError, r"x: float32\[2,3\]"),
    ],
)
def test_refusals_name_function_and_argument(scaled, args, error, words):
    with pytest.raises(error, match=f"scale.*{words}"):
        scaled.run(args)


def test_refusals_name_the_path():
    def loss(params, x):
        return params["layers"][1]["w"] * x

    layer = {"w": struct((3,)), "b": struct(())}
    executable = compile_function(loss, {"layers": [layer, layer]}, struct((3,)))
    with pytest.raises(cx.ArgumentError, match=r"loss.*params\['layers'\]\[1\]\['w'\]"):
        executable.run([0, [0, 0, 0], 0, [0, 0], [0, 0, 0]])


def test_both_kinds_of_errors_are_pythons_too(scaled):
    with pytest.raises(ValueError):
        scaled.run([])
    with pytest.raises(TypeError):
        scaled.run([np.ones((2, 3)), 1j])
    with pytest.raises(TypeError):
        scaled.run()


def test_a_refusal_leaves_everything_usable(scaled):
    with pytest.raises(cx.ArgumentError):
        scaled.run([np.ones((3, 2)), 1])
    assert scaled.run([np.ones((2, 3)), 5])[0].sum() == 30


# ---- attributes ----


def test_attributes():
    def statistics(x, n):
        return {"mean": x.mean(), "count": n + 1, "empty": jnp.zeros((0, 2), bool)}

    executable = compile_function(statistics, struct((2, 3), jnp.bfloat16), struct((), jnp.int64))
    assert executable.name == "statistics"
    assert executable.platform == "cpu"
    assert [str(each) for each in executable.input_types] == ["x: bfloat16[2,3]", "n: int64[]"]
    assert [
        (each.name, each.element_type.name, each.shape) for each in executable.output_types
    ] == [
        ("result['count']", "int64", ()),
        ("result['empty']", "bool", (0, 2)),
        ("result['mean']", "bfloat16", ()),
    ]
    assert executable.output_bytes == (8, 0, 2)
    assert executable.code_bytes is None or executable.code_bytes >= 0
    assert executable.temp_bytes is None or executable.temp_bytes >= 0
    assert repr(executable).startswith("<Executable statistics for cpu: (x: bfloat16[2,3], ")


def test_attributes_are_read_only(affine):
    for name in ("name", "platform", "input_types", "output_types", "output_bytes"):
        with pytest.raises(AttributeError):
            setattr(affine, name, None)


def test_only_compile_program_makes_one():
    with pytest.raises(TypeError, match="compile_program"):
        cx.Executable()


def test_one_without_init_is_closed():
    empty = cx.Executable.__new__(cx.Executable)
    with pytest.raises(cx.CyxlaError):
        empty.run([])


# ---- life ----


def test_context_manager():
    with compile_function(lambda x: x + 1, struct(())) as executable:
        assert not executable.closed
        assert executable.run([1])[0] == 2
    assert executable.closed


def test_closes_after_an_exception():
    executable = compile_function(lambda x: x + 1, struct(()))
    with pytest.raises(ZeroDivisionError), executable:
        raise ZeroDivisionError
    assert executable.closed


def test_closed():
    executable = compile_function(lambda x: x + 1, struct(()))
    executable.close()
    executable.close()
    assert "closed" in repr(executable)
    for use in (lambda: executable.run([1]), executable.serialize, lambda: executable.code_bytes):
        with pytest.raises(cx.ArgumentError, match="closed"):
            use()
    # What it was is still known.
    assert executable.output_bytes == (4,)
    assert executable.output_types[0].shape == ()


def slow_function(x):
    """About a third of a second."""
    return jax.lax.fori_loop(0, 40_000_000, lambda i, y: jnp.cos(y), x)


@pytest.fixture(scope="module")
def slow_program():
    return cx.lower(slow_function, [struct(())])


def test_close_while_running(slow_program):
    executable, _ = cx.compile_program(slow_program)
    started = threading.Event()
    results = []

    def run():
        started.set()
        results.append(executable.run([1.0])[0])

    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    time.sleep(0.05)
    executable.close()
    assert thread.is_alive()  # or the function isn't slow enough
    thread.join()
    np.testing.assert_allclose(results, 0.739085, rtol=1e-5)  # where cos(x) = x


def test_last_reference_while_running(slow_program):
    executable, _ = cx.compile_program(slow_program)
    results = []
    thread = threading.Thread(
        target=lambda run: results.append(run([1.0])[0]), args=[executable.run]
    )
    thread.start()
    del executable
    gc.collect()
    thread.join()
    np.testing.assert_allclose(results, 0.739085, rtol=1e-5)


def test_gil_is_free_while_running(slow_program, ticks_during):
    executable, _ = cx.compile_program(slow_program)
    assert ticks_during(lambda: executable.run([1.0])) > 5


def test_garbage_collection():
    executable = compile_function(lambda x: x + 1, struct(()))
    gone = weakref.ref(executable)
    del executable
    gc.collect()
    assert gone() is None


def test_results_outlive_it():
    executable = compile_function(lambda x: x + 1, struct((1000,)))
    (result,) = executable.run([np.arange(1000)])
    executable.close()
    del executable
    gc.collect()
    np.testing.assert_array_equal(result, np.arange(1000) + 1)


# ---- serialize ----


def test_serialize():
    program = cx.lower(lambda x: jnp.sort(x)[::-1] * 2, [struct((5,))])
    executable, statistics = cx.compile_program(program)
    data = executable.serialize()
    assert type(data) is bytes
    plugin = cx.platforms.loaded_plugin("cpu").handle
    loaded = _runtime.load_executable(plugin, program, data)
    assert loaded.output_types == executable.output_types
    x = np.array([3, 1, 2, 5, 4])
    for each in (loaded, executable):
        np.testing.assert_array_equal(each.run([x])[0], [10, 8, 6, 4, 2])


def test_serialized_garbage_is_refused(slow_program):
    plugin = cx.platforms.loaded_plugin("cpu").handle
    for data in (b"", b"\0" * 100, b"garbage" * 1000):
        with pytest.raises(cx.StatusError):
            _runtime.load_executable(plugin, slow_program, data)


def test_serialized_executable_of_another_signature_is_refused(affine):
    other = cx.lower(lambda x: x, [struct((4,))])
    plugin = cx.platforms.loaded_plugin("cpu").handle
    with pytest.raises(cx.StatusError, match=r"4.*3|3.*4") as caught:
        _runtime.load_executable(plugin, other, affine.serialize())
    assert caught.value.status == "SIGNATURE_MISMATCH"


def test_masked_arrays_are_refused(affine):
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    with pytest.raises(cx.ArgumentTypeError, match="argument x: .*a masked array"):
        affine.run([masked])
    (result,) = affine.run([np.ma.array([1.0, 2.0, 3.0])])
    assert result.tolist() == [3, 5, 7]
