"""Our declarations of the XLA FFI C API against the header that jaxlib ships.

Every struct, member, enumerator and table slot of src/ffi/xla_ffi_abi.h is compared, by the parser
and the program of test_pjrt_abi.py.
"""

import re
import subprocess
from pathlib import Path

import jax
import pytest
import test_pjrt_abi as abi

OUR_HEADER = Path(__file__).parents[2] / "src" / "ffi" / "xla_ffi_abi.h"
REFERENCE = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"

#: The newest version that our header has.
OUR_MINOR = 5

#: The version from which on things are called as in our header.
NAMED_MINOR = 4

#: What minor 3 calls otherwise.
RENAMED = {
    "XLA_FFI_InternalExtension": "XLA_FFI_Extension_Base",
    "XLA_FFI_InternalExtension_Type": "XLA_FFI_Extension_Type",
    "XLA_FFI_InvokeContext": "XLA_FFI_ExecutionContext",
    "XLA_FFI_InvokeContext_Get": "XLA_FFI_ExecutionContext_Get",
    "XLA_FFI_Error_GetDetails": "XLA_FFI_Error_GetMessage",
    "XLA_FFI_Error_GetDetails_Args": "XLA_FFI_Error_GetMessage_Args",
}

#: What minor 3 has not, or has elsewhere: the code of an error, and the stage `record`, in whose
#: place are the traits.
NEW_IN_MINOR_4 = {
    "SIZE(XLA_FFI_Error_GetDetails_Args)",
    "MEMBER(XLA_FFI_Error_GetDetails_Args, errc)",
    "SIZE(XLA_FFI_Handler_Bundle)",
    "MEMBER(XLA_FFI_Handler_Bundle, record)",
    "SIZE(XLA_FFI_Handler_Register_Args)",
    "MEMBER(XLA_FFI_Handler_Register_Args, bundle)",
    "MEMBER(XLA_FFI_Handler_Register_Args, traits)",
    "MEMBER(XLA_FFI_Api, XLA_FFI_InvokeContext_FindExtension)",
}
NEW_STRUCT_IN_MINOR_4 = "XLA_FFI_InvokeContext_FindExtension_Args"

#: What minor 4 has not.
NEW_IN_MINOR_5 = {"MEMBER(XLA_FFI_Api, XLA_FFI_CustomOptions_Get)"}
NEW_STRUCT_IN_MINOR_5 = "XLA_FFI_CustomOptions_Get_Args"

#: The table has another slot in each minor version; a plugin tells its size.
GROWING = {"SIZE(XLA_FFI_Api)"}

HANDLER = "typedef XLA_FFI_Error *XLA_FFI_Handler(XLA_FFI_CallFrame *call_frame);"


def reference_minor() -> int:
    (minor,) = re.findall(r"^#define XLA_FFI_API_MINOR (\d+)$", REFERENCE.read_text(), re.MULTILINE)
    return int(minor)


def claims(header: str) -> list[str]:
    """What our header states; written as the parser of the other header knows it."""
    assert HANDLER in header
    text = header.replace(HANDLER, "")
    text = text.replace("CYXLA_XLA_FFI_ABI_H", "CYXLA_PJRT_ABI_H")
    text = text.replace("XLA_FFI_SLOT(", "PJRT_SLOT(")
    text = text.replace("XLA_FFI_OTHER_SLOTS(", "PJRT_UNUSED_SLOTS(")
    text = re.sub(r"^struct (\w+) \{(.*?)\n\};", r"typedef struct \1 {\2\n} \1;", text,
                  flags=re.DOTALL | re.MULTILINE)  # fmt: skip
    return abi.claims(text)


def reference(directory: Path) -> Path:
    """The header of jaxlib, with our names for what it calls otherwise."""
    if reference_minor() >= NAMED_MINOR:
        return REFERENCE
    header = directory / "renamed.h"
    lines = [f'#include "{REFERENCE}"']
    lines += [f"#define {ours} {theirs}" for ours, theirs in RENAMED.items()]
    header.write_text("\n".join(lines) + "\n")
    return header


def is_newer_than(minor: int, claim: str) -> bool:
    """Whether a header of version 0.`minor` can't have what the line claims."""
    is_of_4 = claim in NEW_IN_MINOR_4 or f"({NEW_STRUCT_IN_MINOR_4}" in claim
    is_of_5 = claim in NEW_IN_MINOR_5 or f"({NEW_STRUCT_IN_MINOR_5}" in claim
    return (minor < 4 and is_of_4) or (minor < 5 and is_of_5)


