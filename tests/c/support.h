/* What tests of executables share: the plugin under test, programs for it, and a look into the
 * fake plugin. */
#ifndef CYXLA_TEST_SUPPORT_H
#define CYXLA_TEST_SUPPORT_H

#include <stdbool.h>

#include "cyxla/cyxla.h"
#include "test.h"

/* ---- plugins ---- */

/* Path of the fake plugin (CYXLA_TEST_FAKE_PLUGIN) or of the real one (CYXLA_TEST_PLUGIN), without
 * which the test is skipped. */
const char *fake_path(void);
const char *real_path(void);

/* The plugin and the engine that the test runs with, chosen by its first argument: "fake" or "real", with
 * PJRT's engine, or "direct": the real plugin compiles, and the direct engine executes. */
void use_plugin(int argument_count, char **arguments);
extern bool using_fake;
extern int32_t engine; /* a cyxla_engine */
extern cyxla_plugin *plugin;

/* ---- programs ---- */

enum { MAX_ARRAYS = 256, MAX_CODE = 1 << 16 };

/* A program with room for its text and its types. */
typedef struct test_program {
  cyxla_program program;
  cyxla_array_type inputs[MAX_ARRAYS], outputs[MAX_ARRAYS];
  char code[MAX_CODE];
} test_program;

/* A type with static dimensions, such as TYPE(CYXLA_F32, 2, 3). */
#define TYPE(type, ...)                           \
  typed(type, (const int64_t[]){-1, __VA_ARGS__}, \
        sizeof((const int64_t[]){-1, __VA_ARGS__}) / sizeof(int64_t) - 1)
#define SCALAR(type) typed(type, NULL, 0)

/* Copies the dimensions to memory that lasts. */
cyxla_array_type typed(int32_t type, const int64_t *dimensions_after_first, size_t rank);

/* Makes `program` one with `input_count` inputs and `output_count` outputs of `type`, for the
 * plugin under test: output k is input k % input_count times `factor` + k (factor 0: a copy), or,
 * without inputs, an array of `factor` + k. */
void make_program(test_program *program, cyxla_array_type type, size_t input_count,
                  size_t output_count, double factor);

/* Makes `program` one of the given text and no arrays; more come by add_input and add_output. */
void make_text_program(test_program *program, const char *code);
void add_input(test_program *program, cyxla_array_type type);
void add_output(test_program *program, cyxla_array_type type);

/* The same with one input and one output of `type`. */
void make_unary_program(test_program *program, const char *code, cyxla_array_type type);

/* Compiles, and ends the test where that fails. */
cyxla_executable *compile(const test_program *program);

/* Number of elements of a type. */
size_t length_of(const cyxla_array_type *type);

/* ---- the fake plugin ---- */

/* Sets FAKE_PJRT_`name` (NULL: unsets it); counts of calls start anew, and so do all rules. */
void fake_set(const char *name, const char *value);

/* Whether the library of the fake plugin is loaded, and so can be asked. */
bool fake_is_loaded(void);

long fake_calls(const char *function);
const char *fake_point_name(int index);
const char *fake_create_options(void);

/* Everything that is alive in the fake plugin but for `clients` clients is an error. */
void check_nothing_alive(int clients);

/* Number of objects of a kind that are alive (kinds in the order of fake_kind, -1 after the last).
 */
long fake_live_objects(int kind);

/* ---- processes ---- */

/* Runs `test` in a child, and ends the test where that fails: each child has its own plugins. */
void in_child(void (*test)(const void *), const void *argument);

/* From now on this process, which is to be a child, can start no thread.  Root has no such limit, and
 * becomes somebody else, who may still read its files. */
void forbid_threads(void);

/* Bytes of memory that the process has resident; 0 where that says nothing: unknown, or under a
 * sanitizer, which keeps freed memory. */
long resident_bytes(void);

#endif
