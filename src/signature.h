/* The signature of a program: our own copy, checked once, with all sizes worked out. */
#ifndef CYXLA_SIGNATURE_H
#define CYXLA_SIGNATURE_H

#include <stdbool.h>

#include "cyxla/cyxla.h"

typedef struct cyxla__arrays {
  cyxla_array_type *types; /* each owns its name and its dimensions */
  size_t *lengths;         /* number of elements of each */
  size_t *sizes;           /* bytes of each */
  size_t count;
} cyxla__arrays;

typedef struct cyxla__signature {
  char *name;
  cyxla__arrays inputs;
  cyxla__arrays outputs;
} cyxla__signature;

/* Copies the signature of `program`; refuses unknown element types, negative dimensions and sizes
 * that overflow.  deinit accepts a half-built or zeroed signature. */
int32_t cyxla__signature_init(cyxla__signature *signature, const cyxla_program *program,
                              cyxla_error *error);
void cyxla__signature_deinit(cyxla__signature *signature);

/* Compare what an executable says of itself with the program: SIGNATURE_MISMATCH where they differ.
 * `role`: "input" or "output", which `arrays` are. */
int32_t cyxla__signature_check_count(const cyxla__arrays *arrays, const char *role, size_t count,
                                     cyxla_error *error);
int32_t cyxla__signature_check(const cyxla__arrays *arrays, const char *role, size_t index,
                               int32_t element_type, int32_t rank, const int64_t *dimensions,
                               cyxla_error *error);

/* Text of a type such as "f32[3,4]", cut to `capacity` bytes; returns `buffer`. */
const char *cyxla__type_text(char *buffer, size_t capacity, int32_t element_type, int32_t rank,
                             const int64_t *dimensions);

/* The largest text of cyxla__type_text that messages make room for. */
#define CYXLA__TYPE_TEXT_SIZE 160

#endif
