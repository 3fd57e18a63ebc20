#include "direct/op_copy.h"
#include "shapes.h"

static const int32_t types[] = {XLA_U8, XLA_U16, XLA_F32, XLA_C64, XLA_C128};

/* Copies `source` element by element. */
static void copy_slowly(const cyxla__shape *source, const cyxla__shape *destination,
                        const uint8_t *from, uint8_t *to) {
  const size_t size = cyxla__primitive_size(source->type);
  int64_t index[MOST_DIMENSIONS] = {0};
  if (!source->length) return;
  do {
    memcpy(to + place_of(destination, index) * size, from + place_of(source, index) * size, size);
  } while (next_index(source, index));
}

static void check_copy(const cyxla__shape *source, const cyxla__shape *destination,
                       uint64_t *state) {
  cyxla__arena arena = {0};
  const cyxla__copy *copy = cyxla__copy_plan(&arena, source, destination);
  CHECK(copy != NULL);
  uint8_t *from = random_memory(source->size, state);
  uint8_t *found = exact_memory(source->size), *expected = exact_memory(source->size);
  const size_t piece_size = cyxla__copy_piece_size(copy);
  if (piece_size) CHECK_INT(piece_size, source->size);
  cyxla__copy_run(copy, from, found);
  copy_slowly(source, destination, from, expected);
  CHECK_BYTES(found, expected, source->size);
  free(from);
  free(found);
  free(expected);
  cyxla__arena_deinit(&arena);
}

/* Some dimensions are 1, and a few are 0. */
static void copies_any_layout(void) {
  uint64_t state = 1;
  for (int trial = 0; trial < 4000; ++trial) {
    const int32_t type = types[trial % 5], rank = (int32_t)(next_random(&state) % 6);
    shape_memory memory, other;
    for (int32_t i = 0; i < rank; ++i) {
      memory.dimensions[i] = next_random(&state) % 40 ? 1 + next_random(&state) % 5 : 0;
      other.dimensions[i] = memory.dimensions[i];
    }
    const cyxla__shape source = make_shape(type, rank, &memory, &state);
    const cyxla__shape destination = make_shape(type, rank, &other, &state);
    check_copy(&source, &destination, &state);
    check_copy(&source, &source, &state);
  }
}

/* One piece, whatever the places of dimensions of length 1; and several. */
static void tells_pieces(void) {
  static const int64_t dimensions[] = {3, 1, 4}, minor[][3] = {{2, 1, 0}, {1, 2, 0}, {0, 1, 2}};
  cyxla__arena arena = {0};
  cyxla__shape shapes[3];
  for (int i = 0; i < 3; ++i)
    shapes[i] = (cyxla__shape){.type = XLA_F32,
                               .rank = 3,
                               .dimensions = dimensions,
                               .minor_to_major = minor[i],
                               .length = 12,
                               .size = 48};
  CHECK_INT(cyxla__copy_piece_size(cyxla__copy_plan(&arena, &shapes[0], &shapes[0])), 48);
  CHECK_INT(cyxla__copy_piece_size(cyxla__copy_plan(&arena, &shapes[0], &shapes[1])), 48);
  CHECK_INT(cyxla__copy_piece_size(cyxla__copy_plan(&arena, &shapes[0], &shapes[2])), 0);
  cyxla__arena_deinit(&arena);
}

int main(void) {
  RUN(tells_pieces);
  RUN(copies_any_layout);
}
