"""Custom calls: native functions that programs call by name, and where they come from.

libcyxla keeps the targets and hands them to plugins; this module finds them: those that JAX knows,
which are jaxlib's LAPACK functions and whatever a library has registered by
`jax.ffi.register_ffi_target`, and those that are registered here.
"""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import functools
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cyxla import _runtime
from cyxla.errors import ArgumentError, ArgumentTypeError, CyxlaError, UnsupportedError
from cyxla.platforms import LoadedPlugin

__all__ = ["FfiTarget", "register_ffi_target", "register_ffi_type", "targets"]

_STAGES = ("instantiate", "prepare", "initialize", "execute")

# Targets by which JAX calls back into Python: their handlers need jaxlib's own runtime around them.
_PYTHON_CALLBACKS = (
    "xla_buffer_python_cpu_callback",
    "xla_ffi_partitioned_python_cpu_callback",
    "xla_ffi_python_cpu_callback",
    "xla_ffi_python_gpu_callback",
    "xla_python_cpu_callback",
    "xla_python_gpu_callback",
)

# The beginnings of the names of jaxlib's targets that `jax.numpy.linalg` brings.
_LINEAR_ALGEBRA = ("lapack_", "tridiagonal_solve_perturbed_ffi")

# The beginnings of the names that are no targets: XLA makes operations of its own of them.
_OF_XLA = ("ApproxTopK", "mhlo.", "stablehlo.", "annotate_device_placement")

# What JAX calls the platforms in its registry, by the plugins' names.
_JAX_PLATFORMS = {"cpu": "Host", "cuda": "CUDA", "rocm": "ROCM"}

# The class of all functions of ctypes, whatever library and signature they are of.
_CTYPES_FUNCTION: Any = ctypes.CFUNCTYPE(None).__mro__[1]

# Who registered a target: by (name, platform).
_origins: dict[tuple[str, str], str] = {}

# What was registered with JAX since cyxla listens: (name, handlers, platform, api_version); types.
_heard_targets: list[tuple[str, Any, str, int]] = []
_heard_types: list[Mapping[str, Any]] = []

# Targets that JAX has and libcyxla refuses, and why.
_refused: dict[tuple[str, str], str] = {}


@dataclass(frozen=True)
class FfiTarget:
    """A target that is registered.

    Attributes:
        name, platform: as programs call it, and the platform that it is for.
        origin: "jaxlib" (its own), "jax" (by `jax.ffi.register_ffi_target`) or "cyxla".
        ffi_version: of the XLA FFI that its handlers were compiled for.
        state: with the plugin of this process: "registered", "bridged" (though its FFI is newer
            than the plugin's, or it keeps state), "failed", or "not seen" (it is for another
            platform, or no plugin is loaded).
        failure: why the plugin can't have it; None where it can.
    """

    name: str
    platform: str
    origin: str
    ffi_version: tuple[int, int]
    state: str
    failure: str | None


def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = 1, traits: int = 0
) -> None:
    """Registers a native function for programs to call, as `jax.ffi.register_ffi_target` does.

    Args:
        name: the target, as `jax.ffi.ffi_call` names it.
        fn: a handler of XLA's typed FFI: a PyCapsule, a ctypes function or an address; or a dict of
            them by stage: "instantiate", "prepare", "initialize", "execute".
        platform: what it is for.
        api_version: 1, the typed FFI; nothing else works with a plugin.
        traits: XLA's bits for handlers.

    Raises:
        ArgumentError, ArgumentTypeError: `fn` or `api_version` is none of these.
        StatusError: the name is taken by another handler, or the handler does not tell its version.
    """
    if api_version != 1:
        raise ArgumentError(
            f"FFI target {name}: api_version {api_version} is that of untyped custom calls, which "
            "plugins can't be given; cyxla takes typed ones, api_version 1"
        )
    _register(name, fn, platform, traits, "cyxla")


def register_ffi_type(name: str, type_registration: Mapping[str, Any]) -> None:
    """Registers the type of a state that handlers keep, as `jax.ffi.register_ffi_type` does.

    Args:
        name: of the type, for messages.
        type_registration: {"type_id": ..., "type_info": ...}, capsules or addresses of an
            XLA_FFI_TypeId and an XLA_FFI_TypeInfo; without the latter states are not freed.  A type
            that has no number yet gets one.

    Raises:
        ArgumentError, ArgumentTypeError: `type_registration` is not so.
        StatusError: the type is registered with another deleter.
    """
    if "type_id" not in type_registration:
        raise ArgumentError(f"FFI type {name}: type_id is missing")
    type_id = _address(type_registration["type_id"], f"FFI type {name}, type_id")
    info = type_registration.get("type_info")
    type_info = 0 if info is None else _address(info, f"FFI type {name}, type_info")
    _runtime.register_ffi_type(type_id, type_info)


