"""Plugins: where they are, which one is the default, and the one that this process uses."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cyxla import _runtime
from cyxla.background import ProcessLock
from cyxla.errors import ArgumentError, CyxlaError

__all__ = [
    "Option",
    "PluginCandidate",
    "PluginInfo",
    "default_candidate",
    "find_plugins",
    "initialize",
    "is_initialized",
    "loaded_plugin",
    "plugin_identity",
    "plugin_if_loaded",
]

Option = bool | int | float | str | Sequence[int]

# Packages of PyPI that hold a plugin and say nothing of it in the entry-point group: the module,
# its platform, and the plugin's file in the module's folder.  The newest XLA comes first.
_KNOWN_PACKAGES = (
    ("lammps_jax_pjrt_cpu", "cpu", "pjrt_c_api_cpu_plugin.so"),
    ("xla_plugins.xla_cpu_pjrt", "cpu", "xla_cpu_pjrt.so"),
)

_ENTRY_POINT_GROUP = "cyxla.plugins"

# The file of the plugin that comes first, and the platform that is the default, also its.
_PLUGIN_VARIABLE = "CYXLA_PLUGIN"
_PLATFORM_VARIABLE = "CYXLA_PLATFORM"


@dataclass(frozen=True)
class PluginCandidate:
    """A plugin that is installed, and perhaps not loaded.

    Attributes:
        name: the module that brings it.
        platform: what it is for, such as "cpu".
        path: the shared library.
        options: the create options that the module asks for.
    """

    name: str
    platform: str
    path: Path
    options: Mapping[str, Option]


@dataclass(frozen=True)
class PluginInfo:
    """A loaded plugin.

    Attributes:
        path: the shared library.
        platform, platform_version: what its client calls itself.
        pjrt_version: (major, minor) of its PJRT C API.
        stablehlo_version: the newest StableHLO that it reads; None where it does not say.
        xla_version: its attribute of that name; 0 where it has none.
        device_count: number of devices of its client.
        reads_in_place: whether it reads host arrays without a copy.
        fingerprint: tells this build of it from others; "" where its file can't be read.
    """

    path: str
    platform: str
    platform_version: str
    pjrt_version: tuple[int, int]
    stablehlo_version: tuple[int, int, int] | None
    xla_version: int
    device_count: int
    reads_in_place: bool
    fingerprint: str


@dataclass(frozen=True)
class LoadedPlugin:
    """The plugin of this process: its handle, what it says of itself, and see `plugin_identity`."""

    handle: _runtime.Plugin
    info: PluginInfo
    identity: str = ""


_lock = ProcessLock()
_loaded: LoadedPlugin | None = None
_initialized = False  # by the user


def find_plugins() -> list[PluginCandidate]:
    """Finds the plugins that are installed, in the order of preference; loads none.

    First come the modules of the entry-point group `cyxla.plugins`, by name; each has `PLATFORM` (a
    str), `CREATE_OPTIONS` (a dict) and `library_path()`.  Then come the packages that cyxla knows.
    Before all of them is the file that the environment variable CYXLA_PLUGIN names.
    """
    return [*_named_plugin("cpu"), *_announced_plugins(), *_known_plugins()]


def default_candidate(platform: str | None = None) -> PluginCandidate:
    """The plugin that is taken for `platform`; None: for that which the environment variable
    CYXLA_PLATFORM names, else for the CPU, else the first of all.

    Raises:
        CyxlaError: there is none.
    """
    platform = platform or os.environ.get(_PLATFORM_VARIABLE)
    wanted = platform or "cpu"
    candidates = find_plugins()
    for candidate in (*_named_plugin(wanted), *candidates):
        if candidate.platform == wanted:
            return candidate
    if candidates and not platform:
        return candidates[0]
    found = ", ".join(f"{each.name} ({each.platform})" for each in candidates) or "none"
    hint = '; pip install "cyxla[cpu]" brings one' if wanted == "cpu" else ""
    raise CyxlaError(
        f"no PJRT plugin for the platform {wanted!r} is installed (found: {found}){hint}"
    )


def initialize(
    plugin: str | os.PathLike[str] | None = None,
    options: Mapping[str, Option] | None = None,
    *,
    platform: str | None = None,
) -> PluginInfo:
    """Loads the plugin that this process uses; call it before anything needs one, or never.

    From then on the plugin compiles the programs for its platform, unless `compile_program` is told
    otherwise.

    `initialize("cpu")` or `initialize(platform="cpu")` takes the installed plugin for that
    platform, `initialize()` the default one, and `initialize(Path("libpjrt.so"), platform="cpu")`
    that file.  `options` are create options of the plugin's client; they win over those that the
    plugin's module asks for.  For the CPU, cyxla sets `cpu_device_count` = 1 and `asynchronous` =
    False where they are not given.

    Raises:
        CyxlaError: a plugin is loaded already, or none is installed.
        StatusError: the plugin can't be loaded.
    """
    if isinstance(plugin, str):
        if platform is not None:
            raise ArgumentError(
                f"initialize got two platforms, {plugin!r} and {platform!r}; "
                "a file is given as a Path"
            )
        plugin, platform = None, plugin
    global _initialized
    with _lock:
        if _loaded is not None:
            raise CyxlaError(
                f"the plugin {_loaded.info.path} is loaded already: "
                "call initialize once, and before anything that needs a plugin"
            )
        if plugin is None:
            loaded = _load_candidate(default_candidate(platform), options)
        else:
            loaded = _load(Path(plugin), platform, dict(options or {}))
        _initialized = True
        return loaded.info


def loaded_plugin(platform: str) -> LoadedPlugin:
    """The plugin of this process, which must be for `platform`; loads the default one if none is.

    Raises:
        CyxlaError: the plugin is for another platform, or none is installed.
        StatusError: the plugin can't be loaded.
    """
    with _lock:
        loaded = _loaded or _load_candidate(default_candidate(platform), None)
    if loaded.info.platform != platform:
        raise CyxlaError(
            f"the program is for the platform {platform!r}, and this process uses the plugin "
            f"{loaded.info.path} for {loaded.info.platform!r}; one process has one plugin"
        )
    return loaded


def plugin_if_loaded(platform: str) -> LoadedPlugin | None:
    """The plugin of this process if it is loaded, and for this platform; loads none."""
    loaded = _loaded
    return loaded if loaded and loaded.info.platform == platform else None


def is_initialized(platform: str) -> bool:
    """Whether the user has chosen a plugin for this platform, by `initialize`."""
    return _initialized and plugin_if_loaded(platform) is not None


def _load_candidate(
    candidate: PluginCandidate, options: Mapping[str, Option] | None
) -> LoadedPlugin:
    return _load(candidate.path, candidate.platform, {**candidate.options, **(options or {})})


def _load(path: Path, platform: str | None, options: dict[str, Option]) -> LoadedPlugin:
    """Loads a plugin for this process.  Called with the lock held."""
    global _loaded
    identity = _identity(path, options)
    handle = _runtime.Plugin(os.fspath(path), platform, options)
    _loaded = LoadedPlugin(handle, PluginInfo(**handle.info()), identity)
    return _loaded


def plugin_identity(platform: str) -> str:
    """Tells the plugin that `loaded_plugin` gives, with its build and create options, from others;
    "" where there is none. It is not loaded for that."""
    loaded = plugin_if_loaded(platform)
    if loaded is not None:
        return loaded.identity
    try:
        candidate = default_candidate(platform)
    except CyxlaError:
        return ""
    return _identity(candidate.path, candidate.options)


def _identity(path: Path, options: Mapping[str, Option]) -> str:
    """To read all of a plugin would take far longer than a program does to load."""
    with contextlib.suppress(OSError):
        found = path.stat()
        times = f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"
        return f"{path.resolve()} {times} {sorted(options.items())}"
    return ""


def _named_plugin(wanted: str) -> Iterator[PluginCandidate]:
    """The plugin that the environment names, which is for the `wanted` platform unless that is
    named, too."""
    path = os.environ.get(_PLUGIN_VARIABLE)
    if path:
        platform = os.environ.get(_PLATFORM_VARIABLE) or wanted
        yield PluginCandidate(_PLUGIN_VARIABLE, platform, Path(path), {})


def _announced_plugins() -> Iterator[PluginCandidate]:
    entry_points = importlib.metadata.entry_points(group=_ENTRY_POINT_GROUP)
    for entry_point in sorted(entry_points, key=lambda each: each.name):
        try:
            module = entry_point.load()
            yield PluginCandidate(
                name=entry_point.value,
                platform=module.PLATFORM,
                path=Path(module.library_path()),
                options=dict(module.CREATE_OPTIONS),
            )
        except Exception as error:  # one that is broken must not keep others from being found
            warnings.warn(
                f"the plugin module {entry_point.value} ({_ENTRY_POINT_GROUP}) is left out; "
                f"it needs PLATFORM, CREATE_OPTIONS and library_path(): {error!r}",
                RuntimeWarning,
                stacklevel=2,
            )


def _known_plugins() -> Iterator[PluginCandidate]:
    for module, platform, file in _KNOWN_PACKAGES:
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:  # the parent of a dotted name is missing
            continue
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(folder) / file
            if path.is_file():
                yield PluginCandidate(module, platform, path, {})
