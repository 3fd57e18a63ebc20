#include <stdint.h>

#include "base/arena.h"
#include "test.h"

static void pieces_are_zeroed_aligned_and_apart(void) {
  cyxla__arena arena = {0};
  unsigned char *pieces[300];
  for (size_t i = 0; i < 300; ++i) {
    pieces[i] = cyxla__arena_alloc(&arena, i, 7);
    CHECK_INT((uintptr_t)pieces[i] % 64, 0);
    for (size_t k = 0; k < 7 * i; ++k) CHECK_INT(pieces[i][k], 0);
    memset(pieces[i], (int)(i % 251 + 1), 7 * i);
  }
  for (size_t i = 0; i < 300; ++i)
    for (size_t k = 0; k < 7 * i; ++k) CHECK_INT(pieces[i][k], i % 251 + 1);
  cyxla__arena_deinit(&arena);
}

static void large_pieces_have_blocks_of_their_own(void) {
  cyxla__arena arena = {0};
  memset(cyxla__arena_alloc(&arena, 1, 1 << 20), 1, 1 << 20);
  memset(cyxla__arena_alloc(&arena, 1, 100), 2, 100);
  cyxla__arena_deinit(&arena);
}

static void nothing_is_a_piece_too(void) {
  cyxla__arena arena = {0};
  CHECK(cyxla__arena_alloc(&arena, 0, 8) != NULL);
  cyxla__arena_deinit(&arena);
}

static void what_does_not_fit_is_null(void) {
  cyxla__arena arena = {0};
  CHECK(!cyxla__arena_alloc(&arena, SIZE_MAX, 2));
  CHECK(!cyxla__arena_alloc(&arena, SIZE_MAX - 64, 1));
  CHECK(!cyxla__arena_alloc(&arena, SIZE_MAX / 2, 1));
  cyxla__arena_deinit(&arena);
  cyxla__arena_deinit(&arena);
}

int main(void) {
  RUN(pieces_are_zeroed_aligned_and_apart);
  RUN(large_pieces_have_blocks_of_their_own);
  RUN(nothing_is_a_piece_too);
  RUN(what_does_not_fit_is_null);
  return 0;
}
