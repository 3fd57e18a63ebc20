"""Compiling and loading programs: which compiler makes an executable, and which engine runs it."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from cyxla import (
    _runtime,
    background,
    cache_settings,
    custom_calls,
    engines,
    executable_cache,
    jaxlib_compiler,
    platforms,
)
from cyxla import low_latency as latency
from cyxla.errors import ArgumentError, ArgumentTypeError, CyxlaError, StatusError, VersionError
from cyxla.history import CompileStatistics, Origin
from cyxla.platforms import LoadedPlugin, Option, PluginInfo
from cyxla.program import Program

__all__ = [
    "COMPILERS",
    "compile_program",
    "load_executable",
    "ready_custom_calls",
    "statistics_of",
]

COMPILERS = ("auto", "jaxlib", "plugin")

# What the direct engine says of an executable that a plugin may run: it does not know all of it, or
# its form; or of one that was just made, the processor.
_CANT_LOAD = ("UNIMPLEMENTED", "INVALID_ARGUMENT")
_CANT_RUN = (*_CANT_LOAD, "FAILED_PRECONDITION")


class _Made(NamedTuple):
    """An executable, who compiled it, and the plugin that was needed for that."""

    executable: _runtime.Executable
    compiler: str | None
    plugin: LoadedPlugin | None
    is_lasting: bool = True  # whether the next process would compile it so, too


def compile_program(
    program: Program,
    *,
    options: Mapping[str, Option] | None = None,
    engine: str | None = None,
    compiler: str = "auto",
    low_latency: str | bool = "auto",
) -> tuple[_runtime.Executable, CompileStatistics]:
    """Compiles a program.  The GIL is released meanwhile, in a thread that has a large stack.

    Ctrl-C ends the wait at once, not the compilation: that goes on in its thread, and the process
    ends only after it.

    Args:
        program: made by `lower` or `from_stablehlo`.
        options: XLA's debug options by name, such as {"xla_cpu_prefer_vector_width": 128}.  They
            win over those that JAX sets, which are set here too, and over those of `low_latency`.
        engine: "direct" calls the kernels of the CPU in place, with no runtime in between, and
            refuses what it does not know; "pjrt" is the plugin's own execution; "auto" is direct
            where that can run the program. None: what the environment variable CYXLA_ENGINE says,
            else "auto".
        compiler: "jaxlib", for the direct engine; "plugin", for both; "auto" is jaxlib for the
            CPU, and the plugin where the direct engine can't run the program, where jaxlib can't
            compile it, and where `initialize` has chosen a plugin for its platform.
        low_latency: True compiles so that one call takes as little time as possible, which changes
            the last bits of matrix products and of sums of many elements; False takes JAX's options
            and so gives JAX's bits; "auto" is True for programs with small arrays only.

    Raises:
        ArgumentError, ArgumentTypeError: an argument has a value that it can't have.
        CyxlaError: nothing that is installed can compile and run the program.
        StatusError: the compiler refuses the program, or an option, which it names; the direct
            engine, if asked for, can't run it.
        VersionError: the compiler is too old for the program's StableHLO.
    """
    _check_program(program, "compile_program")
    start = time.perf_counter()
    user_options = _checked_options(options)
    engine = engines.chosen_engine(engine)
    compiler = _chosen_compiler(program, engine, compiler)
    is_fast = latency.is_wanted(program, low_latency)
    all_options = {**latency.OPTIONS, **user_options} if is_fast else user_options
    with ready_custom_calls(program):
        request = None
        if cache_settings.is_enabled():
            asked = "if known" if is_fast and low_latency == "auto" else str(is_fast)
            request = executable_cache.Request(program, all_options, asked, engine, compiler)
            hit = executable_cache.find(request)
            if hit is not None:
                return _found(hit, start)
        try:
            made = _compile(program, all_options, engine, compiler)
        except StatusError as error:
            # Older plugins don't know all of these options.
            if low_latency != "auto" or not is_fast or not latency.is_refused(error, user_options):
                raise
            is_fast, all_options = False, user_options
            made = _compile(program, user_options, engine, compiler)
    executable, statistics = _finished(made, start, is_fast, all_options)
    if request is not None:
        executable_cache.keep(request, executable, made.plugin, made.is_lasting)
    return executable, statistics


def load_executable(
    program: Program, data: bytes, *, engine: str | None = None
) -> tuple[_runtime.Executable, CompileStatistics]:
    """Loads what `Executable.serialize` wrote of the executable of `program`.

    The bytes are native code: load only what you would also run.  They must be of this program.
    Bytes that need another processor are not run: the program is compiled instead, as by
    `compile_program(program, engine=engine)`.  The direct engine needs no plugin; PJRT's takes
    bytes of the same plugin on the same kind of machine, and on platforms other than the CPU does
    not notice inputs of another type that have the same size.

    Args:
        engine: as for `compile_program`.

    Raises:
        ArgumentError: there is no such engine.
        CyxlaError: the direct engine can't run it, and there is no plugin for its platform.
        StatusError: the bytes are refused, or their signature is not the program's.
    """
    _check_program(program, "load_executable")
    start = time.perf_counter()
    engine = engines.chosen_engine(engine)
    compiler = _chosen_compiler(program, engine, "auto")
    with ready_custom_calls(program):
        try:
            made = _load(program, data, engine, compiler)
        except StatusError as error:
            if error.status != "FAILED_PRECONDITION":
                raise
            return compile_program(program, engine=engine)
    return _finished(made, start, None, {})


# Arguments


def _check_program(program: Program, function: str) -> None:
    if not isinstance(program, Program):
        raise ArgumentTypeError(
            f"{function} needs a Program, made by lower or from_stablehlo, not {program!r}"
        )


def _checked_options(options: Mapping[str, Option] | None) -> dict[str, Option]:
    checked = dict(options or {})
    for name, value in checked.items():
        if isinstance(value, (list, tuple)):  # plugins' clients take them, compilers don't
            raise ArgumentTypeError(f"option {name} must be a bool, int, float or str, not {value}")
    _runtime.check_options(checked)
    return checked


def _chosen_compiler(program: Program, engine: str, compiler: str) -> str:
    """The compiler to start with; "auto" is jaxlib's, and the plugin where that does not do.

    Raises:
        ArgumentError: it and the engine don't go together, or not with the program's platform.
    """
    engines.check_choice("compiler", compiler, COMPILERS)
    if program.platform != "cpu" and (engine == "direct" or compiler == "jaxlib"):
        raise ArgumentError(
            f"{program.name} is for {program.platform}: the direct engine and jaxlib's compiler "
            "take programs for the CPU"
        )
    if engine == "pjrt" and compiler == "jaxlib":
        raise ArgumentError(
            "compiler='jaxlib' and engine='pjrt' don't go together: PJRT's engine runs what its "
            "plugin has compiled"
        )
    must_be_plugin = program.platform != "cpu" or engine == "pjrt"
    if must_be_plugin or (compiler == "auto" and platforms.is_initialized(program.platform)):
        return "plugin"
    return compiler


# Compiling


class _Refusal(Exception):
    """jaxlib or the direct engine can't do it, and a plugin may: its cause says why."""


