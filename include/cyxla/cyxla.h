/* cyxla: run JAX functions from native code.
 *
 * A JAX function becomes a *program* (StableHLO and a signature, made in Python or by any other
 * producer of StableHLO).  A *plugin* (a PJRT plugin: a shared library for the CPU, a GPU, ...)
 * compiles a program to an *executable*, and an executable runs with no Python in sight:
 *
 *     cyxla_plugin *plugin;
 *     cyxla_executable *executable;
 *     cyxla_error error = CYXLA_ERROR_INIT;
 *     if (cyxla_plugin_load("libpjrt.so", "cpu", NULL, 0, &plugin, &error) ||
 *         cyxla_compile(plugin, &program, NULL, 0, &executable, &error) ||
 *         cyxla_execute(executable, inputs, outputs, 0, &error))
 *       fprintf(stderr, "%s\n", error.message);
 *     cyxla_executable_destroy(executable);
 *
 * Objects:  plugin > executable > call.  A plugin lives as long as the process; an executable lives
 * until it is destroyed; a call owns nothing.
 *
 * Files:    a program file keeps a program and its executable; cyxla_load makes that runnable, without a
 * plugin where the direct engine runs it.
 *
 * Errors:   every function that can fail returns a status (0: success) and takes a `cyxla_error *`
 * as its last parameter, owned by the caller, which may be NULL.  The library never exits, aborts
 * or prints.
 *
 * Threads:  each function says one of three words.  *shared*: any threads at once, on the same
 * objects too.  *owned*: one thread at a time for one object.  *startup*: takes a lock and may load
 * code; any thread, but not a hot path.
 *
 * Memory:   what a `get` function returns is borrowed and lives as long as its object.  Parameters
 * named `out_...` are written on success only.  Sizes in bytes are called `..._size`, numbers of
 * items `..._count`.
 *
 * ABI:      structs that grow start with `struct_size`, which the caller sets to sizeof; new
 * members are added at the end, and zero in them means the old behaviour.
 */
#ifndef CYXLA_CYXLA_H
#define CYXLA_CYXLA_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CYXLA_API __attribute__((visibility("default")))
#else
#define CYXLA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version ---- */

/* Version of the binary interface that this header declares. */
#define CYXLA_ABI_VERSION 1

/* Version of the binary interface of the library that is loaded: CYXLA_ABI_VERSION where header and
 * library belong together.
 *
 * Threads: shared.  Since 0.1. */
CYXLA_API int32_t cyxla_abi_version(void);

/* Release of the library that is loaded, such as "0.1.0".
 *
 * Memory:  static string.  Threads: shared.  Since 0.1. */
CYXLA_API const char *cyxla_version(void);

/* Writes what compilers look at in the processor at hand: architecture, model and features, such as
 * "x86_64 00a10f10 64bit,adx,aes,avx".  Where the text is the same, the same code is compiled.
 *
 *   out_text  room for `size` bytes with the NUL; 2048 are enough, and less get the beginning.
 *
 * Threads: shared.  Since 0.1. */
CYXLA_API void cyxla_describe_cpu(char *out_text, size_t size);

/* ---- errors ---- */

/* Statuses: 1 to 16 have PJRT's (and Abseil's) numbers and meaning; from 100 on they are cyxla's.
 */
#define CYXLA_STATUS_MAP(X)                                                              \
  X(OK, 0)                                                                               \
  X(CANCELLED, 1)                                                                        \
  X(UNKNOWN, 2)                                                                          \
  X(INVALID_ARGUMENT, 3)                                                                 \
  X(DEADLINE_EXCEEDED, 4)                                                                \
  X(NOT_FOUND, 5)                                                                        \
  X(ALREADY_EXISTS, 6)                                                                   \
  X(PERMISSION_DENIED, 7)                                                                \
  X(RESOURCE_EXHAUSTED, 8)                                                               \
  X(FAILED_PRECONDITION, 9)                                                              \
  X(ABORTED, 10)                                                                         \
  X(OUT_OF_RANGE, 11)                                                                    \
  X(UNIMPLEMENTED, 12)                                                                   \
  X(INTERNAL, 13)                                                                        \
  X(UNAVAILABLE, 14)                                                                     \
  X(DATA_LOSS, 15)                                                                       \
  X(UNAUTHENTICATED, 16)                                                                 \
  X(PLUGIN_NOT_LOADED, 100)  /* no such file, or the dynamic linker refused it */        \
  X(PLUGIN_INVALID, 101)     /* a library, but not a PJRT plugin that cyxla can use */   \
  X(SIGNATURE_MISMATCH, 102) /* the executable's outputs are not those of the program */ \
  X(INPUT_MISMATCH, 103)     /* an input's element type or number of elements is wrong */

