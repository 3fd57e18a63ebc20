"""All of JAX's linear algebra by the direct engine, for small matrices: those that it is made for.

What XLA leaves to its libraries it refuses, and runs at low latency.
"""

import inspect

import jax.numpy as jnp
import jax.scipy.linalg as jsl
import pytest
from differential import SUPPORTED, compare, generator_of, run_at_low_latency, x64_for
from jax.lax import linalg as lax_linalg
from linalg_cases import CASES, MORE, TYPES, UNSTABLE, is_right, matrix

ALL = {**CASES, **MORE}


def over(cases, types):
    parameters = [
        (name, type_name)
        for name, case in cases.items()
        for type_name in types
        if type_name in case.types
    ]
    return pytest.mark.parametrize(("name", "type_name"), parameters)


def run(way, name, type_name):
    x = matrix(ALL[name].matrix, (4, 4), type_name, generator_of(f"{name} {type_name}"))
    with x64_for(type_name):
        return way(ALL[name].function, x, custom_calls=UNSTABLE)


@pytest.mark.table
@over(MORE, TYPES)
def test_equals_jax(name, type_name):
    comparison = run(compare, name, type_name)
    assert is_right(comparison), str(comparison)


@pytest.mark.table
@over(ALL, ("f64", "c128"))
def test_low_latency_equals_jax_with_the_same_options(name, type_name):
    executable = run(run_at_low_latency, name, type_name)
    if executable is not None:
        assert not executable.thunks.keys() - SUPPORTED


@pytest.mark.parametrize("module", [jnp.linalg, jsl, lax_linalg])
def test_all_functions_are_tried(module):
    import linalg_cases

    source = inspect.getsource(linalg_cases)
    public = {name for name in dir(module) if inspect.isfunction(getattr(module, name))}
    missing = {name for name in public if not name.startswith("_") and f".{name}" not in source}
    assert not missing
