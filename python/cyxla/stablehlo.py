"""StableHLO modules: reading their signature, cleaning them, and writing them for a version.

This is the only file that uses the MLIR bindings that come with JAX. They have no promise of
stability, so `_bindings` is the one place where a change of theirs shows, with a clear error.
"""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cyxla import element_types
from cyxla.custom_calls import is_of_xla
from cyxla.errors import ArgumentError, ArgumentTypeError, UnsupportedError, VersionError
from cyxla.program import ArrayType, Program, artifact_version, cyxla_version

__all__ = ["Contents", "current_version", "from_stablehlo", "read", "retarget", "target_version"]

Version = tuple[int, int, int]

# Attributes of main's arguments with which a producer offers their memory to the results.
# cyxla never donates, so they mean nothing to it.
_DONATION = ("tf.aliasing_output", "jax.buffer_donor")
# The same for the whole module.
_MODULE_DONATION = "mhlo.input_output_alias"
# Attributes of the module that choose other layouts than row-major.
_MODULE_LAYOUTS = (
    "mhlo.xla_entry_computation_parameter_layouts",
    "mhlo.xla_entry_computation_result_layouts",
)
_SHARDINGS = ("sdy.sharding", "mhlo.sharding")
_DIALECTS = ("builtin", "chlo", "func", "stablehlo")
# Operations that wait for somebody outside of the program.
_CHANNELS = ("infeed", "outfeed", "recv", "send")
# How a custom call says that its target is of the typed FFI, and what it says by default.
_TYPED_FFI, _ORIGINAL = 4, 1
_MLIR_MAGIC = b"ML\xefR"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a StableHLO module holds: its portable artifact, the signature of its `main`, and what
    else a Program tells."""

    stablehlo: bytes
    name: str
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]
    custom_calls: tuple[str, ...]
    largest_work: int


def from_stablehlo(
    module: str | bytes | os.PathLike[str], *, platform: str = "cpu", name: str | None = None
) -> Program:
    """Makes a program of a StableHLO module that any producer wrote.

    Args:
        module: the text of the module, or a portable artifact or MLIR bytecode as bytes, or the
            path of a file that holds one of these. Dialect CHLO may occur.
        platform: the platform that the program is meant for.
        name: the program's name; that of the module if None.

    Returns:
        The program; its signature is that of the module's `main`. Inputs are called as JAX named
        them, else `arg0`, `arg1`, ...; outputs likewise, else `result[0]`, `result[1]`, ...
        Donations are dropped, as are shardings over one device.

    Raises:
        ArgumentError: the module is ill-formed; the message is MLIR's.
        UnsupportedError: it has no `main`, or cyxla can't represent its signature: element types,
            dynamic shapes, tuples, tokens, layouts, several devices.
        VersionError: it was written by a newer StableHLO than that of the installed JAX.
    """
    source: object = Path(module) if isinstance(module, os.PathLike) else module
    if isinstance(source, Path):
        source = source.read_bytes()
    if not isinstance(source, (str, bytes)):
        raise ArgumentTypeError(
            f"module must be text, bytes or the path of a file, not {type(module).__name__}"
        )
    contents = read(source)
    return Program(
        stablehlo=contents.stablehlo,
        name=contents.name if name is None else name,
        platform=platform,
        inputs=contents.inputs,
        outputs=contents.outputs,
        custom_calls=contents.custom_calls,
        jax_version=None,
        cyxla_version=cyxla_version(),
        largest_work=contents.largest_work,
    )


def read(source: str | bytes) -> Contents:
    """Reads the text, portable artifact or bytecode of a module; errors as `from_stablehlo`.

    A portable artifact in which nothing is to be cleaned stays as it is, byte for byte. Everything
    else is written for the version that `jax.export` writes, or if that is too old for it, for the
    current one.
    """
    with _context() as (context, diagnostics):
        module = _parse(context, diagnostics, source)
        main = _main(module)
        _check_devices(module)
        _check_module_layouts(module)
        inputs, outputs = _inputs(main), _outputs(main)
        changed = _drop_donation(module, main) | _drop_shardings(module)
        custom_calls = _check_operations(module)
        largest_work = max(map(_work, _operations(module)))
        module_name = _text(module.operation.attributes, "sym_name") or "main"
        if isinstance(source, bytes) and artifact_version(source) and not changed:
            stablehlo = source
        else:
            stablehlo = _write(module)  # leaves nothing usable in `module`
    return Contents(stablehlo, module_name, inputs, outputs, custom_calls, largest_work)


# Versions


def current_version() -> Version:
    """Returns the newest StableHLO version that the installed JAX can write."""
    return _version(_bindings().stablehlo.get_current_version())


def target_version(plugin_version: Sequence[int] | None) -> Version:
    """Returns the version to write for a plugin: the smaller of JAX's and the plugin's current one.

    Args:
        plugin_version: major, minor and patch of the plugin's current StableHLO version; None if
            it doesn't say. Then it is the version of at least twelve weeks before the installed
            JAX, to which StableHLO's own tools hold in this case.
    """
    if plugin_version is None:
        return _compatible_version("WEEK_12")
    major, minor, patch = plugin_version
    return min(current_version(), (major, minor, patch))


def retarget(stablehlo: bytes, version: Version) -> bytes:
    """Returns the portable artifact rewritten for an older StableHLO version.

    An artifact that isn't newer than `version` is returned as it is.

    Raises:
        ArgumentError: `stablehlo` is no portable artifact or ill-formed.
        VersionError: the program uses what that version doesn't have, or it was written by a newer
            StableHLO than that of the installed JAX; names the operation and both versions.
    """
    written = artifact_version(stablehlo)
    if written is None:
        raise ArgumentError("not a portable StableHLO artifact")
    if written <= version:
        return stablehlo
    # JAX's function, not StableHLO's, as it keeps the attributes that custom calls carry. But it
    # does not say what it refuses, and so StableHLO's function gets its turn then.
    for serialize in (_bindings().serialize, _bindings().stablehlo.serialize_portable_artifact):
        with _context() as (context, diagnostics):
            # A module of its own for each: it is converted in place.
            module = _parse(context, diagnostics, stablehlo)
            try:
                result: bytes = serialize(module, _dotted(version))
                return result
            except Exception as error:
                refusal, culprit = error, _culprit(diagnostics, error)
    raise VersionError(
        f"the program, written for StableHLO {_dotted(written)}, can't be written for "
        f"version {_dotted(version)}: {culprit}"
    ) from refusal


def _compatible_version(requirement: str) -> Version:
    stablehlo = _bindings().stablehlo
    requirements = stablehlo.StablehloCompatibilityRequirement
    return _version(
        stablehlo.get_version_from_compatibility_requirement(getattr(requirements, requirement))
    )


def _version(dotted: str) -> Version:
    major, minor, patch = map(int, dotted.split("."))
    return major, minor, patch


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def _culprit(diagnostics: Sequence[str], error: Exception) -> str:
    """Returns the operation that MLIR refused, by its name in StableHLO, else all it said."""
    said = "\n".join(diagnostics) or str(error)
    match = re.search(r"operation 'vhlo\.(\w+?)_v\d+'", said)
    return said if match is None else f"its operation stablehlo.{match[1]} needs a newer version"


# Reading and writing


def _parse(context: Any, diagnostics: list[str], source: str | bytes) -> Any:
    """Returns the verified module."""
    mlir = _bindings()
    written = artifact_version(source) if isinstance(source, bytes) else None
    try:
        if written is not None:
            module = mlir.stablehlo.deserialize_portable_artifact(context, source)
        elif isinstance(source, bytes) and not source.startswith(_MLIR_MAGIC):
            module = mlir.ir.Module.parse(source.decode(), context)
        else:
            module = mlir.ir.Module.parse(source, context)
        module.operation.verify()
    except (ValueError, mlir.ir.MLIRError) as error:
        if written is not None and written > current_version():
            raise VersionError(
                f"the artifact was written by StableHLO {_dotted(written)}; the installed JAX "
                f"reads versions up to {_dotted(current_version())}"
            ) from error
        said = "\n".join(diagnostics) or str(error)
        raise ArgumentError(f"ill-formed StableHLO module: {said}") from error
    return module


def _write(module: Any) -> bytes:
    """Returns the portable artifact; the module isn't usable afterwards."""
    # JAX's function, not StableHLO's, as it also makes CHLO operations portable: as jax.export
    # does, by composites from which XLA gets its own operations back.
    newest: bytes
    try:
        newest = _bindings().serialize(module, _dotted(current_version()))
    except Exception as error:  # jax.errors.JaxRuntimeError, whose text ends in a whole module
        raise UnsupportedError(f"the module isn't portable StableHLO: {error!s:.600}") from error
    try:
        return retarget(newest, _compatible_version("WEEK_4"))
    except VersionError:
        return newest