typedef enum cyxla_status {
#define CYXLA_STATUS_ENUM(name, number) CYXLA_##name = number,
  CYXLA_STATUS_MAP(CYXLA_STATUS_ENUM)
#undef CYXLA_STATUS_ENUM
} cyxla_status;

/* What went wrong.  Filled only where a function fails; a message that is too long ends in "...".
 */
typedef struct cyxla_error {
  size_t struct_size; /* sizeof(cyxla_error), see CYXLA_ERROR_INIT */
  int32_t code;       /* the cyxla_status that the function returned */
  char message[4084]; /* UTF-8, NUL-terminated */
} cyxla_error;

#define CYXLA_ERROR_INIT      \
  {                           \
    sizeof(cyxla_error), 0, { \
      0                       \
    }                         \
  }

/* Name of a status, such as "INVALID_ARGUMENT"; "UNKNOWN" for any other number.
 *
 * Memory:  static string.  Threads: shared.  Since 0.1. */
CYXLA_API const char *cyxla_status_name(int32_t status);

/* ---- arrays ---- */

/* Element types, with the numbers of PJRT_Buffer_Type.  A bool is one byte, 0 or 1; complex numbers
 * are (real, imaginary) pairs. */
typedef enum cyxla_element_type {
  CYXLA_PRED = 1,
  CYXLA_S8 = 2,
  CYXLA_S16 = 3,
  CYXLA_S32 = 4,
  CYXLA_S64 = 5,
  CYXLA_U8 = 6,
  CYXLA_U16 = 7,
  CYXLA_U32 = 8,
  CYXLA_U64 = 9,
  CYXLA_F16 = 10,
  CYXLA_F32 = 11,
  CYXLA_F64 = 12,
  CYXLA_BF16 = 13,
  CYXLA_C64 = 14,
  CYXLA_C128 = 15
} cyxla_element_type;

/* Bytes of one element; 0 for a number that is no element type.
 *
 * Threads: shared.  Since 0.1. */
CYXLA_API size_t cyxla_element_size(int32_t element_type);

/* Type of one input or output.  Arrays are dense and row-major. */
typedef struct cyxla_array_type {
  const char *name; /* path such as "params['w'][0]", used in messages; NULL: none */
  int32_t element_type;
  int32_t rank;
  const int64_t *dimensions; /* `rank` of them, each >= 0; may be NULL where rank is 0 */
} cyxla_array_type;

/* One argument of a call.  `data` may have any alignment, and may be NULL where there is no
 * element. */
typedef struct cyxla_input {
  const void *data;
  int32_t type; /* element type */
  size_t size;  /* number of elements */
} cyxla_input;

/* Memory that every engine can use in place: `size` bytes, aligned to 64; `size` 0 gives a unique
 * pointer.
 *
 * Returns: NULL where there is no memory.
 * Memory:  the caller's, freed by cyxla_aligned_free.
 * Threads: shared.  Since 0.1. */
CYXLA_API void *cyxla_aligned_alloc(size_t size);

/* Frees memory of cyxla_aligned_alloc; NULL is fine.
 *
 * Threads: shared.  Since 0.1. */
CYXLA_API void cyxla_aligned_free(void *pointer);

/* ---- options ---- */

