"""More functions of JAX for the direct engine: a row each, beside the table of functions.py.

They are chosen to reach all kinds of thunks that it runs, and all that moves data in its own way.
"""

# ruff: noqa: E501
# fmt: off


import jax
import jax.numpy as jnp
import numpy as np
from differential import BOOL, EDGE, INDEX, KEY, UNIT, T
from functions import lennard_jones, mlp_loss, rosenbrock, table, uses_key
from jax import lax, nn, random
from jax.scipy import integrate, ndimage, signal, special, stats
from jax.scipy.cluster import vq
from jax.scipy.interpolate import RegularGridInterpolator
from jax.scipy.optimize import minimize
from jax.scipy.sparse import linalg as sparse
from jax.scipy.spatial.transform import Rotation

SORTED_FLOATS = "f16 bf16 f32 f64"


def positive(x):
    """A matrix that is symmetric and positive definite."""
    return x @ x.T + len(x) * jnp.eye(len(x), dtype=x.dtype)


# ---- control flow: with a sort inside, a loop or branch is a thunk of its own, and no kernel ----


def sorting_loop(x):
    """A trip count that XLA knows."""
    return lax.fori_loop(0, 7, lambda i, y: jnp.sort(y)[::-1] + i, x)


def sorting_while(x):
    """A trip count that depends on data."""
    return lax.while_loop(lambda y: jnp.sum(jnp.abs(y)) > 5, lambda y: jnp.sort(y) / 2, x)


def sorting_for(n, x):
    return lax.fori_loop(0, n, lambda i, y: jnp.sort(-y) + 1, x)


def sorting_branches(i, x):
    branches = [jnp.sort, lambda x: x, lambda x: -jnp.sort(-x), lambda x: jnp.zeros_like(x), jnp.flip]
    return lax.switch(i, branches, x)


def sorting_cond(flag, x):
    return lax.cond(flag, lambda x: (jnp.sort(x), x[0]), lambda x: (x, x[-1]), x)


def nest(x):
    """Loops, branches and sorts, five deep."""

    def innermost(k, z):
        return lax.cond(z[0] > 0, lambda z: jnp.sort(z) - k, lambda z: jnp.sort(-z), z)

    def inner(j, y):
        return lax.cond(j % 2 == 0, lambda y: lax.fori_loop(0, j + 1, innermost, y), lambda y: y / 2, y)

    def outer(state):
        i, y = state
        return i + 1, lax.fori_loop(0, 3, inner, y)

    return lax.while_loop(lambda state: (state[0] < 4) & (jnp.max(state[1]) < 1e3), outer, (0, x))


def scan_of_scans(x):
    def inner(carry, row):
        carry = jnp.sort(carry + row)
        return carry, carry[0]

    def outer(carry, block):
        return lax.scan(inner, carry, block)

    return lax.scan(outer, x[0, 0], x)


def scan_with_branches(x):
    def step(carry, row):
        i, total = carry
        total = lax.switch(i % 3, [lambda t: t + row, lambda t: jnp.sort(t), lambda t: t * row.max()], total)
        return (i + 1, total), total.min()

    return lax.scan(step, (0, jnp.zeros_like(x[0])), x)


def scan_reversed(x):
    return lax.scan(lambda c, r: (jnp.sort(c + r), c), x[0], x, reverse=True)


def scan_unrolled(x):
    return lax.scan(lambda c, r: (c * 0.5 + r, c), x[0], x, unroll=3)


def loop_of_many(x, n, flag):
    """State of many types, two of which change places."""

    def step(i, state):
        a, b, n, flag, z, k = state
        return b, jnp.sort(a), n * 3 + i, ~flag, z * 1j, k + jnp.uint8(i)

    return lax.fori_loop(0, 5, step, (x, -x, n, flag, lax.complex(x, x), jnp.zeros((), jnp.uint8)))


def bisection(x):
    def step(state):
        low, high = state
        middle = (low + high) / 2
        return jnp.where(middle**3 < x, middle, low), jnp.where(middle**3 < x, high, middle)

    return lax.while_loop(lambda s: jnp.max(s[1] - s[0]) > 1e-3, step, (jnp.zeros_like(x), jnp.ones_like(x)))


def early_exit(x):
    """A condition that is false at once."""
    return lax.while_loop(lambda y: jnp.sum(y) < -1e30, lambda y: jnp.sort(y), x)


def solve_by_iteration(x):
    return lax.custom_root(
        lambda y: y**2 - x, jnp.ones_like(x),
        lambda f, y: lax.fori_loop(0, 8, lambda i, y: (y + x / y) / 2, y),
        lambda g, y: y / g(jnp.ones_like(y)),
    )


def runge_kutta(x):
    def slope(x):
        return jnp.stack([x[1], -jnp.sin(x[0]) - 0.1 * x[1]])

    def step(x, _):
        a = slope(x)
        b = slope(x + 0.05 * a)
        c = slope(x + 0.05 * b)
        d = slope(x + 0.1 * c)
        x = x + (a + 2 * b + 2 * c + d) * (0.1 / 6)
        return x, x

    return lax.scan(step, x, None, length=20)


