"""Linear algebra: jaxlib's LAPACK functions, called by a plugin, give what they give in JAX.

A program applies a function to matrices of several sizes and to a batch, and all bits of all
results are those of `jax.jit`.  Only products of matrices come from libraries of which plugin and
jaxlib have builds of their own: results may differ by roundings where the executable holds one.
"""

import functools
import pickle

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import pytest
from differential import DTYPES, compare, generator_of, same_xla, x64_for
from jax.lax import linalg as lax_linalg
from linalg_cases import CASES, UNSTABLE, is_right, matrix, right_side

import cyxla as cx
from cyxla import custom_calls, platforms

SIZES = (0, 1, 3, 50)
BATCH = (2, 3, 4)  # of matrices of four rows

SINGULAR = {
    "cholesky": jnp.linalg.cholesky,
    "inv": jnp.linalg.inv,
    "solve": lambda a: jnp.linalg.solve(a, right_side(a)),
    "triangular_solve": lambda a: lax_linalg.triangular_solve(a, a, lower=True),
    "lax.lu": lax_linalg.lu,
    "qr": jnp.linalg.qr,
    "svd": jnp.linalg.svd,
    "eigh": jnp.linalg.eigh,
    "eigvals": jnp.linalg.eigvals,
    "schur": jsl.schur,
    "det": jnp.linalg.det,
    "slogdet": jnp.linalg.slogdet,
}

#: All that the products of the two builds compute differently.
DIFFERING = {
    ("expm", "c128"),
    ("lstsq", "c128"),
    ("matrix_power", "c128"),
    ("pinv", "c128"),
    ("polar", "c128"),
}


# ---- inputs ----


def matrices(name, type_name):
    """Matrices of all sizes and a batch, which are well-conditioned."""
    case = CASES[name]
    generator = generator_of(f"{name} {type_name}")
    shapes = [(size, size) for size in SIZES if size >= case.least]
    return [matrix(case.matrix, shape, type_name, generator) for shape in (*shapes, (*BATCH, 4))]


def bad_matrices(type_name):
    """Singular ones, indefinite ones, and such with NaN and infinities."""
    ones = np.ones((4, 4))
    with_nan, with_infinity = np.eye(4), np.eye(4)
    with_nan[2, 1] = np.nan
    with_infinity[1, 1] = np.inf
    all_of_them = [np.zeros((4, 4)), ones, -np.eye(4), np.triu(ones, 1), with_nan, with_infinity]
    return np.stack(all_of_them).astype(DTYPES[type_name])


# ---- running ----


@functools.cache
def outcome(name, type_name):
    function = CASES[name].function
    with x64_for(type_name):
        return compare(
            lambda *all_of_them: [function(each) for each in all_of_them],
            *matrices(name, type_name),
            custom_calls=UNSTABLE,
        )


ALL = [(name, type_name) for name, case in CASES.items() for type_name in case.types]


@pytest.mark.table
@pytest.mark.parametrize(("name", "type_name"), ALL)
def test_equals_jax(name, type_name):
    comparison = outcome(name, type_name)
    assert is_right(comparison), str(comparison)


def test_the_tolerance_is_needed():
    """For what is listed, and for nothing else."""
    if not same_xla():
        pytest.skip("the plugin has another XLA than jaxlib")
    assert {each for each in ALL if not outcome(*each).equal} == DIFFERING


@pytest.mark.parametrize("type_name", ["f64", "c64"])
@pytest.mark.parametrize("name", SINGULAR)
def test_bad_input_gives_what_it_gives_in_jax(name, type_name):
    with x64_for(type_name):
        comparison = compare(SINGULAR[name], bad_matrices(type_name), custom_calls=UNSTABLE)
    assert comparison.equal, str(comparison)
    if name in ("cholesky", "inv", "solve", "eigh"):
        assert any(np.isnan(each).any() for each in comparison.results)


def test_all_of_jaxlibs_targets_are_registered():
    plugin = platforms.loaded_plugin("cpu")
    outcome("cholesky", "f32")
    found = [each for each in custom_calls.targets(plugin) if each.origin == "jaxlib"]
    assert len(found) >= 61
    assert {each.state for each in found} == {"registered"}


