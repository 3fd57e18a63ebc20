"""The direct engine gives the bits of PJRT's engine and of `jax.jit`.

`compare` runs each program in four ways, see differential.py: it raises where an engine changes a
bit.  There is no tolerance: the engines run the same code.
"""

import functools

import direct_cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differential import (
    SUPPORTED,
    arguments_of,
    assert_same,
    compare,
    make,
    over,
    same_xla,
    thunk_kinds,
    x64_for,
)

import cyxla as cx

#: Kinds that no compiler makes here: XLA inlines calls, and since 0.11 a state comes with a seed,
#: which is another number each time.
UNREACHED = {"call", "rng-get-and-update-state"}

#: Kinds that are reached by tests of their own, of modules that JAX does not write.
BY_MODULES = {"partition-id", "replica-id"}


@functools.cache
def outcome(case, type_name):
    with x64_for(type_name):
        return compare(case.function, *arguments_of(case, type_name))


@pytest.mark.table
@over(direct_cases.EXACT)
def test_runs_directly_with_the_same_bits(case, type_name):
    comparison = outcome(case, type_name)
    assert comparison.thunks <= SUPPORTED | {"ynn-fusion"}
    if same_xla():
        assert comparison.equal, str(comparison)


def test_all_kinds_of_thunks_are_reached():
    missing = SUPPORTED - UNREACHED - BY_MODULES
    for case in direct_cases.EXACT:
        if missing:
            missing -= outcome(case, case.types.split()[0]).thunks
    assert not missing


def test_there_are_many_functions():
    assert len(direct_cases.EXACT) >= 200
    names = [case.name for case in direct_cases.EXACT]
    assert len(names) == len(set(names))


# ---- the same executable in other ways ----


def test_many_runs_of_one_executable():
    """Nothing of a run is left for the next one."""
    case = next(each for each in direct_cases.CONTROL if each.name == "nest")
    generator = np.random.default_rng(5)
    inputs = [make(case.inputs[0], "f32", generator) for _ in range(20)]
    program = cx.lower(case.function, [inputs[0]])
    executable, _ = cx.compile_program(program, engine="direct", low_latency=False)
    function = jax.jit(case.function)
    for x in [*inputs, *inputs[::-1]]:
        assert_same(executable.run([x]), [np.asarray(e) for e in jax.tree.leaves(function(x))], "")


def test_what_is_loaded_again_is_the_same():
    """Serializing a direct executable gives the bytes that it came from."""
    program = cx.lower(jnp.sort, [jax.ShapeDtypeStruct((9,), jnp.float32)])
    executable, _ = cx.compile_program(program, engine="direct")
    x = np.float32([3, 1, 2, -1, 5, 0, 7, 4, 6])
    executable.run([x])  # afterwards XLA itself could not serialize a sort
    data = executable.serialize()
    again, _ = cx.load_executable(program, data, engine="direct")
    assert again.serialize() == data
    assert_same(again.run([x]), [np.sort(x)], "NumPy")


@pytest.mark.parametrize("engine", ["direct", "pjrt"])
def test_thunks_are_told(engine):
    program = cx.lower(lambda x: jnp.sort(x) + 1, [jax.ShapeDtypeStruct((9,), jnp.float32)])
    executable, _ = cx.compile_program(program, engine=engine, low_latency=False)
    assert executable.thunks.keys() >= {"sort", "kernel"}
    if engine == "pjrt":
        assert executable.thunks.keys() == thunk_kinds(executable.serialize())
