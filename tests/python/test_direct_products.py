"""Products of matrices and what else XLA leaves to libraries: the direct engine refuses these.

At low latency most of them are kernels, which it runs, with the bits that JAX has with the same
options of XLA.
"""

import direct_cases
import functions
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differential import (
    SUPPORTED,
    T,
    arguments_of,
    compare,
    make,
    over,
    refused_kinds,
    run_at_low_latency,
    with_types,
    x64_for,
)

import cyxla as cx
from cyxla.low_latency import OPTIONS as LOW_LATENCY

# ---- refusals ----

#: In units of rounding, for what the libraries of plugin and jaxlib compute differently.
TOLERANCE = 64

REFUSED = {
    "fft": (jnp.fft.fft, T[30], "c64"),
    "convolution": (lambda x: jnp.convolve(x, x[:7]), T[50], "f32"),
    "ynn-fusion": (lambda x: x @ x, T[64, 64], "f32"),
    "dot": (lambda x: x @ x, T[4, 4], "f64"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refusal_names_its_thunk(kind):
    function, array, type_name = REFUSED[kind]
    x = make(array, type_name, np.random.default_rng(0))
    with x64_for(type_name):
        program = cx.lower(function, [x], name="refused")
        expected = np.asarray(jax.jit(function)(x))
    for compiler in ("jaxlib", "plugin"):
        with pytest.raises(cx.StatusError) as caught:
            cx.compile_program(program, engine="direct", compiler=compiler, low_latency=False)
        assert caught.value.status == "UNIMPLEMENTED"
        assert refused_kinds(caught.value) == {kind}
        assert "refused: " in str(caught.value)
    executable, statistics = cx.compile_program(program, low_latency=False)
    assert executable.engine == statistics.engine == "pjrt"
    assert kind in executable.engine_reason and kind in executable.thunks
    result = executable.run([x])[0]
    np.testing.assert_allclose(result, expected, 1e-5, 1e-5)


@pytest.mark.table
@over([*direct_cases.FLOAT_DOTS, *direct_cases.LIBRARIES])
def test_is_refused_or_has_the_same_bits(case, type_name):
    with x64_for(type_name):
        comparison = compare(case.function, *arguments_of(case, type_name))
    assert comparison.equal or comparison.close(TOLERANCE), str(comparison)


# ---- low latency ----

PRODUCTS = [*direct_cases.FLOAT_DOTS, *functions.LINEAR]


@pytest.mark.table
@over(PRODUCTS)
def test_low_latency_has_the_bits_of_jax_with_the_same_options(case, type_name):
    with x64_for(type_name):
        executable = run_at_low_latency(case.function, *arguments_of(case, type_name))
    if executable is not None:
        assert not executable.thunks.keys() - SUPPORTED


def test_low_latency_lets_most_products_run_directly():
    compiled = 0
    refused = []
    for case, type_name in with_types(direct_cases.FLOAT_DOTS):
        with x64_for(type_name):
            program = cx.lower(case.function, arguments_of(case, type_name))
        executable, _ = cx.compile_program(program, low_latency=True)
        compiled += 1
        if executable.engine != "direct":
            refused.append(f"{case.name}-{type_name}")
    assert len(refused) <= compiled // 3, refused


def test_low_latency_changes_only_what_it_is_for():
    """No option is left out that JAX knows, and each is spelled as XLA does."""
    function = jax.jit(lambda x: x + 1).lower(np.float32(1))
    for name, value in LOW_LATENCY.items():
        assert function.compile(compiler_options={name: value})(np.float32(1)) == 2