def game_of_life(x):
    def step(i, x):
        around = sum(jnp.roll(x, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) - x
        return ((around == 3) | ((around == 2) & (x == 1))).astype(x.dtype)

    return lax.fori_loop(0, 6, step, x & 1)


def sieve(n):
    def strike(i, is_prime):
        multiples = (jnp.arange(60) % i == 0) & (jnp.arange(60) > i)
        return jnp.where(is_prime[i] & multiples, False, is_prime)

    return lax.fori_loop(2, n + 2, strike, jnp.ones(60, bool).at[:2].set(False))


CONTROL = table(
    ("sorting_loop", sorting_loop, (T[12],), "f32 f64 i16"),
    ("sorting_while", sorting_while, (T[12],), "f16 f32 f64"),
    ("sorting_for", sorting_for, (INDEX(6)[()], T[9]), "f32 i64"),
    ("sorting_for_none", lambda n, x: sorting_for(n * 0, x), (INDEX(6)[()], T[9]), "f64"),
    ("sorting_branches", sorting_branches, (INDEX(5)[()], T[9]), "i8 f32 c64"),
    ("branch_below_range", lambda i, x: sorting_branches(i - 9, x), (INDEX(5)[()], T[9]), "f32"),
    ("branch_above_range", lambda i, x: sorting_branches(i + 5, x), (INDEX(5)[()], T[9]), "f32"),
    ("sorting_cond", sorting_cond, (BOOL[()], T[9]), "f32 f64 u8"),
    ("not_sorting_cond", lambda f, x: sorting_cond(~f, x), (BOOL[()], T[9]), "f32 bf16"),
    ("nest", nest, (T[6],), "f32 f64"),
    ("scan_of_scans", scan_of_scans, (T[3, 4, 5],), "f32 i32"),
    ("scan_with_branches", scan_with_branches, (T[8, 4],), "f32 f64 i32"),
    ("scan_reversed", scan_reversed, (T[5, 4],), "f64 u16"),
    ("scan_unrolled", scan_unrolled, (T[7, 40],), "f32"),
    ("scan_empty", lambda x: lax.scan(lambda c, r: (jnp.sort(c + r), c), x.sum(0), x), (T[0, 5],), "f32"),
    ("loop_of_many", loop_of_many, (T[6], INDEX(5)[()], BOOL[3]), "f32 f64"),
    ("loop_batched", jax.vmap(bisection), (UNIT[5, 3],), "f32 f64"),
    ("while_batched", jax.vmap(sorting_while), (T[3, 6],), "f32"),
    ("early_exit", early_exit, (T[6],), "f32"),
    ("map_of_sorts", lambda x: lax.map(jnp.sort, x), (T[5, 7],), "f32 i8"),
    ("custom_root", solve_by_iteration, (UNIT[5],), "f32 f64"),
    ("custom_root_gradient", jax.grad(lambda x: solve_by_iteration(x).sum()), (UNIT[5],), "f64"),
    ("runge_kutta", runge_kutta, (T[2],), "f32 f64"),
    ("runge_kutta_jacobian", jax.jacrev(lambda x: runge_kutta(x)[0]), (T[2],), "f64"),
    ("loop_derivative", lambda x: jax.jvp(sorting_loop, (x,), (x + 1,)), (T[6],), "f64"),
    ("loop_gradient", jax.grad(lambda x: lax.fori_loop(0, 4, lambda i, y: jnp.sin(y) * y, x).sum()), (T[6],), "f32 f64"),
    ("checkpoint", jax.grad(jax.checkpoint(lambda x: jnp.sum(jnp.sin(jnp.sin(x) * x)))), (T[9],), "f32 f64"),
    ("game_of_life", game_of_life, (INDEX(2)[9, 9],), "i32"),
    ("sieve", sieve, (INDEX(6)[()],), "i32"),
    ("associative_reversed", lambda x: lax.associative_scan(jnp.add, x, reverse=True), (T[17],), "i32 f32"),
    ("optimization_barrier", lambda x: lax.optimization_barrier((x + 1, x * 2)), (T[5],), "f32"),
)

# ---- sorting ----


def sort_operands(*keys, **options):
    return lambda *operands: lax.sort(operands, **options)


SORTS = table(
    ("sort_three", sort_operands(num_keys=1), (EDGE[50], T[50], INDEX(9)[50]), "f32 f64 i8"),
    ("sort_three_keys", sort_operands(num_keys=3), (INDEX(3)[90], INDEX(3)[90], EDGE[90]), "f32 f16 u8"),
    ("sort_five", sort_operands(num_keys=2), (INDEX(4)[70], BOOL[70], EDGE[70], T[70], INDEX(99)[70]), "f64 bf16"),
    ("sort_axis_0", sort_operands(dimension=0, num_keys=1), (EDGE[20, 3], T[20, 3]), "f32 i64"),
    ("sort_axis_1", sort_operands(dimension=1), (INDEX(5)[4, 9, 3], T[4, 9, 3]), "f32"),
    ("sort_axis_minor", lambda x: jnp.sort(x, 2), (EDGE[3, 4, 30],), "f64 u32"),
    ("sort_descending", lambda x: jnp.sort(x, descending=True), (EDGE[99],), "b1 i8 u64 f16 bf16 f32 f64 c64"),
    ("argsort_descending", lambda x: jnp.argsort(x, descending=True), (EDGE[99],), "i16 f32"),
    ("argsort_ties", lambda x: jnp.argsort(x), (INDEX(5)[400],), "i32"),
    ("argsort_unstable_ties", lambda x: jnp.argsort(x, stable=False), (INDEX(5)[400],), "i32"),
    ("argsort_unstable_long", lambda x: jnp.argsort(x, stable=False), (INDEX(50)[5000],), "i32"),
    ("sort_unstable", sort_operands(is_stable=False, num_keys=1), (INDEX(9)[300], T[300]), "f32 i16"),
    ("sort_unstable_floats", sort_operands(is_stable=False, num_keys=1), (EDGE[300], INDEX(99)[300]), SORTED_FLOATS),
    ("sort_unstable_three", sort_operands(is_stable=False, num_keys=1), (INDEX(9)[300], T[300], T[300]), "f64"),
    ("sort_unstable_rows", sort_operands(is_stable=False, num_keys=1, dimension=0), (INDEX(4)[60, 5], T[60, 5]), "f32"),
    ("sort_long", jnp.sort, (T[20_000],), "f32 i32"),
    ("sort_one", jnp.sort, (T[1],), "f32"),
    ("sort_none", jnp.sort, (T[0],), "i16 f64"),
    ("sort_no_rows", lambda x: jnp.sort(x, 1), (T[0, 5],), "f32"),
    ("sort_signed_zeros", lambda x: jnp.sort(jnp.where(x > 0, 0.0, -0.0).astype(x.dtype)), (T[40],), SORTED_FLOATS),
    ("sort_subnormals", lambda i: jnp.sort(lax.bitcast_convert_type(i - 9, jnp.float32)), (INDEX(20)[50],), "i32"),
    ("sort_of_nans", lambda i: jnp.sort(lax.bitcast_convert_type(i + 0x7FC00000, jnp.float32)), (INDEX(20)[50],), "i32"),
    ("sort_of_minus_nans", lambda i: jnp.sort(lax.bitcast_convert_type(i - 0x400000, jnp.float32)), (INDEX(20)[50],), "i32"),
    ("top_k_all", lambda x: lax.top_k(x, 30), (EDGE[30],), "f32 f64 i8"),
    ("top_k_ties", lambda x: lax.top_k(jnp.round(x), 7), (T[4, 50],), "f32"),
    ("top_k_one", lambda x: lax.top_k(x, 1), (T[2, 3, 9],), "f32"),
    ("top_k_long", lambda x: lax.top_k(x, 100), (T[3000],), "f32"),
    ("top_k_in_a_loop", lambda x: lax.fori_loop(0, 4, lambda i, y: lax.top_k(y * -1, 20)[0], x), (T[20],), "f32"),
    ("approx_max_k", lambda x: lax.approx_max_k(x, 4), (T[50],), "f32"),
    ("approx_min_k", lambda x: lax.approx_min_k(x, 4), (T[50],), "f32"),
    ("partition", lambda x: (jnp.partition(x, 5), jnp.argpartition(x, 5)), (EDGE[20],), "f32 i32"),
    ("lexsort_three", lambda *keys: jnp.lexsort(keys), (INDEX(3)[40], INDEX(3)[40], T[40]), "f32"),
    ("quantile", lambda x: jnp.quantile(x, jnp.array([0.1, 0.5, 0.9], x.dtype)), (T[33],), "f32 f64"),
    ("percentile_axis", lambda x: jnp.percentile(x, 30, axis=0, method="nearest"), (T[9, 4],), "f32"),
    ("nanmedian", jnp.nanmedian, (EDGE[33],), "f32 f64"),
    ("unique_all", lambda x: jnp.unique(x, return_index=True, return_inverse=True, return_counts=True, size=9), (INDEX(7)[30],), "i32"),
    ("unique_rows", lambda x: jnp.unique(x, axis=0, size=5), (INDEX(2)[9, 2],), "i32"),
    ("isin", jnp.isin, (INDEX(20)[30], INDEX(20)[9]), "i32"),
    ("intersect", lambda x, y: jnp.intersect1d(x, y, size=9), (INDEX(20)[30], INDEX(20)[9]), "i32"),
    ("union", lambda x, y: jnp.union1d(x, y, size=20), (INDEX(20)[30], INDEX(20)[9]), "i32"),
    ("set_difference", lambda x, y: jnp.setdiff1d(x, y, size=20), (INDEX(20)[30], INDEX(20)[9]), "i32"),
    ("rank", stats.rankdata, (T[30],), "f32 i32"),
    ("mode", lambda x: stats.mode(x), (INDEX(5)[30],), "i32"),
    ("sort_gradient", jax.grad(lambda x: jnp.sum(jnp.sort(x) * jnp.arange(9))), (T[9],), "f32 f64"),
    ("sort_complex_axis", lambda x: jnp.sort_complex(x), (EDGE[30],), "c64 c128"),
    ("digitize", lambda x, b: jnp.digitize(x, jnp.sort(b)), (T[30], T[5]), "f32"),
    ("searchsorted_sort", lambda x, v: jnp.searchsorted(jnp.sort(x), v, side="right", method="sort"), (T[30], T[9]), "f32"),
)

# ---- random numbers ----


def draws(draw, implementation="threefry2x32"):
    size = 4 if "rbg" in implementation else 2
    return (lambda words: draw(random.wrap_key_data(words, impl=implementation))), (KEY[size],), "u32"


def generate_bits(algorithm, dtype=jnp.uint32):
    return lambda key: lax.rng_bit_generator(key, (33,), dtype, algorithm=algorithm)


RANDOM = table(
    ("bits_default", generate_bits(lax.RandomAlgorithm.RNG_DEFAULT), (KEY[4],), "u32"),
    ("bits_threefry", generate_bits(lax.RandomAlgorithm.RNG_THREE_FRY), (KEY[4],), "u32"),
    ("bits_philox", generate_bits(lax.RandomAlgorithm.RNG_PHILOX), (KEY[4],), "u32"),
    ("bits_8", generate_bits(lax.RandomAlgorithm.RNG_DEFAULT, jnp.uint8), (KEY[4],), "u32"),
    ("bits_16", generate_bits(lax.RandomAlgorithm.RNG_PHILOX, jnp.uint16), (KEY[4],), "u32"),
    ("bits_64", generate_bits(lax.RandomAlgorithm.RNG_THREE_FRY, jnp.uint64), (KEY[4],), "u64"),
    ("rbg_normal", *draws(lambda k: random.normal(k, (33,)), "rbg")),
    ("rbg_split", *draws(lambda k: random.key_data(random.split(k, 3)), "rbg")),
    ("rbg_permutation", *draws(lambda k: random.permutation(k, 20), "rbg")),
    ("unsafe_rbg", *draws(lambda k: random.uniform(k, (9,)), "unsafe_rbg")),
    ("fold_in", *draws(lambda k: random.key_data(random.fold_in(k, 7)))),
    ("bernoulli", *draws(lambda k: random.bernoulli(k, 0.3, (33,)))),
    ("beta", *draws(lambda k: random.beta(k, 2.0, 3.0, (5,)))),
    ("cauchy", *draws(lambda k: random.cauchy(k, (33,)))),
    ("choice", *draws(lambda k: random.choice(k, 20, (5,), replace=False))),
    ("choice_weights", *draws(lambda k: random.choice(k, 5, (9,), p=jnp.array([0.1, 0.2, 0.3, 0.2, 0.2])))),
    ("dirichlet", *draws(lambda k: random.dirichlet(k, jnp.ones(3), (2,)))),
    ("exponential", *draws(lambda k: random.exponential(k, (33,)))),
    ("geometric", *draws(lambda k: random.geometric(k, 0.3, (9,)))),
    ("gumbel", *draws(lambda k: random.gumbel(k, (33,)))),
    ("laplace", *draws(lambda k: random.laplace(k, (33,)))),
    ("logistic_numbers", *draws(lambda k: random.logistic(k, (33,)))),
    ("multivariate_normal", *draws(lambda k: random.multivariate_normal(k, jnp.zeros(3), jnp.eye(3) * 2, (4,)))),
    ("orthogonal", *draws(lambda k: random.orthogonal(k, 4))),
    ("poisson", *draws(lambda k: random.poisson(k, 3.0, (9,)))),
    ("poisson_large", *draws(lambda k: random.poisson(k, 300.0, (9,)))),
    ("rademacher", *draws(lambda k: random.rademacher(k, (33,)))),
    ("randint", *draws(lambda k: random.randint(k, (33,), -5, 100))),
    ("shuffle_rows", *draws(lambda k: random.permutation(k, jnp.arange(30).reshape(10, 3)))),
    ("shuffle_independent", *draws(lambda k: random.permutation(k, jnp.arange(12).reshape(4, 3), independent=True))),
    ("student", *draws(lambda k: random.t(k, 3.0, (5,)))),
    ("truncated_normal", *draws(lambda k: random.truncated_normal(k, -1.0, 2.0, (33,)))),
    ("weibull", *draws(lambda k: random.weibull_min(k, 1.0, 2.0, (33,)))),
    ("normal_64", uses_key(lambda k: random.normal(k, (33,), jnp.float64)), (KEY[2],), "u64"),
    ("normal_complex", *draws(lambda k: random.normal(k, (9,), jnp.complex64))),
    ("normal_bf16", *draws(lambda k: random.normal(k, (33,), jnp.bfloat16))),
    ("metropolis", *draws(lambda k: lax.scan(
        lambda s, k: (jnp.where(random.uniform(k) < jnp.exp(-s**2), s + random.normal(k), s / 2), s), 0.0, random.split(k, 20)))),
)

# ---- gathering, scattering, moving ----

MORE_MOVES = table(
    ("no_inputs", lambda: (jnp.arange(5), jnp.ones((2, 3)), jnp.float32(2)), (), "f32"),
    ("windows_of_signals", lambda: [f(9) for f in (jnp.hanning, jnp.hamming, jnp.blackman, jnp.bartlett)], (), "f32"),
    ("constant_outputs", lambda x: (jnp.zeros_like(x), jnp.full_like(x, 1), x), (EDGE[7],), "b1 i8 u16 i64 f16 bf16 f32 c128"),
    ("outputs_are_inputs", lambda x, y: (y, x, y, x), (EDGE[3], EDGE[2, 2]), "b1 u8 i16 u32 i64 f16 bf16 f32 f64 c64 c128"),
    ("same_output_thrice", lambda x: [jnp.sin(x)] * 3, (EDGE[9],), "f32"),
    ("unused_input", lambda x, y: y * 2, (EDGE[9], EDGE[3]), "i8 f64"),
    ("scalars", lambda x, y: (x + y, x * y, x == y, -x), (EDGE[()], EDGE[()]), "i8 i16 u32 i64 f16 bf16 f32 f64 c64 c128"),
    ("no_elements", lambda x, y: (x + 1, y[..., None], jnp.concatenate([x, x]), x.sum()), (T[0, 3], T[2, 0]), "i8 u64 f16 f32 c64"),
    ("nan_payloads", lambda x: (x[::-1], jnp.where(x > 0, x, x), x.reshape(2, -1).T), (EDGE[40],), "f16 bf16 f32 f64 c64"),
    ("nan_arithmetic", lambda x: (x + x, x * -1, x - x, x / x), (EDGE[60],), "f16 bf16 f32 f64"),
    ("subnormals", lambda i: [f(lax.bitcast_convert_type(i * 99999, jnp.float32)) for f in (lambda x: x + x, lambda x: x * 0.5, lambda x: x > 0, jnp.abs, jnp.sqrt)], (INDEX(90)[40],), "i32"),
    ("rot90", lambda x: (jnp.rot90(x), jnp.rot90(x, 2), jnp.fliplr(x)), (T[3, 4],), "i16 f64"),
    ("moveaxis", lambda x: (jnp.moveaxis(x, 0, 2), jnp.swapaxes(x, 1, 2)), (T[2, 3, 4],), "u8 c64"),
    ("transposes", lambda x: [x.transpose(p) for p in ((0, 1, 3, 2), (3, 2, 1, 0), (1, 0, 2, 3))], (T[2, 3, 4, 5],), "b1 f16 f64"),
    ("block", lambda x, y: jnp.block([[x, y], [y, x]]), (T[2, 3], T[2, 3]), "f32"),
    ("split", lambda x: (*jnp.split(x, 3), *jnp.array_split(x, 4, 1)), (T[6, 5],), "i8 f32"),
    ("insert_delete", lambda x: (jnp.insert(x, 2, 7), jnp.delete(x, 3), jnp.append(x, x[:2])), (T[9],), "i32 f32"),
    ("resize", lambda x: jnp.resize(x, (3, 7)), (T[4, 2],), "f32"),
    ("diagonals", lambda x: (jnp.diag(x, 1), jnp.diagonal(x, -1), jnp.diagflat(x[0])), (T[4, 4],), "u32 c128"),
    ("fill_diagonal", lambda x: jnp.fill_diagonal(x, 9, inplace=False), (T[4, 5],), "f64"),
    ("vander", lambda x: (jnp.vander(x, 4), jnp.tri(4, dtype=x.dtype)), (T[5],), "i32 f64"),
    ("take_modes", lambda x, i: [jnp.take(x, i - 3, mode=m) for m in ("clip", "wrap", "fill")], (T[7], INDEX(14)[12]), "i16 f32 c64"),
    ("take_rows", lambda x, i: jnp.take(x, i, axis=1), (T[3, 6, 2], INDEX(6)[4]), "bf16 f64"),
    ("gather_many", lambda x, i, j: x[i, :, j], (T[5, 3, 6], INDEX(5)[4], INDEX(6)[4]), "f32 i8"),
    ("gather_batched", jax.vmap(lambda x, i: x[i]), (T[4, 6], INDEX(6)[4, 3]), "f32"),
    ("gather_windows", lambda x, i: jax.vmap(lambda i: lax.dynamic_slice(x, (i,), (3,)))(i), (T[9], INDEX(12)[5]), "f64 u8"),
    ("put_along_axis", lambda x, i: jnp.put_along_axis(x, i, 7, 1, inplace=False), (T[3, 6], INDEX(6)[3, 2]), "i32 f32"),
    ("scatter_ties", lambda x, i, v: x.at[i].set(v), (T[6], INDEX(3)[30], T[30]), "i32 f32 f64"),
    ("scatter_min", lambda x, i, v: x.at[i].min(v), (EDGE[6], INDEX(9)[30], EDGE[30]), "i8 f16 f32 f64"),
    ("scatter_apply", lambda x, i: x.at[i].apply(jnp.cos), (T[6], INDEX(6)[3]), "f32"),
    ("scatter_rows", lambda x, i, v: x.at[i].add(v, mode="drop"), (T[6, 4], INDEX(9)[5], T[5, 4]), "f32 i64 c64"),
    ("scatter_columns", lambda x, i, v: x.at[:, i].multiply(v), (T[4, 6], INDEX(6)[3], T[4, 3]), "f64 u16"),
    ("scatter_windows", lambda x, i, v: jax.vmap(lambda x, i, v: lax.dynamic_update_slice(x, v, (i,)))(x, i, v), (T[3, 8], INDEX(9)[3], T[3, 4]), "f32 bf16"),
    ("scatter_batched", jax.vmap(lambda x, i, v: x.at[i].add(v)), (T[3, 5], INDEX(5)[3, 7], T[3, 7]), "f32 u32"),
    ("scatter_of_bools", lambda x, i: x.at[i].set(True), (BOOL[9], INDEX(9)[3]), "b1"),
    ("scatter_many", lambda x, i, v: x.at[i].add(v), (T[50], INDEX(50)[3000], T[3000]), "f32 f64"),
    ("update_slices", lambda x, v, i: lax.dynamic_update_slice(x, v, (i, i - 2)), (T[6, 6], T[2, 3], INDEX(9)[()]), "i8 f16 f64"),
    ("update_in_loop", lambda x: lax.fori_loop(0, 6, lambda i, y: y.at[i].set(y[i - 1] + y[-i]), x), (T[7],), "f32 i32"),
    ("segment_prod", lambda x, i: (jax.ops.segment_prod(x, i, 4), jax.ops.segment_min(x, i, 4)), (T[20], INDEX(4)[20]), "f32 i32"),
    ("packbits", lambda x: (jnp.packbits(x), jnp.packbits(x, bitorder="little")), (BOOL[19],), "b1"),
    ("unpackbits", jnp.unpackbits, (T[5],), "u8"),
    ("bitcast_sizes", lambda x: [lax.bitcast_convert_type(x, t) for t in (jnp.uint8, jnp.uint32, jnp.float16)], (EDGE[8],), "f32 u32"),
    ("bitcast_pairs", lambda x: lax.bitcast_convert_type(x.reshape(-1, 2), jnp.uint32), (EDGE[8],), "u16 f16 bf16"),
    ("float8", lambda x: x.astype(jnp.float8_e4m3fn).astype(x.dtype), (EDGE[30],), "f32 bf16"),
    ("int4", lambda x: x.astype(jnp.int4).astype(x.dtype) + 1, (T[30],), "i8 i32"),
    ("ravel_index", lambda i: (jnp.unravel_index(i, (3, 4)), jnp.ravel_multi_index((i % 3, i % 4), (3, 4), mode="clip")), (INDEX(12)[9],), "i32"),
    ("choose", lambda i, x: jnp.choose(i, [x, x + 1, -x], mode="clip"), (INDEX(4)[9], T[9]), "f32"),
    ("select", lambda x: jnp.select([x > 2, x > 0], [x * 2, x * 3], 9), (T[20],), "i32 f64"),
    ("piecewise", lambda x: jnp.piecewise(x, [x < 0, x > 2], [lambda x: -x, lambda x: x * 2, 7.0]), (T[20],), "f32"),
    ("argwhere", lambda x: (jnp.argwhere(x > 0, size=5), jnp.flatnonzero(x > 0, size=5)), (T[4, 5],), "f32"),
    ("masked_sum", lambda x: jnp.sum(x, where=x > 0, axis=0), (EDGE[6, 7],), "f32 f64 i32"),
    ("tiled_pads", lambda x: [jnp.pad(x, 2, m) for m in ("edge", "reflect", "symmetric", "wrap", "linear_ramp")], (T[5, 4],), "f32"),
    ("negative_pad", lambda x: lax.pad(x, x[0, 0], ((-1, 2, 0), (1, -2, 1))), (T[5, 6],), "u8 f64"),
    ("image_resize", lambda x: jax.image.resize(x, (7, 5), "nearest"), (T[4, 4],), "f32"),
    ("map_coordinates", lambda x, c: ndimage.map_coordinates(x, [c * 4, c * 3], 1), (T[5, 4], UNIT[9]), "f32 f64"),
)

# ---- arithmetic, reductions, and what is made of them ----

MORE_NUMBERS = table(
    ("interp", lambda x, a, b: jnp.interp(x, jnp.sort(a), b), (T[20], T[9], T[9]), "f32 f64"),
    ("polynomials", lambda p, x: (jnp.polyval(p, x), jnp.polyder(p), jnp.polyint(p)), (T[5], T[9]), "f32 f64 c64"),
    ("cross", jnp.cross, (T[5, 3], T[5, 3]), "i32 f32 f64"),
    ("gradient", lambda x: (jnp.gradient(x), jnp.diff(x, 2), jnp.ediff1d(x)), (T[12],), "f32 f64"),
    ("trapezoid", lambda y: integrate.trapezoid(y, dx=0.1), (T[30],), "f32 f64"),
    ("average", lambda x, w: jnp.average(x, 0, jnp.abs(w)), (T[6, 4], T[6]), "f32 f64"),
    ("spread", lambda x: (jnp.std(x, ddof=1), jnp.ptp(x), jnp.var(x, 1)), (T[6, 5],), "f16 f32 f64 c64"),
    ("nan_spread", lambda x: (jnp.nanmean(x), jnp.nanstd(x, 0), jnp.nanargmax(x), jnp.nancumsum(x)), (EDGE[6, 5],), "f32 f64"),
    ("count_nonzero", lambda x: (jnp.count_nonzero(x, 0), jnp.any(x), jnp.all(x)), (EDGE[6, 5],), "b1 i16 bf16 c64"),
    ("cumulative", lambda x: (lax.cumsum(x, reverse=True), lax.cummin(x), lax.cumprod(x)), (T[30],), "i16 f32 f64"),
    ("cumulative_long", jnp.cumsum, (T[3000],), "f32 i32"),
    ("divmod", jnp.divmod, (EDGE[30], EDGE[30]), "i8 u32 i64 f16 f32"),
    ("floats_apart", lambda x: (*jnp.frexp(x), *jnp.modf(x), jnp.spacing(x)), (EDGE[30],), "f32 f64"),
    ("ldexp", lambda x, n: jnp.ldexp(x, n - 5), (EDGE[30], INDEX(10)[30]), "f32 f64"),
    ("lcm", jnp.lcm, (T[12], T[12]), "i32"),
    ("powers", lambda x, y: (jnp.float_power(x, y), jnp.power(x, 2), x**3), (UNIT[20], T[20]), "f32 f64"),
    ("integer_powers", lambda x, n: x ** jnp.abs(n), (T[20], T[20]), "i32 u8"),
    ("unwrap", jnp.unwrap, (T[30],), "f32 f64"),
    ("nan_to_num", jnp.nan_to_num, (EDGE[30],), "f16 f32 f64 c64"),
    ("comparisons_of_arrays", lambda x, y: (jnp.allclose(x, y), jnp.isclose(x, x), jnp.array_equal(x, y)), (EDGE[9], EDGE[9]), "f32 i32"),
    ("bitwise_count", jnp.bitwise_count, (EDGE[20],), "i8 u32 i64"),
    ("reduce_own", lambda x: lax.reduce(x, jnp.array(1, x.dtype), lambda a, b: a * 2 + b - a, (1,)), (T[4, 6],), "i32 f32"),
    ("reduce_bits", lambda x: (lax.reduce_and(x, (0,)), lax.reduce_or(x, (1,)), lax.reduce_xor(x, (0, 1))), (EDGE[5, 6],), "i8 u64 b1"),
    ("reduce_pairs", lambda x, y: lax.reduce((x, y), (x[0, 0], y[0, 0]), lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])), (0,)), (T[4, 5], T[4, 5]), "f32"),
    ("window_sum", lambda x: lax.reduce_window(x, np.array(0, x.dtype), lax.add, (2, 3), (1, 2), "SAME"), (T[6, 7],), "f32 i32"),
    ("window_dilated", lambda x: lax.reduce_window(x, np.array(0, x.dtype), lax.add, (3,), (1,), ((2, 1),), (2,), (2,)), (T[12],), "f32"),
    ("max_pool_gradient", jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID").sum()), (T[6, 6],), "f32"),
    ("argmax_types", lambda x: (lax.argmax(x, 0, jnp.int32), lax.argmin(x, 1, jnp.uint8)), (EDGE[5, 6],), "f32 i64 bf16"),
    ("sum_types", lambda x: [jnp.sum(x, dtype=t) for t in (jnp.int32, jnp.float32, jnp.bfloat16)], (T[40],), "i8 f16 f32"),
    ("big_sums", lambda x: (x.sum(1), x.max(0), x.mean()), (T[60, 50],), "f16 f32 f64"),
    ("log_softmax", lambda x: (nn.log_softmax(x), nn.softmax(x, 0), nn.logsumexp(x, 1)), (T[6, 7],), "f16 f32 f64"),
    ("activations", lambda x: [f(x) for f in (nn.relu, nn.elu, nn.selu, nn.celu, nn.hard_swish, nn.leaky_relu, nn.glu)], (T[40],), "bf16 f32 f64"),
    ("apply_along_axis", lambda x: jnp.apply_along_axis(lambda r: jnp.sort(r) - r, 0, x), (T[6, 4],), "f32"),
    ("gamma_family", lambda a, x: (special.gammainc(a, x), special.gammaincc(a, x), special.gamma(a)), (UNIT[9], UNIT[9]), "f32 f64"),
    ("bessel", lambda x: (special.i0e(x), special.i1(x), special.i1e(x)), (T[20],), "f32 f64"),
    ("normal_tails", lambda x: (special.ndtr(x), special.log_ndtr(x), special.ndtri(special.expit(x))), (T[20],), "f32 f64"),
    ("zeta", lambda x: (special.zeta(x + 2, 1.0), special.polygamma(1, x + 1)), (UNIT[5],), "f32 f64"),
    ("entropies", lambda x, y: (special.entr(x), special.kl_div(x, y), special.rel_entr(x, y), special.xlogy(x, y)), (UNIT[20], UNIT[20]), "f32 f64"),
    ("densities", lambda x: [d.logpdf(x) for d in (stats.norm, stats.cauchy, stats.expon, stats.laplace, stats.logistic)], (EDGE[20],), "f32 f64"),
    ("densities_of_two", lambda x: [stats.beta.logpdf(x, 2, 3), stats.gamma.logpdf(x, 2), stats.t.logpdf(x, 3), stats.chi2.logpdf(x, 4), stats.pareto.logpdf(x + 1, 2)], (UNIT[20],), "f32 f64"),
    ("masses", lambda k: [stats.poisson.logpmf(k, 3.0), stats.binom.logpmf(k, 9, 0.3), stats.geom.logpmf(k, 0.2), stats.bernoulli.logpmf(k, 0.4)], (INDEX(9)[12],), "i32"),
    ("truncated_normal_density", lambda x: (stats.truncnorm.logpdf(x, -1, 1), stats.truncnorm.cdf(x, -1, 1)), (T[9],), "f32"),
    ("distribution_functions", lambda x: [stats.norm.cdf(x), stats.gamma.cdf(x, 2.0), stats.norm.ppf(x), stats.beta.cdf(x, 2.0, 3.0)], (UNIT[9],), "f32 f64"),
    ("detrend", lambda x: signal.detrend(x, type="constant"), (T[20],), "f32"),
    ("grid_interpolation", lambda v, p: RegularGridInterpolator((jnp.arange(4.0), jnp.arange(5.0)), v)(p), (T[4, 5], UNIT[6, 2]), "f32"),
    ("rotations", lambda q: (lambda r: (r.as_matrix(), r.as_rotvec(), (r * r).as_quat()))(Rotation.from_quat(q / 3)), (T[4],), "f32"),
    ("mixed_types", lambda i, x, b: (i * x, b + x, i + b, jnp.where(b, i, x)), (INDEX(9)[8], T[8], BOOL[8]), "f16 f32 f64 c64"),
    ("promotions", lambda x: (x + jnp.int8(1), x * jnp.float32(2), x == True), (T[8],), "b1 u8 i32 bf16 f32"),  # noqa: E712
)