typedef enum cyxla_option_kind {
  CYXLA_OPTION_STRING = 0,
  CYXLA_OPTION_INT64 = 1,
  CYXLA_OPTION_INT64_LIST = 2, /* for plugins only */
  CYXLA_OPTION_DOUBLE = 3,     /* plugins get it as a float */
  CYXLA_OPTION_BOOL = 4
} cyxla_option_kind;

/* A named value for a plugin or its compiler: `kind` tells which member holds.  Borrowed. */
typedef struct cyxla_option {
  const char *name;
  int32_t kind;
  int32_t list_count; /* items of int64_list */
  union {
    const char *string;
    int64_t int64;
    const int64_t *int64_list;
    double float64;
    int32_t boolean;
  } value;
} cyxla_option;

/* ---- plugin ---- */

typedef struct cyxla_plugin cyxla_plugin;

/* Loads the PJRT plugin at `path` and creates its client.
 *
 * The library is opened with RTLD_LOCAL and stays loaded for the rest of the process.  A second call
 * with the same file gives the same plugin, and must not bring options.
 *
 *   path        file of the shared library.
 *   platform    what the client is expected to call itself, such as "cpu"; NULL: anything, which may
 *               cost the making of a second client.
 *   options     create options of the client, `option_count` of them; NULL where there are none.  For
 *               the CPU, cyxla itself adds `cpu_device_count` = 1 and `asynchronous` = false where
 *               they are not given, so that a call stays in the thread of its caller.
 *   out_plugin  borrowed; lives as long as the process.
 *
 * XLA's libraries write to stderr, and read once, at their start, how much: nothing, unless the environment
 * variable CYXLA_LOG (info, warning, error, none, or 0 to 3) or XLA's own TF_CPP_MIN_LOG_LEVEL asks for it.  For
 * that, TF_CPP_MIN_LOG_LEVEL is set during the call, and put back.
 *
 * Returns: PLUGIN_NOT_LOADED, PLUGIN_INVALID (no GetPjrtApi, another major version, a missing
 *          function, another platform), FAILED_PRECONDITION (loaded before, and now with options; or loaded
 *          in the process of which this one is a fork), INVALID_ARGUMENT (XLA_FLAGS has a flag that the
 *          plugin does not know; CYXLA_LOG), RESOURCE_EXHAUSTED (the process can't start as many threads as
 *          XLA's CPU plugin does), or the plugin's own status.
 * Threads: startup, and it changes the environment: no other thread may read that meanwhile.  Since 0.1. */
CYXLA_API int32_t cyxla_plugin_load(const char *path, const char *platform,
                                    const cyxla_option *options, size_t option_count,
                                    cyxla_plugin **out_plugin, cyxla_error *error);

/* Checks that the environment variable XLA_FLAGS, or the file that it names, holds only flags that the library
 * at `library_path` knows: XLA ends the process where it finds another one, when its first client is made.
 * cyxla_plugin_load does it; it is here for those who load XLA by other means.  A library that does not look at
 * XLA_FLAGS, and one that can't be read, is fine.
 *
 * Returns: INVALID_ARGUMENT (the message names the flag).
 * Threads: startup.  Since 0.1. */
CYXLA_API int32_t cyxla_check_xla_flags(const char *library_path, cyxla_error *error);

typedef struct cyxla_plugin_info {
  size_t struct_size;
  const char *path;
  const char *platform;         /* such as "cpu" */
  const char *platform_version; /* the plugin's own words, "" where it has none */
  int32_t pjrt_major, pjrt_minor;
  int32_t stablehlo_current[3]; /* newest StableHLO it reads; {0, 0, 0} where it does not say */
  int32_t stablehlo_minimum[3]; /* oldest one */
  int64_t xla_version;          /* 0 where it does not say */
  size_t device_count;
  int32_t reads_in_place; /* 1: zero-copy works, since its device memory is host memory */
  /* Tells this build of the plugin from others, wherever it is installed; "" where its file can't be read. */
  const char *fingerprint;
} cyxla_plugin_info;

/* Describes a plugin; `out_info->struct_size` must be set.
 *
 * Memory:  strings are borrowed from the plugin.
 * Threads: shared.  Since 0.1. */
