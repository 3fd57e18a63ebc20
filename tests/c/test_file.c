/* Program files: written and read, cut, changed and made up; and lack of memory.
 *
 *     test_file golden PATH     writes what tests/data/sine.cyxla is
 */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocations.h"
#include "base/proto_writer.h"
#include "base/status.h"
#include "executable_writer.h"
#include "program_file.h"
#include "random.h"
#include "support.h"

static cyxla_error error = CYXLA_ERROR_INIT;
static char path[] = "/tmp/cyxla-test-XXXXXX";

/* ---- writing and reading ---- */

/* Strings that are the same to a reader: NULL is "". */
static void check_text(const char *found, const char *expected) {
  CHECK(found);
  CHECK_TEXT(found, expected ? expected : "");
}

static void check_types(const cyxla_array_type *found, const cyxla_array_type *expected,
                        size_t count) {
  for (size_t i = 0; i < count; ++i) {
    check_text(found[i].name, expected[i].name);
    CHECK_INT(found[i].element_type, expected[i].element_type);
    CHECK_INT(found[i].rank, expected[i].rank);
    for (int32_t k = 0; k < found[i].rank; ++k)
      CHECK_INT(found[i].dimensions[k], expected[i].dimensions[k]);
  }
}

static void check_entries(const cyxla_file_entry *found, const cyxla_file_entry *expected,
                          size_t count) {
  for (size_t i = 0; i < count; ++i) {
    check_text(found[i].name, expected[i].name);
    check_text(found[i].value, expected[i].value);
  }
}

static void check_option(const cyxla_option *found, const cyxla_option *expected) {
  check_text(found->name, expected->name);
  CHECK_INT(found->kind, expected->kind);
  CHECK_INT(found->list_count, 0);
  if (found->kind == CYXLA_OPTION_STRING) check_text(found->value.string, expected->value.string);
  if (found->kind == CYXLA_OPTION_INT64) CHECK_INT(found->value.int64, expected->value.int64);
  if (found->kind == CYXLA_OPTION_DOUBLE)
    CHECK_BYTES(&found->value.float64, &expected->value.float64, sizeof(double));
  if (found->kind == CYXLA_OPTION_BOOL)
    CHECK_INT(found->value.boolean, expected->value.boolean != 0);
}

static void check_program(const cyxla_file *file, const cyxla_program *expected) {
  const cyxla_program *found = cyxla_file_get_program(file);
  CHECK_INT(found->struct_size, sizeof *found);
  CHECK_TEXT(found->name, expected->name ? expected->name : "main");
  CHECK_INT(found->code_size, expected->code_size);
  CHECK((found->code != NULL) == (expected->code_size != 0));
  CHECK_BYTES(found->code, expected->code, expected->code_size);
  CHECK_INT(found->input_count, expected->input_count);
  CHECK_INT(found->output_count, expected->output_count);
  check_types(found->inputs, expected->inputs, expected->input_count);
  check_types(found->outputs, expected->outputs, expected->output_count);
}

static void check_info(const cyxla_file *file, const cyxla_file_info *expected) {
  cyxla_file_info found = {.struct_size = sizeof found};
  cyxla_file_get_info(file, &found);
  CHECK_INT(found.struct_size, sizeof found);
  CHECK_INT(found.format_version, 1);
  CHECK_TEXT(found.platform, expected->platform);
  CHECK_INT(found.executable_size, expected->executable_size);
  CHECK((found.executable != NULL) == (expected->executable_size != 0));
  CHECK_INT((uintptr_t)found.executable % 64, 0);
  CHECK_BYTES(found.executable, expected->executable, expected->executable_size);
  check_text(found.fingerprint, expected->fingerprint);
  if (expected->cpu_features) CHECK_TEXT(found.cpu_features, expected->cpu_features);
  CHECK_INT(found.option_count, expected->option_count);
  for (size_t i = 0; i < found.option_count; ++i)
    check_option(&found.options[i], &expected->options[i]);
  CHECK_INT(found.target_count, expected->target_count);
  for (size_t i = 0; i < found.target_count; ++i)
    CHECK_TEXT(found.targets[i], expected->targets[i]);
  CHECK_INT(found.producer_count, expected->producer_count);
  check_entries(found.producers, expected->producers, found.producer_count);
  CHECK_INT(found.metadata_count, expected->metadata_count);
  check_entries(found.metadata, expected->metadata, found.metadata_count);
}

/* All that was written is read. */
static void check_round_trip(const cyxla_program *program, const cyxla_file_info *info) {
  cyxla_file *file;
  CHECK_OK(cyxla_file_write(path, program, info, &error), &error);
  CHECK_OK(cyxla_file_open(path, &file, &error), &error);
  check_program(file, program);
  check_info(file, info);
  cyxla_file_close(file);
}

