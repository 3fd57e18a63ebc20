"""From a JAX function to a program, by JAX's public API."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.export
import jax.numpy
from jax.extend import source_info_util
from jax.tree_util import keystr, tree_flatten_with_path, tree_map_with_path

from cyxla import custom_calls as calls
from cyxla import element_types, stablehlo
from cyxla.errors import ArgumentError, ArgumentTypeError, UnsupportedError
from cyxla.program import ArrayType, Program, cyxla_version

__all__ = ["lower"]

# Primitives that call back into Python; pure_callback declares no effect.
_CALLBACKS = ("debug_callback", "debug_print", "io_callback", "pure_callback")


def lower(
    function: Callable[..., Any],
    shapes: Sequence[Any],
    *,
    custom_calls: Sequence[str] = (),
    platform: str = "cpu",
    name: str | None = None,
) -> Program:
    """Lowers a JAX function for arguments of the given shapes and types.

    Args:
        function: any function that `jax.jit` takes; it is traced once.
        shapes: its positional arguments, each a pytree of `jax.ShapeDtypeStruct`, arrays and Python
            scalars, of which only shapes and types matter. As in JAX, 64-bit types are kept only
            where `jax.enable_x64` is on.
        custom_calls: targets of custom calls that the program may call although `jax.export` makes
            no promise that they stay the same.
        platform: what to lower for, one of JAX's names such as "cpu" or "cuda".
        name: the program's name; that of the function if None.

    Returns:
        The program. It has an input for each leaf of `shapes`, used or not, and an output for each
        leaf of the result, in the order of `jax.tree.leaves`. Names are paths, such as
        `params['w'][0]`, with the names of the function's parameters, and `result['loss']`. Arrays
        that the function captures are part of the program. Donation, layouts and shardings of a
        function that was already jitted don't matter.

    Raises:
        UnsupportedError: cyxla can't represent the program: element types, symbolic dimensions,
            callbacks into Python and other effects, several devices, custom calls not allowed.
        ArgumentError, ArgumentTypeError: the arguments of `lower` itself are wrong.
        Exception: what `function` itself raises, unchanged.
    """
    _check_arguments(function, shapes, custom_calls)
    calls.collect()  # before JAX starts its backend, which forgets the types of handlers' states
    name = _name_of(function) if name is None else str(name)
    inputs: list[ArrayType] = []
    outputs: list[ArrayType] = []

    def describe_input(path: Any, leaf: Any) -> jax.ShapeDtypeStruct:
        array, weak_type = _describe(parameters[path[0].idx] + keystr(path[1:]), leaf)
        inputs.append(array)
        # A new one, so that neither sharding nor layout of the leaf remain.
        return jax.ShapeDtypeStruct(  # type: ignore[no-untyped-call]
            array.shape, array.dtype, weak_type=weak_type
        )

    # The wrapper makes a computation of its own around `function`: whatever options of jit a jitted
    # function has, they don't reach the program's arguments.
    @functools.wraps(function, updated=())
    def wrapper(*arguments: Any) -> Any:
        results = function(*arguments)
        leaves, _ = tree_flatten_with_path(results)
        outputs[:] = [_describe("result" + keystr(path), leaf)[0] for path, leaf in leaves]
        return results

    wrapper.__name__ = name
    parameters = _parameter_names(function, shapes, name)
    arguments = tree_map_with_path(describe_input, tuple(shapes))
    jitted = jax.jit(wrapper, keep_unused=True)
    _check_callbacks(jitted.trace(*arguments).jaxpr, name)
    exported = _export(jitted, arguments, custom_calls, platform, name)
    # Refuses what the module tells: several devices, tokens of ordered effects, layouts.
    contents = stablehlo.read(exported.mlir_module_serialized)
    _check_signature(contents, inputs, outputs, name)
    return Program(
        stablehlo=contents.stablehlo,
        name=name,
        platform=platform,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        custom_calls=contents.custom_calls,
        jax_version=jax.__version__,
        cyxla_version=cyxla_version(),
        largest_work=contents.largest_work,
    )


# Arguments


def _check_arguments(function: object, shapes: object, custom_calls: object) -> None:
    if not callable(function):
        raise ArgumentTypeError(f"function must be callable, not {type(function).__name__}")
    for field, value in (("shapes", shapes), ("custom_calls", custom_calls)):
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
            raise ArgumentTypeError(
                f"{field} must be a sequence, such as a list with one item for each "
                f"{'positional argument' if field == 'shapes' else 'target'}, "
                f"not {type(value).__name__}"
            )


def _name_of(function: Any) -> str:
    """Returns the name of a function, or of the class of another callable object."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _parameter_names(function: Callable[..., Any], shapes: Sequence[Any], name: str) -> list[str]:
    """Returns the name of each positional argument, as the function's signature calls it."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # not every callable has one
        return [f"arg{index}" for index in range(len(shapes))]
    try:
        bound = signature.bind(*shapes)
    except TypeError as error:
        raise ArgumentError(
            f"{name}{signature} can't be called with {len(shapes)} positional arguments: {error}; "
            "functools.partial can bind others"
        ) from None
    names: list[str] = []
    for parameter, value in bound.arguments.items():
        if signature.parameters[parameter].kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{parameter}[{index}]" for index in range(len(value))]
        else:
            names.append(parameter)
    return names


def _describe(name: str, leaf: Any) -> tuple[ArrayType, bool]:
    """Returns the type of a leaf of the arguments or results, and whether JAX calls it weak."""
    try:
        type_ = jax.typeof(leaf)
    except (TypeError, OverflowError) as error:
        raise UnsupportedError(f"{name} is a {type(leaf).__name__}: {error}") from None
    if not isinstance(type_, jax.core.ShapedArray):  # a token, a mutable reference
        raise UnsupportedError(f"{name} has the type {type_}, it must be an array")
    if not all(isinstance(dimension, int) for dimension in type_.shape):
        raise UnsupportedError(f"{name} has symbolic dimensions: {type_}; give it a fixed shape")
    try:
        element_type = element_types.from_dtype(type_.dtype)
    except UnsupportedError as error:
        raise UnsupportedError(f"{name} has the type {type_}: {error}{_hint(type_)}") from None
    return ArrayType(name, element_type, type_.shape), type_.weak_type


def _hint(type_: Any) -> str:
    if jax.numpy.issubdtype(type_.dtype, jax.dtypes.prng_key):
        return "; pass jax.random.key_data(key), and wrap it by jax.random.wrap_key_data"
    return ""


# The trace


def _check_callbacks(jaxpr: Any, name: str) -> None:
    """Refuses calls back into Python, wherever they are."""
    for equation in _equations(jaxpr):
        primitive = equation.primitive.name
        if primitive in _CALLBACKS:
            where = source_info_util.summarize(equation.source_info)
            raise UnsupportedError(
                f"{name} calls back into Python, by {primitive} at {where}; "
                "a program runs without Python"
            )


def _equations(jaxpr: Any) -> Iterator[Any]:
    """Iterates over the equations of a jaxpr, and of those that are parameters of equations."""
    for equation in jaxpr.eqns:
        yield equation
        for parameter in equation.params.values():
            for item in parameter if isinstance(parameter, (list, tuple)) else (parameter,):
                if hasattr(item, "eqns"):
                    yield from _equations(item)


# The export


def _export(
    jitted: Any, arguments: Sequence[Any], custom_calls: Sequence[str], platform: str, name: str
) -> jax.export.Exported:
    allowed = [jax.export.DisabledSafetyCheck.custom_call(target) for target in custom_calls]
    export = jax.export.export(jitted, platforms=[platform], disabled_checks=allowed)
    try:
        return export(*arguments)  # the function isn't called again, its trace is cached
    except Exception as error:
        raise UnsupportedError(_export_refusal(name, platform, error)) from error


def _export_refusal(name: str, platform: str, error: Exception) -> str:
    targets = sorted(set(re.findall(r'custom_call @("[^"]*"|[\w.$-]+)', str(error))))
    if targets:
        called = ", ".join(target.strip('"') for target in targets)
        return (
            f"{name} has custom calls that JAX may change at any time: {called}; "
            "custom_calls=[...] allows them"
        )
    return f"JAX can't lower {name} for {platform}: {str(error) or type(error).__name__}"


def _check_signature(
    contents: stablehlo.Contents,
    inputs: Sequence[ArrayType],
    outputs: Sequence[ArrayType],
    name: str,
) -> None:
    """Checks that JAX neither dropped nor added inputs or outputs, nor changed their types."""
    for what, found, expected in (
        ("inputs", contents.inputs, inputs),
        ("outputs", contents.outputs, outputs),
    ):
        if _types(found) != _types(expected):
            raise UnsupportedError(
                f"JAX {jax.__version__} made other {what} than {name} has: "
                f"{', '.join(map(str, found))} instead of {', '.join(map(str, expected))}"
            )


def _types(arrays: Sequence[ArrayType]) -> list[tuple[element_types.ElementType, tuple[int, ...]]]:
    return [(array.element_type, array.shape) for array in arrays]
