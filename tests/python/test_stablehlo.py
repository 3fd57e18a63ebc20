"""Programs from StableHLO that any producer wrote, and their rewriting for older versions."""

import io

import jax
import jax.export
import jax.extend.mlir
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.mlir import dialects, ir
from jax.interpreters.mlir import make_ir_context

from cyxla import stablehlo
from cyxla.errors import ArgumentError, ArgumentTypeError, UnsupportedError, VersionError
from cyxla.program import artifact_version
from cyxla.stablehlo import current_version, from_stablehlo, retarget, target_version

VECTOR = jax.ShapeDtypeStruct((8,), np.float32)

ADD = """
module @sum {
  func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.add %a, %b : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
"""


def identity(type_="tensor<8xf32>", argument="", result="", module=""):
    """The text of a module whose main returns its argument."""
    return (
        f"module attributes {{{module}}} {{ func.func @main(%a: {type_} {{{argument}}}) -> "
        f"({type_} {{{result}}}) {{ return %a : {type_} }} }}"
    )


def special_functions(x):
    """Functions that JAX writes in the dialect CHLO, not in StableHLO."""
    return (
        jax.scipy.special.erf(x),
        jnp.arccos(x),
        jax.lax.lgamma(x),
        jax.scipy.special.erfinv(x),
        jnp.sinh(x),
        jax.lax.top_k(x, 3),
    )


def signature(program):
    return [str(each) for each in (*program.inputs, *program.outputs)]


def artifact(function, *shapes):
    return jax.export.export(jax.jit(function), platforms=["cpu"])(*shapes).mlir_module_serialized


def bytecode(text):
    with make_ir_context():
        file = io.BytesIO()
        ir.Module.parse(text).operation.write_bytecode(file)
    return file.getvalue()


def text_of(program):
    """The text of a program's module."""
    with make_ir_context() as context:
        return str(dialects.stablehlo.deserialize_portable_artifact(context, program.stablehlo))


# Sources


def test_text_becomes_a_portable_artifact():
    program = from_stablehlo(ADD)
    assert signature(program) == [
        "arg0: float32[2,3]",
        "arg1: float32[2,3]",
        "result[0]: float32[2,3]",
    ]
    assert (program.name, program.platform) == ("sum", "cpu")
    assert program.jax_version is None
    assert artifact_version(program.stablehlo) == program.stablehlo_version <= current_version()


def test_text_bytecode_artifact_and_file_are_the_same(tmp_path):
    program = from_stablehlo(ADD)
    file = tmp_path / "sum.mlir"
    file.write_text(ADD)
    for source in (ADD.encode(), bytecode(ADD), program.stablehlo, file):
        other = from_stablehlo(source)
        assert signature(other) == signature(program)
        assert other.stablehlo_version == program.stablehlo_version


def test_name_and_platform_can_be_given():
    program = from_stablehlo(ADD, platform="cuda", name="add")
    assert (program.name, program.platform) == ("add", "cuda")


def test_a_module_without_name_is_called_main():
    assert from_stablehlo(identity()).name == "main"


def test_an_artifact_of_jax_export_stays_as_it_is():
    exported = artifact(lambda x, y: {"sum": x + y, "product": [x * y]}, VECTOR, VECTOR)
    program = from_stablehlo(exported)
    assert program.stablehlo == exported
    assert signature(program) == [
        "x: float32[8]",
        "y: float32[8]",
        "result['product'][0]: float32[8]",
        "result['sum']: float32[8]",
    ]


def test_chlo_in_text_is_made_portable():
    text = jax.jit(special_functions).lower(VECTOR).as_text()
    assert "chlo." in text
    program = from_stablehlo(text)
    assert len(program.outputs) == 7
    operations = [line for line in text_of(program).splitlines() if " = chlo." in line]
    assert operations == []


def test_chlo_becomes_what_jax_export_makes_of_it():
    ours = text_of(from_stablehlo(jax.jit(special_functions).lower(VECTOR).as_text()))
    theirs = text_of(from_stablehlo(artifact(special_functions, VECTOR)))
    assert ours.count("stablehlo.composite") == theirs.count("stablehlo.composite") > 0