/* The bytes of the file at `path`. */
static cyxla__span written_bytes(void) {
  FILE *file = fopen(path, "rb");
  struct stat status;
  CHECK(file && !stat(path, &status));
  const cyxla__span bytes = {malloc((size_t)status.st_size), (size_t)status.st_size};
  CHECK_INT(fread(bytes.data, 1, bytes.size, file), bytes.size);
  fclose(file);
  return bytes;
}

/* What tests/data/programs/sine is. */
static const char stablehlo[] =
    "module @sine { func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {"
    " %0 = stablehlo.sine %x : tensor<8xf32> %1 = stablehlo.add %0, %0 : tensor<8xf32>"
    " return %1 : tensor<8xf32> } }\n";

/* A program with one of everything, from which tests start. */
static test_program sine;
static cyxla_file_info sine_info;

static void make_sine(void) {
  static const cyxla_option options[] = {
      {.name = "xla_cpu_prefer_vector_width", .kind = CYXLA_OPTION_INT64, .value.int64 = -128},
      {.name = "xla_string", .kind = CYXLA_OPTION_STRING, .value.string = "some text"},
      {.name = "xla_empty", .kind = CYXLA_OPTION_STRING, .value.string = ""},
      {.name = "xla_double", .kind = CYXLA_OPTION_DOUBLE, .value.float64 = 0.1},
      {.name = "xla_true", .kind = CYXLA_OPTION_BOOL, .value.boolean = 1},
      {.name = "xla_false", .kind = CYXLA_OPTION_BOOL, .value.boolean = 0},
  };
  static const char *const targets[] = {"lapack_dpotrf_ffi", "scale"};
  static const cyxla_file_entry producers[] = {{"jax", "0.11.2"}, {"cyxla", "0.1.0"}};
  static const cyxla_file_entry metadata[] = {{"author", "N.N."}, {"empty", ""}, {"", "nameless"}};
  make_unary_program(&sine, stablehlo, TYPE(CYXLA_F32, 8));
  sine.program.name = "sine";
  sine.inputs[0].name = "x['\xce\xb1'][0]";
  sine_info = (cyxla_file_info){.struct_size = sizeof sine_info,
                                .platform = "cpu",
                                .executable = "not really code",
                                .executable_size = 15,
                                .fingerprint = "jaxlib 0.11.2",
                                .options = options,
                                .option_count = 6,
                                .targets = targets,
                                .target_count = 2,
                                .producers = producers,
                                .producer_count = 2,
                                .metadata = metadata,
                                .metadata_count = 3};
}

static void keeps_everything(void) {
  make_sine();
  check_round_trip(&sine.program, &sine_info);
  sine_info.cpu_features = "x86_64,avx";
  check_round_trip(&sine.program, &sine_info);
}

static void keeps_the_least(void) {
  const cyxla_program program = {.struct_size = sizeof program, .code = "c", .code_size = 1};
  const cyxla_program without_code = {.struct_size = sizeof program, .name = ""};
  const cyxla_file_info info = {.struct_size = sizeof info, .platform = "cuda"};
  const cyxla_file_info with_executable = {
      .struct_size = sizeof info, .platform = "cuda", .executable = "e", .executable_size = 1};
  check_round_trip(&program, &info);
  check_round_trip(&program, &with_executable);
  check_round_trip(&without_code, &with_executable);
}

static void keeps_signatures_of_every_form(void) {
  static int64_t dimensions[64];
  static const char *const names[] = {
      NULL,
      "",
      "x",
      "params['w'][0].\xe2\x82\xac",
      "\xf0\x9f\x98\x80\n\t\x01\x7f\"\\%s",
      "a name that is longer than one might think it could be, and goes "
      "on beyond what a byte of length can tell, for there is no reason "
      "why paths in nested structures should be short in any way at all"};
  uint64_t state = 1;
  make_sine();
  for (int round = 0; round < 80; ++round) {
    sine.program.input_count = next_random(&state) % (round % 20 ? 5 : MAX_ARRAYS);
    sine.program.output_count = next_random(&state) % 5;
    for (size_t i = 0; i < sine.program.input_count + sine.program.output_count; ++i) {
      const bool is_input = i < sine.program.input_count;
      cyxla_array_type *type =
          is_input ? &sine.inputs[i] : &sine.outputs[i - sine.program.input_count];
      *type = (cyxla_array_type){.name = names[next_random(&state) % 6],
                                 .element_type = 1 + (int32_t)(next_random(&state) % 15),
                                 .rank = (int32_t)(next_random(&state) % 13)};
      type->dimensions = type->rank ? dimensions + next_random(&state) % 50 : NULL;
    }
    for (int i = 0; i < 64; ++i) dimensions[i] = next_random(&state) % 4;
    dimensions[next_random(&state) % 64] = (int64_t)1 << next_random(&state) % 24;
    check_round_trip(&sine.program, &sine_info);
  }
}

