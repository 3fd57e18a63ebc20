"""Lowering JAX functions: signatures, names, and what is refused."""

import functools
import os
import re
import subprocess
import sys
import typing

import jax
import jax.export
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax.experimental import io_callback
from jax.extend.mlir import dialects
from jax.interpreters.mlir import make_ir_context
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from cyxla import lowering
from cyxla.errors import ArgumentError, ArgumentTypeError, UnsupportedError
from cyxla.lowering import lower
from cyxla.stablehlo import from_stablehlo

VECTOR = jax.ShapeDtypeStruct((3,), np.float32)
MATRIX = jax.ShapeDtypeStruct((2, 3), np.float32)


def inputs(program):
    return [str(each) for each in program.inputs]


def outputs(program):
    return [str(each) for each in program.outputs]


def names(program):
    return [each.name for each in program.inputs]


def text_of(program):
    """The text of a program's module, without locations."""
    with make_ir_context() as context:
        return str(dialects.stablehlo.deserialize_portable_artifact(context, program.stablehlo))


def run_python(code, **environment):
    """Runs code in a new process; returns what it prints."""
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, **environment},
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


# Programs


def test_a_program_records_all_about_the_function():
    def loss(params, x):
        return {"loss": jnp.sum(params["w"][0] @ x), "x": [x, x]}

    program = lower(loss, [{"w": [MATRIX]}, VECTOR])
    assert inputs(program) == ["params['w'][0]: float32[2,3]", "x: float32[3]"]
    assert outputs(program) == [
        "result['loss']: float32[]",
        "result['x'][0]: float32[3]",
        "result['x'][1]: float32[3]",
    ]
    assert (program.name, program.platform) == ("loss", "cpu")
    assert program.jax_version == jax.__version__
    assert program.custom_calls == ()


def test_the_artifact_tells_the_same_signature_as_the_program():
    program = lower(lambda params, *rest: (params["w"], rest[1]), [{"w": MATRIX}, VECTOR, 1])
    other = from_stablehlo(program.stablehlo)
    assert (inputs(other), outputs(other)) == (inputs(program), outputs(program))


def test_name_and_platform_can_be_given():
    program = lower(jnp.sin, [VECTOR], name="sine", platform="cuda")
    assert (program.name, program.platform) == ("sine", "cuda")


def test_the_function_is_called_once():
    calls = []
    lower(lambda x: calls.append(x), [VECTOR])
    assert len(calls) == 1


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (2, 1, 3, 2)])
def test_shapes_of_all_ranks_and_sizes(shape):
    program = lower(lambda x: x, [jax.ShapeDtypeStruct(shape, np.float32)])
    assert program.inputs[0].shape == program.outputs[0].shape == shape


NARROW = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32"]
NARROW += ["float16", "bfloat16", "float32", "complex64"]
WIDE = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


@pytest.mark.parametrize("name", [*NARROW, *WIDE])
def test_element_types_with_x64(name):
    with jax.enable_x64(True):
        program = lower(lambda x: (x, x[::-1]), [jax.ShapeDtypeStruct((3,), jnp.dtype(name))])
    assert [each.element_type.name for each in (*program.inputs, *program.outputs)] == [name] * 3


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype")
@pytest.mark.parametrize("name", WIDE)
def test_64_bit_types_become_32_bit_types_without_x64(name):
    with jax.enable_x64(False):
        shape = jax.ShapeDtypeStruct((3,), jnp.dtype(name))
        for argument in (shape, np.zeros(3, name)):
            program = lower(lambda x: x, [argument])
            assert program.inputs[0].element_type.name == WIDE[name]
            assert program.outputs[0].element_type.name == WIDE[name]


def test_arguments_may_be_arrays_and_scalars():
    program = lower(
        lambda *args: args,
        [np.ones((2, 3), np.int16), jnp.ones(4), True, 2, 2.5, 1j, np.float32(1)],
    )
    assert [each.partition(": ")[2] for each in inputs(program)] == [
        "int16[2,3]",
        "float32[4]",
        "bool[]",
        "int32[]",
        "float32[]",
        "complex64[]",
        "float32[]",
    ]


