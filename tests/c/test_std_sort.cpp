// Our sorts and libstdc++'s, which XLA uses: every permutation has to be the same.
#include <algorithm>
#include <vector>

extern "C" {
#include "direct/sort_records.h"
}
#include "sort_cases.h"
#include "test.h"

#ifdef __GLIBCXX__

// libstdc++ leaves the array where comparisons are no order.  A record beyond each end, which is neither
// before nor after any other, stops it there, as the ends stop our sorts.
static const uint64_t outside = UINT64_MAX;

struct Before {
  const cyxla__order *order;
  bool operator()(const cyxla__record &a, const cyxla__record &b) const {
    return a.position != outside && b.position != outside && cyxla__before(order, &a, &b);
  }
};

typedef std::vector<cyxla__record> Records;

static Records with_ends(const Records &records) {
  Records padded(1, cyxla__record{0, outside});
  padded.insert(padded.end(), records.begin(), records.end());
  padded.push_back(cyxla__record{0, outside});
  return padded;
}

static Records sorted_by_std(const Records &records, const cyxla__order &order, bool stable) {
  Records padded = with_ends(records);
  if (stable)
    std::stable_sort(padded.begin() + 1, padded.end() - 1, Before{&order});
  else
    std::sort(padded.begin() + 1, padded.end() - 1, Before{&order});
  return Records(padded.begin() + 1, padded.end() - 1);
}

static Records sorted_by_us(Records records, const cyxla__order &order, bool stable) {
  Records buffer((records.size() + 1) / 2);
  if (stable)
    cyxla__merge_sort(&order, records.data(), records.size(), buffer.data());
  else
    cyxla__introsort(&order, records.data(), records.size());
  return records;
}

static Records make_records(int kind, size_t count, uint64_t *state) {
  Records records(count);
  make_case(kind, records.data(), count, state);
  return records;
}

static void check_same(const Records &records, const cyxla__order &order, bool stable) {
  const Records found = sorted_by_us(records, order, stable);
  const Records expected = sorted_by_std(records, order, stable);
  for (size_t i = 0; i < records.size(); ++i)
    if (found[i].position != expected[i].position)
      TEST_FAIL("%zu records: place %zu is of %llu, not %llu", records.size(), i,
                (unsigned long long)found[i].position, (unsigned long long)expected[i].position);
}

static void check_count(size_t count, uint64_t *state) {
  static const cyxla__order orders[] = {{nullptr, nullptr},
                                        {by_key, nullptr},
                                        {before_but_thirds, nullptr},
                                        {before_or_equal, nullptr}};
  for (int kind = 0; kind < CASE_COUNT; ++kind) {
    const Records records = make_records(kind, count, state);
    for (const cyxla__order &order : orders)
      for (bool stable : {false, true}) check_same(records, order, stable);
  }
}

static void sorts_alike(void) {
  uint64_t state = 1;
  for (size_t count = 1; count < 200; ++count) check_count(count, &state);
  for (size_t count = 200; count <= 2000; count += 1 + next_random(&state) % 120)
    check_count(count, &state);
  check_count(20000, &state);
}

static void recorded_as_it_is(void) {
  const cyxla__order order = {nullptr, nullptr};
  uint64_t state = 1, hash = 0;
  for (size_t count = 1; count <= SORT_CASES_MOST; ++count)
    for (int kind = 0; kind < CASE_COUNT; ++kind) {
      const Records sorted = sorted_by_std(make_records(kind, count, &state), order, false);
      hash = add_to_hash(hash, sorted.data(), count);
    }
  if (hash != SORT_CASES_HASH) TEST_FAIL("the hash is %#llx", (unsigned long long)hash);
}

int main() {
  RUN(sorts_alike);
  RUN(recorded_as_it_is);
}

#else

int main() {
  return TEST_SKIPPED;
}

#endif