def test_custom_call_targets_are_listed():
    program = from_stablehlo(
        artifact(lambda a: (jnp.linalg.cholesky(a), jnp.linalg.eigh(a)), np.eye(3, dtype="f4"))
    )
    assert program.custom_calls == ("lapack_spotrf_ffi", "lapack_ssyevd_ffi")


def test_other_sources_are_refused():
    with pytest.raises(ArgumentTypeError, match="not list"):
        from_stablehlo([ADD])


# Names


def test_names_of_old_and_missing_result_information():
    assert signature(from_stablehlo(identity(result='jax.result_info = "[0][1]"')))[1:] == [
        "result[0][1]: float32[8]"
    ]
    assert signature(from_stablehlo(identity(result='jax.result_info = ""')))[1:] == [
        "result: float32[8]"
    ]


def test_names_from_locations_of_arguments():
    text = jax.jit(lambda params: params["w"]).lower({"w": VECTOR}).as_text(debug_info=True)
    assert signature(from_stablehlo(text))[0] == "params['w']: float32[8]"


def test_equal_names_are_replaced_by_numbers():
    text = ADD.replace("tensor<2x3xf32>, %b", 'tensor<2x3xf32> loc("x"), %b').replace(
        "tensor<2x3xf32>) ->", 'tensor<2x3xf32> loc("x")) ->'
    )
    assert [each.name for each in from_stablehlo(text).inputs] == ["arg0", "arg1"]


# Types


@pytest.mark.parametrize(
    ("mlir", "expected"),
    [
        ("tensor<i1>", "bool[]"),
        ("tensor<0x3xui8>", "uint8[0,3]"),
        ("tensor<1x2x3x4xbf16>", "bfloat16[1,2,3,4]"),
        ("tensor<2xcomplex<f64>>", "complex128[2]"),
    ],
)
def test_types_of_the_signature(mlir, expected):
    assert signature(from_stablehlo(identity(mlir)))[0] == f"arg0: {expected}"


@pytest.mark.parametrize(
    ("mlir", "message"),
    [
        ("tensor<?x3xf32>", "arg0 has a dynamic shape"),
        ("tensor<*xf32>", "arg0 has the type"),
        ("tuple<tensor<f32>>", "arg0 has the type tuple"),
        ("!stablehlo.token", "arg0 has the type !stablehlo.token"),
        ("tensor<2xf8E4M3FN>", "arg0: element type f8E4M3FN is not supported"),
        ("tensor<2xi4>", "arg0: element type i4 is not supported"),
        ("tensor<2xi24>", "i24"),
        ("tensor<2x!quant.uniform<i8:f32, 1.0>>", "quant"),
        ("tensor<?xf32, #stablehlo.bounds<3>>", "arg0 has a dynamic shape"),
        ('tensor<3xf32, "sparse">', "arg0 has the encoding"),
    ],
)
def test_other_types_are_refused(mlir, message):
    with pytest.raises((UnsupportedError, ArgumentError), match=message):
        from_stablehlo(identity(mlir))


def test_dynamic_shapes_inside_are_refused():
    text = """
    func.func @main(%n: tensor<1xi32>, %x: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = []
          : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
      return %x : tensor<f32>
    }"""
    with pytest.raises(UnsupportedError, match="dynamic shape inside: .*dynamic_broadcast"):
        from_stablehlo(text)


def test_an_export_with_symbolic_dimensions_is_refused():
    (shape,) = (jax.export.symbolic_shape("n"),)
    exported = artifact(jnp.sin, jax.ShapeDtypeStruct(shape, np.float32))
    with pytest.raises(UnsupportedError, match="has a dynamic shape"):
        from_stablehlo(exported)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("module {}", "none"),
        (ADD.replace("@main", "@other"), "other"),
        ("func.func private @main(tensor<f32>) -> tensor<f32>", "main"),
    ],
)
def test_a_module_without_main_is_refused(text, found):
    with pytest.raises(UnsupportedError, match=f"defines no function main; .*: {found}"):
        from_stablehlo(text)


# Donation, layouts, devices


@pytest.mark.parametrize(
    "attributes",
    [
        {"argument": "tf.aliasing_output = 0 : i32"},
        {"argument": "jax.buffer_donor = true"},
        {"module": "mhlo.input_output_alias = []"},
    ],
)
def test_donation_is_dropped(attributes):
    program = from_stablehlo(identity(**attributes))
    text = text_of(program)
    assert not any(word in text for word in ("alias", "donor"))
    assert text_of(from_stablehlo(program.stablehlo)) == text