def test_all_of_jaxlibs_targets_are_called():
    called = {target for each in ALL for target in outcome(*each).program.custom_calls}
    assert {each.name for each in custom_calls.targets() if each.origin == "jaxlib"} == called


# ---- a fresh process ----

START = """
    import pickle, sys, threading
    import numpy as np
    {imports}
    import cyxla as cx
    program, executable, matrix, expected = pickle.load(open(sys.argv[1], "rb"))
    executable, statistics = cx.load_executable(program, executable)
    assert statistics.from_cache
    results = executable.run([matrix])
    for result, other in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, other)
    print("equal")
"""


@pytest.mark.parametrize("imports", ["", "import jax", "import jax.numpy", "import jaxlib"])
def test_a_fresh_process_can_start_with_a_serialized_executable(tmp_path, run_python, imports):
    """LAPACK is there although nothing has been lowered or compiled."""

    def function(a):
        return jnp.linalg.cholesky(a), jnp.linalg.eigh(a), jnp.linalg.solve(a, right_side(a))

    generator = np.random.default_rng(0)
    argument = matrix("positive", (5, 5), "f32", generator)
    program = cx.lower(function, [argument])
    executable, _ = cx.compile_program(program)
    data = executable.serialize()
    path = tmp_path / "program.pickle"
    path.write_bytes(pickle.dumps((program, data, argument, executable.run([argument]))))
    assert run_python(START.format(imports=imports), path) == "equal\n"


def test_a_fresh_process_can_start_with_a_program(tmp_path, run_python):
    program = cx.lower(jnp.linalg.cholesky, [jax.ShapeDtypeStruct((3, 3), np.float32)])
    path = tmp_path / "program.pickle"
    path.write_bytes(pickle.dumps(program))
    code = """
        import pickle, sys
        import numpy as np
        import cyxla as cx
        executable, _ = cx.compile_program(pickle.load(open(sys.argv[1], "rb")))
        print(executable.run([np.diag([1, 4, 9])])[0].tolist())
    """
    assert run_python(code, path) == "[[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]\n"


OTHER_PLUGIN = """
    import sys
    import jax, jax.numpy as jnp, numpy as np
    import jax.scipy.linalg as jsl
    import cyxla as cx
    from cyxla import custom_calls, platforms

    (plugin,) = (each for each in cx.find_plugins() if each.name == "xla_plugins.xla_cpu_pjrt")
    cx.initialize(plugin.path, platform="cpu")
    jax.config.update("jax_enable_x64", True)
    generator = np.random.default_rng(1)
    unstable = ["lapack_%sgees_ffi" % letter for letter in "sdcz"]

    def function(a):
        hermitian = a + a.conj().T
        positive = hermitian + 9 * jnp.eye(4, dtype=a.dtype)
        return (jnp.linalg.cholesky(positive), jnp.linalg.cholesky(-positive),
                jax.lax.linalg.lu(a), jnp.linalg.qr(a), jnp.linalg.svd(a),
                jnp.linalg.eigh(hermitian), jnp.linalg.eig(a), jsl.schur(a),
                jnp.linalg.solve(a, a[:, :2]), jnp.linalg.inv(a), jnp.linalg.slogdet(a))

    for dtype in (np.float32, np.float64, np.complex64, np.complex128):
        a = generator.normal(size=(4, 4)) + 2 * np.eye(4)
        if np.dtype(dtype).kind == "c":
            a = a + 1j * generator.normal(size=(4, 4))
        a = a.astype(dtype)
        executable, _ = cx.compile_program(cx.lower(function, [a], custom_calls=unstable))
        epsilon = np.finfo(dtype).eps
        expected = jax.tree.leaves(jax.jit(function)(a))
        for result, other in zip(executable.run([a]), expected, strict=True):
            np.testing.assert_allclose(result, other, rtol=100 * epsilon, atol=100 * epsilon)
    found = [each for each in custom_calls.targets(platforms.loaded_plugin("cpu"))
             if each.origin == "jaxlib"]
    print(len(found) >= 61, {each.state for each in found})
"""


def test_an_older_plugin_gets_them_bridged(run_python):
    """Its FFI is older than that of jaxlib: without a bridge it drops the handlers."""
    assert run_python(OTHER_PLUGIN) == "True {'bridged'}\n"
