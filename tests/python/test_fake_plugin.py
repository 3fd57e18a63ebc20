"""What Python shows of plugins that are broken, older, newer or different: with the fake plugin.

The fake plugin (tests/fake_plugin) is compiled here; its faults are chosen by environment variables
that the head of fake_plugin.c lists.  Each case runs in a process of its own.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "fake_plugin"


def compile_library(target: Path, *sources: Path) -> Path:
    compiler = os.environ.get("CC", "cc").split()
    assert shutil.which(compiler[0]), f"there is no C compiler {compiler[0]}"
    flags = ["-std=c11", "-O1", "-shared", "-fPIC", "-D_POSIX_C_SOURCE=200809L"]
    include = [f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}"]
    command = [*compiler, *flags, *include, *map(str, sources), "-o", str(target)]
    subprocess.run(command, check=True)
    return target


@pytest.fixture(scope="session")
def fake_plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("fake") / "libfake_plugin.so"
    return compile_library(target, *sorted(SOURCES.glob("fake_*.c")))


@pytest.fixture(scope="session")
def not_a_plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("fake") / "libnot_a_plugin.so"
    return compile_library(target, SOURCES / "not_a_plugin.c")


# Loads the plugin, compiles and runs "2 x" for float32[3], and prints the results, or the error
# with what raised it.
PRELUDE = """
import sys
from pathlib import Path
import numpy as np
import cyxla
from cyxla import ArrayType, ElementType, Program

HEADER = b"ML\\xefR\\x0dStableHLO_v0.9.0\\0"

def program(text=b"in f32[3]\\nout f32[3] = in 0 * 2", shape=(3,), platform="cpu"):
    arrays = [(ArrayType(name, ElementType.float32, shape),) for name in ("x", "result")]
    return Program(HEADER + text, "twice", platform, *arrays, (), None, cyxla.__version__)

def show(step, action):
    try:
        print(step, action())
    except cyxla.StatusError as error:
        print(step, error.status, error)
        sys.exit(0)

def initialize(platform="cpu", **options):
    return cyxla.initialize(Path(sys.argv[1]), platform=platform, options=options)
"""

RUN_ALL = (
    PRELUDE
    + """
show("initialized", lambda: initialize().platform)
executable = None
def compile_it():
    global executable
    executable, statistics = cyxla.compile_program(program())
    return executable.name
show("compiled", compile_it)
for _ in range(2):
    show("ran", lambda: executable.run([np.array([1, 2, 3], np.float32)])[0].tolist())