# ---- derivatives, batches, algorithms ----


def bfgs(x):
    result = minimize(rosenbrock, x, method="BFGS", options={"maxiter": 5})
    return result.x, result.fun, result.nit


def conjugate_gradients(x):
    return sparse.cg(lambda y: y * jnp.arange(1, 7) + jnp.roll(y, 1) * 0.1 + jnp.roll(y, -1) * 0.1, x, maxiter=4)[0]


def lotka_volterra(x):
    from jax.experimental.ode import odeint

    times = jnp.array([0.0, 0.3, 1.0])
    return odeint(lambda s, t: jnp.stack([s[0] - s[0] * s[1], s[0] * s[1] - s[1]]), x, times)


def adam(x):
    def step(state, i):
        x, m, v = state
        g = jax.grad(rosenbrock)(x)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
        return (x - 0.1 * m / (jnp.sqrt(v) + 1e-8), m, v), rosenbrock(x)

    return lax.scan(step, (x, x * 0, x * 0), jnp.arange(9))


def kalman(x):
    def step(state, y):
        mean, variance = state
        gain = variance / (variance + 1)
        mean = mean + gain * (y - mean)
        return (mean, (1 - gain) * variance + 0.1), mean

    return lax.scan(step, (0 * x[0], 1 + 0 * x[0]), x)


