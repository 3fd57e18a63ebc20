"""The command line: `python -m cyxla VERB`, or `cyxla VERB`."""

from __future__ import annotations

import argparse
import os
import signal
import sys

import cyxla
from cyxla.commands import bench, cache, compile, config, export, inspect, plugins, run, targets
from cyxla.errors import CyxlaError

_VERBS = (compile, inspect, run, bench, export, cache, config, plugins, targets)


def main(arguments: list[str] | None = None) -> int:
    """Does what the arguments say; returns the exit status.

    That is 0, 1 where something goes wrong, which is told in one line on stderr, or 130 after
    Ctrl-C; wrong arguments end the process with 2, as argparse does it.
    """
    parser = argparse.ArgumentParser(
        prog="cyxla", description="Program files of JAX functions, and what is installed."
    )
    parser.add_argument("--version", action="version", version=f"cyxla {cyxla.__version__}")
    parser.set_defaults(run=plugins.list_plugins)
    commands = parser.add_subparsers(metavar="VERB")
    for verb in _VERBS:
        verb.add(commands)
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.run(chosen))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT  # as shells tell it
    except BrokenPipeError:
        # As for `cyxla targets | head`: nobody reads on, and Python shall not complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (CyxlaError, OSError) as error:
        print(f"cyxla: {' '.join(str(error).split())}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