def differences(our_header: Path, directory: Path) -> list[str]:
    minor = reference_minor()
    left_out = set() if minor == OUR_MINOR else GROWING
    lines = [
        line
        for line in claims(our_header.read_text())
        if line not in left_out and not is_newer_than(minor, line)
    ]
    ours, theirs = directory / "ours", directory / "theirs"
    ours.mkdir(exist_ok=True)
    theirs.mkdir(exist_ok=True)
    found = abi.printed_by(our_header, lines, ours)
    expected = abi.printed_by(reference(directory), lines, theirs)
    assert len(found) == len(expected) == len(lines)
    return [f"{f} (should be: {e})" for f, e in zip(found, expected, strict=True) if f != e]


def test_everything_agrees(tmp_path: Path) -> None:
    assert differences(OUR_HEADER, tmp_path) == []


def test_much_is_compared() -> None:
    lines = claims(OUR_HEADER.read_text())
    counts = [sum(line.startswith(kind + "(") for line in lines) for kind in
              ("SIZE", "MEMBER", "SLOT_RUN", "NUMBER", "OPAQUE")]  # fmt: skip
    assert min(counts) > 0
    assert counts[0] >= 35 and counts[1] >= 150 and counts[2] == 3 and counts[3] >= 25
    assert {*lines} >= NEW_IN_MINOR_4 | NEW_IN_MINOR_5 | GROWING
    assert {f"SIZE({NEW_STRUCT_IN_MINOR_4})", f"SIZE({NEW_STRUCT_IN_MINOR_5})"} <= {*lines}
    assert sum(is_newer_than(4, line) for line in lines) < 8
    assert "MEMBER(XLA_FFI_CallFrame, attrs)" in lines
    assert "MEMBER(XLA_FFI_Api, XLA_FFI_State_Get)" in lines
    assert "NUMBER(XLA_FFI_ExecutionStage_EXECUTE)" in lines


def test_a_handler_has_the_type_of_ours(tmp_path: Path) -> None:
    code = f"""
        #include "{reference(tmp_path)}"
        XLA_FFI_Error *(*handler)(XLA_FFI_CallFrame *) = (XLA_FFI_Handler *)0;
    """
    source = tmp_path / "handler.c"
    source.write_text(code)
    options = ["-std=gnu11", "-Werror", "-fsyntax-only"]
    subprocess.run([*abi.c_compiler(), *options, str(source)], check=True)


MUTATIONS = {
    "a member is missing": ("  XLA_FFI_InvokeContext *ctx;\n  XLA_FFI_ExecutionStage stage;\n  X",
                            "  XLA_FFI_ExecutionStage stage;\n  X"),
    "two members are swapped": ("  int *types;\n  void **args;", "  void **args;\n  int *types;"),
    "a member is narrower": ("  int64_t type_id;", "  int type_id;"),
    "two slots are swapped": (
        "XLA_FFI_SLOT(XLA_FFI_State_Set);\n  XLA_FFI_SLOT(XLA_FFI_State_Get);",
        "XLA_FFI_SLOT(XLA_FFI_State_Get);\n  XLA_FFI_SLOT(XLA_FFI_State_Set);",
    ),
    "a run of slots is longer": (
        "XLA_FFI_OTHER_SLOTS(XLA_FFI_Stream_Get, 1)",
        "XLA_FFI_OTHER_SLOTS(XLA_FFI_Stream_Get, 2)",
    ),
    "a number is another": ("ExecutionStage_INITIALIZE = 2", "ExecutionStage_INITIALIZE = 4"),
    "a struct has grown": ("  void **rets;\n", "  void **rets;\n  size_t more;\n"),
    "an error code is another": ("RESOURCE_EXHAUSTED = 8", "RESOURCE_EXHAUSTED = 9"),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_mistakes_are_found(name: str, tmp_path: Path) -> None:
    old, new = MUTATIONS[name]
    text = OUR_HEADER.read_text()
    assert old in text, "the header has changed: choose another text to alter"
    altered = tmp_path / "xla_ffi_abi.h"
    altered.write_text(text.replace(old, new, 1))
    try:
        found = differences(altered, tmp_path)
    except subprocess.CalledProcessError as error:
        # The reference has no such member: its program does not compile.
        assert "error" in error.stderr
    else:
        assert found


@pytest.mark.parametrize(
    "addition",
    [
        "typedef struct XLA_FFI_New { size_t struct_size; } XLA_FFI_New;",
        "struct XLA_FFI_New {\n  size_t values[3];\n};",
        "typedef enum { XLA_FFI_New_A, XLA_FFI_New_B } XLA_FFI_New;",
        "#define XLA_FFI_NEW(x) (x)",
        "static inline int f(void) { return 1; }",
        "typedef int XLA_FFI_New;",
        "typedef int XLA_FFI_New(XLA_FFI_CallFrame *call_frame);",
    ],
)
def test_nothing_is_overlooked(addition: str) -> None:
    text = OUR_HEADER.read_text()
    end = text.rindex("#endif")
    with pytest.raises(AssertionError):
        claims(text[:end] + addition + "\n" + text[end:])