@jax.custom_vjp
def clipped(x):
    return jnp.sin(x)


clipped.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (jnp.clip(g * jnp.cos(x), -0.5, 0.5),))


def viterbi(x):
    def step(scores, row):
        paths = scores[:, None] + jnp.log(row)[None]
        return paths.max(0), paths.argmax(0)

    return lax.scan(step, jnp.zeros_like(x[0]), x)


def edit_distance(a, b):
    def row(previous, x):
        def cell(left, above):
            diagonal, upper, y = above
            best = jnp.minimum(jnp.minimum(left, upper) + 1, diagonal + (x != y))
            return best, best

        first = previous[0] + 1
        _, rest = lax.scan(cell, first, (previous[:-1], previous[1:], b))
        return jnp.concatenate([first[None], rest]), first

    return lax.scan(row, jnp.arange(len(b) + 1), a)[0][-1]


ALGORITHMS = table(
    ("bfgs", bfgs, (T[3],), "f32 f64"),
    ("conjugate_gradients", conjugate_gradients, (T[6],), "f32 f64"),
    ("odeint", lotka_volterra, (UNIT[2],), "f32"),
    ("adam", adam, (T[5],), "f32 f64"),
    ("kalman", kalman, (T[20],), "f32 f64"),
    ("viterbi", viterbi, (UNIT[9, 4],), "f32"),
    ("edit_distance", edit_distance, (INDEX(3)[7], INDEX(3)[9]), "i32"),
    ("custom_vjp", jax.grad(lambda x: clipped(x).sum()), (T[9],), "f32 f64"),
    ("jacobian_of_gather", jax.jacfwd(lambda x: x[jnp.array([2, 0, 2])] * x[1]), (T[4],), "f32"),
    ("hessian_of_norm", jax.hessian(lambda x: jnp.sqrt(1 + jnp.sum(x**2))), (T[5],), "f32 f64"),
    ("third_derivative", jax.grad(jax.grad(jax.grad(lambda x: jnp.exp(-x) * jnp.sin(x**2)))), (T[()],), "f32 f64"),
    ("linearize", lambda x: jax.linearize(lambda x: jnp.sin(x) * x[0], x)[1](x + 1), (T[5],), "f64"),
    ("vector_jacobian", lambda x: jax.vjp(lambda x: jnp.cumsum(x) * x, x)[1](x * 2), (T[9],), "f32 f64"),
    ("batch_of_conditions", jax.vmap(lambda f, x: lax.cond(f, jnp.sin, jnp.cos, x)), (BOOL[7], T[7]), "f32 f64"),
    ("batch_of_loops", jax.vmap(lambda n, x: lax.fori_loop(0, n, lambda i, y: y * 2 + i, x)), (INDEX(7)[6], T[6]), "f32 i32"),
    ("batch_of_hessians", jax.vmap(jax.hessian(rosenbrock)), (T[3, 4],), "f64"),
    ("particles", jax.jit(jax.value_and_grad(lennard_jones)), (T[5, 3],), "f32"),
    ("nested_jit", lambda x: jax.jit(lambda y: jax.jit(jnp.sin)(y) + 1)(x) * 2, (T[9],), "f32"),
    ("complex_steps", lambda x: jnp.imag(jnp.exp((x + 1e-20j) ** 2)) / 1e-20, (T[9],), "f64"),
    ("mandelbrot", lambda x, y: lax.fori_loop(0, 9, lambda i, z: jnp.where(jnp.abs(z) < 2, z**2 + lax.complex(x, y), z), lax.complex(x, y)), (UNIT[5, 5], UNIT[5, 5]), "f32 f64"),
    ("levenshtein_batch", jax.vmap(edit_distance, (0, None)), (INDEX(3)[4, 5], INDEX(3)[6]), "i32"),
)

