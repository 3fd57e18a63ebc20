"""Every elementwise function of JAX, over the sizes that are compiled in different ways.

XLA makes vector code of 4 to 16 lanes with remainders, and calls vector functions of its own in it:
a fault can be in one function, for one type, from one size on.  So each program applies a function
to arrays of several sizes, each a kernel of its own, and all bits of all results are compared with
those of `jax.jit`.

The environment variable CYXLA_FULL_SWEEP=1 takes all sizes, all types and the derivatives too.
"""

import functools
import importlib.metadata
import os
import zlib
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy import special
from sweep_cases import ALIASES, CASES, COMPLEX, FLOATS, MISSING, NOT_SWEPT, WIDE, draw

import cyxla as cx
from cyxla import platforms

FULL = os.environ.get("CYXLA_FULL_SWEEP") == "1"

SIZES = (1, 2, 3, 5, 8, 17, 33, 100, 1025, 4097) if FULL else (1, 3, 33, 1025)
HEAVY_SIZES = (1, 3, 8, 33, 1025) if FULL else (1025,)

#: Where the default sweep takes all floating-point types, and not only float32 and float64.
ALL_FLOATS = {
    *(f"lax.{name}" for name in "sqrt exp expm1 log log1p logistic sin cos tan tanh".split()),
    *("lax.atan", "lax.mul", "lax.div", "lax.pow", "jnp.arctan_of_exp"),
}

#: The plugin's package, and the one version of it with a faulty arctan.
PACKAGE = "lammps-jax-pjrt-cpu"
FAULTY_VERSION = "0.11.2"

CPU = Path("/proc/cpuinfo").read_text()
DATA = Path(__file__).parents[1] / "data"

#: Programs with an arctan of its vector functions, and one that has it or not.
ARCTANGENTS = {"lax.atan", "jnp.arctan", "jnp.arctan_of_exp"}
PERHAPS_ARCTANGENTS = {"special.owens_t"}

#: By JAX's version, for this version of the plugin: what the plugin's XLA computes otherwise than
#: that of jaxlib, and the largest difference in units in the last place (0: other NaNs).  Where
#: they are of the same version, nothing may differ.
DIFFERING = {
    "0.10.2": {
        "lax.exp c128": 0,
        "lax.log c128": 64,
        "lax.log1p c128": 4,
        "lax.logistic c64": 0,
        "lax.logistic c128": 0,
        "lax.sin c128": 0,
        "lax.tan c64": 4,
        "lax.tan c128": 4,
        "lax.tanh c64": 4,
        "lax.tanh c128": 4,
        "lax.atan f32": 4,
        "lax.atan f64": 4,
        "lax.atanh f64": 128,
        "lax.erfc f32": 1,
        "lax.erf_inv f64": 16,
        "lax.betainc f64": 1024,
        "special.beta f32": 1,
        "special.beta f64": 0,
        "special.poch f32": 1,
        "special.factorial f32": 1,
        "special.erfcx f32": 1,
        "special.owens_t f32": 4 << 29,  # 4 of float32, in a result of float64
        "special.owens_t f64": 4,
        "special.betainc_x f64": 1024,
        "jnp.unwrap f32": 0,
        "jnp.unwrap f64": 0,
        "jnp.arctan f32": 4,
        "jnp.arctan f64": 4,
        "jnp.arctan_of_exp f32": 2,
        "jnp.arctan_of_exp f64": 2,
        "nn.log1mexp f64": 32,
    },
}


@functools.cache
def plugin_version():
    if platforms.default_candidate("cpu").name != PACKAGE.replace("-", "_"):
        pytest.skip(f"the figures are for {PACKAGE}")
    return importlib.metadata.version(PACKAGE)


def has_avx():
    return " avx " in CPU


def tolerances():
    if jax.__version__ == plugin_version():
        return {}
    if FULL or plugin_version() != FAULTY_VERSION or jax.__version__ not in DIFFERING:
        pytest.skip(f"no figures for JAX {jax.__version__} and {PACKAGE} {plugin_version()}")
    return DIFFERING[jax.__version__]


# ---- running ----


def value(function):
    return lambda *arrays: jax.tree.leaves(function(*arrays))


def derivatives(function):
    """The derivatives of the first result in each argument, elementwise."""

    def pull(*arrays):
        result, vjp = jax.vjp(lambda *arrays: jax.tree.leaves(function(*arrays))[0], *arrays)
        return vjp(jnp.ones_like(result))

    return pull


@functools.cache
def outcome(case, type_name, kind=value):
    """What was worked around, and {size: largest difference in ulp} of the sizes that differ."""
    sizes = HEAVY_SIZES if case.heavy else SIZES
    generator = np.random.default_rng(zlib.crc32(f"{case.name} {type_name}".encode()))
    arguments = [draw(case, type_name, size, generator) for size in sizes]

    def apply_to_all(arguments):
        return [kind(case.function)(*arrays) for arrays in arguments]

    with jax.enable_x64(True):
        program = cx.lower(apply_to_all, [arguments], name=case.name)
        executable, statistics = cx.compile_program(program, engine="pjrt", low_latency=False)
        with executable:
            results = iter(executable.run(jax.tree.leaves(arguments)))
        expected = jax.jit(apply_to_all)(arguments)
    differing = {}
    for size, arrays in zip(sizes, expected, strict=True):
        for other in map(np.asarray, arrays):
            result = next(results)
            assert result.dtype == other.dtype and result.shape == other.shape
            if result.tobytes() != other.tobytes():
                differing[size] = max(differing.get(size, 0), ulp(result, other))
    return statistics.workaround, differing


