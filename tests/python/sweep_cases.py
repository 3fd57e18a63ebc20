"""The elementwise functions of JAX: a table of them, and inputs for them."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from differential import DTYPES
from jax import lax
from jax.scipy import special

INTEGERS = "i8 i32 i64 u8 u32"
UNSIGNED_TOO = "i8 i32 i64"  # where unsigned types are refused
WIDE = "f32 f64"  # where half precision is refused
REALS = f"{WIDE} f16 bf16"
COMPLEX = "c64 c128"
FLOATS = f"{REALS} {COMPLEX}"
NUMBERS = f"{REALS} {INTEGERS}"
ALL = f"{FLOATS} {INTEGERS}"

LINE, UNIT, SIGNED_UNIT, POSITIVE, ABOVE_ONE = (-10, 10), (0, 1), (-1, 1), (0, 20), (1, 20)
PAIR = (LINE, LINE)


@dataclass(frozen=True)
class Case:
    """An elementwise function.

    Attributes:
        name, function: such as "lax.sin" and jax.lax.sin.
        domains: the interval of each argument that half of its values come from; the others have
            every magnitude, or are special ones.
        types: the element types that it takes.
        derivable: whether it has derivatives in all arguments.
        heavy: whether it takes long to compile.
        unbounded: whether it would loop nearly for ever for large arguments.
    """

    name: str
    function: object
    domains: tuple
    types: str
    derivable: bool
    heavy: bool
    unbounded: bool


CASES = {}

#: Functions of the table that this JAX does not have.
MISSING = set()


def own(name, function, *domains, types=REALS, derivable=True, heavy=False, unbounded=False):
    assert name not in CASES, name
    domains = domains or (LINE,)
    CASES[name] = Case(name, function, domains, types, derivable, heavy, unbounded)


def add(module, names, *domains, **more):
    prefix = module.__name__.split(".")[-1].replace("numpy", "jnp")
    for name in names.split():
        if hasattr(module, name):
            own(f"{prefix}.{name}", getattr(module, name), *domains, **more)
        else:
            MISSING.add(f"{prefix}.{name}")


# ---- jax.lax ----

add(lax, "neg square sqrt rsqrt exp exp2 expm1 log log1p logistic", types=FLOATS)
add(lax, "sin cos tan sinh cosh tanh asinh", types=FLOATS)
add(lax, "asin acos atan atanh", SIGNED_UNIT, types=FLOATS)
add(lax, "acosh", ABOVE_ONE, types=FLOATS)
add(lax, "sign", types=ALL)
add(lax, "abs", types=f"{FLOATS} {UNSIGNED_TOO}")
add(lax, "log2 reciprocal", types=FLOATS)
add(lax, "cbrt one_minus_square")
add(lax, "erf erfc digamma lgamma bessel_i0e bessel_i1e", heavy=True)
add(lax, "erf_inv", SIGNED_UNIT)
add(lax, "ceil floor round is_finite", derivable=False)
add(lax, "conj real imag", types=COMPLEX)
add(lax, "bitwise_not clz population_count", types=INTEGERS, derivable=False)
add(lax, "add sub mul div", *PAIR, types=ALL)
add(lax, "max min rem", *PAIR, types=NUMBERS)
add(lax, "pow", POSITIVE, LINE, types=FLOATS)
add(lax, "atan2", *PAIR)
add(lax, "nextafter", *PAIR, derivable=False)
add(lax, "complex", *PAIR, types=WIDE)
add(lax, "eq ne lt le gt ge", *PAIR, types=NUMBERS, derivable=False)
add(lax, "mulhi", *PAIR, types="i32 u32 i64", derivable=False)
add(lax, "bitwise_and bitwise_or bitwise_xor", *PAIR, types=INTEGERS, derivable=False)
shifts = "shift_left shift_right_arithmetic shift_right_logical"
add(lax, shifts, LINE, (0, 7), types=INTEGERS, derivable=False)
LOOPS = {"heavy": True, "unbounded": True}
add(lax, "igamma igammac", POSITIVE, POSITIVE, **LOOPS)
add(lax, "igamma_grad_a random_gamma_grad", POSITIVE, POSITIVE, **LOOPS, derivable=False)
add(lax, "polygamma", (0, 5), POSITIVE, types=WIDE, heavy=True, derivable=False)
add(lax, "zeta", ABOVE_ONE, POSITIVE, types=WIDE, heavy=True, derivable=False)
add(lax, "betainc", POSITIVE, POSITIVE, UNIT, heavy=True, derivable=False)
add(lax, "clamp", SIGNED_UNIT, LINE, (1, 5), types=NUMBERS)
own(
    "lax.round_even",
    lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    derivable=False,
)
own("lax.select", lambda x, y, z: lax.select(x > 0, y, z), LINE, *PAIR, types=NUMBERS)
own("lax.mul_add", lambda x, y, z: x * y + z, LINE, *PAIR, types=FLOATS)
for n in (-3, -1, 2, 3, 7):
    own(f"lax.integer_pow_{n}", lambda x, n=n: lax.integer_pow(x, n), types=FLOATS)
for bits in ((5, 10), (8, 7), (4, 3)):
    own(
        "lax.reduce_precision_{}_{}".format(*bits),
        lambda x, bits=bits: lax.reduce_precision(x, *bits),
        derivable=False,
    )
for to in f"{ALL} b1".split():
    own(
        f"lax.convert_to_{to}",
        lambda x, dtype=DTYPES[to]: lax.convert_element_type(x, dtype),
        types=FLOATS if to in COMPLEX else NUMBERS,
        derivable=False,
    )

# ---- jax.scipy.special ----

add(special, "erf erfc gamma gammaln digamma i0 i0e i1 i1e", heavy=True)
add(special, "ndtr log_ndtr", types=WIDE, heavy=True)
add(special, "expit")
add(special, "erfinv", SIGNED_UNIT)
add(special, "logit entr", UNIT, heavy=True)
add(special, "ndtri", UNIT, types=WIDE, heavy=True)
add(special, "spence", POSITIVE, types=WIDE, heavy=True)
add(special, "xlogy xlog1py kl_div rel_entr", POSITIVE, POSITIVE)
add(special, "beta betaln poch", POSITIVE, POSITIVE, heavy=True)
add(special, "gammainc gammaincc", POSITIVE, POSITIVE, **LOOPS)
add(special, "zeta", ABOVE_ONE, POSITIVE, types=WIDE, heavy=True, derivable=False)
add(special, "betainc", POSITIVE, POSITIVE, UNIT, heavy=True, derivable=False)
add(special, "factorial", POSITIVE, types=WIDE, heavy=True)
add(special, "boxcox boxcox1p", POSITIVE, LINE, types=WIDE)
add(special, "comb", (2, 20), (0, 5), types=WIDE, heavy=True)
add(special, "dawsn erfcx loggamma", types=WIDE, heavy=True)
add(special, "fresnel sici wofz", types=WIDE, derivable=False, heavy=True)
add(special, "gammasgn", types=WIDE, derivable=False)
add(special, "owens_t", *PAIR, types=WIDE)
own("special.betainc_x", lambda x: special.betainc(2.5, 1.5, x), UNIT, heavy=True)
own("special.polygamma", lambda x: special.polygamma(2, x), POSITIVE, types=WIDE, heavy=True)
own("special.multigammaln", lambda x: special.multigammaln(x, 3), (2, 20), types=WIDE, heavy=True)
own(
    "special.bessel_jn",
    lambda x: special.bessel_jn(x, v=2),
    POSITIVE,
    types=WIDE,
    heavy=True,
    derivable=False,
)

# ---- jax.numpy and jax.nn, where they add something ----

add(jnp, "sinc deg2rad rad2deg log2 log10 nan_to_num trunc rint")
add(jnp, "i0", heavy=True)
add(jnp, "signbit isnan isinf modf frexp", derivable=False)
add(jnp, "spacing unwrap", types=WIDE, derivable=False)
add(jnp, "arctan2 hypot logaddexp logaddexp2 copysign fmod remainder", *PAIR)
add(jnp, "floor_divide heaviside", *PAIR)
add(jnp, "power", POSITIVE, LINE, types=FLOATS)
add(jnp, "angle", types=FLOATS)
add(jnp, "arctan", SIGNED_UNIT, types=FLOATS)
add(jnp, "absolute reciprocal", types=COMPLEX)
add(jnp, "round", types=COMPLEX, derivable=False)
own("jnp.arctan_of_exp", lambda x: jnp.arctan(jnp.exp(x)) * 2)
own("jnp.polar", lambda x, y: (jnp.hypot(x, y), jnp.arctan2(y, x)), *PAIR, derivable=False)
add(jax.nn, "gelu softplus silu elu selu mish hard_tanh log_sigmoid celu soft_sign")
add(jax.nn, "relu relu6 squareplus hard_sigmoid hard_silu leaky_relu log1mexp sparse_plus")
add(jax.nn, "sparse_sigmoid")
own("nn.gelu_exact", lambda x: jax.nn.gelu(x, approximate=False), heavy=True)

#: Functions that only call one of jax.lax, which is in the table too.
ALIASES = {
    *(f"special.{name}" for name in "betainc digamma erf erfc erfinv gammainc gammaincc".split()),
    *(f"special.{name}" for name in "gammaln i0e i1e zeta expit".split()),
    *(f"jnp.{name}" for name in "absolute arctan2 floor_divide power reciprocal rint".split()),
    "special.polygamma",
}

#: What of jax.scipy.special is not in the table, and why.
NOT_SWEPT = {
    **dict.fromkeys(["exp1", "expi", "expn", "hyp1f1", "hyp2f1"], "minutes to compile"),
    **dict.fromkeys(["sph_harm", "sph_harm_y", "lpmn", "lpmn_values"], "minutes to compile"),
    **dict.fromkeys(["log_softmax", "logsumexp", "softmax"], "not elementwise"),
    "bernoulli": "of an integer that is no array",
}


# ---- inputs ----


def draw(case, type_name, size, generator):
    """Values for each argument; up to three come from the domain alone."""
    limit = 100 if case.unbounded else np.inf
    return [_draw(DTYPES[type_name], each, size, limit, generator) for each in case.domains]


def _draw(dtype, domain, size, limit, generator):
    if dtype.kind in "iu":
        return _draw_integers(dtype, domain, size, generator)
    if dtype.kind != "c":
        return _draw_floats(dtype, domain, size, limit, generator)
    values = np.empty(size, dtype)
    part = values.real.dtype
    values.real = _draw_floats(part, domain, size, limit, generator)
    values.imag = _draw_floats(part, domain, size, limit, generator)
    return values


def _draw_integers(dtype, domain, size, generator):
    info = np.iinfo(dtype)
    values = generator.integers(max(domain[0], info.min), domain[1], size, endpoint=True)
    values = values.astype(dtype)
    if domain == LINE and size > 3:
        wild = generator.integers(info.min, info.max, size, dtype, endpoint=True)
        values = np.where(generator.random(size) < 0.5, values, wild)
        values[:2] = info.min, info.max
    return values


def _draw_floats(dtype, domain, size, limit, generator):
    values = generator.uniform(*domain, size)
    if size > 3:
        info = ml_dtypes.finfo(dtype)
        tiny, largest = float(info.tiny), min(float(info.max), limit)
        edge = [0, 0.5, 1, 2, tiny, tiny / 2, float(info.smallest_subnormal), largest, np.inf]
        edge += [1 - float(info.epsneg), 1 + float(info.eps)]
        edge = np.array([np.nan, *edge, *(-each for each in edge)])
        wild = np.exp(generator.uniform(np.log(tiny), np.log(largest), size))
        wild *= generator.choice([-1, 1], size)
        which = generator.random(size)
        values = np.where(
            which < 0.5, values, np.where(which < 0.8, wild, generator.choice(edge, size))
        )
        if size >= 33:
            values[generator.permutation(size)[: len(edge)]] = edge
    with np.errstate(over="ignore"):
        return values.astype(dtype)
