"""Functions of linear algebra: a table of them, and matrices for them."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from differential import DTYPES, same_xla
from jax.lax import linalg as lax_linalg

TYPES = ("f32", "f64", "c64", "c128")
#: For what is put together from functions of which all types are tried.
SOME = ("c128",)

#: What JAX makes no promise for that it stays the same.
UNSTABLE = [
    f"lapack_{letter}{name}_ffi"
    for name in (
        "gehrd",
        "hetrd",
        "sytrd",
        "geqp3",
        "gtsv",
        "trsyl",
        "gees",
        "geesx",
        "gesvd",
        "ormqr",
        "unmqr",
    )
    for letter in "sdcz"
] + ["tridiagonal_solve_perturbed_ffi"]

PRODUCTS = {"dot", "ynn-fusion"}

#: In units of rounding of each result's largest value: where plugin and jaxlib have products of
#: different builds, and where they are different versions of XLA.
TOLERANCE = 16


def is_right(comparison):
    if comparison.equal:
        return True
    return bool(comparison.thunks & PRODUCTS or not same_xla()) and comparison.close(TOLERANCE)


# ---- functions ----


@dataclass(frozen=True)
class Case:
    """A function of one matrix, or batch of them: what kind it takes, and from which size on."""

    function: object
    matrix: str = "general"
    least: int = 0
    types: tuple = TYPES


def right_side(a):
    """Two columns for the right side of an equation, without an input of their own."""
    return jnp.concatenate([a[..., :, :1] + 1, a[..., :, -1:] - 2], axis=-1)


def least_squares(a):
    function = lambda a: jnp.linalg.lstsq(a, right_side(a))  # noqa: E731
    return function(a) if a.ndim == 2 else jax.vmap(jax.vmap(function))(a)


def unbatched(function):
    """For functions that take one matrix, or don't see that they are given several."""

    def apply(a):
        return function(a) if a.ndim == 2 else jax.vmap(jax.vmap(function))(a)

    return apply


def householder(a):
    reflectors, scales = jnp.linalg.qr(a, mode="raw")
    reflectors = jnp.swapaxes(reflectors, -1, -2)
    return (
        lax_linalg.householder_product(reflectors, scales),
        lax_linalg.ormqr(reflectors, scales, a),
        lax_linalg.ormqr(reflectors, scales, a, left=False, transpose=True),
    )


def tridiagonal_solve(a, **options):
    d = jnp.diagonal(a, axis1=-2, axis2=-1)
    zeros = jnp.zeros_like(d[..., :1])
    lower = jnp.concatenate([zeros, d[..., 1:] / 9], axis=-1)
    upper = jnp.concatenate([d[..., 1:] / 7, zeros], axis=-1)
    return lax_linalg.tridiagonal_solve(lower, d, upper, right_side(a), **options)