def test_python_scalars_are_weakly_typed_as_in_jax():
    half = jax.ShapeDtypeStruct((3,), np.float16)
    assert outputs(lower(lambda x, y: x * y, [half, 2.0])) == ["result: float16[3]"]
    assert outputs(lower(lambda x, y: x * y, [half, np.float32(2)])) == ["result: float32[3]"]


def test_many_inputs_and_outputs():
    program = lower(lambda *args: [x + 1 for x in args[:100]], [VECTOR] * 200)
    assert (len(program.inputs), len(program.outputs)) == (200, 100)
    assert (names(program)[199], program.outputs[99].name) == ("args[199]", "result[99]")


def test_no_inputs_and_no_outputs():
    assert outputs(lower(lambda: jnp.ones(3), [])) == ["result: float32[3]"]
    assert outputs(lower(lambda x: None, [VECTOR])) == []


# Names


class Model:
    """A callable object with a method, as those of neural network libraries."""

    def __call__(self, x, *, scale=1):
        return x * scale

    def method(self, weights, x):
        return weights * x


class Point(typing.NamedTuple):
    x: typing.Any
    y: typing.Any


def takes_everything(a, b=2, *rest):
    return a


@pytest.mark.parametrize(
    ("function", "shapes", "expected"),
    [
        (takes_everything, [VECTOR], ["a"]),
        (takes_everything, [VECTOR] * 4, ["a", "b", "rest[0]", "rest[1]"]),
        (takes_everything, ({"k": (1, [VECTOR])},), ["a['k'][0]", "a['k'][1][0]"]),
        (takes_everything, [Point(1, None), Point(1, 2)], ["a.x", "b.x", "b.y"]),
        (functools.partial(takes_everything, 1), [VECTOR] * 2, ["b", "rest[0]"]),
        (functools.partial(takes_everything, b=1), [VECTOR], ["a"]),
        (jax.jit(takes_everything), [VECTOR] * 2, ["a", "b"]),
        (jax.jit(functools.partial(takes_everything, 1)), [VECTOR], ["b"]),
        (Model(), [VECTOR], ["x"]),
        (Model().method, [VECTOR] * 2, ["weights", "x"]),
        (jax.vmap(takes_everything), [VECTOR], ["a"]),
        (jax.grad(lambda x: jnp.sum(x * x)), [VECTOR], ["x"]),
        (jax.value_and_grad(lambda params: params["w"] ** 2), [{"w": 1.0}], ["params['w']"]),
        (jax.checkpoint(takes_everything), [VECTOR], ["a"]),
        (jnp.sin, [VECTOR], ["x"]),
        (jnp.add, [VECTOR] * 2, ["args[0]", "args[1]"]),
        (lambda params, *args: params, [VECTOR] * 3, ["params", "args[0]", "args[1]"]),
    ],
)
def test_names_of_inputs(function, shapes, expected):
    assert names(lower(function, shapes)) == expected


def test_names_where_there_is_no_signature():
    class Opaque:
        __signature__ = "none"

        def __call__(self, *args):
            return args[0]

    assert names(lower(Opaque(), [{"k": VECTOR}, VECTOR])) == ["arg0['k']", "arg1"]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (takes_everything, "takes_everything"),
        (functools.partial(functools.partial(takes_everything), b=1), "takes_everything"),
        (jax.jit(takes_everything), "takes_everything"),
        (Model(), "Model"),
        (Model().method, "method"),
        (lambda x: x, "<lambda>"),
    ],
)
def test_names_of_programs(function, expected):
    shapes = [VECTOR] * (2 if expected == "method" else 1)
    assert lower(function, shapes).name == expected


@jax.custom_jvp
def custom_derivative(x):
    return jnp.sin(x)


@custom_derivative.defjvp
def _(primals, tangents):
    return custom_derivative(primals[0]), 2 * tangents[0]


def test_custom_derivatives():
    function = jax.grad(lambda x: custom_derivative(x).sum())
    assert outputs(lower(function, [VECTOR])) == ["result: float32[3]"]
    assert names(lower(custom_derivative, [VECTOR])) == ["x"]


