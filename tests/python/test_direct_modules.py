"""The direct engine runs what other producers of StableHLO write than JAX."""

import numpy as np
import pytest
from differential import DTYPES, EDGE, assert_same, make, run_by_jaxlib, run_by_plugin

import cyxla as cx


def run_module(text, *arguments, expected=None):
    """Runs StableHLO in all ways that need no `jax.jit`; returns the results and their thunks."""
    program = cx.from_stablehlo(text)
    results, thunks = run_by_plugin(program, arguments)
    assert run_by_jaxlib(program, arguments, results) is not None
    if expected is not None:
        assert_same(results, expected, "what it should be")
    return results, thunks


def test_device_numbers_are_zero():
    _, thunks = run_module(
        """
        func.func public @main() -> (tensor<ui32>, tensor<ui32>) {
          %a = stablehlo.partition_id : tensor<ui32>
          %b = stablehlo.replica_id : tensor<ui32>
          return %a, %b : tensor<ui32>, tensor<ui32>
        }
        """,
        expected=[np.zeros((), np.uint32)] * 2,
    )
    assert thunks == {"partition-id", "replica-id"}


IF = """
    func.func public @main(%flag: tensor<i1>, %x: tensor<9xf32>) -> tensor<9xf32> {
      %y = "stablehlo.if"(%flag) ({
        %a = "stablehlo.sort"(%x) ({
        ^bb0(%l: tensor<f32>, %r: tensor<f32>):
          %c = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        }) {dimension = 0 : i64, is_stable = true} : (tensor<9xf32>) -> tensor<9xf32>
        stablehlo.return %a : tensor<9xf32>
      }, {
        %b = stablehlo.negate %x : tensor<9xf32>
        stablehlo.return %b : tensor<9xf32>
      }) : (tensor<i1>) -> tensor<9xf32>
      return %y : tensor<9xf32>
    }
"""


@pytest.mark.parametrize("flag", [False, True])
def test_a_branch_by_a_bool(flag):
    x = np.float32([3, 1, 2, -1, 5, 0, 7, 4, 6])
    _, thunks = run_module(IF, np.array(flag), x, expected=[np.sort(x) if flag else -x])
    assert {"conditional", "sort"} <= thunks


@pytest.mark.parametrize("index", [-(2**31), -1, 0, 1, 2, 3, 2**31 - 1])
def test_a_branch_out_of_range_is_the_last_one(index):
    branches = ", ".join(
        f"""{{
          %s{i} = "stablehlo.sort"(%x) ({{
          ^bb0(%l: tensor<i32>, %r: tensor<i32>):
            %c = stablehlo.compare GT, %l, %r : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
          }}) {{dimension = 0 : i64}} : (tensor<5xi32>) -> tensor<5xi32>
          %n{i} = stablehlo.constant dense<{i}> : tensor<5xi32>
          %r{i} = stablehlo.add %s{i}, %n{i} : tensor<5xi32>
          stablehlo.return %r{i} : tensor<5xi32>
        }}"""
        for i in range(3)
    )
    text = f"""
        func.func public @main(%i: tensor<i32>, %x: tensor<5xi32>) -> tensor<5xi32> {{
          %y = "stablehlo.case"(%i) ({branches}) : (tensor<i32>) -> tensor<5xi32>
          return %y : tensor<5xi32>
        }}
    """
    x = np.int32([4, -1, 9, 3, 3])
    branch = index if 0 <= index < 3 else 2
    _, thunks = run_module(text, np.int32(index), x, expected=[np.sort(x)[::-1] + branch])
    assert "conditional" in thunks


