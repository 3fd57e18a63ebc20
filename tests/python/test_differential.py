"""cyxla's results are those of `jax.jit`, bit for bit.

Plugin and jaxlib are two builds of XLA.  Where they are of the same version, the code that XLA
itself writes is the same; the libraries that it calls for dots, YNN fusions, convolutions and FFTs
are not, so results of these may differ, and nothing else's.
"""

import functools

import functions
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differential import (
    DTYPES,
    EDGE,
    Array,
    T,
    arguments_of,
    compare,
    generator_of,
    make,
    over,
    same_xla,
    x64_for,
)

import cyxla as cx

LIBRARIES = {"dot", "ynn-fusion", "convolution", "fft"}

#: Tolerances in units of rounding: for what libraries compute, and for code of other XLA versions.
LIBRARY_TOLERANCE = 16
OTHER_XLA_TOLERANCE = 64

#: All that the libraries of the two builds compute differently.
DIFFERING = {("dot", "c64"), ("matrix_vector", "c64")}


@functools.cache
def outcome(case, type_name):
    with x64_for(type_name):
        return compare(case.function, *arguments_of(case, type_name))


def is_right(comparison):
    if comparison.equal:
        return True
    if comparison.thunks & LIBRARIES:
        return comparison.close(LIBRARY_TOLERANCE)
    return not same_xla() and comparison.close(OTHER_XLA_TOLERANCE)


@pytest.mark.table
@over(functions.EXACT)
def test_equals_jax(case, type_name):
    comparison = outcome(case, type_name)
    assert not comparison.thunks & {"dot", "convolution", "fft"}
    assert is_right(comparison), str(comparison)


@over(functions.LINEAR)
def test_libraries_equal_jax(case, type_name):
    comparison = outcome(case, type_name)
    assert is_right(comparison), str(comparison)


def test_the_tolerance_is_needed():
    """For what is listed, and for nothing else."""
    if not same_xla():
        pytest.skip("the plugin has another XLA than jaxlib")
    differing = {
        (case.name, type_name)
        for case in functions.LINEAR
        for type_name in case.types.split()
        if not outcome(case, type_name).equal
    }
    assert differing == DIFFERING


def test_libraries_are_reached():
    """The table has programs with each of the libraries' thunks."""
    kinds = [outcome(case, case.types.split()[0]).thunks for case in functions.LINEAR]
    assert frozenset.union(*kinds) >= LIBRARIES


@over(functions.ARCTANGENTS)
def test_arctangents_equal_jax(case, type_name):
    """A known plugin compiles vectorised arctangents wrongly, unless it is told how to."""
    comparison = outcome(case, type_name)
    assert is_right(comparison), str(comparison)


def test_the_table_covers_all_types():
    counts = dict.fromkeys(DTYPES, 0)
    for case in (*functions.EXACT, *functions.LINEAR):
        for type_name in case.types.split():
            counts[type_name] += 1
    assert min(counts.values()) >= 20, counts


# ---- shapes ----


@pytest.mark.parametrize("type_name", DTYPES)
def test_ranks_and_zero_sizes(type_name):
    shapes = [
        (),
        (1,),
        (7,),
        (0,),
        (3, 5),
        (0, 4),
        (2, 3, 4),
        (2, 0, 4),
        (2, 3, 2, 5),
        (1, 0, 2, 0),
    ]
    generator = generator_of(type_name)
    arrays = [make(EDGE[shape], type_name, generator) for shape in shapes]

    def function(*arrays):
        return [(x.T, x == x, jnp.stack([x, x]), jnp.where(x.any(), x, x[None])) for x in arrays]

    with x64_for(type_name):
        comparison = compare(function, *arrays)
    assert is_right(comparison), str(comparison)