static void keeps_large_executables(void) {
  make_sine();
  sine_info.executable_size = 17 << 20;
  uint8_t *executable = malloc(sine_info.executable_size);
  for (size_t i = 0; i < sine_info.executable_size; ++i) executable[i] = (uint8_t)(i * 31 >> 3);
  sine_info.executable = executable;
  check_round_trip(&sine.program, &sine_info);
  free(executable);
}

static void keeps_numbers_exactly(void) {
  static const double reals[] = {0, -0.0, 0.1, 1e308, 5e-324, -INFINITY, NAN};
  static const int64_t integers[] = {0, 1, -1, INT64_MAX, INT64_MIN, 1 << 20, 127};
  cyxla_option options[2] = {{.name = "real", .kind = CYXLA_OPTION_DOUBLE},
                             {.name = "integer", .kind = CYXLA_OPTION_INT64}};
  make_sine();
  sine_info.options = options;
  sine_info.option_count = 2;
  for (int i = 0; i < 7; ++i) {
    options[0].value.float64 = reals[i];
    options[1].value.int64 = integers[i];
    check_round_trip(&sine.program, &sine_info);
  }
}

/* ---- what the executable needs ---- */

static void check_features(const void *executable, size_t size, const char *expected) {
  make_sine();
  sine_info.executable = executable;
  sine_info.executable_size = size;
  cyxla_file *file;
  cyxla_file_info info = {.struct_size = sizeof info};
  CHECK_OK(cyxla_file_write(path, &sine.program, &sine_info, &error), &error);
  CHECK_OK(cyxla_file_open(path, &file, &error), &error);
  cyxla_file_get_info(file, &info);
  CHECK_TEXT(info.cpu_features, expected);
  cyxla_file_close(file);
}

static void check_written_features(const char *triple, const char *features, const char *expected) {
  cyxla__proto executable = {0}, result = {0}, target = {0};
  if (triple) add_text(&target, 1, triple);
  if (features) add_text(&target, 3, features);
  add(&result, 9, target);
  add(&executable, 1, result);
  const cyxla__span bytes = bytes_of(&executable);
  check_features(bytes.data, bytes.size, expected);
  free(bytes.data);
}

static void tells_what_the_executable_needs(void) {
  check_written_features("x86_64-unknown-linux-gnu", "+avx,-sse4a,+avx2,+prefer-256-bit,-prefer-x",
                         "x86_64,avx,avx2");
  check_written_features("aarch64", "+fast-x,+slow-y,+false-deps-z,+neon", "aarch64,neon");
  check_written_features("x86_64-", "", "x86_64");
  check_written_features("x86_64-", "+,,avx,+prefer-,-,+a", "x86_64,a");
  check_written_features(NULL, NULL, "");
  check_features("other bytes", 11, "");
}

static void tells_what_real_executables_need(void) {
  const cyxla__span bytes = read_data("programs/sine-jaxlib-0.11.2");
  cyxla_file *file;
  cyxla_file_info info = {.struct_size = sizeof info};
  make_sine();
  sine_info.executable = bytes.data;
  sine_info.executable_size = bytes.size;
  CHECK_OK(cyxla_file_write(path, &sine.program, &sine_info, &error), &error);
  CHECK_OK(cyxla_file_open(path, &file, &error), &error);
  cyxla_file_get_info(file, &info);
  CHECK_CONTAINS(info.cpu_features, "x86_64,");
  CHECK_CONTAINS(info.cpu_features, ",avx2,");
  CHECK(!strstr(info.cpu_features, "prefer") && !strstr(info.cpu_features, "-"));
  cyxla_file_close(file);
  free(bytes.data);
}

/* ---- what is not written ---- */

static void check_not_written(int32_t status, const char *part) {
  remove(path);
  CHECK_STATUS(cyxla_file_write(path, &sine.program, &sine_info, &error), status, &error);
  CHECK_CONTAINS(error.message, path);
  CHECK_CONTAINS(error.message, part);
  CHECK(access(path, F_OK));
  make_sine();
}

static void refuses_structs_without_size(void) {
  make_sine();
  sine.program.struct_size = 8;
  check_not_written(CYXLA_INVALID_ARGUMENT, "cyxla_program: struct_size is 8");
  sine_info.struct_size = 8;
  check_not_written(CYXLA_INVALID_ARGUMENT, "cyxla_file_info: struct_size is 8");
}

