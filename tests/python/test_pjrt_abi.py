"""Our declarations of the PJRT C API against the header that the package xla-cpu-pjrt ships.

Every struct, member, enumerator, table slot and macro of src/pjrt/pjrt_abi.h is found by a small
parser, which refuses what it can't read, so that nothing can be added without being compared.  One
C program that prints sizes, offsets and numbers is compiled twice, with either header.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

OUR_HEADER = Path(__file__).parents[2] / "src" / "pjrt" / "pjrt_abi.h"


def reference_header() -> Path:
    spec = importlib.util.find_spec("xla_plugins.xla_cpu_pjrt")
    assert spec is not None and spec.origin is not None, "the package xla-cpu-pjrt is not installed"
    return Path(spec.origin).parent / "include" / "pjrt_c_api.h"


def c_compiler() -> list[str]:
    command = os.environ.get("CC", "cc").split()
    assert shutil.which(command[0]), f"there is no C compiler {command[0]}"
    return command


# ---- what our header declares ----

IDENTIFIER = r"[A-Za-z_]\w*"
TYPE = rf"(?:const )?(?:struct )?{IDENTIFIER}"
FUNCTION_POINTER = re.compile(rf"[\w ]+?\(\*({IDENTIFIER})\)\s*\([^()]*\)")
MEMBER = re.compile(rf"{TYPE}[\s*]+(?:(?:const)?[\s*]*)*({IDENTIFIER})")
ENUMERATOR = re.compile(rf"({IDENTIFIER}) = (-?\d+)")
SLOT = re.compile(rf"PJRT_SLOT\(({IDENTIFIER})\)")
UNUSED_SLOTS = re.compile(rf"PJRT_UNUSED_SLOTS\(({IDENTIFIER}), (\d+)\)")
OPAQUE = re.compile(rf"typedef struct ({IDENTIFIER}) ({IDENTIFIER})\s*")
NUMBER_MACRO = re.compile(r"#define (PJRT_\w+) (-?\d+)")
HELPER_MACROS = ("CYXLA_PJRT_ABI_H", "PJRT_SLOT", "PJRT_UNUSED_SLOTS")


def split_members(body: str) -> list[str]:
    """The declarations in the body of a struct; those of an anonymous union are its members too."""
    body = re.sub(r"union \{([^{}]*)\};", r"\1", body)
    assert "{" not in body and "}" not in body, f"a nested type that is not understood: {body}"
    return [" ".join(part.split()) for part in body.split(";") if part.strip()]


def member_lines(struct: str, body: str) -> list[str]:
    lines = []
    for declaration in split_members(body):
        unused = UNUSED_SLOTS.fullmatch(declaration)
        if unused:
            first, count = unused.groups()
            lines.append(f"SLOT_RUN({struct}, {first}, {count})")
            continue
        match = (
            SLOT.fullmatch(declaration)
            or FUNCTION_POINTER.fullmatch(declaration)
            or MEMBER.fullmatch(declaration)
        )
        assert match, f"{struct}: a member that is not understood: {declaration}"
        lines.append(f"MEMBER({struct}, {match[1]})")
    assert lines, f"{struct} has no members"
    return lines


def enumerator_lines(body: str) -> list[str]:
    lines = []
    for declaration in body.split(","):
        declaration = " ".join(declaration.split())
        if not declaration:
            continue
        match = ENUMERATOR.fullmatch(declaration)
        assert match, f"an enumerator that is not understood: {declaration}"
        lines.append(f"NUMBER({match[1]})")
    return lines


def claims(header: str) -> list[str]:
    """Lines of a C program that print all that `header` states, and nothing else may be in it."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.DOTALL)
    assert "//" not in text
    lines = []
    rest = []
    for line in text.splitlines():
        if not line.startswith("#"):
            rest.append(line)
            continue
        macro = NUMBER_MACRO.fullmatch(line.strip())
        if macro:
            lines.append(f"NUMBER({macro[1]})")
            continue
        helper = re.match(r"#define (\w+)", line)
        assert re.match(r"#(include <\w+\.h>|ifndef CYXLA_PJRT_ABI_H|endif)", line) or (
            helper and helper[1] in HELPER_MACROS
        ), f"a line that is not understood: {line}"
    text = "\n".join(rest)

    structs = re.compile(rf"typedef struct ({IDENTIFIER}) \{{(.*?)\n\}} ({IDENTIFIER});", re.DOTALL)
    for tag, body, name in structs.findall(text):
        assert tag == name
        lines += [f"SIZE({name})", *member_lines(name, body)]
    text = structs.sub("", text)

    enums = re.compile(rf"typedef enum \{{([^{{}}]*)\}} ({IDENTIFIER});", re.DOTALL)
    for body, name in enums.findall(text):
        lines += [f"SIZE({name})", *enumerator_lines(body)]
    text = enums.sub("", text)

    for declaration in text.split(";"):
        declaration = " ".join(declaration.split())
        if declaration:
            match = OPAQUE.fullmatch(declaration)
            assert match and match[1] == match[2], f"not understood: {declaration}"
            lines.append(f"OPAQUE({match[1]})")
    return lines


# ---- the two programs ----

# A run of slots is one array in our header, and separate members in the reference: there, the end
# of the run is where the slot stands that we declare next, whose offset is compared by itself.
PROGRAM = """
#include <stddef.h>
#include <stdio.h>
#include "{header}"
#define SIZE(type) printf(#type " is %zu\\n", sizeof(type));
#define MEMBER(type, name) \\
  printf(#type "." #name " at %zu, %zu bytes\\n", offsetof(type, name), sizeof(((type *)0)->name));
#define SLOT_RUN(type, first, count) printf(#type "." #first " at %zu\\n", offsetof(type, first));
#define NUMBER(name) printf(#name " = %lld\\n", (long long)(name));
#define OPAQUE(type) printf(#type " %d\\n", (type *)0 == NULL);
int main(void) {{
{claims}
  return 0;
}}
"""


