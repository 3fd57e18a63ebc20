"""The functions that are measured: what numerical users call in their inner loops.

`FUNCTIONS[name] = (function, arguments)`; the arguments fix shapes and types.  Needs 64-bit types.
"""

from __future__ import annotations

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

_random = np.random.default_rng(0)


def sin3(x):
    """Three sines: nothing but the cost of a call."""
    return jnp.sin(x) * 2


def rosenbrock(x):
    """The usual test of optimisers, n variables."""
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


_design = _random.standard_normal((50, 20))


def log_sum_exp(x):
    """A smooth maximum of 50 affine functions of 20 variables."""
    return jax.scipy.special.logsumexp(jnp.asarray(_design) @ x)


def kepler(p):
    """Kepler's equation E - e sin E = M for p = (M, e), by Newton's method in a while loop."""
    mean, e = p[0], p[1]

    def residual(anomaly):
        return anomaly - e * jnp.sin(anomaly) - mean

    def go_on(state):
        anomaly, steps = state
        return (jnp.abs(residual(anomaly)) > 1e-12) & (steps < 50)

    def step(state):
        anomaly, steps = state
        return anomaly - residual(anomaly) / (1 - e * jnp.cos(anomaly)), steps + 1

    return jax.lax.while_loop(go_on, step, (mean, jnp.int32(0)))[0]


_layers = [
    (_random.standard_normal(shape).astype(np.float32) / 8, np.zeros(shape[1], np.float32))
    for shape in [(16, 64), (64, 64), (64, 4)]
]


def mlp(x):
    """A small neural network in float32: 16, 64, 64, 4."""
    for weights, bias in _layers[:-1]:
        x = jnp.tanh(x @ weights + bias)
    weights, bias = _layers[-1]
    return x @ weights + bias


def affine(x):
    """A million elements: memory bandwidth."""
    return x * 2 + 1


_start = 0.1 * np.arange(10) + 0.05

FUNCTIONS = {
    "sin3": (sin3, [np.array([0.1, 0.5, 1.3])]),
    "rosenbrock10": (jax.value_and_grad(rosenbrock), [_start]),
    "rosenbrock1000": (jax.value_and_grad(rosenbrock), [np.tile(_start, 100)]),
    "log_sum_exp": (jax.value_and_grad(log_sum_exp), [_random.standard_normal(20)]),
    "kepler": (kepler, [np.array([1.1, 0.7])]),
    "mlp": (mlp, [_random.standard_normal(16).astype(np.float32)]),
    "affine": (affine, [_random.standard_normal(1 << 20).astype(np.float32)]),
}