static void refuses_lists_without_items(void) {
  make_sine();
  sine.program.code = NULL;
  check_not_written(CYXLA_INVALID_ARGUMENT, "code: ");
  sine_info.executable = NULL;
  check_not_written(CYXLA_INVALID_ARGUMENT, "executable: 15 are announced");
  sine_info.options = NULL;
  check_not_written(CYXLA_INVALID_ARGUMENT, "options: 6 are announced");
  sine_info.targets = NULL;
  check_not_written(CYXLA_INVALID_ARGUMENT, "targets: 2 are announced");
  sine_info.producers = NULL;
  check_not_written(CYXLA_INVALID_ARGUMENT, "producers: 2 are announced");
  sine_info.metadata = NULL;
  check_not_written(CYXLA_INVALID_ARGUMENT, "metadata: 3 are announced");
  sine.program.inputs = NULL;
  check_not_written(CYXLA_INVALID_ARGUMENT, "1 inputs are announced");
}

static void refuses_nothing_and_no_platform(void) {
  make_sine();
  sine.program.code_size = sine_info.executable_size = 0;
  check_not_written(CYXLA_INVALID_ARGUMENT, "neither StableHLO nor an executable");
  sine_info.platform = NULL;
  check_not_written(CYXLA_INVALID_ARGUMENT, "no platform");
  sine_info.platform = "";
  check_not_written(CYXLA_INVALID_ARGUMENT, "no platform");
}

static void refuses_what_it_would_not_read(void) {
  make_sine();
  sine.inputs[0].element_type = 99;
  check_not_written(CYXLA_INVALID_ARGUMENT, "99 is no element type");
  sine.inputs[0].name = "\xff";
  check_not_written(CYXLA_INVALID_ARGUMENT, "a text that is not UTF-8");
  sine.program.name = "\xc3";
  check_not_written(CYXLA_INVALID_ARGUMENT, "a text that is not UTF-8");
  static const char *const targets[] = {"good", "\xed\xa0\x80"};
  sine_info.targets = targets;
  check_not_written(CYXLA_INVALID_ARGUMENT, "a text that is not UTF-8");
  const cyxla_option list = {.name = "a_list", .kind = CYXLA_OPTION_INT64_LIST};
  sine_info.options = &list;
  sine_info.option_count = 1;
  check_not_written(CYXLA_INVALID_ARGUMENT, "option a_list: compilers take none of kind 2");
  const cyxla_option unknown = {.name = "unknown", .kind = -1};
  sine_info.options = &unknown;
  sine_info.option_count = 1;
  check_not_written(CYXLA_INVALID_ARGUMENT, "a number that is too large");
}

static void says_where_it_can_not_write(void) {
  make_sine();
  const char *missing = "/no/such/folder/file.cyxla";
  CHECK_STATUS(cyxla_file_write(missing, &sine.program, &sine_info, &error), CYXLA_NOT_FOUND,
               &error);
  CHECK_CONTAINS(error.message, "/no/such/folder/file.cyxla: can't create a file");
}

/* ---- from where ---- */

static void copies_bytes_of_memory(void) {
  make_sine();
  CHECK_OK(cyxla_file_write(path, &sine.program, &sine_info, &error), &error);
  const cyxla__span bytes = written_bytes();
  cyxla_file *file;
  CHECK_OK(cyxla_file_parse(bytes.data, bytes.size, &file, &error), &error);
  memset(bytes.data, 0xff, bytes.size);
  free(bytes.data);
  check_program(file, &sine.program);
  check_info(file, &sine_info);
  cyxla_file_close(file);
  cyxla_file_close(NULL);
}

static void knows_older_callers(void) {
  make_sine();
  CHECK_OK(cyxla_file_write(path, &sine.program, &sine_info, &error), &error);
  cyxla_file *file;
  CHECK_OK(cyxla_file_open(path, &file, &error), &error);
  cyxla_file_info info = {.struct_size = offsetof(cyxla_file_info, executable)};
  cyxla_file_get_info(file, &info);
  CHECK_TEXT(info.platform, "cpu");
  CHECK(!info.executable && !info.targets);
  cyxla_file_close(file);
}

static void check_not_opened(const char *name, int32_t status, const char *part) {
  cyxla_file *file;
  CHECK_STATUS(cyxla_file_open(name, &file, &error), status, &error);
  CHECK_CONTAINS(error.message, name);
  CHECK_CONTAINS(error.message, part);
}

static void put_text(const char *text, size_t size) {
  FILE *file = fopen(path, "wb");
  CHECK(file && fwrite(text, 1, size, file) == size && !fclose(file));
}