CASES = {
    "cholesky": Case(jnp.linalg.cholesky, "positive"),
    "scipy.cholesky": Case(jsl.cholesky, "positive", types=SOME),
    "cho_solve": Case(
        lambda a: jsl.cho_solve(jsl.cho_factor(a, lower=True), right_side(a)),
        "positive",
        1,
        types=SOME,
    ),
    "solve": Case(lambda a: jnp.linalg.solve(a, right_side(a))),
    "triangular_solve": Case(
        lambda a: lax_linalg.triangular_solve(a, right_side(a), left_side=True, lower=True),
        "triangular",
    ),
    "triangular_solve_right": Case(
        lambda a: lax_linalg.triangular_solve(a, a, lower=True, transpose_a=True), "triangular"
    ),
    "solve_triangular": Case(
        unbatched(lambda a: jsl.solve_triangular(a, right_side(a), lower=True, trans="C")),
        "triangular",
        1,
        types=SOME,
    ),
    "lax.lu": Case(lax_linalg.lu),
    "lu": Case(unbatched(jsl.lu)),
    "lu_factor": Case(jsl.lu_factor, types=SOME),
    "qr": Case(jnp.linalg.qr),
    "qr_complete": Case(
        lambda a: jnp.linalg.qr(a[..., :, :2], mode="complete"), least=2, types=SOME
    ),
    "householder": Case(householder, least=1),
    "qr_pivoting": Case(unbatched(lambda a: jsl.qr(a, pivoting=True))),
    "svd_by_qr": Case(lambda a: lax_linalg.svd(a, algorithm=lax_linalg.SvdAlgorithm.QR)),
    "svd": Case(jnp.linalg.svd),
    "svd_wide": Case(
        lambda a: jnp.linalg.svd(a[..., :2, :], full_matrices=False), least=2, types=SOME
    ),
    "svdvals": Case(jnp.linalg.svdvals, types=SOME),
    "eigh": Case(jnp.linalg.eigh, "hermitian"),
    "eigvalsh": Case(jnp.linalg.eigvalsh, "hermitian", types=SOME),
    "eig": Case(jnp.linalg.eig),
    "eigvals": Case(jnp.linalg.eigvals),
    "schur": Case(jsl.schur),
    "hessenberg": Case(unbatched(lambda a: jsl.hessenberg(a, calc_q=True))),
    "tridiagonal": Case(lambda a: lax_linalg.tridiagonal(a, lower=True), "hermitian", 1),
    "tridiagonal_solve": Case(tridiagonal_solve, "positive", 3),
    "tridiagonal_solve_perturbed": Case(
        lambda a: tridiagonal_solve(a, perturb_singular=True), "positive", 3, ("f32", "f64")
    ),
    "expm": Case(unbatched(jsl.expm)),
    "inv": Case(jnp.linalg.inv),
    "det": Case(jnp.linalg.det),
    "slogdet": Case(jnp.linalg.slogdet),
    "lstsq": Case(least_squares),
    "pinv": Case(jnp.linalg.pinv),
    "norm": Case(lambda a: jnp.linalg.norm(a, axis=(-2, -1)), types=SOME),
    "matrix_power": Case(lambda a: jnp.linalg.matrix_power(a, -3), least=1, types=SOME),
    "polar": Case(unbatched(lambda a: jsl.polar(a, method="svd")), least=1, types=SOME),
}

# ---- more of them, which are tried with small matrices only ----


def of_rows(function):
    """Of vectors: the first two rows, which there are in each matrix."""
    return lambda a: function(a[0], a[1])


def tridiagonal_eigenvalues(a):
    return jsl.eigh_tridiagonal(jnp.diagonal(a).real, jnp.diagonal(a, 1).real, eigvals_only=True)