CYXLA_API void cyxla_plugin_get_info(const cyxla_plugin *plugin, cyxla_plugin_info *out_info);

/* ---- program ---- */

/* A function as StableHLO, and its signature.  Borrowed by the functions that take it. */
typedef struct cyxla_program {
  size_t struct_size;
  const char *name; /* used in messages; NULL: "main" */
  const void *code; /* portable StableHLO artifact, MLIR bytecode or MLIR text */
  size_t code_size;
  const cyxla_array_type *inputs;
  size_t input_count;
  const cyxla_array_type *outputs;
  size_t output_count;
} cyxla_program;

/* ---- executable ---- */

typedef struct cyxla_executable cyxla_executable;

/* What runs an executable.
 *
 * The direct engine calls the kernels that XLA's CPU compiler made, with no runtime in between; it runs
 * nearly all small programs, and refuses what it does not know.  PJRT's engine is the plugin's own
 * execution, on any platform.  Of one and the same executable both give the same bits. */
typedef enum cyxla_engine {
  CYXLA_ENGINE_AUTO = 0,   /* direct where every thunk is supported, else PJRT's */
  CYXLA_ENGINE_DIRECT = 1, /* direct, or an error that lists what stands in the way */
  CYXLA_ENGINE_PJRT = 2
} cyxla_engine;

/* Compiles a program for the first device of `plugin`.
 *
 * The options that JAX sets for the CPU are set here too, and so results are JAX's.  The entry layout
 * is row-major whatever the module says, and inputs are never donated.
 *
 *   program         borrowed; its `struct_size` must be set.
 *   options         XLA's debug options, such as xla_cpu_prefer_vector_width, `option_count` of them,
 *                   which win over JAX's; NULL where there are none.
 *   engine          a cyxla_engine.
 *   out_executable  the caller's, destroyed by cyxla_executable_destroy.
 *
 * Returns: INVALID_ARGUMENT (a bad signature, an unknown option, StableHLO that the plugin refuses),
 *          SIGNATURE_MISMATCH, FAILED_PRECONDITION (this process is a fork of that which loaded the plugin),
 *          UNIMPLEMENTED (a known fault of the plugin that can't be mended; thunks that the direct
 *          engine, if asked for, does not run), or the plugin's own status.
 * Threads: shared.  The plugin compiles in a thread of its own, with a large stack; in the caller's, where none
 *          can be started.
 * Since 0.1. */
CYXLA_API int32_t cyxla_compile(cyxla_plugin *plugin, const cyxla_program *program,
                                const cyxla_option *options, size_t option_count, int32_t engine,
                                cyxla_executable **out_executable, cyxla_error *error);

/* Loads what cyxla_executable_serialize wrote, or jaxlib's serialize().
 *
 * The bytes are native code: only load what you would also run.  For PJRT's engine they must come from
 * the same plugin; others are refused where the plugin notices.  The direct engine compares the whole
 * signature; PJRT's compares the outputs, and inputs when they are brought to a call, by their sizes.
 *
 *   plugin          NULL: only the direct engine may run it.
 *   program         gives the signature; its code is not used.  Borrowed.  NULL: the signature is the
 *                   executable's own, without names, which only the direct engine can tell.
 *   data            `size` bytes, not kept.
 *   engine          a cyxla_engine.
 *   out_executable  the caller's, destroyed by cyxla_executable_destroy.
 *
 * Returns: as cyxla_compile; FAILED_PRECONDITION too where the code needs another processor.  In a fork of the
 *          process that loaded the plugin, the direct engine still works.
 * Threads: shared.  Since 0.1. */
CYXLA_API int32_t cyxla_executable_deserialize(cyxla_plugin *plugin, const cyxla_program *program,
                                               const void *data, size_t size, int32_t engine,
                                               cyxla_executable **out_executable,
                                               cyxla_error *error);

/* Writes an executable as bytes.  With XLA's CPU plugin this must come before the first call where the
 * program sorts.
 *
 *   out_data, out_size  the bytes; the caller's, freed by cyxla_aligned_free.
 *
 * Returns: UNIMPLEMENTED (the plugin can't), or the plugin's own status.
 * Threads: shared.  Since 0.1. */