@contextmanager
def _context() -> Iterator[tuple[Any, list[str]]]:
    """An MLIR context and the list to which its diagnostics go, instead of to stderr."""
    diagnostics: list[str] = []

    def keep(diagnostic: Any) -> bool:
        diagnostics.append(f"{diagnostic.location}: {diagnostic.message}")
        return True

    with _bindings().make_context() as context, context.attach_diagnostic_handler(keep):
        yield context, diagnostics


# The signature


def _main(module: Any) -> Any:
    """Returns the module's function `main`."""
    functions = {
        _text(operation.attributes, "sym_name"): operation
        for operation in module.body.operations
        if operation.operation.name == "func.func"
    }
    if "main" not in functions or functions["main"].is_external:
        found = ", ".join(map(str, functions)) or "none"
        raise UnsupportedError(f"the module defines no function main; its functions: {found}")
    return functions["main"]


def _inputs(main: Any) -> tuple[ArrayType, ...]:
    names = _unique([_location_name(argument) for argument in main.arguments], "arg{}")
    return _array_types(names, main.type.inputs, _attributes_of(main, "arg_attrs"))


def _outputs(main: Any) -> tuple[ArrayType, ...]:
    attributes = _attributes_of(main, "res_attrs")
    names = _unique([_result_name(each) for each in attributes], "result[{}]")
    return _array_types(names, main.type.results, attributes)