MORE = {
    "cond": Case(jnp.linalg.cond),
    "cross": Case(lambda a: jnp.linalg.cross(a[:, :3], a[:, 1:])),
    "diagonal": Case(lambda a: jnp.linalg.diagonal(a, offset=1)),
    "matmul": Case(lambda a: jnp.linalg.matmul(a, a + 1)),
    "matrix_norm": Case(lambda a: [jnp.linalg.matrix_norm(a, ord=o) for o in ("fro", "nuc", 2, 1)]),
    "matrix_rank": Case(jnp.linalg.matrix_rank),
    "matrix_transpose": Case(jnp.linalg.matrix_transpose),
    "multi_dot": Case(lambda a: jnp.linalg.multi_dot([a[:, :2], a[:2], a[:, :1]])),
    "norms": Case(lambda a: [jnp.linalg.norm(a, ord=o) for o in (None, 1, -1, jnp.inf, 2, -2)]),
    "outer": Case(of_rows(jnp.linalg.outer)),
    "tensordot": Case(lambda a: jnp.linalg.tensordot(a, a, axes=2)),
    "tensorinv": Case(lambda a: jnp.linalg.tensorinv(a.reshape(4, 2, 2), ind=1)),
    "tensorsolve": Case(lambda a: jnp.linalg.tensorsolve(a.reshape(2, 2, 4), a[0].reshape(2, 2))),
    "trace": Case(jnp.linalg.trace),
    "vecdot": Case(of_rows(jnp.linalg.vecdot)),
    "vector_norm": Case(lambda a: [jnp.linalg.vector_norm(a, ord=o) for o in (1, 2, 3, jnp.inf)]),
    "block_diag": Case(lambda a: jsl.block_diag(a, a[:2], 3)),
    "circulant": Case(lambda a: jsl.circulant(a[0])),
    "companion": Case(lambda a: jsl.companion(a[0])),
    "convolution_matrix": Case(lambda a: jsl.convolution_matrix(a[0], 3)),
    "dft": Case(lambda a: a + jsl.dft(4).astype(a.dtype), types=("c64", "c128")),
    "eigh_tridiagonal": Case(tridiagonal_eigenvalues, types=("f32", "f64")),
    "expm_frechet": Case(lambda a: jsl.expm_frechet(a, a + 1)),
    "fiedler": Case(lambda a: (jsl.fiedler(a[0]), jsl.fiedler_companion(a[0]))),
    "funm": Case(lambda a: jsl.funm(a.astype(jnp.result_type(a, jnp.complex64)), jnp.exp)),
    "fixed": Case(
        lambda a: [
            a + each(4).astype(a.dtype)
            for each in (jsl.hadamard, jsl.hilbert, jsl.invhilbert, jsl.pascal, jsl.invpascal)
        ],
    ),
    "hankel": Case(lambda a: (jsl.hankel(a[0], a[1]), jsl.toeplitz(a[0], a[1]))),
    "helmert": Case(lambda a: a[:3] + jsl.helmert(4).astype(a.dtype)),
    "leslie": Case(lambda a: jsl.leslie(a[0], a[1, 1:])),
    "lu_solve": Case(lambda a: jsl.lu_solve(jsl.lu_factor(a), right_side(a))),
    "qr_multiply": Case(lambda a: jsl.qr_multiply(a, a)),
    "rsf2csf": Case(lambda a: jsl.rsf2csf(*jsl.schur(a))),
    "solve_sylvester": Case(lambda a: jsl.solve_sylvester(a, a + 2, a)),
    "sqrtm": Case(jsl.sqrtm),
    "cholesky_update": Case(
        lambda a: lax_linalg.cholesky_update(a, a[0]), "triangular", types=("f32", "f64")
    ),
    "lu_pivots_to_permutation": Case(
        lambda a: lax_linalg.lu_pivots_to_permutation(lax_linalg.lu(a)[1], 4)
    ),
    "qdwh": Case(lax_linalg.qdwh),
    "symmetric_product": Case(lambda a: lax_linalg.symmetric_product(a, a), types=("f32", "f64")),
    "jsl_det_inv": Case(lambda a: (jsl.det(a), jsl.inv(a))),
    "jsl_solve": Case(lambda a: jsl.solve(a, right_side(a), assume_a="pos"), "positive"),
    "jsl_svd_eigh": Case(lambda a: (jsl.svd(a), jsl.eigh(a + a.T.conj()))),
    "gradients": Case(
        jax.grad(lambda a: jnp.sum(jnp.linalg.inv(a)) + jnp.linalg.slogdet(a)[1]),
        types=("f32", "f64"),
    ),
    "derivatives": Case(
        lambda a: jax.jvp(lambda a: (jnp.linalg.cholesky(a), jnp.linalg.eigh(a)), (a,), (a,)),
        "positive",
    ),
    "mahalanobis": Case(
        jax.grad(lambda a: jnp.sum(jsl.cho_solve(jsl.cho_factor(a), a[0]) ** 2)),
        "positive",
        types=("f32", "f64"),
    ),
}

# ---- inputs ----


def matrix(kind, shape, type_name, generator):
    values = generator.normal(size=shape)
    if type_name in ("c64", "c128"):
        values = values + 1j * generator.normal(size=shape)
    size = shape[-1]
    if kind == "general":
        values = values + 2 * np.eye(size)
    elif kind == "hermitian":
        values = values + values.conj().swapaxes(-1, -2)
    elif kind == "positive":
        values = values @ values.conj().swapaxes(-1, -2) + size * np.eye(size)
    else:
        values = np.tril(values) / max(size, 1) + 2 * np.eye(size)
    return values.astype(DTYPES[type_name])