def test_donation_is_dropped_and_other_attributes_stay():
    text = identity(argument='jax.buffer_donor = true, other.mark = "kept"')
    assert 'other.mark = "kept"' in text_of(from_stablehlo(text))


def test_donation_is_dropped_from_an_export_of_jax():
    donating = jax.export.export(jax.jit(jnp.sin, donate_argnums=0), platforms=["cpu"])(VECTOR)
    assert "tf.aliasing_output" in donating.mlir_module()
    program = from_stablehlo(donating.mlir_module_serialized)
    assert "tf.aliasing_output" not in text_of(program)
    assert program.stablehlo_version == artifact_version(donating.mlir_module_serialized)


def test_default_layouts_are_accepted():
    mode = 'mhlo.layout_mode = "default"'
    from_stablehlo(identity(argument=mode, result=mode))


@pytest.mark.parametrize(
    ("attributes", "where"),
    [
        ({"argument": 'mhlo.layout_mode = "{0,1}"'}, "arg0 has the layout {0,1}"),
        ({"result": 'mhlo.layout_mode = "auto"'}, r"result\[0\] has the layout auto"),
        ({"module": "mhlo.xla_entry_computation_result_layouts = []"}, "has its own layouts"),
    ],
)
def test_other_layouts_are_refused(attributes, where):
    with pytest.raises(UnsupportedError, match=where):
        from_stablehlo(identity(**attributes))


@pytest.mark.parametrize(
    "attributes",
    [
        {"argument": 'mhlo.sharding = "{replicated}"'},
        {"result": 'mhlo.sharding = "{devices=[1]<=[1]}"'},
        {"argument": 'mhlo.sharding = "{maximal device=0}"', "module": "mhlo.num_replicas = 1"},
    ],
)
def test_shardings_over_one_device_are_dropped(attributes):
    assert "sharding" not in text_of(from_stablehlo(identity(**attributes)))


SHARDED = """
module {{
  sdy.mesh @mesh = <["x"=1, "y"={size}]>
  func.func @main(%a: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}})
      -> tensor<8xf32> {{
    %0 = sdy.sharding_constraint %a <@mesh, [{{"x"}}]> : tensor<8xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {{mhlo.sharding = "{{replicated}}"}}
        : (tensor<8xf32>) -> tensor<8xf32>
    %2 = stablehlo.add %1, %1 {{mhlo.sharding = "{{replicated}}"}} : tensor<8xf32>
    return %2 : tensor<8xf32>
  }}
}}
"""


def test_sharding_operations_over_one_device_are_dropped():
    program = from_stablehlo(SHARDED.format(size=1))
    text = text_of(program)
    assert not any(word in text for word in ("sdy", "harding", "mesh"))
    assert "stablehlo.add" in text
    assert program.custom_calls == ()


@pytest.mark.parametrize(
    "text",
    [
        SHARDED.format(size=2),
        identity(module="mhlo.num_partitions = 2 : i32"),
        identity(module="mhlo.num_replicas = 4 : i32"),
        identity(argument='mhlo.sharding = "{devices=[1,2]<=[2]}"'),
    ],
)
def test_several_devices_are_refused(text):
    with pytest.raises(UnsupportedError, match="the program is for several devices"):
        from_stablehlo(text)


def test_operations_of_other_dialects_are_refused():
    text = """
    func.func @main(%a: tensor<f32>) -> tensor<f32> {
      %0 = math.sin %a : tensor<f32>
      return %0 : tensor<f32>
    }"""
    with pytest.raises(UnsupportedError, match="an operation not of StableHLO: .*math.sin"):
        from_stablehlo(text)


def test_a_module_that_cannot_be_made_portable_is_refused():
    # An attribute of another dialect, which StableHLO's portable form has no place for.
    text = """
    func.func @main(%a: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.add %a, %a {mark = #sdy.sharding<@mesh, []>} : tensor<f32>
      return %0 : tensor<f32>
    }"""
    with pytest.raises(UnsupportedError, match=r"(?s)isn't portable StableHLO: .*stablehlo\.add"):
        from_stablehlo(text)


