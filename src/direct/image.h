/* What a serialized XLA:CPU executable says, decoded and verified.
 *
 * cyxla__image_decode reads the bytes (bounds, well-formed messages) and cyxla__image_verify decides
 * whether the direct engine may run what they say: after it, every slice lies inside its allocation,
 * every index is in range, and whoever plans or runs checks nothing of that again.
 *
 * Spans point into the serialized bytes, which must outlive the image; everything else lives in the
 * image's arena. */
#ifndef CYXLA_DIRECT_IMAGE_H
#define CYXLA_DIRECT_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

typedef struct cyxla__shape {
  int32_t type; /* XLA's PrimitiveType */
  int32_t rank;
  const int64_t *dimensions;     /* `rank` of them, each >= 0 */
  const int64_t *minor_to_major; /* a permutation of 0 .. rank - 1, the fastest dimension first */
  size_t length;                 /* number of elements */
  size_t size;                   /* bytes */
} cyxla__shape;

/* A piece of an allocation. */
typedef struct cyxla__slice {
  uint32_t allocation;
  uint64_t offset, size;
} cyxla__slice;

typedef struct cyxla__array {
  cyxla__slice slice;
  cyxla__shape shape;
} cyxla__array;

/* What memory an allocation gets. */
typedef enum cyxla__allocation_kind {
  CYXLA__ALLOCATION_TEMP,      /* working memory of a call (also tables of tuples) */
  CYXLA__ALLOCATION_UNUSED,    /* thread-local: inlined in kernels, no thunk refers to it */
  CYXLA__ALLOCATION_CONSTANT,  /* `constant`, shared by all calls */
  CYXLA__ALLOCATION_PARAMETER, /* input `number` of the program */
  CYXLA__ALLOCATION_OUTPUT     /* output `number`; may hold intermediate values before */
} cyxla__allocation_kind;

typedef struct cyxla__allocation {
  cyxla__allocation_kind kind;
  uint32_t number;
  uint64_t size;
  const void *constant; /* `size` bytes, aligned to 64 */
  /* An output that starts as a copy of input `parameter` (a donated one); -1: it does not. */
  int32_t parameter;
} cyxla__allocation;

/* Kinds that the engine runs, in no particular order, and the rest, whose names are kept. */
typedef enum cyxla__thunk_kind {
  CYXLA__THUNK_UNSUPPORTED,
  CYXLA__THUNK_KERNEL,
  CYXLA__THUNK_COPY,
  CYXLA__THUNK_CALL,
  CYXLA__THUNK_CONDITIONAL,
  CYXLA__THUNK_WHILE,
  CYXLA__THUNK_SORT,
  CYXLA__THUNK_TOP_K,
  CYXLA__THUNK_RNG_STATE,
  CYXLA__THUNK_DEVICE_ID, /* partition-id and replica-id: 0 */
  CYXLA__THUNK_CUSTOM_CALL,
  CYXLA__THUNK_DOT
} cyxla__thunk_kind;

typedef struct cyxla__sequence {
  const struct cyxla__thunk *thunks;
  size_t count;
} cyxla__sequence;

typedef struct cyxla__thunk {
  cyxla__thunk_kind kind;
  cyxla__span kind_name; /* XLA's own, such as "ynn-fusion" */
  cyxla__span op_name;   /* name of the HLO instruction, for messages */
  union {
    struct {
      cyxla__span name; /* symbol of its function */
      uint64_t workgroups[3];
      const cyxla__slice *buffers; /* arguments, then results */
      size_t count;
      size_t argument_count;
      uint64_t alignment; /* that its code expects of the buffers; 0: none */
    } kernel;
    struct {
      cyxla__array source, destination;
    } copy;
    struct {
      cyxla__sequence sequence;
    } call;
    struct {
      const cyxla__sequence *branches;
      size_t count;       /* at least 1 */
      cyxla__slice index; /* 1 byte: a bool, true is branch 0; 4 bytes: an int32 */
    } conditional;
    struct {
      cyxla__sequence condition, body;
      cyxla__slice predicate; /* 1 byte */
      bool trip_count_known;
      uint64_t trip_count;
    } loop;
    struct {
      int32_t dimension;
      bool stable;
      int32_t direction; /* 0: by the comparator; 1: ascending; 2: descending */
      cyxla__span comparator;
      const cyxla__array *operands; /* all of one shape but for the type */
      size_t count;                 /* at least 1 */
    } sort;
    struct {
      uint64_t batch_size, input_size, k;
      cyxla__slice values, output, indices;
    } top_k;
    struct {
      uint64_t delta;
      cyxla__slice state; /* 16 bytes */
    } rng_state;
    struct {
      cyxla__slice id; /* 4 bytes */
    } device_id;
    struct {
      uint64_t api_version;        /* 4: typed FFI, the only one that is supported */
      cyxla__span target, config;  /* config: text of an MLIR dictionary */
      const cyxla__array *buffers; /* arguments, then results */
      size_t count;
      size_t argument_count;
    } custom_call;
    struct {
      cyxla__array left, right, result;
      /* The dimensions of left and right that are contracted, and those of batches, in pairs. */
      const int64_t *left_contracting, *right_contracting, *left_batch, *right_batch;
      size_t contracting_count, batch_count;
    } dot;
  } as;
} cyxla__thunk;

typedef struct cyxla__image {
  cyxla__arena arena;
  cyxla__span name;     /* of the HLO module */
  cyxla__span features; /* that the code was compiled for, "+avx,-amx-tile,..." */
  cyxla__span triple;   /* such as "x86_64-unknown-linux-gnu" */
  const cyxla__allocation *allocations;
  size_t allocation_count;
  cyxla__sequence sequence;
  const cyxla__span *objects; /* ELF relocatables */
  size_t object_count;
  const cyxla__span *symbols; /* the functions that the objects define: kernels and comparators */
  size_t symbol_count;
  const cyxla__shape *inputs; /* by parameter number */
  size_t input_count;
  const cyxla__shape *outputs;
  size_t output_count;
  /* An allocation for each output. */
  const uint32_t *output_allocations;
  /* How often each kind of thunk occurs, nested ones too. */
  const cyxla_thunk_count *thunk_counts;
  size_t thunk_kind_count;
} cyxla__image;

/* Decodes what PJRT_Executable_Serialize or jaxlib's serialize() wrote.  Thunks of other kinds than
 * the engine's are kept as such.
 *
 * Returns: INVALID_ARGUMENT (no such executable, or ill-formed: the message says where),
 *          UNIMPLEMENTED (a form that is not known), RESOURCE_EXHAUSTED.  On failure there is nothing to
 *          deinit. */
int32_t cyxla__image_decode(cyxla__span serialized, cyxla__image *out_image, cyxla_error *error);

/* Decides whether the direct engine may run it.  UNIMPLEMENTED: the message lists all thunks (by kind,
 * with their number and an example's name) that stand in the way, or names the rule that is broken;
 * INVALID_ARGUMENT: the executable contradicts itself. */
int32_t cyxla__image_verify(const cyxla__image *image, cyxla_error *error);

/* Number of thunks, nested ones too. */
size_t cyxla__image_thunk_count(const cyxla__image *image);

void cyxla__image_deinit(cyxla__image *image);

#endif