def _unique(names: Sequence[str | None], pattern: str) -> list[str]:
    """Returns the names, or if they aren't all known and different, numbered ones."""
    if None in names or len(set(names)) < len(names):
        return [pattern.format(index) for index in range(len(names))]
    return [name for name in names if name is not None]


def _location_name(argument: Any) -> str | None:
    location = argument.location
    name_location = _bindings().ir.NameLoc
    if not isinstance(location, name_location):
        return None
    return str(location.name_str) or None


def _result_name(attributes: Any) -> str | None:
    """Returns JAX's name of a result; older versions left out the leading "result"."""
    path = _text(attributes, "jax.result_info")
    if path is None or path.startswith("result"):
        return path
    return f"result{path}"


def _array_types(
    names: Sequence[str], types: Sequence[Any], attributes: Sequence[Any]
) -> tuple[ArrayType, ...]:
    return tuple(map(_array_type, names, types, attributes))


def _array_type(name: str, type_: Any, attributes: Any) -> ArrayType:
    """Converts the MLIR type of an argument or result."""
    if not isinstance(type_, _bindings().ir.RankedTensorType):
        raise UnsupportedError(f"{name} has the type {type_}, it must be an array of fixed shape")
    if not type_.has_static_shape:
        raise UnsupportedError(f"{name} has a dynamic shape: {type_}")
    if type_.encoding is not None:
        raise UnsupportedError(f"{name} has the encoding of {type_}; only dense arrays work")
    layout = _text(attributes, "mhlo.layout_mode")
    if layout not in (None, "default"):
        raise UnsupportedError(f"{name} has the layout {layout}; only the default works")
    try:
        element_type = element_types.from_mlir(str(type_.element_type))
    except UnsupportedError as error:
        raise UnsupportedError(f"{name}: {error}") from None
    return ArrayType(name, element_type, tuple(type_.shape))


# Checks of the whole module