CYXLA_API int32_t cyxla_executable_serialize(const cyxla_executable *executable, void **out_data,
                                             size_t *out_size, cyxla_error *error);

/* How often a kind of thunk, which is a step of XLA's CPU runtime, occurs in an executable. */
typedef struct cyxla_thunk_count {
  const char *kind; /* XLA's name, such as "kernel" */
  size_t count;
} cyxla_thunk_count;

typedef struct cyxla_executable_info {
  size_t struct_size;
  const char *name;
  const cyxla_array_type *inputs;
  const size_t *input_sizes; /* bytes of each input */
  size_t input_count;
  const cyxla_array_type *outputs;
  const size_t *output_sizes; /* bytes of each output */
  size_t output_count;
  int64_t code_size;      /* bytes of machine code; -1 where the plugin does not say */
  int64_t temp_size;      /* bytes of temporaries of one call; -1 where the plugin does not say */
  const char *workaround; /* what cyxla did about a fault of the plugin; NULL: nothing */
  int32_t engine;         /* CYXLA_ENGINE_DIRECT or CYXLA_ENGINE_PJRT */
  const char *engine_reason;       /* why it is this engine, in words */
  const cyxla_thunk_count *thunks; /* by kind, nested ones too; NULL where they can't be told */
  size_t thunk_kind_count;
} cyxla_executable_info;

/* Describes an executable; `out_info->struct_size` must be set.
 *
 * Memory:  everything is borrowed from the executable.
 * Threads: shared.  Since 0.1. */
CYXLA_API void cyxla_executable_get_info(const cyxla_executable *executable,
                                         cyxla_executable_info *out_info);

/* Destroys an executable; NULL is fine.  No call may be running on it.
 *
 * Threads: owned.  Since 0.1. */
CYXLA_API void cyxla_executable_destroy(cyxla_executable *executable);

/* ---- execute ---- */

/* Flag of cyxla_execute: read inputs in place where the plugin can and their address is a multiple
 * of 64, else copy them as without the flag. */
#define CYXLA_ZERO_COPY 1u

/* Runs an executable once and waits for its results.
 *
 *   inputs   one for each input of the program, in order; NULL where there is none.
 *   outputs  where to write each output, any alignment; NULL drops that output.  They must not overlap
 *            each other, or an input under CYXLA_ZERO_COPY.
 *   flags    0 or CYXLA_ZERO_COPY.
 *
 * Returns: INPUT_MISMATCH or INVALID_ARGUMENT (before anything runs), FAILED_PRECONDITION (with PJRT's engine,
 *          in a fork of the process that loaded the plugin), or the plugin's own status.
 *          After a failure the contents of the outputs are unspecified, and the executable may be used
 *          again.
 * Memory:  inputs and outputs may be changed or freed as soon as the call has returned.
 * Threads: shared; calls of different threads do not wait for each other.  A thread keeps what a call
 *          needs for its next one; with more than 64 threads at once, some share and make it anew.
 * Since 0.1. */
CYXLA_API int32_t cyxla_execute(cyxla_executable *executable, const cyxla_input *inputs,
                                void *const *outputs, uint32_t flags, cyxla_error *error);

/* A call with its inputs and outputs fixed, see cyxla_bind. */
typedef struct cyxla_bound_call cyxla_bound_call;

/* Fixes the inputs and outputs of calls that come again and again: what can be prepared is prepared once.
 * The contents of inputs may change between calls, and are read anew by each.
 *
 *   inputs, outputs  as for cyxla_execute with CYXLA_ZERO_COPY; the lists are copied, the arrays must
 *                    stay until the bound call is destroyed.  With the direct engine, what is aligned to
 *                    64 is used in place, without any copy.
 *   out_call         the caller's, destroyed by cyxla_bound_call_destroy, before the executable is.
 *
 * Returns: INPUT_MISMATCH, INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
 * Threads: shared.  Since 0.1. */
CYXLA_API int32_t cyxla_bind(cyxla_executable *executable, const cyxla_input *inputs,
                             void *const *outputs, cyxla_bound_call **out_call, cyxla_error *error);