# Arity


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit])
def test_unused_arguments_stay(jit):
    program = lower(jit(lambda a, unused, b: a + b), [VECTOR, MATRIX, VECTOR])
    assert inputs(program) == ["a: float32[3]", "unused: float32[2,3]", "b: float32[3]"]
    assert len(from_stablehlo(program.stablehlo).inputs) == 3


@pytest.mark.parametrize("setting", ["0", "1"])
def test_captured_constants_stay_inside(setting):
    code = """
import jax, jax.numpy as jnp, numpy as np
from cyxla.lowering import lower
from cyxla.stablehlo import from_stablehlo
for size in (1, 8, 9, 1000, 2_000_000):
    for kind in (np.asarray, jnp.asarray):
        for wrap in (lambda f: f, jax.jit):
            constant = kind(np.arange(size, dtype=np.float32))
            program = lower(wrap(lambda x: x + constant), [jax.ShapeDtypeStruct((), np.float32)])
            assert len(program.inputs) == len(from_stablehlo(program.stablehlo).inputs) == 1
            assert len(program.stablehlo) > 4 * size
print("done")
"""
    assert run_python(code, JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=setting) == "done\n"


def test_a_jax_that_changes_the_signature_is_an_error(monkeypatch):
    other = lower(lambda x, y: x, [VECTOR, MATRIX])
    contents = from_stablehlo(other.stablehlo)
    monkeypatch.setattr(lowering.stablehlo, "read", lambda module: contents)
    with pytest.raises(UnsupportedError, match=r"other inputs than sine has: .* instead of x:"):
        lower(jnp.sin, [VECTOR], name="sine")


# Donation, layouts, shardings of functions that were already jitted


def test_donation_and_layouts_never_reach_the_program():
    program = lower(jax.jit(lambda x, y: x + y, donate_argnums=0), [VECTOR, VECTOR])
    assert not re.search("alias|donor|layout_mode", text_of(program))


def test_shardings_over_one_device_never_reach_the_program():
    sharding = NamedSharding(Mesh(np.array(jax.devices()[:1]), ("x",)), P("x"))
    function = jax.jit(lambda x: 2 * x, in_shardings=sharding, out_shardings=sharding)
    array = jax.device_put(jnp.ones(3), sharding)
    for argument in (VECTOR, array, jax.ShapeDtypeStruct((3,), np.float32, sharding=sharding)):
        program = lower(function, [argument])
        assert not re.search("sdy|sharding", text_of(program))


def test_random_keys_made_inside_leave_no_sharding():
    program = lower(lambda x: x + jax.random.normal(jax.random.key(0), (3,)), [VECTOR])
    assert not re.search("sdy|sharding", text_of(program))
    assert program.custom_calls == ()


def test_several_devices_are_refused():
    code = """
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from cyxla.errors import UnsupportedError
from cyxla.lowering import lower
mesh = Mesh(np.array(jax.devices()), ("x",))
sharding = NamedSharding(mesh, P("x"))
shape = jax.ShapeDtypeStruct((8,), np.float32)
for function in (
    jax.jit(lambda x: x, in_shardings=sharding),
    lambda x: jax.lax.with_sharding_constraint(x, sharding),
    jax.shard_map(lambda x: x, mesh=mesh, in_specs=P("x"), out_specs=P("x")),
):
    try:
        lower(function, [shape])
    except UnsupportedError as error:
        print("several devices" in str(error))
"""
    flags = "--xla_force_host_platform_device_count=2"
    assert run_python(code, XLA_FLAGS=flags) == "True\n" * 3


# Refusals: types


