#include <stdlib.h>

#include "direct/decode.h"
#include "xla_cpu/schema.h"

static int compare_ids(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static int compare_computations(const void *a, const void *b) {
  return compare_ids(((const cyxla__computation *)a)->id, ((const cyxla__computation *)b)->id);
}

static int compare_entries(const void *a, const void *b) {
  return compare_ids(((const cyxla__hlo_entry *)a)->id, ((const cyxla__hlo_entry *)b)->id);
}

static int32_t read_computation(cyxla__span message, cyxla__computation *computation,
                                cyxla_error *error) {
  uint64_t id = 0, root = 0;
  const cyxla__member members[] = {
      {COMPUTATION_INSTRUCTIONS, .messages = &computation->instruction_count},
      {COMPUTATION_ID, .number = &id},
      {COMPUTATION_ROOT_ID, .number = &root},
      {0},
  };
  TRY(cyxla__message_read(message, "HloComputationProto", members, error));
  computation->id = (int64_t)id;
  computation->root = (int64_t)root;
  computation->message = message;
  return CYXLA_OK;
}

static int32_t read_computations(cyxla__hlo *hlo, cyxla__span message, cyxla_error *error) {
  const size_t count = hlo->computation_count;
  hlo->computations = cyxla__arena_alloc(hlo->scratch, count, sizeof *hlo->computations);
  if (!hlo->computations) return cyxla__fail_memory(error, count * sizeof *hlo->computations);
  cyxla__computation *computation = hlo->computations;
  for (cyxla__span next; cyxla__message_next(&message, MODULE_COMPUTATIONS, &next); ++computation) {
    TRY(read_computation(next, computation, error));
    hlo->entry_count += computation->instruction_count;
  }
  qsort(hlo->computations, count, sizeof *hlo->computations, compare_computations);
  for (size_t i = 1; i < count; ++i)
    if (hlo->computations[i - 1].id == hlo->computations[i].id)
      return cyxla__fail_message(error, "HloModuleProto");
  return CYXLA_OK;
}

static int32_t read_entry(cyxla__span message, bool is_in_main, cyxla__hlo_entry *entry,
                          cyxla_error *error) {
  uint64_t id = 0;
  cyxla__span opcode = {0};
  const cyxla__member members[] = {
      {INSTRUCTION_OPCODE, .bytes = &opcode},
      {INSTRUCTION_ID, .number = &id},
      {0},
  };
  TRY(cyxla__message_read(message, "HloInstructionProto", members, error));
  *entry = (cyxla__hlo_entry){.id = (int64_t)id,
                              .message = message,
                              .is_input = is_in_main && cyxla__span_is(opcode, "parameter")};
  return CYXLA_OK;
}

static int32_t read_entries(cyxla__hlo *hlo, cyxla_error *error) {
  const size_t count = hlo->entry_count;
  hlo->entries = cyxla__arena_alloc(hlo->scratch, count, sizeof *hlo->entries);
  if (!hlo->entries) return cyxla__fail_memory(error, count * sizeof *hlo->entries);
  cyxla__hlo_entry *entry = hlo->entries;
  for (size_t i = 0; i < hlo->computation_count; ++i) {
    cyxla__span rest = hlo->computations[i].message, message;
    const bool is_main = hlo->computations[i].id == hlo->entry_id;
    for (; cyxla__message_next(&rest, COMPUTATION_INSTRUCTIONS, &message); ++entry)
      TRY(read_entry(message, is_main, entry, error));
  }
  qsort(hlo->entries, count, sizeof *hlo->entries, compare_entries);
  for (size_t i = 1; i < count; ++i)
    if (hlo->entries[i - 1].id == hlo->entries[i].id)
      return cyxla__fail_message(error, "HloModuleProto");
  return CYXLA_OK;
}

int32_t cyxla__hlo_open(cyxla__arena *scratch, cyxla__span message, cyxla__hlo *out_hlo,
                        cyxla_error *error) {
  *out_hlo = (cyxla__hlo){.scratch = scratch};
  cyxla__span module = {0};
  uint64_t entry_id = 0;
  const cyxla__member outer[] = {{MODULE_WITH_CONFIG_MODULE, .bytes = &module}, {0}};
  const cyxla__member members[] = {
      {MODULE_NAME, .bytes = &out_hlo->name},
      {MODULE_COMPUTATIONS, .messages = &out_hlo->computation_count},
      {MODULE_ENTRY_ID, .number = &entry_id},
      {0},
  };
  TRY(cyxla__message_read(message, "HloModuleProtoWithConfig", outer, error));
  TRY(cyxla__message_read(module, "HloModuleProto", members, error));
  out_hlo->entry_id = (int64_t)entry_id;
  TRY(read_computations(out_hlo, module, error));
  return read_entries(out_hlo, error);
}

static int32_t read_ids(cyxla__hlo *hlo, cyxla__span message, uint32_t field, size_t count,
                        const int64_t **out_ids, cyxla_error *error) {
  int64_t *ids = cyxla__arena_alloc(hlo->scratch, count, sizeof *ids);
  *out_ids = ids;
  if (!ids) return cyxla__fail_memory(error, count * sizeof *ids);
  return cyxla__message_numbers(message, "HloInstructionProto", field, ids, error);
}

static int32_t read_instruction(cyxla__hlo *hlo, cyxla__hlo_entry *entry, cyxla_error *error) {
  cyxla__instruction *instruction = cyxla__arena_alloc(hlo->scratch, 1, sizeof *instruction);
  if (!instruction) return cyxla__fail_memory(error, sizeof *instruction);
  instruction->id = entry->id;
  const cyxla__member members[] = {
      {INSTRUCTION_OPCODE, .bytes = &instruction->opcode},
      {INSTRUCTION_SHAPE, .bytes = &instruction->shape},
      {INSTRUCTION_LITERAL, .bytes = &instruction->literal},
      {INSTRUCTION_PARAMETER_NUMBER, .number = &instruction->parameter_number},
      {INSTRUCTION_TUPLE_INDEX, .number = &instruction->tuple_index},
      {INSTRUCTION_OPERAND_IDS, .numbers = &instruction->operand_count},
      {INSTRUCTION_CALLED_COMPUTATION_IDS, .numbers = &instruction->called_count},
      {0},
  };
  TRY(cyxla__message_read(entry->message, "HloInstructionProto", members, error));
  TRY(read_ids(hlo, entry->message, INSTRUCTION_OPERAND_IDS, instruction->operand_count,
               &instruction->operands, error));
  TRY(read_ids(hlo, entry->message, INSTRUCTION_CALLED_COMPUTATION_IDS, instruction->called_count,
               &instruction->called, error));
  entry->decoded = instruction;
  return CYXLA_OK;
}

int32_t cyxla__hlo_find(cyxla__hlo *hlo, int64_t id, const cyxla__instruction **out_instruction,
                        cyxla_error *error) {
  const cyxla__hlo_entry key = {.id = id};
  cyxla__hlo_entry *entry =
      bsearch(&key, hlo->entries, hlo->entry_count, sizeof key, compare_entries);
  if (!entry) return cyxla__fail_message(error, "HloModuleProto");
  if (!entry->decoded) TRY(read_instruction(hlo, entry, error));
  *out_instruction = entry->decoded;
  return CYXLA_OK;
}

int32_t cyxla__hlo_root(cyxla__hlo *hlo, int64_t computation_id,
                        const cyxla__instruction **out_root, cyxla_error *error) {
  const cyxla__computation key = {.id = computation_id};
  const cyxla__computation *computation =
      bsearch(&key, hlo->computations, hlo->computation_count, sizeof key, compare_computations);
  if (!computation) return cyxla__fail_message(error, "HloModuleProto");
  return cyxla__hlo_find(hlo, computation->root, out_root, error);
}