/* Runs a bound call once and waits for its results.
 *
 * Returns: the engine's own status.
 * Threads: owned; bound calls of one executable may run in different threads at once.  Since 0.1. */
CYXLA_API int32_t cyxla_bound_call_execute(cyxla_bound_call *call, cyxla_error *error);

/* Destroys a bound call, not its inputs and outputs; NULL is fine.
 *
 * Threads: owned.  Since 0.1. */
CYXLA_API void cyxla_bound_call_destroy(cyxla_bound_call *call);

/* Sets how many threads, that of the caller among them, the direct engine may use for one call; threads
 * start only where there is work that is worth it, on large arrays.
 *
 *   count  at least 1; 0: as many as the process has processors, which is the default.
 *
 * Threads: shared; holds for calls that begin afterwards.  Since 0.1. */
CYXLA_API void cyxla_set_thread_count(int32_t count);

/* ---- program files ---- */

/* A program file holds a program and, if you like, its compiled executable: what one process has compiled,
 * others run at once, with neither compiler nor Python.  It is code: only load what you would also run. */
typedef struct cyxla_file cyxla_file;

/* A named text. */
typedef struct cyxla_file_entry {
  const char *name;
  const char *value;
} cyxla_file_entry;

/* What a file says besides its program.  A text that is not given is NULL, and read as "". */
typedef struct cyxla_file_info {
  size_t struct_size;
  int32_t format_version; /* of the file; not used by cyxla_file_write */
  const char *platform;   /* that the program was made for, such as "cpu"; always given */

  /* What cyxla_executable_serialize or jaxlib's serialize() gave; NULL: none.  Read, its address is a
   * multiple of 64. */
  const void *executable;
  size_t executable_size;
  /* Of what compiled it: that of cyxla_plugin_info, or a text such as "jaxlib 0.11.2". */
  const char *fingerprint;
  /* Architecture and features that the code needs, without those that only tune, such as "x86_64,avx,avx2":
   * to be read, for what decides is in the executable.  Where it is NULL, cyxla_file_write takes it from
   * there. */
  const char *cpu_features;
  const cyxla_option *options; /* it was compiled with, and would be again */
  size_t option_count;

  const char *const *targets; /* FFI targets that must be registered before it is loaded */
  size_t target_count;
  const cyxla_file_entry *producers; /* who took part, such as {"jax", "0.11.2"} */
  size_t producer_count;
  const cyxla_file_entry *metadata; /* anything else; cyxla does not look at it */
  size_t metadata_count;
} cyxla_file_info;

/* Reads the file at `path` into memory and verifies it: sizes, checksums, the whole form.  Nothing of it is
 * executed or compiled.
 *
 *   out_file  the caller's, closed by cyxla_file_close.
 *
 * Returns: NOT_FOUND or PERMISSION_DENIED (the file), INVALID_ARGUMENT (it is no program file, or was
 *          written ill-formed), DATA_LOSS (it is one, and was cut or changed), UNIMPLEMENTED (it is of another
 *          version of the format), RESOURCE_EXHAUSTED, UNAVAILABLE (reading failed).
 * Threads: shared.  Since 0.1. */
CYXLA_API int32_t cyxla_file_open(const char *path, cyxla_file **out_file, cyxla_error *error);

/* The same for the bytes of a file, which are copied.
 *
 *   data      `size` bytes.
 *   out_file  the caller's, closed by cyxla_file_close.
 *
 * Returns: as cyxla_file_open.
 * Threads: shared.  Since 0.1. */
CYXLA_API int32_t cyxla_file_parse(const void *data, size_t size, cyxla_file **out_file,
                                   cyxla_error *error);

/* The program: name, signature with names (never NULL), and StableHLO, of size 0 where there is none.
 *
 * Memory:  borrowed from the file.
 * Threads: shared.  Since 0.1. */
CYXLA_API const cyxla_program *cyxla_file_get_program(const cyxla_file *file);