def _check_operations(module: Any) -> tuple[str, ...]:
    """Refuses what isn't StableHLO with static shapes; returns the targets of custom calls."""
    tensor = _bindings().ir.RankedTensorType
    targets = set()
    for operation in _operations(module):
        if operation.name.partition(".")[0] not in _DIALECTS:
            raise UnsupportedError(f"the program has an operation not of StableHLO: {operation}")
        for result in operation.results:
            if isinstance(result.type, tensor) and not result.type.has_static_shape:
                raise UnsupportedError(f"the program has a dynamic shape inside: {operation}")
        if operation.name.removeprefix("stablehlo.") in _CHANNELS:
            raise UnsupportedError(f"the program waits for its surroundings: {operation}")
        if operation.name == "stablehlo.custom_call":
            target = str(_text(operation.attributes, "call_target_name"))
            _check_custom_call(operation, target)
            targets.add(target)
    return tuple(sorted(targets))


def _check_custom_call(operation: Any, target: str) -> None:
    """Refuses untyped calls: plugins can't be given their targets, and some are XLA's own, which
    end the process when their operands are not what they expect."""
    attributes = operation.attributes
    version = attributes["api_version"].value if "api_version" in attributes else _ORIGINAL
    # In portable artifacts JAX leaves the version out, and keeps a typed call's attributes here.
    typed = version == _TYPED_FFI or "mhlo.backend_config" in attributes
    if not typed and not is_of_xla(target):
        raise UnsupportedError(
            f"the program has an untyped custom call of {target} (api_version {version} in "
            f"StableHLO); plugins know only typed ones (api_version {_TYPED_FFI})"
        )


def _check_devices(module: Any) -> None:
    """Refuses a module for several devices."""
    attributes = module.operation.attributes
    for name in ("mhlo.num_partitions", "mhlo.num_replicas"):
        if name in attributes and attributes[name].value != 1:
            raise UnsupportedError(
                f"the program is for several devices: {name} is {attributes[name].value}"
            )
    for operation in _operations(module):
        for name in ("mesh", "arg_attrs", "res_attrs", "mhlo.sharding"):
            text = str(operation.attributes[name]) if name in operation.attributes else ""
            # A mesh is written <["x"=2, "y"=4]>, and the older form devices=[2,4].
            axes = re.findall(r'"=(\d+)', text) + re.findall(r"devices=\[([\d,]+)\]", text)
            if any(int(size) > 1 for axis in axes for size in axis.split(",")):
                raise UnsupportedError(f"the program is for several devices: {text}")


def _check_module_layouts(module: Any) -> None:
    """Refuses layouts other than row-major; `_array_type` does so for the newer attributes."""
    attributes = module.operation.attributes
    for name in _MODULE_LAYOUTS:
        if name in attributes:
            raise UnsupportedError(f"the program has its own layouts: {name} = {attributes[name]}")


# The amount of work


def _work(operation: Any) -> int:
    """The multiplications of a matrix product or convolution, or the elements of the largest array
    that an operation takes or makes, whatever is more."""
    shapes = [
        tuple(each.type.shape)
        for each in (*operation.operands, *operation.results)
        if isinstance(each.type, _bindings().ir.RankedTensorType)
    ]
    elements = max(map(math.prod, shapes), default=0)
    return max(elements, _multiplications(operation))


def _multiplications(operation: Any) -> int:
    """The multiplications of a matrix product or convolution; 0 for other operations."""
    stablehlo = _bindings().stablehlo
    kind = operation.name.removeprefix("stablehlo.")
    if kind not in ("convolution", "dot", "dot_general"):
        return 0
    left, right = (each.type.shape for each in operation.operands)
    if kind == "dot":
        terms = left[-1]
    elif kind == "dot_general":
        numbers = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
        terms = math.prod(left[each] for each in numbers.lhs_contracting_dimensions)
    else:
        numbers = stablehlo.ConvDimensionNumbers(operation.attributes["dimension_numbers"])
        features = right[numbers.kernel_output_feature_dimension]
        terms = math.prod(right) // max(features, 1)
    return int(terms * math.prod(operation.results[0].type.shape))


