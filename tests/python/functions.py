"""The table of functions that cyxla must compute as `jax.jit` does: a row each."""

# ruff: noqa: E501
# fmt: off

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from differential import BOOL, EDGE, INDEX, KEY, UNIT, T
from jax import lax, nn, random
from jax.scipy import signal, special, stats

INTEGERS = "i8 i16 i32 i64 u8 u16 u32 u64"
FLOATS = "f16 bf16 f32 f64"
COMPLEX = "c64 c128"
REALS = f"{INTEGERS} {FLOATS}"
NUMBERS = f"{REALS} {COMPLEX}"
ALL = f"b1 {NUMBERS}"


@dataclass(frozen=True)
class Case:
    """A function, its inputs, and the element types that those inputs that fix none are made of."""

    name: str
    function: object
    inputs: tuple
    types: str


def table(*rows):
    return [Case(*row) for row in rows]


# ---- functions too long for a row ----


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def mlp_loss(w1, b1, w2, x, y):
    hidden = jnp.tanh(x @ w1 + b1)
    return jnp.mean((hidden @ w2 - y) ** 2)


def newton_root(x):
    """Square roots by Newton's method, as a while loop with a data-dependent number of steps."""

    def unfinished(state):
        step, y, change = state
        return (step < 30) & (jnp.max(change) > 1e-3)

    def improve(state):
        step, y, _ = state
        new = (y + x / y) / 2
        return step + 1, new, jnp.abs(new - y)

    return lax.while_loop(unfinished, improve, (0, jnp.ones_like(x), jnp.ones_like(x)))


def newton_minimum(x):
    """Three steps of Newton's method on a function with a diagonal Hessian."""

    def gradient(x):
        return jax.grad(lambda x: jnp.sum(jnp.cosh(x) + x**2))(x)

    def step(x, _):
        slope, curvature = jax.jvp(gradient, (x,), (jnp.ones_like(x),))
        return x - slope / curvature, slope

    return lax.scan(step, x, None, length=3)


def collatz(n):
    def step(state):
        n, count = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

    return lax.while_loop(lambda state: state[0] > 1, step, (jnp.abs(n) + 1, 0))


def cumulative_scan(x):
    def step(carry, row):
        carry = carry * 2 + row
        return carry, carry - row

    return lax.scan(step, jnp.zeros_like(x[0]), x)


def pick_branch(index, x):
    return lax.switch(index, [lambda x: x + 1, lambda x: x * 2, lambda x: x - x.max(), jnp.flip], x)


def nested_control(flag, x):
    def halve(i, y):
        return lax.cond(jnp.max(jnp.abs(y)) > 1, lambda y: y / 2, lambda y: y + 1, y)

    return lax.cond(flag, lambda x: lax.fori_loop(0, 5, halve, x), lambda x: -x, x)


def lorenz(x):
    """Fifty Euler steps of Lorenz's equations."""

    def step(_, x):
        a, b, c = x
        return x + 0.01 * jnp.stack([10 * (b - a), a * (28 - c) - b, a * b - c])

    return lax.fori_loop(0, 50, step, x)


def softmax_cross_entropy(logits, labels):
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, 5) * jax.nn.log_softmax(logits), -1))


def lennard_jones(positions):
    difference = positions[:, None] - positions[None]
    squares = jnp.sum(difference**2, -1) + jnp.eye(len(positions), dtype=positions.dtype)
    inverse = 1 / squares**3
    return jnp.sum(jnp.triu(inverse**2 - inverse, 1))


def uses_key(draw):
    """A function of the two words of a key, as keys themselves can't be inputs."""
    return lambda words: draw(random.wrap_key_data(words, impl="threefry2x32"))


def convolve(stride, dilation):
    def apply(image, kernel):
        return lax.conv_general_dilated(
            image,
            kernel,
            (stride, stride),
            "SAME",
            rhs_dilation=(dilation, dilation),
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )

    return apply


# ---- elementwise ----