/* Tells what else is in the file; `out_info->struct_size` must be set.
 *
 * Memory:  everything is borrowed from the file.
 * Threads: shared.  Since 0.1. */
CYXLA_API void cyxla_file_get_info(const cyxla_file *file, cyxla_file_info *out_info);

/* Frees what was read; NULL is fine.  Executables that were loaded from it stay.
 *
 * Threads: owned.  Since 0.1. */
CYXLA_API void cyxla_file_close(cyxla_file *file);

/* Writes a program file.
 *
 * Whoever opens `path` at any time gets all of the old file or all of the new one: it is written beside it,
 * under a name of its own, and then renamed.  Nothing is left behind by a failure.  The new file has the
 * permissions that a new file gets (0644 without the umask); of a link, the link is replaced.
 *
 *   program  its `struct_size` must be set; without code, the file can only be loaded where its executable
 *            runs.  Borrowed.
 *   info     its `struct_size` must be set.  Borrowed.
 *
 * Returns: INVALID_ARGUMENT (nothing to store, no platform, a bad signature, an option that compilers don't
 *          take, a text that is not UTF-8), NOT_FOUND or PERMISSION_DENIED (the directory),
 *          RESOURCE_EXHAUSTED (no space, no memory), UNAVAILABLE (writing failed).
 * Threads: shared, and so for processes: of several writers, the last one wins.  Since 0.1. */
CYXLA_API int32_t cyxla_file_write(const char *path, const cyxla_program *program,
                                   const cyxla_file_info *info, cyxla_error *error);

/* Makes the program of a file runnable: its executable where that fits, else compiled again.
 *
 * First of all, the targets must be registered.  The direct engine takes the executable without a plugin if it
 * was compiled for a processor like this one.  PJRT's engine takes it if `plugin` has the fingerprint that the
 * file names.  In all other cases the plugin compiles the StableHLO, with the options in the file.
 *
 *   plugin          NULL: where one is needed, that at the path in the environment variable CYXLA_PLUGIN is
 *                   loaded.
 *   engine          a cyxla_engine.
 *   out_executable  the caller's, destroyed by cyxla_executable_destroy; it does not need the file.
 *
 * Returns: NOT_FOUND (targets that are not registered: the message names them),
 *          FAILED_PRECONDITION (neither does the executable fit, nor is there a plugin or StableHLO),
 *          or as cyxla_executable_deserialize and cyxla_compile.
 * Threads: startup.  Since 0.1. */
CYXLA_API int32_t cyxla_file_load(const cyxla_file *file, cyxla_plugin *plugin, int32_t engine,
                                  cyxla_executable **out_executable, cyxla_error *error);

/* The same for the file at `path`: opens, loads, closes.
 *
 * Returns: as cyxla_file_open and cyxla_file_load.
 * Threads: startup.  Since 0.1. */
CYXLA_API int32_t cyxla_load(const char *path, cyxla_plugin *plugin, int32_t engine,
                             cyxla_executable **out_executable, cyxla_error *error);

/* ---- export ---- */

typedef struct cyxla_export_options {
  size_t struct_size;
  const char *directory; /* where to write, which must be there */
  const char *name;      /* of the C function, and the beginning of the files' names */
  const char *producer;  /* what compiled the executable, for a comment; NULL: it is not told */
} cyxla_export_options;

/* Writes an executable as plain C, which needs neither XLA nor cyxla to run: a function `name` with a
 * parameter for each input and output, named after their paths.
 *
 * The files are `name`.h, the function's declaration and what its callers must know; `name`.c, for a
 * compiler of C99; and `name`_kernels.S, the machine code, for its assembler.  Together with libm they
 * link into any program or library for the executable's processor.  They replace files of these names.
 *
 *   executable  one that has the direct engine, and is made of kernels, copies and control flow alone.
 *   options     its `struct_size` must be set; borrowed.
 *
 * Returns: UNIMPLEMENTED (the message lists what can't be exported), INVALID_ARGUMENT (the name),
 *          RESOURCE_EXHAUSTED, and for files that can't be written NOT_FOUND, PERMISSION_DENIED or
 *          UNAVAILABLE.  What can't be exported changes no file.
 * Threads: shared.  Since 0.1. */
