#include <string.h>

#include "direct/sort_records.h"

void cyxla__insertion_sort(const cyxla__order *order, cyxla__record *records, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    const cyxla__record record = records[i];
    if (!cyxla__before(order, &record, &records[0])) {
      cyxla__insert_record(order, records, i);
    } else {
      memmove(records + 1, records, i * sizeof *records);
      records[0] = record;
    }
  }
}
