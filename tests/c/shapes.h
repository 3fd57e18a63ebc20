/* Shapes for tests of operations: any layout, and the place of each element in memory. */
#ifndef CYXLA_SHAPES_H
#define CYXLA_SHAPES_H

#include "direct/image.h"
#include "random.h"
#include "test.h"
#include "xla_cpu/primitive_type.h"

enum { MOST_DIMENSIONS = 6 };

typedef struct shape_memory {
  int64_t dimensions[MOST_DIMENSIONS], minor_to_major[MOST_DIMENSIONS];
} shape_memory;

/* A shape of the dimensions in `memory`, in a random layout. */
static inline cyxla__shape make_shape(int32_t type, int32_t rank, shape_memory *memory,
                                      uint64_t *state) {
  cyxla__shape shape = {type, rank, memory->dimensions, memory->minor_to_major, 1, 0};
  for (int32_t i = 0; i < rank; ++i) {
    const uint32_t k = next_random(state) % (uint32_t)(i + 1);
    memory->minor_to_major[i] = i;
    memory->minor_to_major[i] = memory->minor_to_major[k];
    memory->minor_to_major[k] = i;
    shape.length *= (size_t)memory->dimensions[i];
  }
  shape.size = shape.length * cyxla__primitive_size(type);
  return shape;
}

/* The number of the element at `index` in memory. */
static inline size_t place_of(const cyxla__shape *shape, const int64_t *index) {
  size_t place = 0;
  for (int32_t i = shape->rank; i-- > 0;) {
    const int64_t dimension = shape->minor_to_major[i];
    place = place * (size_t)shape->dimensions[dimension] + (size_t)index[dimension];
  }
  return place;
}

/* The next index, from all 0 on; false after the last one. */
static inline bool next_index(const cyxla__shape *shape, int64_t *index) {
  for (int32_t i = 0; i < shape->rank; ++i) {
    if (++index[i] < shape->dimensions[i]) return true;
    index[i] = 0;
  }
  return false;
}

/* Memory of exactly this size, so that checkers see what is outside, aligned as XLA's. */
static inline void *exact_memory(size_t size) {
  void *memory = NULL;
  CHECK(!posix_memalign(&memory, 64, size ? size : 1));
  return memory;
}

static inline void *random_memory(size_t size, uint64_t *state) {
  uint8_t *memory = exact_memory(size);
  for (size_t i = 0; i < size; ++i) memory[i] = (uint8_t)next_random(state);
  return memory;
}

#endif