static void says_what_is_no_program_file(void) {
  check_not_opened("/no/such/file", CYXLA_NOT_FOUND, "No such file");
  check_not_opened("/tmp", CYXLA_INVALID_ARGUMENT, "it is a directory");
  put_text("a text that is something else", 29);
  check_not_opened(path, CYXLA_INVALID_ARGUMENT, "it is no program file of cyxla");
  put_text("", 0);
  check_not_opened(path, CYXLA_DATA_LOSS, "it is cut: 0 bytes of 24 are there");
  /* Sparse, and no memory is asked for. */
  CHECK_INT(truncate(path, (off_t)1 << 40), 0);
  check_not_opened(path, CYXLA_INVALID_ARGUMENT, "it is no program file of cyxla");
}

/* A file that is as large as it says, and memory is not. */
static void says_what_memory_can_not_hold(void) {
  make_sine();
  CHECK_OK(cyxla_file_write(path, &sine.program, &sine_info, &error), &error);
  const cyxla__span bytes = written_bytes();
  put_number(bytes, 16, 8, (uint64_t)1 << 42);
  put_text((const char *)bytes.data, bytes.size);
  if (!truncate(path, (off_t)1 << 42)) {
    fail_allocations(1, 1);
    check_not_opened(path, CYXLA_RESOURCE_EXHAUSTED, "out of memory: 4398046511104 bytes");
    fail_allocations(0, 0);
  }
  free(bytes.data);
}

/* ---- golden ---- */

/* What version 1 of the format is may never change. */
static void write_golden(const char *name) {
  const cyxla__span executable = read_data("programs/sine-jaxlib-0.11.2");
  make_sine();
  sine_info.target_count = 0;
  sine_info.executable = executable.data;
  sine_info.executable_size = executable.size;
  CHECK_OK(cyxla_file_write(name, &sine.program, &sine_info, &error), &error);
  free(executable.data);
}

static void is_the_golden_file(void) {
  write_golden(path);
  const cyxla__span golden = read_file("sine.cyxla"), now = written_bytes();
  CHECK_INT(now.size, golden.size);
  CHECK_BYTES(now.data, golden.data, golden.size);
  free(golden.data);
  free(now.data);
}

/* ---- cut, changed ---- */

static int32_t parse(cyxla__span bytes) {
  cyxla_file *file;
  const int32_t status = cyxla_file_parse(bytes.data, bytes.size, &file, &error);
  if (!status) cyxla_file_close(file);
  return status;
}

/* A file with one of everything, in memory. */
static cyxla__span some_file(void) {
  make_sine();
  CHECK_OK(cyxla_file_write(path, &sine.program, &sine_info, &error), &error);
  return written_bytes();
}

static void sees_every_cut(void) {
  const cyxla__span bytes = some_file();
  for (size_t size = 0; size < bytes.size; ++size) {
    const cyxla__span cut = copy_of(bytes.data, size);
    CHECK_STATUS(parse(cut), CYXLA_DATA_LOSS, &error);
    CHECK_CONTAINS(error.message, "it is cut");
    free(cut.data);
  }
  free(bytes.data);
}

static void sees_every_byte_that_is_added(void) {
  const cyxla__span bytes = some_file();
  for (size_t size = 1; size < 100; size += 33) {
    const cyxla__span more = {calloc(1, bytes.size + size), bytes.size + size};
    memcpy(more.data, bytes.data, bytes.size);
    CHECK_STATUS(parse(more), CYXLA_DATA_LOSS, &error);
    CHECK_CONTAINS(error.message, "something was added to it");
    free(more.data);
  }
  free(bytes.data);
}

/* What a flipped bit of the byte at `offset` has to give. */
static int32_t status_of_change(size_t offset, int bit) {
  if (offset < 4) return offset == 0 && bit == 7 ? CYXLA_DATA_LOSS : CYXLA_INVALID_ARGUMENT;
  return offset >= 8 && offset < 12 ? CYXLA_UNIMPLEMENTED : CYXLA_DATA_LOSS;
}

static void sees_every_bit_that_changes(void) {
  const cyxla__span bytes = some_file();
  for (size_t offset = 0; offset < bytes.size; ++offset)
    for (int bit = 0; bit < 8; ++bit) {
      bytes.data[offset] ^= (uint8_t)(1 << bit);
      const int32_t status = parse(bytes);
      if (status != status_of_change(offset, bit))
        TEST_FAIL("bit %d of byte %zu gives %d: %s", bit, offset, status, error.message);
      bytes.data[offset] ^= (uint8_t)(1 << bit);
    }
  CHECK_OK(parse(bytes), &error);
  free(bytes.data);
}