def printed_by(header: Path, lines: list[str], directory: Path) -> list[str]:
    source = directory / "program.c"
    source.write_text(PROGRAM.format(header=header, claims="\n".join("  " + s for s in lines)))
    program = directory / "program"
    subprocess.run(
        [*c_compiler(), "-std=gnu11", "-w", str(source), "-o", str(program)],
        check=True,
        capture_output=True,
        text=True,
    )
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


# The table and structs that have grown since are longer in either header than in the other: a
# plugin is told the size, and so only what we declare has to agree.
GROWING_STRUCTS = ("PJRT_Api",)


def differences(our_header: Path, directory: Path) -> list[str]:
    lines = claims(our_header.read_text())
    lines = [line for line in lines if line not in [f"SIZE({s})" for s in GROWING_STRUCTS]]
    ours, theirs = directory / "ours", directory / "theirs"
    ours.mkdir(exist_ok=True)
    theirs.mkdir(exist_ok=True)
    found = printed_by(our_header, lines, ours)
    expected = printed_by(reference_header(), lines, theirs)
    assert len(found) == len(expected) == len(lines)
    return [f"{f} (should be: {e})" for f, e in zip(found, expected, strict=True) if f != e]


def test_everything_agrees(tmp_path: Path) -> None:
    assert differences(OUR_HEADER, tmp_path) == []


def test_much_is_compared() -> None:
    lines = claims(OUR_HEADER.read_text())
    kinds = {kind: sum(line.startswith(kind + "(") for line in lines) for kind in
             ("SIZE", "MEMBER", "SLOT_RUN", "NUMBER", "OPAQUE")}  # fmt: skip
    assert kinds["SIZE"] >= 35
    assert kinds["MEMBER"] >= 180
    assert kinds["SLOT_RUN"] >= 15
    assert kinds["NUMBER"] >= 40
    assert kinds["OPAQUE"] >= 10
    assert "MEMBER(PJRT_NamedValue, float_value)" in lines
    assert "MEMBER(PJRT_Api, PJRT_Error_Destroy)" in lines
    assert "MEMBER(PJRT_LoadedExecutable_Execute_Args, output_lists)" in lines


# ---- tests of the test ----

MUTATIONS = {
    "a member is missing": (
        "  PJRT_Extension_Base *extension_start;\n  PJRT_Error *error;",
        "  PJRT_Error *error;",
    ),
    "two members are swapped": (
        "const void *data;\n  PJRT_Buffer_Type type;",
        "PJRT_Buffer_Type type;\n  const void *data;",
    ),
    "a member is narrower": ("  size_t num_options;", "  char num_options;"),
    "a run of slots is shorter": (
        "PJRT_UNUSED_SLOTS(PJRT_DeviceDescription_Id, 17)",
        "PJRT_UNUSED_SLOTS(PJRT_DeviceDescription_Id, 16)",
    ),
    "a run of slots starts elsewhere": (
        "PJRT_UNUSED_SLOTS(PJRT_Event_IsReady, 2)",
        "PJRT_UNUSED_SLOTS(PJRT_Event_Error, 2)",
    ),
    "two slots are swapped": (
        "PJRT_SLOT(PJRT_Plugin_Initialize);\n  PJRT_SLOT(PJRT_Plugin_Attributes);",
        "PJRT_SLOT(PJRT_Plugin_Attributes);\n  PJRT_SLOT(PJRT_Plugin_Initialize);",
    ),
    "a number is another": ("PJRT_Buffer_Type_BF16 = 13", "PJRT_Buffer_Type_BF16 = 16"),
    "an argument struct has grown": (
        "  int64_t peak_memory_in_bytes;",
        "  int64_t peak_memory_in_bytes;\n  int64_t total_size_in_bytes;",
    ),
    "the major version is another": ("#define PJRT_API_MAJOR 0", "#define PJRT_API_MAJOR 1"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mistakes_are_found(name: str, tmp_path: Path) -> None:
    old, new = MUTATIONS[name]
    text = OUR_HEADER.read_text()
    assert old in text, "the header has changed: choose another text to alter"
    altered = tmp_path / "pjrt_abi.h"
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
        "typedef struct PJRT_New { size_t struct_size; } PJRT_New;",
        "typedef struct PJRT_New {\n  size_t values[3];\n} PJRT_New;",
        "typedef enum { PJRT_New_A, PJRT_New_B } PJRT_New;",
        "#define PJRT_NEW(x) (x)",
        "static inline int f(void) { return 1; }",
        "extern int pjrt_variable;",
        "typedef int PJRT_New;",
    ],
)
def test_nothing_is_overlooked(addition: str) -> None:
    text = OUR_HEADER.read_text()
    end = text.rindex("#endif")
    with pytest.raises(AssertionError):
        claims(text[:end] + addition + "\n" + text[end:])


def test_additions_are_compared() -> None:
    text = OUR_HEADER.read_text()
    end = text.rindex("#endif")
    members = "  size_t struct_size;\n  const int64_t *const *lists;"
    added = f"typedef struct PJRT_New {{\n{members}\n}} PJRT_New;\n"
    lines = claims(text[:end] + added + text[end:])
    assert {"SIZE(PJRT_New)", "MEMBER(PJRT_New, struct_size)", "MEMBER(PJRT_New, lists)"} <= {
        *lines
    }