def targets(plugin: LoadedPlugin | None = None) -> list[FfiTarget]:
    """The targets that are registered, JAX's among them if it is imported, by name."""
    collect(None)
    found = (
        FfiTarget(
            name=each["name"],
            platform=each["platform"],
            origin=_origins.get((each["name"], each["platform"]), "cyxla"),
            ffi_version=(0, each["ffi_minor"]),
            state=each["state"],
            failure=each["failure"],
        )
        for each in _runtime.ffi_targets(plugin.handle if plugin else None)
    )
    return sorted(found, key=lambda each: (each.name, each.platform))


def bring_those_of_jax() -> None:
    """Registers jaxlib's targets, and all that is registered with JAX, if JAX is installed."""
    with contextlib.suppress(ImportError):
        import jax.numpy.linalg  # noqa: F401
    collect(None)


def prepare(custom_calls: tuple[str, ...], name: str) -> None:
    """Makes ready what a program with these custom calls needs, before it is compiled or loaded.

    Raises:
        UnsupportedError: it calls back into Python.
    """
    callbacks = sorted(set(custom_calls) & set(_PYTHON_CALLBACKS))
    if callbacks:
        raise UnsupportedError(
            f"{name} calls back into Python, by the custom call {callbacks[0]}; "
            "a program runs without Python"
        )
    if any(target.startswith(_LINEAR_ALGEBRA) for target in custom_calls):
        _initialize_lapack()
    collect(custom_calls)


def is_registered(name: str, platform: str) -> bool:
    """Whether a target is registered; those that only JAX knows so far are not."""
    return (name, platform) in _origins


def is_of_xla(name: str) -> bool:
    """Whether a custom call has no target, since XLA makes an operation of its own of it."""
    return name.startswith(_OF_XLA)


def explain(custom_calls: tuple[str, ...], platform: str, plugin: LoadedPlugin | None) -> str:
    """What is wrong with the custom calls of a program that did not compile; "" if nothing."""
    known = targets(plugin)
    lines = []
    for target in custom_calls:
        if (target, platform) in _refused:
            lines.append(f"its custom call {target} is refused: {_refused[target, platform]}")
            continue
        same_name = [each for each in known if each.name == target]
        here = [each for each in same_name if each.platform == platform]
        if here:
            if here[0].failure:
                lines.append(f"the plugin can't have its custom call {target}: {here[0].failure}")
            continue
        if same_name:
            found = ", ".join(each.platform for each in same_name)
            lines.append(f"its custom call {target} is registered for {found}, not for {platform}")
            continue
        near = difflib.get_close_matches(target, {each.name for each in known}, n=3)
        hint = f"; similar ones are {', '.join(near)}" if near else ""
        lines.append(f"its custom call {target} is not registered{hint}")
    return "; ".join(lines)


def collect(needed: Collection[str] | None = ()) -> None:
    """Registers what JAX knows, if it is imported; to be called often, as it may know more now.

    Once its backend has started JAX tells of a target no other stage than execute.  Such a one is
    taken only where it is `needed` (None: each is): until then `register_ffi_target` may bring all
    of its stages.
    """
    for type_registration in _jax_types():
        register_ffi_type("of JAX", type_registration)
    for name, fn, platform, has_all_stages in _jax_targets():
        if (name, platform) in _origins or name in _PYTHON_CALLBACKS:
            continue
        if fn is None:
            _refused[name, platform] = "JAX has it as an untyped one (api_version 0)"
            continue
        if not has_all_stages and needed is not None and name not in needed:
            continue
        try:
            _register(
                name, fn, platform, 0, "jaxlib" if name.startswith(_LINEAR_ALGEBRA) else "jax"
            )
        except CyxlaError as error:  # nobody has asked for it yet
            _refused[name, platform] = str(error)


def _register(name: str, fn: Any, platform: str, traits: int, origin: str) -> None:
    handlers = fn if isinstance(fn, Mapping) else {"execute": fn}
    unknown = sorted(set(handlers) - set(_STAGES))
    if unknown or "execute" not in handlers:
        raise ArgumentError(
            f"FFI target {name}: its stages are {sorted(handlers)}; there must be execute, "
            f"and may be {', '.join(_STAGES[:-1])}"
        )
    addresses = {
        stage: _address(each, f"FFI target {name}, {stage}") for stage, each in handlers.items()
    }
    _runtime.register_ffi_target(name, platform, addresses, traits)
    _origins.setdefault((name, platform), origin)
    _refused.pop((name, platform), None)