def _compile(program: Program, options: dict[str, Option], engine: str, compiler: str) -> _Made:
    if compiler == "plugin":
        plugin = platforms.loaded_plugin(program.platform)
        return _compile_by_plugin(program, options, engine, plugin)
    try:
        return _compile_by_jaxlib(program, options, engine)
    except _Refusal as refusal:
        assert refusal.__cause__
        if compiler == "jaxlib":
            raise refusal.__cause__ from None
        plugin = _plugin_instead(program, refusal.__cause__)
        is_lasting = isinstance(refusal.__cause__, (StatusError, VersionError))
    made = _compile_by_plugin(program, options, engine, plugin)
    return made._replace(is_lasting=is_lasting)


def _compile_by_plugin(
    program: Program, options: dict[str, Option], engine: str, plugin: LoadedPlugin
) -> _Made:
    stablehlo = _readable_stablehlo(program, plugin.info)
    executable = background.run(
        _runtime.compile_program, plugin.handle, program, stablehlo, options, engine
    )
    return _Made(executable, plugin.info.path, plugin)


def _compile_by_jaxlib(program: Program, options: dict[str, Option], engine: str) -> _Made:
    try:
        data = background.run(jaxlib_compiler.compile_to_bytes, program, options)
    except StatusError as error:
        if _calls_only_cyxla_knows(program, error):
            raise _Refusal from error
        raise
    except CyxlaError as error:  # jaxlib is not at hand, or of another version
        raise _Refusal from error
    try:
        executable = _runtime.load_executable(None, program, data, engine)
    except StatusError as error:
        if engine == "auto" and error.status in _CANT_RUN:
            raise _Refusal from error
        raise
    return _Made(executable, f"jaxlib {jaxlib_compiler.version()}", None)


def _calls_only_cyxla_knows(program: Program, error: StatusError) -> bool:
    """Whether the error is that jaxlib has not heard of targets of `cyxla.register_ffi_target`."""
    return error.status == "NOT_FOUND" and any(
        each in str(error) and custom_calls.is_registered(each, program.platform)
        for each in program.custom_calls
    )