def ulp(a, b):
    """The largest difference in units in the last place; infinite where only one is NaN."""
    if a.dtype.kind == "c":
        a, b = (each.view(each.real.dtype) for each in (a, b))
    if a.dtype.kind in "biu":
        return 0 if np.array_equal(a, b) else float("inf")
    nan = np.isnan(a)
    if not np.array_equal(nan, np.isnan(b)):
        return float("inf")
    return max(
        (abs(x - y) for x, y in zip(_order(a[~nan]), _order(b[~nan]), strict=True)), default=0
    )


def _order(values):
    """Floats as Python's integers in the same order."""
    least = -1 << (8 * values.itemsize - 1)
    return [x if x >= 0 else least - x for x in values.view(f"i{values.itemsize}").tolist()]


# ---- tests ----


def parameters():
    for case in CASES.values():
        for type_name in case.types.split():
            usual = type_name in WIDE.split() and case.name not in ALIASES
            if FULL or usual or (type_name in FLOATS.split() and case.name in ALL_FLOATS):
                yield case, type_name


def over(cases):
    cases = list(cases)
    names = [f"{case.name}-{type_name}" for case, type_name in cases]
    return pytest.mark.parametrize(("case", "type_name"), cases, ids=names)


@pytest.mark.table
@over(parameters())
def test_values_equal_jax(case, type_name):
    tolerance = tolerances().get(f"{case.name} {type_name}")
    _, differing = outcome(case, type_name)
    if tolerance is None:
        assert not differing, f"sizes that differ, and by how many ulp: {differing}"
    else:
        assert differing, "the tolerance isn't needed any more"
        assert max(differing.values()) <= tolerance, differing


@pytest.mark.skipif(not FULL, reason="CYXLA_FULL_SWEEP=1 takes derivatives")
@over(each for each in parameters() if each[0].derivable and each[1][0] in "fbc")
def test_derivatives_equal_jax(case, type_name):
    if jax.__version__ != plugin_version():
        pytest.skip("the plugin has another XLA than jaxlib")
    _, differing = outcome(case, type_name, derivatives)
    assert not differing, f"sizes that differ, and by how many ulp: {differing}"


@over(each for each in parameters() if each[0].name in ARCTANGENTS)
def test_the_faulty_arctan_is_mended(case, type_name):
    if plugin_version() != FAULTY_VERSION or not has_avx():
        pytest.skip("the plugin's arctan is right")
    workaround, _ = outcome(case, type_name)
    expected = None if type_name in COMPLEX.split() else "arctan"
    assert (workaround and workaround.split(":")[0]) == expected


@over(each for each in parameters() if each[0].name not in ARCTANGENTS | PERHAPS_ARCTANGENTS)
def test_nothing_else_is_mended(case, type_name):
    workaround, _ = outcome(case, type_name)
    assert workaround is None


def test_a_faulty_executable_is_mended_when_it_is_loaded(run_python):
    """Such as one that somebody else serialized; here it is jaxlib, which mends nothing."""
    if plugin_version() != FAULTY_VERSION or not has_avx():
        pytest.skip("the plugin's arctan is right")
    code = """
        import sys
        sys.path.insert(0, sys.argv[1])
        import generate, jax, jax.numpy as jnp, numpy as np
        import cyxla as cx
        from cyxla import _runtime, platforms

        x = np.linspace(-5, 5, generate.SIZE, dtype=np.float32)
        client = generate.create_plugin_client()
        data = generate.serialized(client, jax.jit(jnp.arctan).lower(x), {})
        plugin = platforms.loaded_plugin("cpu").handle
        executable = _runtime.load_executable(plugin, cx.lower(jnp.arctan, [x]), data)
        print(executable.workaround, np.allclose(executable.run([x])[0], np.arctan(x)))
        again = _runtime.load_executable(plugin, cx.lower(jnp.arctan, [x]), executable.serialize())
        print(again.workaround, np.allclose(again.run([x])[0], np.arctan(x)))
    """
    first, second = run_python(code, DATA).splitlines()
    assert first.startswith("arctan") and first.endswith("True")
    assert second == "None True"


def test_vectors_that_cannot_be_mended_are_refused():
    if plugin_version() != FAULTY_VERSION or " avx512f " not in CPU:
        pytest.skip("there are no vectors of 64 bytes")
    program = cx.lower(jnp.arctan, [jax.ShapeDtypeStruct((1024,), jnp.float32)])
    with pytest.raises(cx.StatusError, match="xla.atan.v16f32.*xla_cpu_prefer_vector_width = 128"):
        cx.compile_program(program, compiler="plugin", options={"xla_cpu_prefer_vector_width": 512})


def test_the_table_is_complete():
    if jax.__version__ == FAULTY_VERSION:
        assert not MISSING
    public = {name for name in dir(special) if not name.startswith("_")}
    swept = {name.removeprefix("special.") for name in CASES if name.startswith("special.")}
    assert public - swept - set(NOT_SWEPT) == set()