CYXLA_API int32_t cyxla_export(const cyxla_executable *executable,
                               const cyxla_export_options *options, cyxla_error *error);

/* ---- ffi ---- */

/* A handler of XLA's typed FFI: what XLA_FFI_DEFINE_HANDLER of xla/ffi/api/ffi.h defines, and
 * jaxlib's LAPACK functions are. */
struct XLA_FFI_CallFrame;
struct XLA_FFI_Error;
typedef struct XLA_FFI_Error *(*cyxla_ffi_handler)(struct XLA_FFI_CallFrame *call_frame);

/* A native function that programs call by name, a custom call: a handler for each stage of its
 * life, of which only `execute` must be there. */
typedef struct cyxla_ffi_target {
  size_t struct_size;
  const char *name;
  const char *platform; /* such as "cpu" */
  cyxla_ffi_handler instantiate;
  cyxla_ffi_handler prepare;
  cyxla_ffi_handler initialize;
  cyxla_ffi_handler execute;
  uint32_t traits; /* XLA_FFI_Handler_Traits */
} cyxla_ffi_target;

/* Registers a target for the rest of the process, with the plugins that are loaded and those that will
 * be.  A handler that was compiled for a newer FFI than a plugin's is bridged.  The same handlers
 * again are nothing.
 *
 *   target   its `struct_size` must be set; names are copied, handlers must stay callable.
 *
 * Returns: ALREADY_EXISTS (the name is taken by other handlers), INVALID_ARGUMENT, UNIMPLEMENTED
 *          (another major version of the FFI), RESOURCE_EXHAUSTED (512 targets are the most), or what
 *          the handler answers when it is asked for its version.
 * Threads: startup.  Since 0.1. */
CYXLA_API int32_t cyxla_register_ffi_target(const cyxla_ffi_target *target, cyxla_error *error);

typedef void (*cyxla_state_deleter)(void *state);

/* Registers the type of a state that handlers keep between stages.
 *
 *   type_id  the number by which the handlers call it (the id of an XLA_FFI_TypeId); 0: it has none yet
 *            and gets one.
 *   deleter  frees a state, in any thread; NULL: nothing to do.
 *
 * Returns: ALREADY_EXISTS (registered with another deleter).
 * Threads: startup.  Since 0.1. */
CYXLA_API int32_t cyxla_register_ffi_type(int64_t *type_id, cyxla_state_deleter deleter,
                                          cyxla_error *error);

/* Number of targets that are registered.
 *
 * Threads: shared.  Since 0.1. */
CYXLA_API size_t cyxla_ffi_target_count(void);

typedef enum cyxla_ffi_target_state {
  CYXLA_FFI_NOT_SEEN = 0,   /* it is for another platform */
  CYXLA_FFI_REGISTERED = 1, /* the plugin has the handlers */
  CYXLA_FFI_BRIDGED = 2,    /* it has them, though they are of a newer FFI, or keep state */
  CYXLA_FFI_FAILED = 3      /* the plugin can't have it: see `failure` */
} cyxla_ffi_target_state;

typedef struct cyxla_ffi_target_info {
  size_t struct_size;
  const char *name;
  const char *platform;
  int32_t
      ffi_minor; /* the version of the FFI that its handlers were compiled for is 0.`ffi_minor` */
  int32_t has_state;
  int32_t state;       /* with the plugin, a cyxla_ffi_target_state */
  const char *failure; /* NULL: none */
} cyxla_ffi_target_info;

/* Describes target number `index`, and what `plugin` (NULL: none) has of it, which is offered all that it
 * has not seen yet; `out_info->struct_size` must be set.
 *
 * Returns: OUT_OF_RANGE (there is no such target).
 * Memory:  strings live as long as the process.
 * Threads: startup.  Since 0.1. */
CYXLA_API int32_t cyxla_ffi_target_get_info(size_t index, cyxla_plugin *plugin,
                                            cyxla_ffi_target_info *out_info, cyxla_error *error);

#ifdef __cplusplus
}
#endif

#endif