@pytest.mark.parametrize(
    ("leaf", "message"),
    [
        ("text", r"args\[1\]\['k'\] is a str: .*not a valid JAX type"),
        (object(), r"args\[1\]\['k'\] is a object"),
        (np.array(["a"]), r"args\[1\]\['k'\] is a ndarray: Dtype <U1"),
        (np.array([None]), r"args\[1\]\['k'\] is a ndarray: Dtype object"),
        (np.array(1, np.dtype("f4").newbyteorder("S")), r"args\[1\]\['k'\] is a ndarray"),
        (2**40, r"args\[1\]\['k'\] is a int: .*too large"),
        (jax.ShapeDtypeStruct((2,), ml_dtypes.float8_e4m3fn), r"type float8_e4m3fn\[2\]"),
        (jax.ShapeDtypeStruct((2,), ml_dtypes.int4), r"the type int4\[2\]"),
        (jax.ShapeDtypeStruct((2,), ml_dtypes.uint4), r"the type uint4\[2\]"),
        (jax.ShapeDtypeStruct((2,), ml_dtypes.int2), r"the type int2\[2\]"),
        (np.zeros(2, jax.dtypes.float0), r"the type float0\[2\]"),
        (jax.random.key(0), r"the type key<fry>\[\].*pass jax.random.key_data"),
        (jax.lax.create_token(), r"args\[1\]\['k'\] has the type AbstractToken"),
        (jax.new_ref(np.zeros(2, np.float32)), r"args\[1\]\['k'\] has the type Ref"),
        (
            jax.ShapeDtypeStruct(jax.export.symbolic_shape("n, 3"), np.float32),
            r"args\[1\]\['k'\] has symbolic dimensions: float32\[n,3\]",
        ),
    ],
)
def test_arguments_of_other_types_are_refused(leaf, message):
    with pytest.raises(UnsupportedError, match=message):
        lower(lambda *args: args[0], [VECTOR, {"k": leaf}])


def test_negative_dimensions_are_refused():
    with pytest.raises(ArgumentError, match=r"x has the negative dimension"):
        lower(lambda x: x, [jax.ShapeDtypeStruct((2, -1), np.float32)])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: "text", r"result is a str"),
        (lambda x: (x, {"k": object()}), r"result\[1\]\['k'\] is a object"),
        (lambda x: [x.astype(jnp.int4)], r"result\[0\] has the type int4\[3\]"),
        (lambda x: x.astype(jnp.float8_e5m2), r"result has the type float8_e5m2\[3\]"),
        (lambda x: jax.random.key(0), r"result has the type key<fry>"),
        (lambda x: jax.lax.create_token(), r"result has the type AbstractToken"),
        (jax.grad(lambda x: 1.0, allow_int=True), r"result has the type float0\[\]"),
    ],
)
def test_results_of_other_types_are_refused(function, message):
    argument = 3 if "float0" in message else VECTOR
    with pytest.raises(UnsupportedError, match=message):
        lower(function, [argument])


# Refusals: effects


def prints(x):
    jax.debug.print("x is {}", x)
    return x


def calls_back(x):
    jax.debug.callback(lambda x: None, x)
    return x


def pure(x):
    return jax.pure_callback(lambda x: x, VECTOR, x)


def impure(x):
    return io_callback(lambda x: x, VECTOR, x)


def impure_ordered(x):
    return io_callback(lambda x: x, VECTOR, x, ordered=True)


@jax.custom_vjp
def custom_pure(x):
    return pure(x)


custom_pure.defvjp(lambda x: (pure(x), None), lambda _, g: (g,))


@pytest.mark.parametrize(
    ("function", "primitive"),
    [
        (prints, "debug_print"),
        (calls_back, "debug_callback"),
        (pure, "pure_callback"),
        (impure, "io_callback"),
        (impure_ordered, "io_callback"),
        (jax.jit(pure), "pure_callback"),
        (custom_pure, "pure_callback"),
        (jax.grad(lambda x: custom_pure(x).sum()), "pure_callback"),
        (jax.checkpoint(prints), "debug_print"),
        (lambda x: jax.lax.scan(lambda c, _: (prints(c), None), x, length=2)[0], "debug_print"),
        (lambda x: jax.lax.cond(x[0] > 0, pure, lambda x: x, x), "pure_callback"),
        (lambda x: jax.lax.switch(1, [lambda x: x, impure], x), "io_callback"),
        (lambda x: jax.lax.while_loop(lambda c: c[0] < 3, impure, x), "io_callback"),
        (lambda x: jax.lax.while_loop(lambda c: pure(c)[0] < 3, jnp.sin, x), "pure_callback"),
        (lambda x: jax.lax.map(lambda y: prints(y), x), "debug_print"),
    ],
)
def test_callbacks_are_refused_by_name_and_line(function, primitive):
    with pytest.raises(UnsupportedError) as error:
        lower(function, [VECTOR])
    assert f"calls back into Python, by {primitive} at " in str(error.value)
    assert "test_lowering.py:" in str(error.value)


