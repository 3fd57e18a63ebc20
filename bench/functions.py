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


_lengths, _masses = np.array([1.0, 0.8, 0.5]), np.array([2.0, 1.5, 1.0])
_carried = np.cumsum(_masses[::-1])[::-1]  # mass that each link carries
_inertia = _carried[np.maximum.outer(range(3), range(3))] * np.outer(_lengths, _lengths)


def _solve3(matrix, right):
    """A symmetric 3x3 system by L D L^T, written out."""
    d0 = matrix[0][0]
    l10, l20 = matrix[1][0] / d0, matrix[2][0] / d0
    d1 = matrix[1][1] - l10 * matrix[1][0]
    c21 = matrix[2][1] - l20 * matrix[1][0]
    l21 = c21 / d1
    d2 = matrix[2][2] - l20 * matrix[2][0] - l21 * c21
    y1 = right[1] - l10 * right[0]
    y2 = right[2] - l20 * right[0] - l21 * y1
    x2 = y2 / d2
    x1 = y1 / d1 - l21 * x2
    return right[0] / d0 - l10 * x1 - l20 * x2, x1, x2


def arm(state):
    """Accelerations of a planar arm of three links, for its angles, velocities and torques."""
    q, velocity, torque = state[:3], state[3:6], state[6:]
    angle, omega = jnp.cumsum(q), jnp.cumsum(velocity)
    difference = angle[:, None] - angle[None, :]
    bias = jnp.sum(_inertia * jnp.sin(difference) * (omega * omega)[None, :], axis=1)
    bias += 9.81 * (_carried * _lengths) * jnp.sin(angle)
    force = torque - jnp.concatenate([torque[1:], jnp.zeros(1)]) - bias
    a = jnp.stack(_solve3(_inertia * jnp.cos(difference), force))
    return jnp.concatenate([a[:1], a[1:] - a[:-1]])


_root = _random.standard_normal((8, 8))
_positive = _root @ _root.T + 8 * np.eye(8)


def cholesky8(matrix, right):
    """A positive definite system of 8 equations: three calls of LAPACK."""
    factor = jax.scipy.linalg.cho_factor(matrix, lower=True)
    return jax.scipy.linalg.cho_solve(factor, right)


def matmul256(a, b):
    """A product that the direct engine leaves to PJRT."""
    return a @ b


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
    "arm": (arm, [np.array([0.3, -0.5, 0.9, 0.1, 0.2, -0.4, 1.0, 0.5, -0.2])]),
    "cholesky8": (cholesky8, [_positive, _random.standard_normal(8)]),
    "matmul256": (matmul256, [_random.standard_normal((256, 256)).astype(np.float32)] * 2),
    "affine": (affine, [_random.standard_normal(1 << 20).astype(np.float32)]),
}