# Cleaning: what concerns donation and devices, and means nothing to cyxla


def _drop_donation(module: Any, main: Any) -> bool:
    """Removes donations; returns whether there were any."""
    attributes = module.operation.attributes
    changed = _MODULE_DONATION in attributes
    if changed:
        del attributes[_MODULE_DONATION]
    return _drop_attributes(main, "arg_attrs", _DONATION) or changed


def _drop_shardings(module: Any) -> bool:
    """Removes shardings, which mean nothing on one device; returns whether there were any.

    JAX writes them even into programs that never asked for them, as soon as they make a random key.
    Only XLA knows these operations.
    """
    changed = False
    for operation in list(_operations(module)):
        if operation.name == "sdy.sharding_constraint" or _is_sharding_call(operation):
            operation.results[0].replace_all_uses_with(operation.operands[0])
            operation.erase()
            changed = True
        elif operation.name == "func.func":
            for key in ("arg_attrs", "res_attrs"):
                changed = _drop_attributes(operation, key, _SHARDINGS) or changed
        else:
            for name in _SHARDINGS:
                if name in operation.attributes:
                    del operation.attributes[name]
                    changed = True
    for operation in list(_operations(module)):
        if operation.name == "sdy.mesh":
            operation.erase()
            changed = True
    return changed


def _is_sharding_call(operation: Any) -> bool:
    return (
        operation.name == "stablehlo.custom_call"
        and _text(operation.attributes, "call_target_name") == "Sharding"
    )


# Small helpers for MLIR's objects


def _operations(module: Any) -> list[Any]:
    """Returns all operations of a module, outer ones first."""
    mlir = _bindings().ir
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        found.append(operation)
        return mlir.WalkResult.ADVANCE

    module.operation.walk(visit, mlir.WalkOrder.PRE_ORDER)
    return found


def _attributes_of(function: Any, key: str) -> list[Any]:
    """Returns the attribute dictionaries of a function's arguments or results."""
    if key in function.attributes:
        return list(function.attributes[key])
    return [{}] * len(function.type.inputs if key == "arg_attrs" else function.type.results)


def _drop_attributes(function: Any, key: str, names: Sequence[str]) -> bool:
    """Removes attributes of a function's arguments or results; returns whether any was there."""
    mlir = _bindings().ir
    if key not in function.attributes:
        return False
    old = list(function.attributes[key])
    kept = [{item.name: item.attr for item in each if item.name not in names} for each in old]
    if all(len(new) == len(each) for new, each in zip(kept, old, strict=True)):
        return False
    context = function.context
    function.attributes[key] = mlir.ArrayAttr.get(
        [mlir.DictAttr.get(each, context) for each in kept], context
    )
    return True


def _text(attributes: Any, name: str) -> str | None:
    """Returns the value of a string attribute, None if there is none."""
    return str(attributes[name].value) if name in attributes else None


# JAX's MLIR bindings


@dataclass(frozen=True, slots=True)
class _Bindings:
    ir: Any
    stablehlo: Any
    make_context: Any
    serialize: Any


@functools.cache
def _bindings() -> _Bindings:
    """Returns all that this file uses of JAX's MLIR bindings.

    Raises:
        VersionError: the installed JAX doesn't have them where they are looked for.
    """
    import jax

    try:
        from jax.extend import mlir
        from jax.extend.mlir import ir
        from jax.extend.mlir.dialects import stablehlo
        from jax.interpreters.mlir import make_ir_context

        for name in (
            "get_current_version",
            "get_version_from_compatibility_requirement",
            "deserialize_portable_artifact",
            "serialize_portable_artifact",
            "StablehloCompatibilityRequirement",
            "ConvDimensionNumbers",
            "DotDimensionNumbers",
        ):
            getattr(stablehlo, name)
        return _Bindings(ir, stablehlo, make_ir_context, mlir.serialize_portable_artifact)
    except (ImportError, AttributeError) as error:
        raise VersionError(
            f"JAX {jax.__version__} has changed the MLIR interfaces that cyxla uses "
            f"({error}); install a version of JAX that this cyxla knows"
        ) from error