static void check_transferred(cyxla__span bytes, size_t size) {
  const cyxla__span changed = copy_of(bytes.data, size);
  CHECK_STATUS(parse(changed), CYXLA_DATA_LOSS, &error);
  CHECK_CONTAINS(error.message, "transfer in text mode");
  free(changed.data);
}

static void sees_transfers_in_text_mode(void) {
  const cyxla__span bytes = some_file();
  const cyxla__span room = {malloc(2 * bytes.size), 2 * bytes.size};
  size_t size = 0;
  for (size_t i = 0; i < bytes.size; ++i) { /* to DOS */
    if (bytes.data[i] == '\n') room.data[size++] = '\r';
    room.data[size++] = bytes.data[i];
  }
  check_transferred(room, size);
  size = 0;
  for (size_t i = 0; i < bytes.size; ++i) /* to Unix */
    if (bytes.data[i] != '\r') room.data[size++] = bytes.data[i];
  check_transferred(room, size);
  for (size_t i = 0; i < bytes.size; ++i) room.data[i] = bytes.data[i] & 0x7f; /* 7 bits */
  check_transferred(room, bytes.size);
  free(room.data);
  free(bytes.data);
}

static void names_other_versions(void) {
  const cyxla__span bytes = some_file();
  put_number(bytes, 8, 4, 2);
  CHECK_STATUS(parse(bytes), CYXLA_UNIMPLEMENTED, &error);
  CHECK_CONTAINS(error.message,
                 "it is of version 2 of the format, and cyxla 0.1.0 reads version 1");
  /* Whatever comes behind the version. */
  CHECK_STATUS(parse((cyxla__span){bytes.data, 12}), CYXLA_UNIMPLEMENTED, &error);
  free(bytes.data);
}

/* ---- made up: sections ---- */

enum { FIRST = FILE_HEADER, SECOND = FIRST + FILE_ENTRY, THIRD = SECOND + FILE_ENTRY };

/* Parses the file with a number changed and all checksums right. */
static int32_t parse_with(size_t offset, size_t size, uint64_t value) {
  const cyxla__span bytes = some_file();
  put_number(bytes, offset, size, value);
  seal(bytes);
  const int32_t status = parse(bytes);
  free(bytes.data);
  return status;
}

static void refuses_sections_of_other_places(void) {
  const cyxla__span bytes = some_file();
  const uint64_t second = file_number(bytes, SECOND + 8, 8),
                 size = file_number(bytes, THIRD + 16, 8);
  free(bytes.data);
  const uint64_t offsets[] = {
      0,           1,          second - 64,     second - 1,       second + 1,
      second + 64, UINT64_MAX, UINT64_MAX - 63, (uint64_t)1 << 63};
  for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; ++i) {
    CHECK_STATUS(parse_with(SECOND + 8, 8, offsets[i]), CYXLA_INVALID_ARGUMENT, &error);
    CHECK_CONTAINS(error.message, "section 1 is not where it belongs");
  }
  const uint64_t sizes[] = {size + 1, UINT64_MAX, UINT64_MAX - second, (uint64_t)1 << 63};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    CHECK_STATUS(parse_with(THIRD + 16, 8, sizes[i]), CYXLA_INVALID_ARGUMENT, &error);
    CHECK_CONTAINS(error.message, "section 2 is not inside of the file");
  }
  CHECK_STATUS(parse_with(THIRD + 16, 8, size - 1), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "something behind its last section");
}

