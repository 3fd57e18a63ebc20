/* A program in StableHLO, compiled and run from C; Python is not needed.
 *
 *   package=$(python -c 'import cyxla, os; print(os.path.dirname(cyxla.__file__))')
 *   cc examples/c/sine.c -I$package/include -L$package/lib -lcyxla -Wl,-rpath,$package/lib -o sine
 *   ./sine /path/of/the/plugin.so                 # `python -m cyxla` tells where it is
 */
#include <cyxla/cyxla.h>
#include <stdio.h>
#include <string.h>

/* jax.jit(lambda x: 2 * jnp.sin(x)) for three doubles.  In Python, cyxla.lower(...).stablehlo gives the
 * same as bytes. */
static const char code[] =
    "module @sine {\n"
    "  func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {\n"
    "    %0 = stablehlo.sine %x : tensor<3xf64>\n"
    "    %1 = stablehlo.add %0, %0 : tensor<3xf64>\n"
    "    return %1 : tensor<3xf64>\n"
    "  }\n"
    "}\n";

int main(int argc, char **argv) {
  if (argc != 2) return fprintf(stderr, "usage: %s PLUGIN\n", argv[0]), 2;

  const int64_t dimensions[] = {3};
  const cyxla_array_type x_type = {"x", CYXLA_F64, 1, dimensions};
  const cyxla_array_type y_type = {"y", CYXLA_F64, 1, dimensions};
  const cyxla_program program = {.struct_size = sizeof program,
                                 .name = "sine",
                                 .code = code,
                                 .code_size = strlen(code),
                                 .inputs = &x_type,
                                 .input_count = 1,
                                 .outputs = &y_type,
                                 .output_count = 1};

  const double x[3] = {0.0, 0.5, 1.0};
  double y[3];
  const cyxla_input inputs[] = {{x, CYXLA_F64, 3}};
  void *const outputs[] = {y};

  cyxla_plugin *plugin;
  cyxla_executable *executable = NULL;
  cyxla_error error = CYXLA_ERROR_INIT;
  if (cyxla_plugin_load(argv[1], "cpu", NULL, 0, &plugin, &error) ||
      cyxla_compile(plugin, &program, NULL, 0, CYXLA_ENGINE_AUTO, &executable, &error) ||
      cyxla_execute(executable, inputs, outputs, 0, &error)) {
    fprintf(stderr, "%s: %s\n", cyxla_status_name(error.code), error.message);
    cyxla_executable_destroy(executable);
    return 1;
  }
  printf("%.6f %.6f %.6f\n", y[0], y[1], y[2]);
  cyxla_executable_destroy(executable);
  return 0;
}
