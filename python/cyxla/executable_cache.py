"""Compiled programs in the disk cache: where to look for one, and what to keep with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

from cyxla import _runtime, cache, cache_keys, files, platforms
from cyxla.errors import CyxlaError, StatusError
from cyxla.history import Origin
from cyxla.platforms import LoadedPlugin, Option
from cyxla.program import Program

__all__ = ["Hit", "Request", "find", "keep"]

# Names of metadata.
_COMPILER = "compiler"
_PLUGIN = "plugin_identity"
_LOW_LATENCY = "low_latency"
_STABLEHLO = "stablehlo_sha256"
_WORKAROUND = "workaround"


class Request(NamedTuple):
    """What is to be compiled.

    Attributes:
        program: of all things.
        options: for the compiler.
        low_latency: "True", "False", or "if known": then the compiler may refuse these options.
        engine, compiler: as for `compile_program`, and chosen.
    """

    program: Program
    options: dict[str, Option]
    low_latency: str
    engine: str
    compiler: str


class Hit(NamedTuple):
    """An executable that was in the cache, and the plugin that was needed for it."""

    executable: _runtime.Executable
    plugin: LoadedPlugin | None
    origin: Origin
    compiler: str
    low_latency: bool
    workaround: str | None


def find(request: Request) -> Hit | None:
    """The executable, if the cache has it: where jaxlib's compiler comes first, that of jaxlib."""
    for key in _keys(request):
        contents = cache.load(key)
        if contents is None or not _is_current(contents):
            continue
        hit = _load(request, contents)
        if hit is not None:
            return hit
    cache_keys.keep_flags()  # a compiler comes next
    return None


def keep(
    request: Request,
    executable: _runtime.Executable,
    plugin: LoadedPlugin | None,
    is_lasting: bool,
) -> None:
    """Keeps an executable, which has not run yet, with how it came to be.

    `plugin` is the one that compiled it, None where jaxlib did. Where that is not `is_lasting`, the
    next process would have another one compile it.
    """
    if not is_lasting and cache_keys.jaxlib_identity() is not None:
        return
    if plugin is not None and not plugin.identity:
        return
    try:
        data = executable.serialize()
    except StatusError:  # there are plugins that can't
        return
    origin, statistics = executable.origin, executable.statistics
    metadata = {
        _COMPILER: str(statistics.compiler),
        _LOW_LATENCY: str(statistics.low_latency),
        _STABLEHLO: cache_keys.stablehlo_hash(request.program),
    }
    if plugin is not None:
        metadata[_PLUGIN] = plugin.identity
    if statistics.workaround is not None:
        metadata[_WORKAROUND] = statistics.workaround
    contents = files.contents_of(request.program)
    complete = dataclasses.replace(
        contents,
        stablehlo=b"",  # who asks for the executable has it
        executable=data,
        fingerprint=origin.fingerprint,
        options=origin.options,
        producers={**contents.producers, **origin.producers},
        metadata=metadata,
    )
    key = _key_of_jaxlib(request) if plugin is None else _key_of_plugin(request)
    cache.store(key, complete)


# Keys


def _keys(request: Request) -> Iterator[str]:
    if request.compiler != "plugin":
        yield _key_of_jaxlib(request)
    if request.compiler != "jaxlib":
        yield _key_of_plugin(request)


def _key(request: Request, compiler: dict[str, object]) -> str:
    return cache_keys.executable_key(
        request.program, request.options, request.low_latency, compiler
    )


def _key_of_jaxlib(request: Request) -> str:
    """Both engines that jaxlib compiles for take the same code."""
    return _key(request, {"jaxlib": cache_keys.jaxlib_identity()})


def _key_of_plugin(request: Request) -> str:
    """Which plugin it is, the entry tells: to find that out takes longer than to open a file.

    Where jaxlib comes first, the plugin's turn depends on jaxlib, and on the engine.
    """
    if request.compiler == "plugin":
        return _key(request, {"plugin": platforms.plugin_identity(request.program.platform)})
    return _key(
        request,
        {
            "plugin": "after jaxlib",
            "jaxlib": cache_keys.jaxlib_identity(),
            "engine": request.engine,
        },
    )


def _is_current(contents: files.Contents) -> bool:
    """Whether the plugin that compiled it would compile it today."""
    plugin = contents.metadata.get(_PLUGIN)
    return plugin is None or plugin == platforms.plugin_identity(contents.platform)


# Loading


def _load(request: Request, contents: files.Contents) -> Hit | None:
    try:
        executable, plugin = _runnable(request, contents)
    except CyxlaError:  # it needs another processor, or something is wrong: compiling tells
        return None
    return Hit(
        executable,
        plugin,
        Origin(contents.fingerprint, contents.options, contents.producers),
        contents.metadata.get(_COMPILER, ""),
        contents.metadata.get(_LOW_LATENCY) == "True",
        contents.metadata.get(_WORKAROUND),
    )


def _runnable(
    request: Request, contents: files.Contents
) -> tuple[_runtime.Executable, LoadedPlugin | None]:
    program, engine, data = request.program, request.engine, contents.executable
    if program.platform == "cpu" and engine != "pjrt":
        try:
            return _runtime.load_executable(None, program, data, engine), None
        except StatusError:
            if engine == "direct" or _PLUGIN not in contents.metadata:
                raise
    plugin = platforms.loaded_plugin(program.platform)
    if plugin.info.fingerprint != contents.fingerprint:
        raise CyxlaError("another plugin has compiled it")
    return _runtime.load_executable(plugin.handle, program, data, engine), plugin