# ---- products of integers: the dots that the direct engine runs itself ----

INTEGER_DOTS = table(
    ("matmul", jnp.matmul, (T[8, 8], T[8, 8]), "i32"),
    ("matmul_long", jnp.matmul, (T[5, 300], T[300, 7]), "i32"),
    ("matmul_edge", jnp.matmul, (EDGE[9, 20], EDGE[20, 11]), "i32"),
    ("matmul_transposed", lambda a, b: (a.T @ b, a @ b.T), (T[9, 9], T[9, 9]), "i32"),
    ("matmul_batched", jnp.matmul, (T[4, 6, 7], T[4, 7, 5]), "i32"),
    ("einsum_batched", lambda a, b: jnp.einsum("bhqd,bhkd->bhqk", a, b), (T[2, 3, 5, 8], T[2, 3, 6, 8]), "i32"),
    ("tensordot_two", lambda a, b: jnp.tensordot(a, b, 2), (T[6, 4, 5], T[4, 5, 6]), "i32"),
    ("matmul_narrow", lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32), (T[9, 16], T[16, 9]), "i8 i16 u8"),
    ("matmul_wide", jnp.matmul, (T[9, 16], T[16, 9]), "i64 u32 u64"),
    ("matmul_in_a_loop", lambda a: lax.fori_loop(0, 5, lambda i, b: a @ b, a), (T[8, 8],), "i32"),
    ("matmul_empty", jnp.matmul, (T[8, 0], T[0, 8]), "i32"),
)