ELEMENTWISE = table(
    ("add", jnp.add, (EDGE[3, 37], EDGE[37]), NUMBERS),
    ("subtract", jnp.subtract, (EDGE[41], EDGE[41]), "i8 u8 i32 u64 f16 bf16 f32 c64"),
    ("multiply", jnp.multiply, (EDGE[41], EDGE[41]), NUMBERS),
    ("divide", jnp.divide, (EDGE[41], EDGE[41]), "i32 u8 f16 bf16 f32 f64 c64 c128"),
    ("floor_divide", jnp.floor_divide, (EDGE[41], EDGE[41]), "i8 i32 u16 u64 f32 f64"),
    ("remainder", jnp.remainder, (EDGE[41], EDGE[41]), "i16 i64 u8 u32 f16 f64"),
    ("lax_div", lax.div, (EDGE[41], EDGE[41]), "i8 i64 u8 u32"),
    ("lax_rem", lax.rem, (EDGE[41], EDGE[41]), "i16 i32 u64 f32"),
    ("negative", jnp.negative, (EDGE[29],), "i8 u16 i64 f16 bf16 f64 c128"),
    ("abs", jnp.abs, (EDGE[29],), "i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128"),
    ("sign", jnp.sign, (EDGE[29],), "i16 u32 f16 bf16 f32 f64"),
    ("square", jnp.square, (EDGE[29],), "i8 u32 bf16 f64 c64"),
    ("reciprocal", jnp.reciprocal, (EDGE[29],), "f16 f32 f64"),
    ("maximum", jnp.maximum, (EDGE[50], EDGE[50]), "i8 u32 f16 bf16 f32 f64 c64"),
    ("minimum", jnp.minimum, (EDGE[50], EDGE[50]), "b1 i64 u8 f16 bf16 f32 f64"),
    ("fmax", jnp.fmax, (EDGE[50], EDGE[50]), "f16 f32 f64"),
    ("clip", lambda x: jnp.clip(x, 1, 5), (EDGE[50],), "i16 u64 f16 bf16 f32 f64"),
    ("lax_clamp", lax.clamp, (EDGE[20], EDGE[20], EDGE[20]), "i8 u16 f32 bf16 f64"),
    ("power", jnp.power, (EDGE[41], EDGE[41]), "f16 bf16 f32 f64"),
    ("integer_power", lambda x: x**3 - x**5, (EDGE[41],), "i8 i16 u32 i64 f32 f64 c64"),
    ("negative_power", lambda x: x**-2, (EDGE[41],), "f32 f64"),
    ("sqrt", jnp.sqrt, (EDGE[67],), "f16 bf16 f32 f64"),
    ("rsqrt", lax.rsqrt, (EDGE[67],), "f16 bf16 f32 f64"),
    ("cbrt", jnp.cbrt, (EDGE[67],), "f32 f64"),
    ("hypot", jnp.hypot, (EDGE[41], EDGE[41]), "f32 f64"),
    ("exp", jnp.exp, (EDGE[67],), "f16 bf16 f32 f64 c64"),
    ("exp2", jnp.exp2, (EDGE[67],), "f32 f64"),
    ("expm1", jnp.expm1, (EDGE[67],), "f16 bf16 f32 f64"),
    ("log", jnp.log, (EDGE[67],), FLOATS),
    ("log1p", jnp.log1p, (EDGE[67],), FLOATS),
    ("log2", jnp.log2, (EDGE[67],), "f32 f64"),
    ("log10", jnp.log10, (EDGE[67],), "f32 f64"),
    ("sin", jnp.sin, (EDGE[67],), "f16 bf16 f32 f64 c128"),
    ("cos", jnp.cos, (EDGE[67],), "bf16 f32 f64 c64"),
    ("tan", jnp.tan, (EDGE[67],), "f16 f32 f64"),
    ("sinh", jnp.sinh, (EDGE[67],), "f32 f64 c64"),
    ("cosh", jnp.cosh, (EDGE[67],), "bf16 f32 f64"),
    ("tanh", jnp.tanh, (EDGE[67],), "f16 bf16 f32 f64 c64 c128"),
    ("asinh", jnp.arcsinh, (EDGE[67],), "f32 f64"),
    ("acosh", jnp.arccosh, (EDGE[67],), "f32 f64"),
    ("atanh", jnp.arctanh, (EDGE[67],), "f32 f64"),
    ("logistic", nn.sigmoid, (EDGE[67],), "f16 f32 f64"),
    ("logaddexp", jnp.logaddexp, (EDGE[41], EDGE[41]), "f16 f32 f64"),
    ("erf", special.erf, (EDGE[67],), "bf16 f32 f64"),
    ("erfc", special.erfc, (EDGE[67],), "f32 f64"),
    ("erf_inv", special.erfinv, (UNIT[67],), "f32 f64"),
    ("gammaln", special.gammaln, (EDGE[67],), "f32 f64"),
    ("digamma", special.digamma, (UNIT[67],), "f32 f64"),
    ("betainc", special.betainc, (UNIT[9], UNIT[9], UNIT[9]), "f32 f64"),
    ("bessel_i0", special.i0, (EDGE[67],), "f32 f64"),
    ("norm_logpdf", stats.norm.logpdf, (EDGE[41],), "f32 f64"),
    ("gelu", nn.gelu, (T[41],), "f16 f32"),
    ("silu", nn.silu, (EDGE[41],), "f16 bf16 f32"),
    ("softplus", nn.softplus, (EDGE[41],), "f32 f64"),
    ("floor", jnp.floor, (EDGE[41],), "f16 f32 f64"),
    ("round", jnp.round, (EDGE[41],), "bf16 f32 f64"),
    ("trunc_ceil", lambda x: (jnp.trunc(x), jnp.ceil(x)), (EDGE[41],), "f16 bf16 f64"),
    ("nextafter", jnp.nextafter, (EDGE[41], EDGE[41]), "f32 f64"),
    ("copysign", jnp.copysign, (EDGE[41], EDGE[41]), "f32 f64"),
    ("is_finite", lambda x: (jnp.isfinite(x), jnp.isnan(x), jnp.isinf(x)), (EDGE[41],), "f16 bf16 f32 f64"),
    ("signbit", jnp.signbit, (EDGE[41],), "bf16 f32 f64"),
    ("compare", lambda x, y: (x < y, x <= y, x == y, x != y), (EDGE[41], EDGE[41]), "b1 i8 u16 i64 f16 bf16 f32 f64"),
    ("equal", jnp.equal, (EDGE[41], EDGE[41]), COMPLEX),
    ("where", jnp.where, (BOOL[41], EDGE[41], EDGE[41]), ALL),
    ("select_n", lax.select_n, (INDEX(3)[9], EDGE[9], EDGE[9], EDGE[9]), "b1 i8 f16 f64 c64"),
    ("complex", lax.complex, (EDGE[29], EDGE[29]), "f32 f64"),
    ("conjugate", lambda z: (z.conj(), z.real, z.imag), (EDGE[29],), COMPLEX),
    ("complex_product", lambda z, w: z * w / (z + w), (T[29], T[29]), COMPLEX),
    ("complex_sqrt", jnp.sqrt, (T[29],), COMPLEX),
    ("logical", lambda x, y: (x & y, x | ~y, x ^ y), (EDGE[41], EDGE[41]), "b1 i8 u16 i32 u64"),
    ("shifts", lambda x, n: (x << (n & 7), x >> (n & 7)), (EDGE[41], EDGE[41]), "i8 u8 i16 u32 i64"),
    ("shift_logical", lax.shift_right_logical, (EDGE[41], EDGE[41]), "i8 i32 u64"),
    ("population_count", lax.population_count, (EDGE[41],), "i8 u16 i32 u64"),
    ("count_leading_zeros", lax.clz, (EDGE[41],), "u8 i16 u32 i64"),
    ("bitcast", lambda x: lax.bitcast_convert_type(x, jnp.uint16), (EDGE[6, 2],), "i8 f16 bf16 f32 f64"),
    ("gcd", jnp.gcd, (T[9], T[9]), "i32 u8 i64"),
)

