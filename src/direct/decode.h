/* Between the parts of decoding; image.h is what others use.
 *
 *   decode.c          the executable as a whole
 *   decode_shape.c    shapes, slices
 *   decode_thunks.c   what runs
 *   decode_hlo.c      the program's instructions, of which few are needed
 *   decode_buffers.c  which value lies where
 *   decode_values.c   what is memory of what: inputs, outputs, constants
 *   decode_literal.c  contents of constants
 *
 * What an image keeps goes into its own arena, what only decoding needs into `scratch`. */
#ifndef CYXLA_DIRECT_DECODE_H
#define CYXLA_DIRECT_DECODE_H

#include "direct/image.h"
#include "direct/message.h"

/* ---- shapes ---- */

/* The shape of one array.  Tuples, and types whose elements cyxla can't hold, have the size 0. */
int32_t cyxla__decode_shape(cyxla__arena *arena, cyxla__span message, cyxla__shape *out_shape,
                            cyxla_error *error);

/* The same for each element of a tuple, or for one array: `*out_is_tuple` tells. */
int32_t cyxla__decode_shapes(cyxla__arena *arena, cyxla__span message,
                             const cyxla__shape **out_shapes, size_t *out_count, bool *out_is_tuple,
                             cyxla_error *error);

int32_t cyxla__decode_slice(cyxla__span message, cyxla__slice *out_slice, cyxla_error *error);
int32_t cyxla__decode_array(cyxla__arena *arena, cyxla__span message, cyxla__array *out_array,
                            cyxla_error *error);

/* ---- thunks ---- */

/* Decodes a sequence of thunks into `image`, and counts them there. */
int32_t cyxla__decode_thunks(cyxla__image *image, cyxla__span message, cyxla_error *error);

/* ---- HLO ---- */

typedef struct cyxla__instruction {
  int64_t id;
  cyxla__span opcode, shape, literal;
  uint64_t parameter_number, tuple_index;
  const int64_t *operands; /* ids */
  size_t operand_count;
  const int64_t *called; /* ids of computations */
  size_t called_count;
} cyxla__instruction;

typedef struct cyxla__computation {
  int64_t id, root;
  cyxla__span message;
  size_t instruction_count;
} cyxla__computation;

/* An instruction that is decoded when it is asked for. */
typedef struct cyxla__hlo_entry {
  int64_t id;
  cyxla__span message;
  bool is_input; /* a parameter of the entry computation */
  const cyxla__instruction *decoded;
} cyxla__hlo_entry;

typedef struct cyxla__hlo {
  cyxla__arena *scratch;
  cyxla__span name;
  int64_t entry_id;
  cyxla__computation *computations; /* by id */
  size_t computation_count;
  cyxla__hlo_entry *entries; /* by id */
  size_t entry_count;
} cyxla__hlo;

int32_t cyxla__hlo_open(cyxla__arena *scratch, cyxla__span message, cyxla__hlo *out_hlo,
                        cyxla_error *error);

int32_t cyxla__hlo_find(cyxla__hlo *hlo, int64_t id, const cyxla__instruction **out_instruction,
                        cyxla_error *error);

/* The instruction whose value is that of a computation. */
int32_t cyxla__hlo_root(cyxla__hlo *hlo, int64_t computation_id,
                        const cyxla__instruction **out_root, cyxla_error *error);

/* ---- buffer assignment ---- */

/* Where in a value a buffer lies: the value itself (of a tuple: its table), an element of a
 * tuple, or deeper, which is told apart and no further. */
enum { CYXLA__ELEMENT_NONE = -1, CYXLA__ELEMENT_DEEPER = -2 };

typedef struct cyxla__buffer {
  uint64_t id;
  int64_t instruction;
  int64_t element;
  bool is_assigned; /* to memory: */
  cyxla__slice slice;
  struct cyxla__buffer *next; /* of the same allocation */
} cyxla__buffer;

/* BufferAllocationProto, as it is. */
typedef struct cyxla__raw_allocation {
  uint64_t index, size, parameter_number, color;
  bool is_thread_local, is_parameter, maybe_live_out, is_constant;
  size_t parameter_index_count; /* of a parameter that is a tuple: numbers of the path into it */
  cyxla__buffer *buffers;       /* that lie in it */
} cyxla__raw_allocation;

typedef struct cyxla__assignment {
  cyxla__buffer *buffers; /* by id */
  size_t buffer_count;
  cyxla__buffer **by_definition; /* by instruction and element */
  cyxla__raw_allocation *allocations;
  size_t allocation_count;
} cyxla__assignment;

int32_t cyxla__assignment_open(cyxla__arena *scratch, cyxla__span message,
                               cyxla__assignment *out_assignment, cyxla_error *error);

/* The buffer that `instruction` defines, or NULL. */
const cyxla__buffer *cyxla__assignment_find(const cyxla__assignment *assignment,
                                            int64_t instruction, int64_t element);

/* ---- values ---- */

/* Decodes inputs, outputs and allocations into `image`. */
int32_t cyxla__decode_values(cyxla__image *image, cyxla__hlo *hlo,
                             const cyxla__assignment *assignment, cyxla_error *error);

/* The bytes of a constant as they lie in memory, which must be `size` of them. */
int32_t cyxla__decode_literal(cyxla__arena *arena, cyxla__span message, uint64_t size,
                              const void **out_data, cyxla_error *error);

#endif