def _plugin_instead(program: Program, refusal: BaseException) -> LoadedPlugin:
    """The plugin, which is needed because of `refusal`."""
    try:
        return platforms.loaded_plugin(program.platform)
    except CyxlaError as error:
        raise CyxlaError(f"{refusal}; {error}") from refusal


def _readable_stablehlo(program: Program, plugin: PluginInfo) -> bytes:
    """The program's StableHLO, rewritten for an older version where the plugin needs that."""
    newest = plugin.stablehlo_version
    if newest is not None and program.stablehlo_version <= newest:
        return program.stablehlo
    # Imported late: only rewriting needs JAX.
    from cyxla import stablehlo

    target = stablehlo.target_version(newest)
    if program.stablehlo_version <= target:
        return program.stablehlo
    return stablehlo.retarget(program.stablehlo, target)


# Loading


def _load(program: Program, data: bytes, engine: str, compiler: str) -> _Made:
    if compiler == "plugin":
        plugin = platforms.loaded_plugin(program.platform)
        return _load_by_plugin(program, data, engine, plugin)
    try:
        return _Made(_runtime.load_executable(None, program, data, engine), None, None)
    except StatusError as error:
        if engine == "direct" or error.status not in _CANT_LOAD:
            raise
        plugin = _plugin_instead(program, error)
    return _load_by_plugin(program, data, engine, plugin)


def _load_by_plugin(program: Program, data: bytes, engine: str, plugin: LoadedPlugin) -> _Made:
    executable = background.run(_runtime.load_executable, plugin.handle, program, data, engine)
    return _Made(executable, None, plugin)


# Custom calls and statistics


class _Caller(Protocol):
    """A program, as far as it is needed here."""

    @property
    def name(self) -> str: ...
    @property
    def platform(self) -> str: ...
    @property
    def custom_calls(self) -> tuple[str, ...]: ...


@contextlib.contextmanager
def ready_custom_calls(program: _Caller) -> Iterator[None]:
    """Readies the program's custom calls, and explains them where it does not compile or load."""
    if not program.custom_calls:
        yield
        return
    custom_calls.prepare(program.custom_calls, program.name)
    try:
        yield
    except StatusError as error:
        named = tuple(each for each in program.custom_calls if each in str(error))
        plugin = platforms.plugin_if_loaded(program.platform)
        reason = custom_calls.explain(named, program.platform, plugin)
        if not reason:
            raise
        message = f"{program.name}: {reason} ({error})"
        raise StatusError(error.code, error.status, message) from error


def _finished(
    made: _Made, start: float, is_low_latency: bool | None, options: dict[str, Option]
) -> tuple[_runtime.Executable, CompileStatistics]:
    """The executable, which knows how it was made, and the statistics."""
    executable = made.executable
    statistics = statistics_of(executable, start, made.plugin, made.compiler, is_low_latency)
    _runtime.set_history(executable, statistics, _origin(made, options))
    return executable, statistics


def _found(
    hit: executable_cache.Hit, start: float
) -> tuple[_runtime.Executable, CompileStatistics]:
    """The same for what was in the cache."""
    executable = hit.executable
    statistics = dataclasses.replace(
        statistics_of(executable, start, hit.plugin, hit.compiler, hit.low_latency),
        from_cache=True,
        workaround=hit.workaround,
    )
    _runtime.set_history(executable, statistics, hit.origin)
    return executable, statistics


def _origin(made: _Made, options: dict[str, Option]) -> Origin:
    if made.plugin and (made.compiler or made.executable.engine == "pjrt"):
        info = made.plugin.info
        producers = {"plugin": f"{Path(info.path).name} {info.platform_version}".strip()}
        if info.xla_version:
            producers["xla"] = str(info.xla_version)
        return Origin(info.fingerprint, options, producers)
    if made.compiler:
        return Origin(made.compiler, options, {"jaxlib": jaxlib_compiler.version()})
    return Origin("", options)


def statistics_of(
    executable: _runtime.Executable,
    start: float,
    plugin: LoadedPlugin | None,
    compiler: str | None = None,
    is_low_latency: bool | None = None,
) -> CompileStatistics:
    """Statistics of an executable that is ready now; without a compiler it was loaded."""
    return CompileStatistics(
        seconds=time.perf_counter() - start,
        from_cache=compiler is None,
        code_bytes=executable.code_bytes,
        temp_bytes=executable.temp_bytes,
        platform=executable.platform,
        plugin=plugin.info if plugin else None,
        workaround=executable.workaround,
        engine=executable.engine,
        compiler=compiler,
        low_latency=is_low_latency,
    )