def sort_module(types, direction, stable, key=0, kind="", size=300):
    """A module that sorts some arrays by one of them."""
    arrays = [f"tensor<{size}x{each}>" for each in types]
    pairs = [(f"%l{i}: tensor<{each}>", f"%r{i}: tensor<{each}>") for i, each in enumerate(types)]
    values = ", ".join(f"%x{i}" for i in range(len(types)))
    sorted_values = ", ".join(f"%y#{i}" for i in range(len(types))) if len(types) > 1 else "%y"
    scalar = f"tensor<{types[key]}>"
    name = f"%y:{len(types)}" if len(types) > 1 else "%y"
    return f"""
        func.func public @main({", ".join(f"%x{i}: {each}" for i, each in enumerate(arrays))})
            -> ({", ".join(arrays)}) {{
          {name} = "stablehlo.sort"({values}) ({{
          ^bb0({", ".join(each for pair in pairs for each in pair)}):
            %c = stablehlo.compare {direction}, %l{key}, %r{key}{kind}
              : ({scalar}, {scalar}) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
          }}) {{dimension = 0 : i64, is_stable = {str(stable).lower()}}}
            : ({", ".join(arrays)}) -> ({", ".join(arrays)})
          return {sorted_values} : {", ".join(arrays)}
        }}
    """


SORTED = [("f32", 0), ("i32", 0), ("f64 i32", 0), ("i32 f32", 1), ("f16 i8 f64", 0)]


def with_ties(types, key):
    """Numbers that occur often, among them both zeros."""
    generator = np.random.default_rng(0)
    arrays = [generator.integers(-9, 9, 300).astype(DTYPES[each]) for each in types]
    if types[key][0] == "f":
        arrays[key][::7] = -0.0
    return arrays


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("direction", ["LT", "GT"])
@pytest.mark.parametrize(("types", "key"), SORTED)
def test_sorts_with_comparators(types, key, direction, stable):
    types = types.split()
    _, thunks = run_module(sort_module(types, direction, stable, key), *with_ties(types, key))
    assert "sort" in thunks


@pytest.mark.parametrize("direction", ["LE", "GE"])
@pytest.mark.parametrize(("types", "key"), SORTED)
def test_comparators_that_are_no_order_do_no_harm(types, key, direction):
    """XLA's own runtime crashes: what std::sort gets must be less than, not less or equal."""
    types = types.split()
    program = cx.from_stablehlo(sort_module(types, direction, False, key))
    executable, _ = cx.compile_program(program, engine="direct")
    arrays = with_ties(types, key)
    for result, array in zip(executable.run(arrays), arrays, strict=True):
        np.testing.assert_array_equal(np.sort(result), np.sort(array))


@pytest.mark.parametrize("direction", ["LT", "GT"])
@pytest.mark.parametrize("type_name", ["f16", "bf16", "f32", "f64"])
def test_sorts_by_a_total_order(type_name, direction):
    x = make(EDGE[300], type_name, np.random.default_rng(1))
    x[3::50] = -np.abs(np.float32("nan")).astype(x.dtype)
    number = np.arange(300, dtype=np.int32)
    text = sort_module([type_name, "i32"], direction, True, kind=", TOTALORDER")
    run_module(text, x, number)


# ---- donation ----

DONATED = """
    func.func public @main(%x: tensor<{n}xf32> {{tf.aliasing_output = 0 : i32}},
                           %y: tensor<{n}xf32> {{tf.aliasing_output = 1 : i32}})
        -> (tensor<{n}xf32>, tensor<{n}xf32>) {{
      %a = stablehlo.add %x, %y : tensor<{n}xf32>
      %b = stablehlo.subtract %x, %y : tensor<{n}xf32>
      return %a, %b : tensor<{n}xf32>, tensor<{n}xf32>
    }}
"""


@pytest.mark.parametrize("size", [3, 16, 1000])
def test_donated_inputs_stay_as_they_are(size):
    x = np.arange(size, dtype=np.float32)
    y = np.full(size, 2, np.float32)
    before = x.copy(), y.copy()
    run_module(DONATED.format(n=size), x, y, expected=[x + y, x - y])
    assert_same([x, y], before, "before")
