"""How an executable came to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cyxla.platforms import Option, PluginInfo

__all__ = ["CompileStatistics", "Origin"]


@dataclass(frozen=True)
class CompileStatistics:
    """How a program was compiled.

    Attributes:
        seconds: wall time from the program to the executable.
        from_cache: whether the executable was loaded, from the disk cache or by the caller, rather
            than compiled.
        code_bytes: machine code, in bytes; None where that is not told.
        temp_bytes: temporaries of one run, in bytes; None where that is not told.
        platform: what it was compiled for.
        plugin: the plugin that compiled or runs it, with its versions; None where none was needed.
        workaround: what was done about a known fault of the plugin; None: nothing.
        engine: what runs it, "direct" or "pjrt".
        compiler: what compiled it, such as "jaxlib 0.11.2" or the path of the plugin; None where
            the caller loaded it.
        low_latency: whether it was compiled for low latency; None where the caller loaded it.
        recompiled: why the executable in a program file was not taken; None where it was, and where
            there was no file.
    """

    seconds: float
    from_cache: bool
    code_bytes: int | None
    temp_bytes: int | None
    platform: str
    plugin: PluginInfo | None
    workaround: str | None
    engine: str
    compiler: str | None
    low_latency: bool | None
    recompiled: str | None = None


@dataclass(frozen=True)
class Origin:
    """Where an executable comes from, as program files tell it.

    Attributes:
        fingerprint: of the plugin that compiled it, or a text such as "jaxlib 0.11.2"; "" where it
            is not known.
        options: XLA's options that it was compiled with.
        producers: names and versions of who took part.
        targets: the FFI targets that it calls, where it has no program that tells them.
    """

    fingerprint: str
    options: Mapping[str, Option] = field(default_factory=dict)
    producers: Mapping[str, str] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