def _address(function: Any, role: str) -> int:
    """The address in a PyCapsule, of a ctypes function, or given as such."""
    if isinstance(function, int) and not isinstance(function, bool):
        address: int | None = function
    elif isinstance(function, _CTYPES_FUNCTION):
        address = ctypes.cast(function, ctypes.c_void_p).value
    elif type(function).__name__ == "PyCapsule":
        address = _runtime.capsule_address(function)
    else:
        raise ArgumentTypeError(
            f"{role}: a PyCapsule, a ctypes function or an address is needed, "
            f"not {type(function).__name__}"
        )
    if not address:
        raise ArgumentError(f"{role}: the address is NULL")
    return address


# What follows reads JAX's registries, which are not public: they are in jaxlib.xla_client.


def _initialize_lapack() -> None:
    """Lets jaxlib fetch the LAPACK functions from SciPy, as JAX does when it lowers a call of one.

    Without it the handlers call functions at address 0.
    """
    try:
        from jaxlib import lapack

        getattr(lapack, "_lapack").initialize()  # noqa: B009  typed code calls it private
    except (ImportError, AttributeError) as error:
        raise CyxlaError(
            f"the program needs jaxlib's LAPACK functions, which can't be had: {error}"
        ) from error
    import jax.numpy.linalg  # noqa: F401  registers them


def _xla_client() -> Any:
    """The module with the registries; None as long as nobody has imported it."""
    client = sys.modules.get("jaxlib.xla_client")
    if client is not None:
        _listen(client)
    return client


def _waiting(client: Any, registry: str, jax_platform: str) -> list[Any]:
    """What waits in a registry for JAX's backend; nothing where this JAX has no such registry."""
    return list(getattr(client, registry, {}).get(jax_platform, ()))


def _listen(client: Any) -> None:
    """Hears, from the first call on, of what is registered with JAX.

    Once its backend has started, JAX tells of a target no other stage than execute, and of types
    nothing: its two functions that register get a wrapper, which takes note and changes nothing.
    """
    register_target = getattr(client, "register_custom_call_target", None)
    register_type = getattr(client, "register_custom_type", None)
    if not register_target or not register_type or hasattr(register_target, "heard_by_cyxla"):
        return

    @functools.wraps(register_target)
    def hear_target(
        name: str, fn: Any, platform: str = "cpu", api_version: int = 0, *rest: Any, **more: Any
    ) -> None:
        register_target(name, fn, platform, api_version, *rest, **more)
        _heard_targets.append((name, fn, platform, api_version))

    @functools.wraps(register_type)
    def hear_type(type_name: str, type_id: Any, platform: str = "cpu") -> None:
        register_type(type_name, type_id, platform)
        _heard_types.append(type_id)

    hear_target.heard_by_cyxla = True  # type: ignore[attr-defined]
    client.register_custom_call_target = hear_target
    client.register_custom_type = hear_type


def _jax_targets() -> Iterator[tuple[str, Any, str, bool]]:
    """(name, handlers, platform, whether these are all its stages) of JAX's targets."""
    client = _xla_client()
    if client is None:
        return
    for name, fn, jax_platform, api_version in _heard_targets:
        jax_platform = client.xla_platform_names.get(jax_platform, jax_platform)
        for platform in (each for each, its in _JAX_PLATFORMS.items() if its == jax_platform):
            yield name, fn if api_version == 1 else None, platform, True
    for platform, jax_platform in _JAX_PLATFORMS.items():
        # Before JAX has started its backend, targets wait in a list; afterwards XLA has them.
        for name, fn, api_version, _ in _waiting(client, "_custom_callback", jax_platform):
            yield name, fn if api_version == 1 else None, platform, True
        if platform == "cpu" and hasattr(client, "custom_call_targets"):
            for name, handlers in client.custom_call_targets(jax_platform).items():
                yield name, handlers if isinstance(handlers, dict) else None, platform, False


def _jax_types() -> Iterator[Mapping[str, Any]]:
    """The types of handlers' states that JAX tells, as long as its backend has not started, and
    those that were heard of."""
    client = _xla_client()
    if client is not None:
        yield from (each for _, each in _waiting(client, "_custom_type_id", "Host"))
        yield from _heard_types