def test_mutable_references_inside_are_no_effect():
    def function(x):
        reference = jax.new_ref(x)
        reference[...] += 1
        return reference[...]

    assert outputs(lower(function, [VECTOR])) == ["result: float32[3]"]


def test_mutable_references_from_outside_are_refused():
    reference = jax.new_ref(jnp.zeros(3))

    def function(x):
        reference[...] += x
        return x

    with pytest.raises(UnsupportedError, match="JAX can't lower function for cpu: "):
        lower(function, [VECTOR])


# Custom calls


@pytest.mark.parametrize("has_side_effect", [False, True])
def test_custom_calls_must_be_allowed_by_name(has_side_effect):
    def function(x):
        call = jax.ffi.ffi_call("my.target-1", VECTOR, has_side_effect=has_side_effect)
        return call(x)

    with pytest.raises(UnsupportedError, match=r"at any time: my\.target-1; custom_calls="):
        lower(function, [VECTOR])
    assert lower(function, [VECTOR], custom_calls=["my.target-1"]).custom_calls == ("my.target-1",)


def test_custom_calls_that_jax_promises_are_listed():
    function = jax.jit(lambda a: jnp.linalg.inv(a))
    program = lower(function, [jax.ShapeDtypeStruct((3, 3), np.float32)])
    assert "lapack_sgetrf_ffi" in program.custom_calls


# Wrong arguments of lower itself


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, [VECTOR]), "function must be callable, not int"),
        ((jnp.sin, VECTOR), "shapes must be a sequence, .* positional argument, not ShapeDtype"),
        ((jnp.sin, {"x": VECTOR}), "shapes must be a sequence, .* not dict"),
        ((jnp.sin, np.ones(3)), "shapes must be a sequence, .* not ndarray"),
        ((jnp.sin, "x"), "shapes must be a sequence, .* not str"),
        ((jnp.sin, 3), "shapes must be a sequence, .* not int"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ArgumentTypeError, match=message):
        lower(*arguments)


def test_custom_calls_must_be_a_sequence():
    with pytest.raises(ArgumentTypeError, match="custom_calls must be .* each target, not str"):
        lower(jnp.sin, [VECTOR], custom_calls="foo")


@pytest.mark.parametrize(
    ("function", "shapes", "message"),
    [
        (lambda a, b: a, [VECTOR], "called with 1 positional arguments: missing .*'b'"),
        (lambda a: a, [VECTOR] * 2, "called with 2 positional arguments: too many"),
        (lambda a, *, k: a, [VECTOR], "missing a required .*'k'; functools.partial"),
    ],
)
def test_a_wrong_number_of_arguments_is_refused(function, shapes, message):
    with pytest.raises(ArgumentError, match=message):
        lower(function, shapes)


# Exceptions of the function


class OwnError(Exception):
    pass


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit])
def test_an_exception_of_the_function_arrives_unchanged(jit):
    raised = OwnError("from the function")

    def function(x):
        raise raised

    with pytest.raises(OwnError) as error:
        lower(jit(function), [VECTOR])
    assert error.value is raised


def test_errors_of_jax_while_tracing_arrive_unchanged():
    with pytest.raises(jax.errors.TracerBoolConversionError):
        lower(lambda x: x if x[0] > 0 else -x, [VECTOR])


# Dependencies


def test_flatbuffers_is_not_needed():
    code = """
import sys
sys.modules["flatbuffers"] = None
import jax, numpy as np
from cyxla.lowering import lower
print(lower(jax.numpy.sin, [jax.ShapeDtypeStruct((3,), np.float32)]).name)
"""
    assert run_python(code) == "sin\n"