def test_many_inputs_and_outputs():
    """200 inputs and 100 outputs, of all types and ranks up to four."""
    generator = generator_of("many")
    shapes = [(), (3,), (2, 3), (0, 2), (2, 1, 3), (1, 2, 2, 2)]
    arguments = [
        make(T[shapes[i // 2 % len(shapes)]], [*DTYPES][i // 2 % len(DTYPES)], generator)
        for i in range(200)
    ]

    def function(*arguments):
        pairs = zip(arguments[::2], arguments[1::2], strict=True)
        return [x ^ y if x.dtype == bool else x * y + x for x, y in pairs]

    with jax.enable_x64(True):
        comparison = compare(function, *arguments)
    assert len(comparison.results) == 100
    assert is_right(comparison), str(comparison)


# ---- arguments and constants ----


def test_pytrees():
    def step(state, batch, rate):
        params, *history = state
        x, y = batch["x"], batch["y"]

        def loss(params):
            prediction = jnp.tanh(x @ params["layers"][0]["w"]) @ params["layers"][1]["w"]
            return jnp.mean((prediction + params["bias"] - y) ** 2)

        value, gradient = jax.value_and_grad(loss)(params)
        new = jax.tree.map(lambda p, g: p - rate * g, params, gradient)
        return (new, value, *history[:1]), {"gradient": gradient, "none": None, "empty": ()}

    f32 = functools.partial(make, type_name="f32", generator=generator_of("pytrees"))
    params = {"layers": [{"w": f32(T[4, 8])}, {"w": f32(T[8, 2])}], "bias": f32(T[2])}
    state = (params, f32(T[()]), f32(T[()]))
    batch = {"x": f32(T[16, 4]), "y": f32(T[16, 2])}
    comparison = compare(step, state, batch, np.float32(0.1))
    assert len(comparison.results) == 8
    assert is_right(comparison), str(comparison)


@pytest.mark.parametrize("used", [[], [0], [3], [1, 2], [4]])
def test_unused_arguments(used):
    generator = generator_of("unused")
    arguments = [make(Array((2, 3)), name, generator) for name in ("f32", "i8", "b1", "c64", "f16")]

    def function(*arguments):
        return [arguments[i][::-1] for i in used]

    comparison = compare(function, *arguments)
    assert is_right(comparison), str(comparison)


@pytest.mark.parametrize("size", [4, 32, 33, 1024, 8 << 20])
@pytest.mark.parametrize("library", [np, jnp])
def test_captured_constants(size, library):
    """JAX keeps small and large ones in different ways."""
    constant = library.asarray(generator_of("constants").integers(0, 256, size, np.uint8))
    more = library.asarray(np.arange(size // 4, dtype=np.float32))

    def function(x, i):
        return x + constant, jnp.flip(more), jnp.take(constant, i)

    x = np.full(size, 3, np.uint8)
    program = cx.lower(function, [x, np.int32(0)])
    assert [each.name for each in program.inputs] == ["x", "i"]
    comparison = compare(function, x, np.int32(size - 1))
    assert is_right(comparison), str(comparison)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("jax_use_simplified_jaxpr_constants", True), ("jax_embedded_constants_max_bytes", 0)],
)
def test_settings_of_jax_move_no_constant(setting, value):
    constant = jnp.arange(1000.0)
    old = getattr(jax.config, setting)
    jax.config.update(setting, value)
    try:
        program = cx.lower(lambda x: x + constant, [jax.ShapeDtypeStruct((), jnp.float32)])
    finally:
        jax.config.update(setting, old)
    assert len(program.inputs) == 1
    (result,) = cx.compile_program(program)[0].run([1])
    np.testing.assert_array_equal(result, np.arange(1000) + 1)


def test_64_bit_types_only_where_jax_has_them():
    x = np.arange(3.0)
    with jax.enable_x64(True):
        assert compare(lambda x: (x, x > 1), x).results[0].dtype == np.float64
    assert compare(lambda x: (x, x > 1), x.astype(np.float32)).results[0].dtype == np.float32
