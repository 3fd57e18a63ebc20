"""`python -m cyxla`: the plugins that are installed, and which one would be the default;
`python -m cyxla targets`: the native functions that programs may call, jaxlib's and others."""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import cyxla
from cyxla.custom_calls import targets
from cyxla.errors import CyxlaError
from cyxla.platforms import (
    PluginCandidate,
    PluginInfo,
    default_candidate,
    find_plugins,
    initialize,
    loaded_plugin,
)


def main(arguments: list[str] | None = None) -> int:
    """Prints a list; returns the exit status: 0, or 1 where no plugin is installed."""
    parser = argparse.ArgumentParser(prog="python -m cyxla", description=__doc__)
    parser.add_argument("--version", action="version", version=f"cyxla {cyxla.__version__}")
    parser.add_argument("list", nargs="?", choices=["plugins", "targets"], default="plugins")
    return list_targets() if parser.parse_args(arguments).list == "targets" else list_plugins()


def list_targets() -> int:
    """Prints the FFI targets, with what the default plugin has of them."""
    with contextlib.suppress(ImportError):
        import jax.numpy.linalg  # noqa: F401  brings JAX's targets
    try:
        plugin = loaded_plugin(default_candidate().platform)
    except CyxlaError as error:
        print(error)
        return 1
    for each in targets(plugin):
        version = ".".join(map(str, each.ffi_version))
        state = f"{each.state}: {each.failure}" if each.failure else each.state
        print(f"{each.name:40} {each.platform:8} {each.origin:8} FFI {version:5} {state}")
    return 0


def list_plugins() -> int:
    """Prints the plugins that are installed."""
    candidates = find_plugins()
    if not candidates:
        print('no PJRT plugin is installed; pip install "cyxla[cpu]" brings one for the CPU')
        return 1
    default = default_candidate()
    for candidate in candidates:
        print(f"{candidate.name}{' (default)' if candidate == default else ''}")
        print(f"  path       {candidate.path}")
        print(f"  platform   {candidate.platform}")
        for line in _describe(candidate):
            print(f"  {line}")
    return 0


def _describe(candidate: PluginCandidate) -> list[str]:
    """What the plugin says of itself, or why it can't be loaded."""
    try:
        info = _load_elsewhere(candidate)
    except CyxlaError as error:
        return [f"unusable   {error}"]
    except BrokenProcessPool:
        return ["unusable   the process that loaded it died"]
    stablehlo = ".".join(map(str, info.stablehlo_version)) if info.stablehlo_version else "not told"
    return [
        f"PJRT       {info.pjrt_version[0]}.{info.pjrt_version[1]}",
        f"StableHLO  {stablehlo}",
        f"devices    {info.device_count}",
    ]


def _load_elsewhere(candidate: PluginCandidate) -> PluginInfo:
    """Loads a plugin in a process of its own: a process has one, and a faulty one may crash."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        load = pool.submit(
            initialize, candidate.path, candidate.options, platform=candidate.platform
        )
        return load.result()


if __name__ == "__main__":
    sys.exit(main())