# Conversions from each type to a list of others, in one program for each.
_TARGETS = (bool, jnp.int8, jnp.uint8, jnp.int32, jnp.uint32, jnp.float16, jnp.bfloat16, jnp.float32)
CONVERSIONS = table(
    ("convert", lambda x: [x.astype(to) for to in _TARGETS], (T[43],), ALL.removesuffix(COMPLEX)),
    ("convert_edge", lambda x: [x.astype(to) for to in _TARGETS[5:]], (EDGE[43],), "i8 u64 f16 bf16 f32 f64"),
    ("convert_wide", lambda x: [x.astype(to) for to in (int, float, complex)], (T[43],), "i64 u64 f64"),
    ("convert_complex", lambda x: x.astype(complex), (EDGE[43],), "f64 c64 c128"),
    ("reduce_precision", lambda x: lax.reduce_precision(x, 5, 3), (EDGE[43],), "f16 f32"),
)

# ---- reductions, scans, sorts ----

REDUCTIONS = table(
    ("sum", jnp.sum, (T[7, 11],), "i8 i16 u32 u64 f16 bf16 f32 f64 c64 c128"),
    ("sum_axis", lambda x: (x.sum(0), x.sum(1)), (EDGE[17, 9],), "i16 u8 f16 f32 c64"),
    ("sum_long", jnp.sum, (T[5003],), "i32 f32 f64"),
    ("mean_variance", lambda x: (x.mean(1), x.var(0)), (T[6, 8],), "i32 f16 bf16 f32 f64"),
    ("product", lambda x: jnp.prod(x, 1), (T[6, 5],), "i8 u8 i64 f32 f64 c64"),
    ("max_min", lambda x: (x.max(0), x.min()), (EDGE[6, 8],), "i8 u16 i64 f16 bf16 f32 f64"),
    ("argmax_argmin", lambda x: (x.argmax(1), x.argmin(0)), (EDGE[6, 8],), "b1 i16 u32 f16 bf16 f32 f64"),
    ("all_any", lambda x: ((x > 0).all(0), (x > 5).any()), (EDGE[6, 8],), "i8 u32 f16 f64"),
    ("bool_reductions", lambda x: (x.all(0), x.any(1), x.sum()), (T[6, 8],), "b1"),
    ("empty_sum", lambda x: (x.sum(0), x.sum()), (T[0, 3],), "i8 u64 f32 bf16 c64"),
    ("empty_all", lambda x: (x.all(0), x.any(0), x.T), (T[0, 3],), "b1"),
    ("empty_max", lambda x: jnp.max(x, 0, initial=1), (T[0, 3],), "i32 f32"),
    ("logsumexp", lambda x: special.logsumexp(x, 1), (T[5, 9],), "f16 f32 f64"),
    ("nan_aware", lambda x: (jnp.nansum(x, 0), jnp.nanmax(x)), (EDGE[6, 8],), "f32 f64"),
    ("cumsum", lambda x: jnp.cumsum(x, 0), (T[40, 3],), "i8 u16 i64 bf16 f32 f64 c128"),
    ("cumprod_cummax", lambda x: (jnp.cumprod(x), lax.cummax(x)), (T[25],), "i16 u32 f32 f64"),
    ("cumlogsumexp", lax.cumlogsumexp, (T[25],), "f32 f64"),
    ("reduce_window", lambda x: lax.reduce_window(x, -9.0, lax.max, (3,), (2,), "VALID"), (T[30],), "f32"),
    ("associative_scan", lambda x: lax.associative_scan(jnp.maximum, x), (EDGE[33],), "i8 f16 f32"),
    ("sort", jnp.sort, (EDGE[200],), ALL),
    ("sort_rows", lambda x: jnp.sort(x, 0), (EDGE[9, 7],), "i8 f16 bf16 f32 f64 c64"),
    ("argsort", jnp.argsort, (EDGE[200],), "b1 i8 u64 f16 bf16 f32 f64"),
    ("argsort_unstable", lambda x: jnp.argsort(x, stable=False), (EDGE[200],), "i32 f32"),
    ("sort_pairs", lambda k, v: lax.sort((k, v), num_keys=1), (EDGE[60], EDGE[60]), "u8 f32 f64"),
    ("sort_two_keys", lambda k, v: lax.sort((k, v), num_keys=2), (EDGE[60], EDGE[60]), "i16 f32"),
    ("lexsort", lambda k, v: jnp.lexsort((k, v)), (T[60], T[60]), "i8 u16 f32"),
    ("top_k", lambda x: lax.top_k(x, 5), (EDGE[3, 40],), "i8 u32 i64 f16 bf16 f32 f64"),
    ("median", jnp.median, (T[31],), "f32 f64"),
    ("searchsorted", lambda x, v: jnp.searchsorted(jnp.sort(x), v), (T[31], T[8]), "i32 u16 f32 f64"),
    ("unique", lambda x: jnp.unique(x, size=12), (T[31],), "b1 i8 u64 f32"),
    ("histogram", lambda x: jnp.histogram(x, 5, (0.0, 1.0)), (UNIT[31],), "f32 f64"),
    ("bincount", lambda x: jnp.bincount(x, length=9), (INDEX(9)[31],), "i32"),
    ("segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 4), (T[20, 2], INDEX(4)[20]), "i16 u8 i32 f16 f32 f64 c64"),
    ("segment_max", lambda x, i: jax.ops.segment_max(x, i, 4), (T[20], INDEX(4)[20]), "i8 u32 f32 f64"),
)

# ---- moving data ----

MOVES = table(
    ("identity", lambda x: x, (EDGE[2, 3],), ALL),
    ("transpose", lambda x: jnp.transpose(x, (2, 0, 1)), (EDGE[3, 4, 5],), "b1 i8 u16 i32 u64 bf16 f64 c128"),
    ("reshape_flip", lambda x: jnp.flip(x.reshape(5, 12), 1), (EDGE[3, 4, 5],), "b1 i16 u32 bf16 c128"),
    ("broadcast", lambda x: jnp.broadcast_to(x, (4, 3, 5)), (EDGE[3, 1],), "b1 u8 i64 f16 c64"),
    ("concatenate", lambda x, y: jnp.concatenate([x, y, x], 1), (EDGE[2, 3], EDGE[2, 0]), "b1 u8 i16 u32 i64 f16 f32 c64"),
    ("pad", lambda x: jnp.pad(x, ((1, 2), (0, 3))), (EDGE[3, 4],), "i8 u16 bf16 f64 c128"),
    ("pad_interior", lambda x: lax.pad(x, x[0], ((-1, 2, 1),)), (EDGE[9],), "b1 i8 u64 f16 f64 c64"),
    ("slice", lambda x: x[1:9:3, ::-1], (EDGE[10, 6],), "b1 i32 u64 f16 c64"),
    ("dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i, i), (3, 2)), (EDGE[6, 6], INDEX(9)[()]), "b1 i16 u8 i64 bf16 f64 c64"),
    ("update_row", lambda x, r, i: x.at[i].set(r), (EDGE[6, 4], EDGE[4], INDEX(6)[()]), "b1 i8 u64 f16 f32 c128"),
    ("gather", lambda x, i: x[i], (EDGE[6, 4], INDEX(6)[3, 2]), ALL),
    ("gather_out_of_range", lambda x, i: x.at[i].get(mode="fill"), (EDGE[6], INDEX(12)[9]), "i8 u32 f32 c64"),
    ("take_along_axis", lambda x, i: jnp.take_along_axis(x, i, 1), (EDGE[4, 6], INDEX(6)[4, 3]), "b1 i16 f64"),
    ("scatter_set", lambda x, i, v: x.at[i].set(v, unique_indices=True), (EDGE[9], INDEX(9)[1], EDGE[1]), "b1 u16 i32 f16 c64"),
    ("scatter_add", lambda x, i, v: x.at[i].add(v), (T[9], INDEX(12)[20], T[20]), "i8 u32 i64 f16 bf16 f32 f64 c64"),
    ("scatter_max", lambda x, i, v: x.at[i].max(v), (T[9], INDEX(9)[20], T[20]), "i8 u16 f16 f32 f64"),
    ("scatter_multiply", lambda x, i, v: x.at[i].multiply(v), (T[9], INDEX(9)[6], T[6]), "i32 bf16 f64"),
    ("one_hot", lambda i: nn.one_hot(i, 7), (INDEX(9)[5],), "i32"),
    ("iota_eye", lambda x: x + jnp.eye(4, dtype=x.dtype) * jnp.arange(4, dtype=x.dtype), (T[4, 4],), "u8 i32 f16 f64 c64"),
    ("linspace", lambda a, b: jnp.linspace(a, b, 9), (T[()], T[()]), "f32 f64"),
    ("roll", lambda x, n: jnp.roll(x, n, 0), (EDGE[5, 3], INDEX(9)[()]), "b1 i8 u64 bf16 c128"),
    ("triangle", lambda x: (jnp.tril(x), jnp.triu(x, 1)), (EDGE[5, 5],), "b1 i32 f16 f64 c64"),
    ("nonzero", lambda x: jnp.nonzero(x, size=6), (T[12],), "b1 i8 f32"),
    ("repeat_tile", lambda x: (jnp.repeat(x, 3, 0), jnp.tile(x, (2, 2))), (EDGE[2, 3],), "b1 u8 f32 c64"),
    ("meshgrid", lambda x, y: jnp.meshgrid(x, y), (EDGE[3], EDGE[4]), "i64 f32"),
    ("same_output_twice", lambda x: (x, x, x + x), (T[5],), "u8 f16 f32 c128"),
)

# ---- control flow, derivatives, random numbers ----

PROGRAMS = table(
    ("newton_root", newton_root, (UNIT[9],), "f32 f64"),
    ("newton_minimum", newton_minimum, (T[9],), "f32 f64"),
    ("collatz", jax.vmap(collatz), (T[8],), "i16 i32 i64"),
    ("scan", cumulative_scan, (T[8, 3],), "i8 u16 i64 bf16 f32 f64 c64"),
    ("switch", pick_branch, (INDEX(6)[()], T[5]), "i32 u64 f16 f32 f64 c64"),
    ("switch_batched", jax.vmap(pick_branch), (INDEX(4)[6], T[6, 5]), "i32 f32 f64"),
    ("cond_loop", nested_control, (BOOL[()], T[5]), "f16 f32 f64"),
    ("fori_dynamic", lambda n, x: lax.fori_loop(0, n, lambda i, y: y * 3 + i, x), (INDEX(9)[()], T[3]), "i32 f32"),
    ("map", lambda x: lax.map(lambda r: jnp.dot(r, r), x), (T[5, 3],), "i32 f32 f64"),
    ("lorenz", lorenz, (UNIT[3],), "f32 f64"),
    ("rosenbrock", rosenbrock, (T[10],), FLOATS),
    ("rosenbrock_gradient", jax.value_and_grad(rosenbrock), (T[10],), "bf16 f32 f64"),
    ("rosenbrock_hessian", jax.hessian(rosenbrock), (T[6],), "f32 f64"),
    ("rosenbrock_batch", jax.vmap(jax.grad(rosenbrock)), (T[7, 10],), "f32 f64"),
    ("jacfwd", jax.jacfwd(lambda x: jnp.sin(x) * x[0] + x[::-1]), (T[5],), "f32 f64"),
    ("jacrev", jax.jacrev(lambda x: jnp.exp(-x) * x.sum()), (T[5],), "bf16 f32 f64"),
    ("logsumexp_hessian", jax.hessian(special.logsumexp), (T[6],), "f32 f64"),
    ("lennard_jones_forces", jax.grad(lennard_jones), (T[8, 3],), "f32 f64"),
    ("cross_entropy", jax.grad(softmax_cross_entropy), (T[6, 5], INDEX(5)[6]), "f32"),
    ("layer_norm", lambda x: nn.standardize(x, -1) * nn.relu(x), (T[5, 16],), "f16 bf16 f32"),
    ("complex_gradient", jax.grad(lambda z: jnp.abs(jnp.sum(z**2)), holomorphic=False), (T[5],), COMPLEX),
    ("random_bits", uses_key(lambda k: random.bits(k, (33,))), (KEY[2],), "u32"),
    ("random_uniform", uses_key(lambda k: random.uniform(k, (33,))), (KEY[2],), "u32"),
    ("random_normal", uses_key(lambda k: random.normal(k, (33,))), (KEY[2],), "u32"),
    ("random_split", uses_key(lambda k: random.key_data(random.split(k, 5))), (KEY[2],), "u32"),
    ("random_permutation", uses_key(lambda k: random.permutation(k, 20)), (KEY[2],), "u32"),
    ("random_categorical", uses_key(lambda k: random.categorical(k, jnp.ones(5), shape=(9,))), (KEY[2],), "u32"),
    ("random_gamma", uses_key(lambda k: random.gamma(k, 2.0, (9,))), (KEY[2],), "u32"),
)

# ---- linear algebra, convolutions, FFTs: where the libraries of XLA come in ----

LINEAR = table(
    ("dot_small", jnp.dot, (T[4, 4], T[4, 4]), "i8 u16 i32 u64 f16 bf16 f32 f64 c64 c128"),
    ("dot", jnp.dot, (T[33, 65], T[65, 17]), "i32 f16 bf16 f32 f64 c64 c128"),
    ("dot_long", jnp.dot, (T[16, 600], T[600, 8]), "f32 f64"),
    ("matrix_vector", jnp.dot, (T[17, 33], T[33]), "i8 u32 bf16 f32 f64 c64"),
    ("inner", jnp.vdot, (T[100], T[100]), "i32 f32 f64 c64"),
    ("outer", jnp.outer, (T[9], T[7]), "i32 f32 f64 c64"),
    ("bool_dot", jnp.dot, (T[5, 6], T[6, 4]), "b1"),
    ("batched", jnp.matmul, (T[3, 8, 9], T[3, 9, 4]), "i32 f16 f32 f64"),
    ("einsum", lambda a, b: jnp.einsum("bij,bkj->bik", a, b), (T[2, 5, 6], T[2, 4, 6]), "f32 f64 c64"),
    ("tensordot", lambda a, b: jnp.tensordot(a, b, 2), (T[3, 4, 5], T[4, 5, 6]), "i32 f32 f64"),
    ("mixed_dot", lambda a, b: jnp.dot(a, b, preferred_element_type=jnp.float32), (T[8, 9], T[9, 7]), "bf16"),
    ("empty_dot", jnp.dot, (T[3, 0], T[0, 4]), "i32 f32 c64"),
    ("mlp_gradient", jax.grad(mlp_loss, (0, 1, 2)), (T[4, 8], T[8], T[8, 2], T[16, 4], T[16, 2]), "f32 f64"),
    ("softmax_attention", lambda q, k: nn.softmax(q @ k.T) @ k, (T[12, 8], T[16, 8]), "bf16 f32 f64"),
    ("sum_huge", jnp.sum, (T[300_000],), "f32 f64"),
    ("sum_rows", lambda x: x.sum(1), (T[200, 300],), "f32"),
    ("kron_trace", lambda a, b: (jnp.kron(a, b), jnp.trace(a @ b)), (T[3, 3], T[3, 3]), "f32 f64"),
    ("matrix_power", lambda a: jnp.linalg.matrix_power(a, 5), (UNIT[4, 4],), "f32 f64"),
    ("conv", convolve(1, 1), (T[2, 8, 8, 3], T[3, 3, 3, 4]), "f16 f32 f64"),
    ("conv_large", convolve(2, 1), (T[1, 16, 16, 16], T[5, 5, 16, 8]), "f32 f64"),
    ("conv_dilated", convolve(1, 2), (T[2, 9, 9, 2], T[3, 3, 2, 4]), "f32"),
    ("conv_gradient", jax.grad(lambda x, k: convolve(1, 1)(x, k).sum(), 1), (T[2, 8, 8, 3], T[3, 3, 3, 4]), "f32"),
    ("convolve_1d", jnp.convolve, (T[50], T[7]), "f32 f64"),
    ("correlate", lambda x, y: signal.correlate(x, y, "same"), (T[50], T[7]), "f32"),
    ("fft", jnp.fft.fft, (T[30],), COMPLEX),
    ("fft_power_of_2", jnp.fft.fft, (T[4, 64],), COMPLEX),
    ("ifft2", jnp.fft.ifft2, (T[8, 12],), COMPLEX),
    ("rfft", jnp.fft.rfft, (T[31],), "f32 f64"),
    ("irfft", lambda x: jnp.fft.irfft(x, 32), (T[17],), COMPLEX),
    ("low_pass", lambda x: jnp.fft.irfft(jnp.fft.rfft(x).at[9:].set(0)), (T[64],), "f32 f64"),
)

# ---- arctangents ----

ARCTANGENTS = table(
    *(
        row
        for size in (1, 3, 8, 33, 257, 1000)
        for row in (
            (f"atan_{size}", jnp.arctan, (EDGE[size],), "f32 f64"),
            (f"atan2_{size}", jnp.arctan2, (EDGE[size], EDGE[size]), "f32 f64"),
        )
    ),
    ("atan_half", jnp.arctan, (T[1000],), "f16 bf16"),
    ("asin", jnp.arcsin, (UNIT[1000],), "f32 f64"),
    ("acos", jnp.arccos, (UNIT[1000],), "f32 f64"),
    ("angle", jnp.angle, (T[1000],), COMPLEX),
    ("complex_log", jnp.log, (T[1000],), COMPLEX),
    ("complex_atan", jnp.arctan, (T[100],), COMPLEX),
    ("complex_power", jnp.power, (T[100], T[100]), COMPLEX),
    ("atan_gradient", jax.grad(lambda x: jnp.sum(x * jnp.arctan(x))), (T[1000],), "f32 f64"),
    ("atan_loop", lambda x: lax.fori_loop(0, 3, lambda i, y: jnp.arctan(y) + x, x), (T[100],), "f32 f64"),
    ("polar", lambda x, y: (jnp.hypot(x, y), jnp.arctan2(y, x)), (T[20, 30], T[20, 30]), "f32"),
)

EXACT = [*ELEMENTWISE, *CONVERSIONS, *REDUCTIONS, *MOVES, *PROGRAMS]