# ---- what only XLA's own libraries compute: products of floats, convolutions, FFTs ----

FLOAT_DOTS = table(
    ("matmul", jnp.matmul, (T[4, 4], T[4, 4]), "f32 f64 c64 c128"),
    ("matmul_32", jnp.matmul, (T[32, 32], T[32, 32]), "f16 bf16 f32 f64"),
    ("matmul_batched", jnp.matmul, (T[4, 6, 7], T[4, 7, 5]), "f32 f64"),
    ("attention", lambda q, k: nn.softmax(q @ k.T) @ k, (T[12, 8], T[16, 8]), "f32 f64"),
    ("mlp", jax.value_and_grad(mlp_loss, (0, 1, 2)), (T[4, 8], T[8], T[8, 2], T[16, 4], T[16, 2]), "f32 f64"),
    ("covariance", lambda x: (jnp.cov(x), jnp.corrcoef(x)), (T[5, 40],), "f32 f64"),
    ("einsum", lambda a, b, c: jnp.einsum("ij,jk,kl->il", a, b, c), (T[6, 5], T[5, 7], T[7, 4]), "f32 f64"),
    ("bfgs_step", lambda h, g, s: h - jnp.outer(h @ s, s @ h) / (s @ h @ s) + jnp.outer(g, g) / (g @ s), (T[8, 8], T[8], T[8]), "f32 f64"),
    ("normal_equations", lambda a, b: jnp.linalg.solve(positive(a.T), a.T @ b), (T[12, 4], T[12]), "f32 f64"),
    ("nearest_centres", lambda x, c: vq.vq(x, c), (T[20, 3], T[4, 3]), "f32"),
    ("rnn", lambda w, x: lax.scan(lambda h, r: (jnp.tanh(w @ h + r), h), jnp.zeros_like(x[0]), x), (T[8, 8], T[5, 8]), "f32 f64"),
    ("gaussian_process", lambda x, y: jnp.linalg.cholesky(jnp.exp(-(x[:, None] - x) ** 2) + jnp.eye(9, dtype=x.dtype)) @ y, (UNIT[9], T[9]), "f32 f64"),
    ("sum_of_many", lambda x: (jnp.sum(x), jnp.mean(x, 0)), (T[300, 400],), "f32 f64"),
    ("gmres", lambda a, b: sparse.gmres(positive(a), b, maxiter=2)[0], (T[6, 6], T[6]), "f32"),
)

LIBRARIES = table(
    ("fft", jnp.fft.fft, (T[30],), "c64 c128"),
    ("fft_inverse_2", jnp.fft.ifft2, (T[4, 6],), "c64"),
    ("fft_real", lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), (T[32],), "f32 f64"),
    ("convolve", jnp.convolve, (T[50], T[7]), "f32 f64"),
    ("convolve_2", lambda x, k: signal.convolve2d(x, k), (T[9, 9], T[3, 3]), "f32"),
    ("correlate_modes", lambda x, k: jnp.correlate(x, k, "same"), (T[50], T[7]), "f32"),
)

EXACT = [*INTEGER_DOTS, *CONTROL, *SORTS, *RANDOM, *MORE_MOVES, *MORE_NUMBERS, *ALGORITHMS]
