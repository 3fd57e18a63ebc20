/* Links arbitrary bytes, and never runs what comes out: an executable's object files, or one
 * object. */
#include <stddef.h>
#include <stdint.h>

#include "direct/code.h"
#include "direct/reloc.h"
#include "xla_cpu/container.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_OBJECTS = 32 };

static void link_objects(const cyxla__span *objects, size_t count) {
  static const char name[] = "f";
  cyxla__code *code;
  if (cyxla__code_link(objects, count, &code, NULL)) return;
  cyxla__code_find(code, (cyxla__span){(uint8_t *)name, 1});
  cyxla__code_unload(code);
}

/* The first bytes as a relocation of the machine: type, address, target, and its place. */
static void relocate(const cyxla__machine *machine, cyxla__span input) {
  uint64_t type, address, target;
  uint8_t place[8] = {0};
  if (!cyxla__span_load(input, 0, 2, &type) || !cyxla__span_load(input, 2, 8, &address) ||
      !cyxla__span_load(input, 10, 8, &target))
    return;
  const cyxla__span room = {place, input.data[0] % (sizeof place + 1)};
  machine->relocate((uint32_t)type, room, address, target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const cyxla__span input = {(uint8_t *)data, size};
  cyxla__span rest, objects[MAX_OBJECTS];
  size_t count = 0;
  relocate(&cyxla__machine_x86_64, input);
  relocate(&cyxla__machine_aarch64, input);
  if (cyxla__container_open(input, &rest))
    while (count < MAX_OBJECTS && cyxla__container_next_object(&rest, &objects[count])) ++count;
  else
    objects[count++] = input;
  link_objects(objects, count);
  return 0;
}