executable.close()
"""
)


@pytest.fixture
def run_fake(run_python, fake_plugin):
    """Runs code with the fake plugin, whose settings are given without FAKE_PJRT_; its lines."""

    def run(code=RUN_ALL, **settings):
        environment = {f"FAKE_PJRT_{name}": value for name, value in settings.items()}
        return run_python(code, fake_plugin, env=environment).splitlines()

    return run


RIGHT = ["initialized cpu", "compiled twice", *2 * ["ran [2.0, 4.0, 6.0]"]]


def test_runs(run_fake):
    assert run_fake() == RIGHT


# ---- what is no plugin ----


@pytest.mark.parametrize(
    ("name", "status", "part"),
    [
        ("missing.so", "PLUGIN_NOT_LOADED", "No such file"),
        ("text.so", "PLUGIN_NOT_LOADED", "text.so"),
    ],
)
def test_files_that_are_no_library(run_python, tmp_path, name, status, part):
    (tmp_path / "text.so").write_text("no library")
    (line,) = run_python(RUN_ALL, tmp_path / name).splitlines()
    assert line.startswith(f"initialized {status} ")
    assert name in line and part in line


def test_library_without_entry_point(run_python, not_a_plugin):
    (line,) = run_python(RUN_ALL, not_a_plugin).splitlines()
    assert line.startswith("initialized PLUGIN_INVALID ")
    assert "GetPjrtApi" in line and not_a_plugin.name in line


@pytest.mark.parametrize(
    ("settings", "status", "part"),
    [
        ({"API": "null"}, "PLUGIN_INVALID", "GetPjrtApi returned no table"),
        ({"MAJOR": "1"}, "PLUGIN_INVALID", "PJRT 1.115"),
        ({"TABLE_SIZE": "24"}, "PLUGIN_INVALID", "too small"),
        ({"PLATFORM": "tpu"}, "PLUGIN_INVALID", '"tpu"'),
        ({"DEVICES": "0"}, "UNAVAILABLE", "no device"),
        ({"NULL": "PJRT_Client_Compile"}, "PLUGIN_INVALID", "PJRT_Client_Compile"),
        ({"NULL": "PJRT_Error_Destroy"}, "PLUGIN_INVALID", "PJRT_Error_Destroy"),
        ({"TABLE_END": "PJRT_Buffer_ToHostBuffer"}, "PLUGIN_INVALID", "PJRT_Buffer_ToHostBuffer"),
    ],
    ids=str,
)
def test_plugins_that_are_refused(run_fake, settings, status, part):
    (line,) = run_fake(**settings)
    assert line.startswith(f"initialized {status} ")
    assert part in line


# ---- faults ----


@pytest.mark.parametrize(
    ("function", "step"),
    [
        ("PJRT_Plugin_Initialize", "initialized"),
        ("PJRT_Client_Create", "initialized"),
        ("PJRT_Client_PlatformName", "initialized"),
        ("PJRT_Client_AddressableDevices", "initialized"),
        ("PJRT_Client_Compile", "compiled"),
        ("PJRT_LoadedExecutable_GetExecutable", "compiled"),
        ("PJRT_Executable_NumOutputs", "compiled"),
        ("PJRT_LoadedExecutable_Execute", "ran"),
    ],
)
def test_errors_of_functions(run_fake, function, step):
    line = run_fake(FAIL=f"{function}:14:the machine is tired")[-1]
    program = "" if step == "initialized" else "twice: "
    assert line == f"{step} UNAVAILABLE {program}{function}: the machine is tired"


@pytest.mark.parametrize(
    ("function", "step"),
    [
        ("PJRT_Client_BufferFromHostBuffer", "ran"),
        ("PJRT_Buffer_ToHostBuffer", "ran"),
        ("event.read", "ran"),
        ("event.execute", "ran"),
    ],
)
def test_errors_on_a_device(run_fake, function, step):
    line = run_fake(
        FAIL=f"{function}:13:the device is tired", MEMORY="device", ASYNC="always", MINOR="81"
    )[-1]
    reporter = "PJRT_Event_Await" if function.startswith("event") else function
    assert line == f"{step} INTERNAL twice: {reporter}: the device is tired"


def test_second_call_fails(run_fake):
    lines = run_fake(FAIL="PJRT_LoadedExecutable_Execute:8:2:no more memory")
    assert lines == [
        *RIGHT[:3],
        "ran RESOURCE_EXHAUSTED twice: PJRT_LoadedExecutable_Execute: no more memory",
    ]


def test_error_is_counted_and_forgotten(run_fake):
    code = (
        PRELUDE
        + """
initialize()
executable, _ = cyxla.compile_program(program())
for expected in ("error", "result", "error", "result"):
    try:
        executable.run([np.ones(3, np.float32)])
        assert expected == "result"
    except cyxla.StatusError as error:
        assert expected == "error" and error.status == "ABORTED" and error.code == 10
print("done")
"""
    )
    rule = "PJRT_LoadedExecutable_Execute:10:{}"
    assert run_fake(code, FAIL=";".join(rule.format(n) for n in (1, 3))) == ["done"]


def test_failed_initialization_can_be_repeated(run_fake):
    code = (
        PRELUDE
        + """
import os
try:
    initialize()
except cyxla.StatusError as error:
    print(error.status)
del os.environ["FAKE_PJRT_FAIL"]
print(initialize().platform)
executable, _ = cyxla.compile_program(program())
print(executable.run([np.ones(3, np.float32)])[0].tolist())
"""
    )
    lines = run_fake(code, FAIL="PJRT_Client_PlatformName:13")
    assert lines == ["INTERNAL", "cpu", "[2.0, 2.0, 2.0]"]


# ---- other versions and platforms ----


@pytest.mark.parametrize(
    "settings",
    [
        {"MINOR": "1", "TABLE_END": "PJRT_Executable_OutputElementTypes"},
        {"MINOR": "900", "EXTRA_TABLE": "1000", "EXTRA_ARGS": "64"},
        {"NULL": "PJRT_Plugin_Attributes,PJRT_Client_PlatformVersion"},
        {"NULL": "PJRT_Executable_Serialize,PJRT_Executable_DeserializeAndLoad"},
        {"NULL": "PJRT_Executable_OutputDimensions,PJRT_Executable_GetCompiledMemoryStats"},
        {"NULL": "PJRT_Buffer_OpaqueDeviceMemoryDataPointer"},
        {"MEMORY": "device"},
        {"MEMORY": "device", "ASYNC": "always", "MINOR": "81"},
        {"ASYNC": "obeys"},
        {"ASYNC": "obeys", "OPTIONS": "none"},
        {"OPTIONS": "none"},
        {"OPTIONS": "any"},
    ],
    ids=str,
)
def test_plugins_that_are_fine(run_fake, settings):
    assert run_fake(**settings) == RIGHT


def test_missing_function_is_named_where_it_is_used(run_fake):
    code = (
        PRELUDE
        + """