# Ill-formed modules


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("no module", "custom op 'no' is unknown"),
        (ADD.replace("tensor<2x3xf32>\n    return", "tensor<2xf32>\n    return"), "expects diff"),
        (b"\xff\xfe", "can't decode byte"),
        (b"ML\xefR", "ill-formed StableHLO module"),
        (b"ML\xefRgarbage", "bytecode version"),
        ("", "defines no function main"),
    ],
)
def test_ill_formed_modules_are_refused_with_the_reason(module, message):
    with pytest.raises((ArgumentError, UnsupportedError), match=message):
        from_stablehlo(module)


def test_every_truncated_artifact_is_refused():
    whole = artifact(special_functions, VECTOR)
    for size in range(30, len(whole), len(whole) // 50):
        with pytest.raises(ArgumentError, match="ill-formed StableHLO module"):
            from_stablehlo(whole[:size])


def test_diagnostics_do_not_reach_stderr(capfd):
    with pytest.raises(ArgumentError):
        from_stablehlo(artifact(jnp.sin, VECTOR)[:200])
    assert capfd.readouterr().err == ""


def test_an_artifact_of_the_future_is_refused_by_version():
    # Ill-formed for this reader; MLIR reads what it understands, whatever the version says.
    future = artifact(jnp.sin, VECTOR).replace(b"StableHLO_v1", b"StableHLO_v9")[:-40]
    with pytest.raises(VersionError, match=r"written by StableHLO 9\.\d+\.\d+; the installed JAX"):
        from_stablehlo(future)


# Versions


def test_the_version_that_jax_exports_is_not_newer_than_the_current_one():
    assert target_version(None) <= artifact_version(artifact(jnp.sin, VECTOR)) <= current_version()


def test_the_target_is_the_older_of_both():
    assert target_version((1, 8, 3)) == (1, 8, 3)
    assert target_version([99, 0, 0]) == current_version()


def test_retargeted_artifacts_have_the_version_and_the_same_meaning():
    old = retarget(artifact(special_functions, VECTOR), (1, 13, 0))
    assert artifact_version(old) == (1, 13, 0)
    assert signature(from_stablehlo(old)) == signature(
        from_stablehlo(artifact(special_functions, VECTOR))
    )


def test_an_artifact_that_is_old_enough_is_returned_as_it_is():
    exported = artifact(jnp.sin, VECTOR)
    assert retarget(exported, current_version()) is exported


def test_a_refused_version_names_the_operation_and_both_versions():
    exported = artifact(special_functions, VECTOR)
    written = ".".join(map(str, artifact_version(exported)))
    with pytest.raises(VersionError) as error:
        retarget(exported, (0, 9, 0))
    for part in ("stablehlo.composite", f"StableHLO {written}", "version 0.9.0"):
        assert part in str(error.value)


def test_a_version_below_the_minimum_is_refused_with_the_reason():
    with pytest.raises(VersionError, match=r"version 0\.1\.0: .*0\.1\.0"):
        retarget(artifact(jnp.sin, VECTOR), (0, 1, 0))


def test_only_portable_artifacts_can_be_retargeted():
    with pytest.raises(ArgumentError, match="not a portable StableHLO artifact"):
        retarget(bytecode(ADD), (1, 13, 0))


def test_a_module_too_new_for_jax_exports_version_keeps_the_current_one(monkeypatch):
    monkeypatch.setattr(stablehlo, "_compatible_version", lambda requirement: (0, 9, 0))
    text = jax.jit(special_functions).lower(VECTOR).as_text()
    assert from_stablehlo(text).stablehlo_version == current_version()


def test_a_changed_interface_of_jax_is_named(monkeypatch):
    monkeypatch.delattr(jax.extend.mlir, "serialize_portable_artifact")
    with pytest.raises(VersionError, match=f"JAX {jax.__version__} has changed .*serialize_porta"):
        stablehlo._bindings.__wrapped__()  # without the cache


def test_channels_are_refused() -> None:
    module = """
        func.func public @main() -> tensor<f32> {
          %token = stablehlo.create_token : !stablehlo.token
          %value, %next = "stablehlo.infeed"(%token)
            : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
          return %value : tensor<f32>
        }"""
    with pytest.raises(UnsupportedError, match="waits for its surroundings"):
        from_stablehlo(module)
