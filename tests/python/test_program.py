"""Programs as plain data: validation, pickling, printing."""

import dataclasses
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cyxla.program
from cyxla.element_types import ElementType
from cyxla.errors import ArgumentError, ArgumentTypeError
from cyxla.program import ArrayType, Program, artifact_version, cyxla_version

ARTIFACT = b"ML\xefR\x0dStableHLO_v1.18.3\x00and more"


def array(name="x", shape=(3, 4)):
    return ArrayType(name, ElementType.float32, shape)


def program(**fields):
    defaults = {
        "stablehlo": ARTIFACT,
        "name": "f",
        "platform": "cpu",
        "inputs": (array("x"), array("params['w'][0]", ())),
        "outputs": (array("result"),),
        "custom_calls": ("lapack_spotrf_ffi",),
        "jax_version": "0.11.2",
        "cyxla_version": "0.1.0",
    }
    return Program(**(defaults | fields))


@pytest.mark.parametrize(
    ("shape", "size", "text"), [((3, 4), 12, "[3,4]"), ((), 1, "[]"), ((0, 5), 0, "[0,5]")]
)
def test_array_type_properties(shape, size, text):
    each = ArrayType("params['w'][0]", ElementType.complex64, shape)
    assert (each.ndim, each.size, each.nbytes) == (len(shape), size, 8 * size)
    assert each.dtype == np.complex64
    assert str(each) == f"params['w'][0]: complex64{text}"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": 3}, "ArrayType.name must be str, not 3"),
        ({"element_type": "float32"}, "ArrayType.element_type must be ElementType"),
        ({"shape": [3]}, "ArrayType.shape must be tuple of int"),
        ({"shape": (3.0,)}, "ArrayType.shape must be tuple of int"),
        ({"shape": (True,)}, "ArrayType.shape must be tuple of int"),
    ],
)
def test_array_type_checks_types(fields, message):
    with pytest.raises(ArgumentTypeError, match=message):
        dataclasses.replace(array(), **fields)


def test_array_type_refuses_negative_dimensions():
    with pytest.raises(ArgumentError, match=r"x has the negative dimension of \(3, -1\)"):
        array(shape=(3, -1))


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("stablehlo", "text", "bytes"),
        ("name", None, "str"),
        ("platform", None, "str"),
        ("inputs", [], "tuple of ArrayType"),
        ("outputs", ("x",), "tuple of ArrayType"),
        ("custom_calls", "foo", "tuple of str"),
        ("jax_version", 11, "str or None"),
        ("cyxla_version", None, "str"),
        ("largest_work", 2.0, "int or None"),
    ],
)
def test_program_checks_types(field, value, expected):
    with pytest.raises(ArgumentTypeError, match=f"Program.{field} must be {expected}, not"):
        program(**{field: value})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "name is empty"),
        ({"platform": ""}, "platform is empty"),
        ({"inputs": (array(), array())}, "two arrays of the same name"),
        ({"outputs": (array(), array())}, "two arrays of the same name"),
        ({"stablehlo": b"module {}"}, "not a portable artifact"),
    ],
)
def test_program_checks_values(fields, message):
    with pytest.raises(ArgumentError, match=message):
        program(**fields)


def test_program_tells_its_stablehlo_version():
    assert program().stablehlo_version == (1, 18, 3)


@pytest.mark.parametrize("other", [b"", b"module {}", ARTIFACT[:10], ARTIFACT[1:]])
def test_artifact_version_of_other_bytes_is_none(other):
    assert artifact_version(other) is None


def test_repr_is_short_and_shows_the_signature():
    assert repr(program()) == (
        "<Program f for cpu: (x: float32[3,4], params['w'][0]: float32[]) -> "
        "(result: float32[3,4]), 31 bytes of StableHLO 1.18.3>"
    )


def test_repr_abridges_long_signatures():
    many = tuple(array(f"x{index}", ()) for index in range(200))
    assert "(x0: float32[], x1: float32[], x2: float32[], x3: float32[], and 196 more)" in repr(
        program(inputs=many)
    )


def test_programs_are_frozen_and_comparable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        program().name = "g"
    assert program() == program()
    assert hash(program()) == hash(program())
    assert program() != program(name="g")


def test_programs_are_pickled_and_read_without_jax():
    pickled = pickle.dumps(program(inputs=(ArrayType("x", ElementType.bfloat16, (2,)),)))
    code = (
        "import pickle, sys\n"
        "program = pickle.loads(sys.stdin.buffer.read())\n"
        "assert 'jax' not in sys.modules and 'ml_dtypes' not in sys.modules\n"
        "print(program)\n"
    )
    # Only this file's package, so that the test says what the modules themselves import.
    package = str(Path(cyxla.program.__file__).parent)
    setup = (
        "import sys, types\n"
        "package = types.ModuleType('cyxla'); package.__path__ = [sys.argv[1]]\n"
        "sys.modules['cyxla'] = package\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", setup + code, package],
        input=pickled,
        capture_output=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.decode().strip() == repr(pickle.loads(pickled))


def test_the_version_of_cyxla_is_that_of_the_distribution(monkeypatch):
    monkeypatch.setattr(cyxla.program.importlib.metadata, "version", lambda name: f"{name} 1.2")
    assert cyxla_version() == "cyxla 1.2"


def test_the_version_of_cyxla_is_unknown_where_it_is_not_installed(monkeypatch):
    def version(name):
        raise cyxla.program.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(cyxla.program.importlib.metadata, "version", version)
    assert cyxla_version() == "unknown"