initialize()
executable, _ = cyxla.compile_program(program())
show("serialized", executable.serialize)
"""
    )
    (line,) = run_fake(code, NULL="PJRT_Executable_Serialize")
    assert line.startswith("serialized UNIMPLEMENTED ")
    assert "PJRT_Executable_Serialize" in line and "0.115" in line


INFO = PRELUDE + "info = initialize(platform=None)\nprint(info.{})\n"


@pytest.mark.parametrize(
    ("settings", "field", "text"),
    [
        ({}, "stablehlo_version", "(1, 20, 0)"),
        ({"STABLEHLO_CURRENT": "7.8.9"}, "stablehlo_version", "(7, 8, 9)"),
        ({"STABLEHLO_CURRENT": ""}, "stablehlo_version", "None"),
        ({"ATTRIBUTES": "none"}, "stablehlo_version", "None"),
        ({"ATTRIBUTES": "odd"}, "stablehlo_version", "None"),
        ({"NULL": "PJRT_Plugin_Attributes"}, "stablehlo_version", "None"),
        ({}, "xla_version", "2"),
        ({"ATTRIBUTES": "none"}, "xla_version", "0"),
        ({"MINOR": "33"}, "pjrt_version", "(0, 33)"),
        ({"PLATFORM": "quantum"}, "platform", "quantum"),
        ({}, "platform_version", "fake 1.0"),
        ({"DEVICES": "3"}, "device_count", "3"),
        ({}, "reads_in_place", "True"),
        ({"MEMORY": "device"}, "reads_in_place", "False"),
    ],
    ids=str,
)
def test_info(run_fake, settings, field, text):
    assert run_fake(INFO.format(field), **settings) == [text]


@pytest.mark.parametrize("value", ["1", "[1, 2]"])
def test_unknown_create_option_is_named(run_fake, value):
    code = PRELUDE + f"show('initialized', lambda: initialize(no_such_option={value}))"
    (line,) = run_fake(code)
    assert line.startswith("initialized INVALID_ARGUMENT ") and "no_such_option" in line


# ---- StableHLO versions ----

LOWERED = (
    PRELUDE
    + """
import jax, jax.numpy as jnp
lowered = cyxla.lower(jnp.sin, [jax.ShapeDtypeStruct((3,), jnp.float32)])
print(".".join(map(str, lowered.stablehlo_version)))
initialize()
show("compiled", lambda: cyxla.compile_program(lowered))
"""
)


def version_that_arrived(lines):
    """The fake plugin can't compile StableHLO, but says of which version it was."""
    written, line = lines
    assert line.startswith("compiled INVALID_ARGUMENT sin: PJRT_Client_Compile: "), line
    text = line.partition("StableHLO_v")[2].partition(" ")[0]
    return tuple(map(int, written.split("."))), tuple(map(int, text.split(".")))


def test_new_plugin_gets_what_was_lowered(run_fake):
    written, arrived = version_that_arrived(run_fake(LOWERED, STABLEHLO_CURRENT="1.99.0"))
    assert arrived == written


@pytest.mark.parametrize("version", ["1.10.0", "1.1.0"])
def test_old_plugin_gets_an_old_version(run_fake, version):
    _, arrived = version_that_arrived(run_fake(LOWERED, STABLEHLO_CURRENT=version))
    assert arrived == tuple(map(int, version.split(".")))


@pytest.mark.parametrize(
    "settings", [{"ATTRIBUTES": "none"}, {"NULL": "PJRT_Plugin_Attributes"}], ids=str
)
def test_plugin_without_attributes_gets_a_conservative_version(run_fake, settings):
    written, arrived = version_that_arrived(run_fake(LOWERED, **settings))
    assert arrived < written
