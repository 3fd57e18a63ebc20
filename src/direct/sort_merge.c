#include <string.h>

#include "direct/sort_records.h"

enum { CHUNK = 7 }; /* sorted by insertion before the first merge */

static void copy_records(cyxla__record *to, const cyxla__record *from, size_t count) {
  memmove(to, from, count * sizeof *to);
}

/* Merges `left` and `right`, each up to its end, into `out`; `right` may be the end of `out`. */
static void merge(const cyxla__order *order, const cyxla__record *left,
                  const cyxla__record *left_end, const cyxla__record *right,
                  const cyxla__record *right_end, cyxla__record *out) {
  while (left < left_end && right < right_end) {
    if (cyxla__before(order, right, left))
      *out++ = *right++;
    else
      *out++ = *left++;
  }
  copy_records(out, left, (size_t)(left_end - left));
  copy_records(out + (left_end - left), right, (size_t)(right_end - right));
}

/* The same from the back; `left` may be the start of `out`. */
static void merge_backward(const cyxla__order *order, const cyxla__record *left,
                           const cyxla__record *left_end, const cyxla__record *right,
                           const cyxla__record *right_end, cyxla__record *out_end) {
  while (left < left_end && right < right_end) {
    if (cyxla__before(order, right_end - 1, left_end - 1))
      *--out_end = *--left_end;
    else
      *--out_end = *--right_end;
  }
  copy_records(out_end - (right_end - right), right, (size_t)(right_end - right));
  copy_records(out_end - (left_end - left), left, (size_t)(left_end - left));
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Merges neighbours of `step` sorted records each into `out`; what is left over at the end, too. */
static void merge_all(const cyxla__order *order, const cyxla__record *records, size_t count,
                      size_t step, cyxla__record *out) {
  while (count) {
    const size_t left = smaller(step, count), right = smaller(step, count - left);
    merge(order, records, records + left, records + left, records + left + right, out);
    records += left + right;
    out += left + right;
    count -= left + right;
  }
}

/* Sorts with a buffer for as many records: chunks, then merges there and back. */
static void sort_half(const cyxla__order *order, cyxla__record *records, size_t count,
                      cyxla__record *buffer) {
  for (size_t i = 0; i < count; i += CHUNK)
    cyxla__insertion_sort(order, records + i, smaller(CHUNK, count - i));
  for (size_t step = CHUNK; step < count; step *= 4) {
    merge_all(order, records, count, step, buffer);
    merge_all(order, buffer, count, step * 2, records);
  }
}

void cyxla__merge_sort(const cyxla__order *order, cyxla__record *records, size_t count,
                       cyxla__record *buffer) {
  const size_t left = count / 2 + count % 2, right = count - left;
  cyxla__record *middle = records + left, *end = records + count;
  sort_half(order, records, left, buffer);
  sort_half(order, middle, right, buffer);
  if (left <= right) {
    copy_records(buffer, records, left);
    merge(order, buffer, buffer + left, middle, end, records);
  } else {
    copy_records(buffer, middle, right);
    merge_backward(order, records, middle, buffer, buffer + right, end);
  }
}