static void refuses_other_numbers_of_sections(void) {
  const uint64_t counts[] = {1000, INT32_MAX, UINT32_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    CHECK_STATUS(parse_with(12, 4, counts[i]), CYXLA_DATA_LOSS, &error);
    CHECK_CONTAINS(error.message, "the checksum of its header");
  }
  CHECK_STATUS(parse_with(12, 4, 4), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_STATUS(parse_with(12, 4, 2), CYXLA_DATA_LOSS, &error);
  CHECK_CONTAINS(error.message, "there is something between sections");
  /* No section at all. */
  const cyxla__span some = some_file(), none = {some.data, FILE_HEADER + 8};
  put_number(none, 12, 4, 0);
  seal(none);
  CHECK_STATUS(parse(none), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "it has no description");
  free(some.data);
}

static void passes_over_unknown_sections_if_it_may(void) {
  CHECK_STATUS(parse_with(THIRD, 4, 77), CYXLA_UNIMPLEMENTED, &error);
  CHECK_CONTAINS(error.message, "section 2 is of kind 77 with flags 0, which cyxla 0.1.0");
  CHECK_STATUS(parse_with(THIRD, 4, 0), CYXLA_UNIMPLEMENTED, &error);
  CHECK_OK(parse_with(THIRD, 8, 77 | (uint64_t)1 << 32), &error);
  CHECK_OK(parse_with(THIRD, 8, 0 | (uint64_t)1 << 32), &error);
  CHECK_OK(parse_with(THIRD, 8, 3 | (uint64_t)1 << 32), &error);
  CHECK_STATUS(parse_with(THIRD, 8, 77 | (uint64_t)3 << 32), CYXLA_UNIMPLEMENTED, &error);
  CHECK_CONTAINS(error.message, "of kind 77 with flags 3");
  CHECK_STATUS(parse_with(THIRD, 8, 3 | (uint64_t)2 << 32), CYXLA_UNIMPLEMENTED, &error);
}

static void refuses_sections_that_occur_twice(void) {
  CHECK_STATUS(parse_with(THIRD, 4, 2), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "section 2 is of a kind that was there");
  CHECK_STATUS(parse_with(FIRST, 4, 3), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_STATUS(parse_with(FIRST, 8, 9 | (uint64_t)1 << 32), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "it has no description");
}

/* ---- made up: descriptions ---- */

/* Parses a file with the description `message`, which is emptied. */
static int32_t parse_description(cyxla__proto *message) {
  CHECK(!message->failed);
  uint8_t *room = malloc(message->size + FILE_AROUND);
  const cyxla__span file = file_around(message->data, message->size, room);
  const int32_t status = parse(file);
  free(room);
  cyxla__proto_deinit(message);
  return status;
}

/* The least that a description needs. */
static cyxla__proto platform_only(void) {
  cyxla__proto message = {0};
  cyxla__proto_bytes(&message, 2, "cpu", 4);
  return message;
}

static void check_description(cyxla__proto message, int32_t status, const char *part) {
  CHECK_STATUS(parse_description(&message), status, &error);
  if (status) CHECK_CONTAINS(error.message, part);
}

/* A field of raw bytes in addition. */
static void check_field(uint32_t field, const void *data, size_t size, const char *part) {
  cyxla__proto message = platform_only();
  cyxla__proto_bytes(&message, field, data, size);
  check_description(message, part ? CYXLA_INVALID_ARGUMENT : CYXLA_OK, part);
}

static void refuses_texts_of_other_forms(void) {
  static const uint32_t texts[] = {1, 3, 4, 7};
  for (size_t i = 0; i < 4; ++i) {
    check_field(texts[i], "text", 5, NULL);
    check_field(texts[i], "", 1, NULL);
    check_field(texts[i], "text", 4, "does not end with its first byte 0");
    check_field(texts[i], "", 0, "does not end with its first byte 0");
    check_field(texts[i], "te\0xt", 6, "does not end with its first byte 0");
    check_field(texts[i], "text\0", 6, "does not end with its first byte 0");
    check_field(texts[i], "te\x80xt", 6, "is not UTF-8");
  }
}

/* Fields 1 to 10 are bytes; of arrays the 2nd, and of options all but the 1st and 3rd, are numbers. */
static void refuses_fields_of_other_types(void) {
  for (uint32_t field = 1; field <= 10; ++field) {
    cyxla__proto message = platform_only();
    cyxla__proto_varint(&message, field, 1);
    check_description(message, CYXLA_INVALID_ARGUMENT, "a field");
  }
  static const struct {
    uint32_t list, field;
    bool is_bytes;
  } wrong[] = {{5, 1, false}, {5, 2, true},   {6, 3, false}, {8, 1, false},
               {9, 2, false}, {10, 1, false}, {10, 2, true}, {10, 3, false},
               {10, 4, true}, {10, 5, true},  {10, 6, true}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
    cyxla__proto item = {0};
    if (wrong[i].is_bytes)
      cyxla__proto_bytes(&item, wrong[i].field, "", 1);
    else
      cyxla__proto_varint(&item, wrong[i].field, 1);
    cyxla__proto message = platform_only();
    add(&message, wrong[i].list, item);
    check_description(message, CYXLA_INVALID_ARGUMENT, "it is ill-formed: an ");
  }
}

static void refuses_messages_that_end_early(void) {
  check_field(5, "\x08", 1, "an array");
  check_field(8, "\x0a\x05x", 3, "an entry");
  check_field(10, "\x0b", 1, "an option");
  cyxla__proto message = platform_only();
  cyxla__proto_raw_varint(&message, 1 << 3 | 2);
  cyxla__proto_raw_varint(&message, UINT64_MAX);
  check_description(message, CYXLA_INVALID_ARGUMENT, "a field");
  check_description((cyxla__proto){0}, CYXLA_INVALID_ARGUMENT, "no platform");
}

static void check_array(uint64_t type, const void *dimensions, size_t size, const char *part) {
  cyxla__proto array = {0}, message = platform_only();
  cyxla__proto_varint(&array, 2, type);
  cyxla__proto_bytes(&array, 3, dimensions, size);
  add(&message, 6, array);
  check_description(message, part ? CYXLA_INVALID_ARGUMENT : CYXLA_OK, part);
}

static void refuses_arrays_that_can_not_be(void) {
  check_array(11, "\x03\x04", 2, NULL);
  check_array(11, "", 0, NULL);
  check_array(0, "", 0, "0 is no element type");
  check_array(16, "", 0, "16 is no element type");
  check_array((uint64_t)1 << 32 | 11, "", 0, "a number that is too large");
  check_array(UINT64_MAX, "", 0, "a number that is too large");
  check_array(11, "\x03\x84", 2, "an array's dimensions");
  check_array(11, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, "dimension 0 is -1");
  check_array(11, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x02", 10,
              "more bytes than memory can hold");
  cyxla__proto array = {0}, message = platform_only();
  cyxla__proto_varint(&array, 2, 11);
  add(&message, 5, array);
  check_description(message, CYXLA_OK, "");
}

static void passes_over_unknown_fields(void) {
  cyxla__proto message = platform_only(), array = {0};
  cyxla__proto_varint(&array, 2, 11);
  cyxla__proto_varint(&array, 9, 1);
  cyxla__proto_bytes(&array, 33, "x", 1); /* 1 + 32 */
  add(&message, 5, array);
  cyxla__proto_varint(&message, 11, 1);
  cyxla__proto_varint(&message, 34, 1); /* 2 + 32 */
  cyxla__proto_bytes(&message, 1000, "x", 1);
  cyxla__proto_double(&message, 12, 1);
  check_description(message, CYXLA_OK, "");
}

/* ---- lack of memory ---- */

static int32_t write_open_close(void) {
  cyxla_file *file;
  TRY(cyxla_file_write(path, &sine.program, &sine_info, &error));
  TRY(cyxla_file_open(path, &file, &error));
  check_program(file, &sine.program);
  cyxla_file_close(file);
  return CYXLA_OK;
}

static void lives_without_memory(void) {
  const cyxla__span executable = read_data("programs/sine-jaxlib-0.11.2");
  make_sine();
  sine_info.executable = executable.data;
  sine_info.executable_size = executable.size;
  fail_allocations(0, 0);
  CHECK_OK(write_open_close(), &error);
  const long total = allocations;
  for (long i = 1; i <= total; ++i)
    for (int all = 0; all < 2; ++all) {
      fail_allocations(i, all ? total : i);
      const int32_t status = write_open_close();
      fail_allocations(0, 0);
      CHECK_STATUS(status, CYXLA_RESOURCE_EXHAUSTED, &error);
      CHECK_CONTAINS(error.message, "out of memory");
    }
  CHECK_OK(write_open_close(), &error);
  free(executable.data);
  fprintf(stderr, "  %ld allocations\n", total);
}

int main(int argument_count, char **arguments) {
  if (argument_count == 3 && !strcmp(arguments[1], "golden")) {
    write_golden(arguments[2]);
    return 0;
  }
  const int descriptor = mkstemp(path);
  CHECK(descriptor >= 0);
  close(descriptor);
  RUN(keeps_everything);
  RUN(keeps_the_least);
  RUN(keeps_signatures_of_every_form);
  RUN(keeps_large_executables);
  RUN(keeps_numbers_exactly);
  RUN(tells_what_the_executable_needs);
  RUN(tells_what_real_executables_need);
  RUN(refuses_structs_without_size);
  RUN(refuses_lists_without_items);
  RUN(refuses_nothing_and_no_platform);
  RUN(refuses_what_it_would_not_read);
  RUN(says_where_it_can_not_write);
  RUN(copies_bytes_of_memory);
  RUN(knows_older_callers);
  RUN(says_what_is_no_program_file);
  RUN(says_what_memory_can_not_hold);
  RUN(is_the_golden_file);
  RUN(sees_every_cut);
  RUN(sees_every_byte_that_is_added);
  RUN(sees_every_bit_that_changes);
  RUN(sees_transfers_in_text_mode);
  RUN(names_other_versions);
  RUN(refuses_sections_of_other_places);
  RUN(refuses_other_numbers_of_sections);
  RUN(passes_over_unknown_sections_if_it_may);
  RUN(refuses_sections_that_occur_twice);
  RUN(refuses_texts_of_other_forms);
  RUN(refuses_fields_of_other_types);
  RUN(refuses_messages_that_end_early);
  RUN(refuses_arrays_that_can_not_be);
  RUN(passes_over_unknown_fields);
  RUN(lives_without_memory);
  remove(path);
}
