"""Low latency: which programs count as small, what it changes, and who wins over it."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cyxla as cx
from cyxla import _runtime, low_latency


def struct(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


# ---- the amount of work ----


def convolution(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME")


@pytest.mark.parametrize(
    ("function", "shapes", "work"),
    [
        (jnp.sin, [()], 1),
        (lambda: (), [], 0),
        (lambda: 1, [], 1),
        (jnp.sin, [(3, 4)], 12),
        (jnp.sin, [(0, 4)], 0),
        (lambda x: jnp.zeros((5, 6)) + x, [()], 30),
        (jnp.matmul, [(3, 4), (4, 5)], 60),
        (jnp.matmul, [(4,), (4,)], 4),
        (jnp.matmul, [(7, 2, 3), (7, 3, 5)], 7 * 2 * 3 * 5),
        (jnp.matmul, [(3, 0), (0, 5)], 15),
        (lambda x, y: jnp.einsum("ij,kjl->ikl", x, y), [(2, 3), (4, 3, 5)], 2 * 3 * 4 * 5),
        (convolution, [(1, 2, 8, 8), (6, 2, 3, 3)], 6 * 8 * 8 * 2 * 3 * 3),
        (convolution, [(1, 2, 8, 8), (0, 2, 3, 3)], 128),
        (jnp.sum, [(100, 10)], 1000),
        # Inside of loops and branches too.
        (lambda x: jax.lax.fori_loop(0, 9, lambda i, y: y @ y, x), [(8, 8)], 512),
        (lambda x: jax.lax.cond(x[0] > 0, jnp.outer, lambda x, y: 2 * x[:, None] * y, x, x),
         [(9,)], 81),
        (lambda x: jnp.linalg.inv(x), [(3, 3)], 9),
    ],
)  # fmt: skip
def test_largest_work(function, shapes, work):
    program = cx.lower(function, [struct(*shape) for shape in shapes])
    assert program.largest_work == work
    # The same from elsewhere.
    assert cx.from_stablehlo(program.stablehlo).largest_work == work


def test_work_of_the_older_dot():
    program = cx.from_stablehlo(
        """
        func.func @main(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32> {
          %0 = stablehlo.dot %x, %y : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
          return %0 : tensor<3x5xf32>
        }
        """
    )
    assert program.largest_work == 60


# ---- the choice ----


def program_of(work, platform="cpu"):
    program = cx.lower(jnp.sin, [struct(3)])
    return dataclasses.replace(program, largest_work=work, platform=platform)


@pytest.mark.parametrize(
    ("work", "small"),
    [(None, False), (0, False), (1, False), (2, True), (64**3, True), (64**3 + 1, False)],
)
def test_auto_is_for_small_arrays(work, small):
    program = program_of(work)
    assert low_latency.is_wanted(program, "auto") is small
    assert low_latency.is_wanted(program, True)
    assert not low_latency.is_wanted(program, False)


def test_only_for_the_cpu():
    program = program_of(100, platform="cuda")
    assert not low_latency.is_wanted(program, "auto")
    assert not low_latency.is_wanted(program, False)
    with pytest.raises(cx.ArgumentError, match="low_latency=True .* sin is for cuda"):
        low_latency.is_wanted(program, True)


@pytest.mark.parametrize("choice", ["yes", None, 1, 0, "True"], ids=repr)
def test_other_choices(choice):
    with pytest.raises(cx.ArgumentError, match="low_latency must be 'auto', True or False, not"):
        cx.compile_program(program_of(100), low_latency=choice)


@pytest.mark.parametrize(
    ("function", "shapes", "choice", "expected"),
    [
        (jnp.sin, [()], "auto", False),
        (jnp.matmul, [(64, 64), (64, 64)], "auto", True),
        (jnp.matmul, [(65, 64), (64, 64)], "auto", False),
        (jnp.matmul, [(65, 64), (64, 64)], True, True),
        (jnp.matmul, [(4, 4), (4, 4)], False, False),
    ],
)
def test_statistics_tell(function, shapes, choice, expected):
    program = cx.lower(function, [struct(*shape) for shape in shapes])
    _, statistics = cx.compile_program(program, low_latency=choice)
    assert statistics.low_latency is expected


# ---- what it does ----


def product_and_sum(x):
    return x @ x, x.sum()


@pytest.fixture(scope="module")
def program():
    return cx.lower(product_and_sum, [struct(16, 16)])


def test_products_and_sums_are_kernels(program):
    fast, _ = cx.compile_program(program)
    assert fast.engine == "direct"
    assert set(fast.thunks) <= {"kernel", "copy", "call"}
    slow, _ = cx.compile_program(program, low_latency=False)
    assert slow.engine == "pjrt"
    assert "ynn-fusion" in slow.engine_reason


def test_only_last_bits_change(program):
    x = np.random.default_rng(0).normal(size=(16, 16)).astype(np.float32)
    fast, exact = (
        cx.compile_program(program, low_latency=choice)[0].run([x]) for choice in (True, False)
    )
    for each, other in zip(fast, exact, strict=True):
        scale = np.abs(x).sum() if each.ndim == 0 else math.sqrt(16)
        np.testing.assert_allclose(each, other, rtol=2e-6, atol=2e-6 * scale)
    for each, expected in zip(exact, jax.jit(product_and_sum)(x), strict=True):
        np.testing.assert_array_equal(each, expected)


@pytest.mark.parametrize("compiler", ["auto", "plugin"])
def test_options_of_the_user_win(program, compiler):
    options = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"}
    executable, statistics = cx.compile_program(program, options=options, compiler=compiler)
    assert statistics.low_latency
    assert "ynn-fusion" in executable.engine_reason


# ---- compilers that don't know its options ----


@pytest.mark.parametrize(
    ("options", "choice", "outcome"),
    [
        ({}, "auto", False),
        ({}, True, "refused"),
        ({}, False, False),
        ({"xla_cpu_experimental_ynn_fusion_type": ""}, "auto", "refused"),
        ({"xla_cpu_no_such_option": 1}, "auto", "refused"),
    ],
)
def test_an_older_compiler_does_without(program, monkeypatch, options, choice, outcome):
    """XLA has YNNPACK since 2025; what it says of an unknown option is the same in all versions."""
    compile_by_plugin = _runtime.compile_program

    def compile_by_older_plugin(plugin, program, stablehlo, options, engine):
        for name in options:
            if "ynn" in name or "no_such" in name:
                message = f"PJRT_Client_Compile: No such compile option: '{name}'"
                raise cx.StatusError(3, "INVALID_ARGUMENT", message)
        return compile_by_plugin(plugin, program, stablehlo, options, engine)

    monkeypatch.setattr(_runtime, "compile_program", compile_by_older_plugin)

    def compile_it():
        return cx.compile_program(program, options=options, compiler="plugin", low_latency=choice)

    if outcome == "refused":
        with pytest.raises(cx.StatusError, match="No such compile option"):
            compile_it()
    else:
        assert compile_it()[1].low_latency is outcome
