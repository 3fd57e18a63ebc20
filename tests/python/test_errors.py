"""The exceptions: their base classes and pickling."""

import copy
import pickle

import pytest

from cyxla import errors


def test_every_error_is_a_cyxla_error():
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.CyxlaError)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.UnsupportedError, TypeError),
        (errors.ArgumentError, ValueError),
        (errors.ArgumentTypeError, TypeError),
        (errors.StatusError, RuntimeError),
    ],
)
def test_errors_are_also_the_builtin_ones(error, builtin):
    assert issubclass(error, builtin)


def test_status_error_carries_code_and_status_and_prints_the_message():
    error = errors.StatusError(3, "INVALID_ARGUMENT", "argument 0 has 4 bytes, expected 8")
    assert (error.code, error.status) == (3, "INVALID_ARGUMENT")
    assert str(error) == "argument 0 has 4 bytes, expected 8"


@pytest.mark.parametrize("duplicate", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
@pytest.mark.parametrize("name", errors.__all__)
def test_errors_survive_pickling(name, duplicate):
    arguments = (5, "NOT_FOUND", "no such file") if name == "StatusError" else ("no such file",)
    error = getattr(errors, name)(*arguments)
    other = duplicate(error)
    assert type(other) is type(error)
    assert str(other) == "no such file"
    assert vars(other) == vars(error)
