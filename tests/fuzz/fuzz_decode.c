/* Decodes and verifies arbitrary bytes; of what is let through, every slice lies inside of its
 * allocation, and every number is in range. */
#include "image_invariants.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  check_any_bytes((cyxla__span){(uint8_t *)data, size});
  return 0;
}
