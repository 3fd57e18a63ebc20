"""Objectives, gradients, Hessians and constraints of CUTEst problems run directly, bit for bit.

`compare` runs each in four ways, see differential.py, and raises where an engine changes a bit.
"""

import functools
import importlib.util

import jax
import pytest
from differential import compare, same_xla
from sif2jax_cases import CONSTRAINED, UNCONSTRAINED, functions_of, problems_by_name, size, start

if not importlib.util.find_spec("sif2jax"):
    pytest.skip("sif2jax is not installed", allow_module_level=True)

KINDS = ("objective", "gradient", "hessian")


@functools.cache
def problem_named(name):
    return _problems()[name]


_problems = functools.cache(problems_by_name)


def check(name, kind):
    problem = problem_named(name)
    with jax.enable_x64(True):
        assert size(problem) <= 100
        comparison = compare(functions_of(problem)[kind], start(problem))
    if same_xla():
        assert comparison.equal, str(comparison)


@pytest.mark.table
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*UNCONSTRAINED, *CONSTRAINED])
def test_objective_and_derivatives(name, kind):
    check(name, kind)


@pytest.mark.table
@pytest.mark.parametrize("name", CONSTRAINED)
def test_constraints(name):
    check(name, "constraints")


def test_there_are_many():
    names = {*UNCONSTRAINED, *CONSTRAINED}
    assert len(names) * len(KINDS) >= 200
