"""The exceptions of cyxla: one base class, and one subclass for each thing that a caller can do.

Every message names what failed, where, what was found and what was expected.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "CyxlaError",
    "StatusError",
    "UnsupportedError",
    "VersionError",
]


class CyxlaError(Exception):
    """Base class of every error that cyxla itself raises."""


class UnsupportedError(CyxlaError, TypeError):
    """A program needs something that cyxla can't represent.

    For example an element type, an effect, a layout, a dynamic shape or several devices.
    """


class ArgumentError(CyxlaError, ValueError):
    """An argument has a wrong value, for example a wrong shape or ill-formed StableHLO."""


class ArgumentTypeError(CyxlaError, TypeError):
    """An argument has a wrong type, for example an array whose cast would lose information."""


class VersionError(CyxlaError):
    """Versions don't meet: of StableHLO, of the ABI, of a plugin, or of JAX's interfaces."""


class StatusError(CyxlaError, RuntimeError):
    """The C library or a plugin returned an error.

    `code` is its number (1 to 16 as in PJRT, 100 and more are cyxla's own) and `status` its name,
    such as "INVALID_ARGUMENT". `str()` gives the message.
    """

    def __init__(self, code: int, status: str, message: str) -> None:
        # All three go to `args`, from which pickle and copy make the exception again.
        super().__init__(code, status, message)
        self.code = code
        self.status = status
        self._message = message

    def __str__(self) -> str:
        return self._message
