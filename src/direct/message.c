#include "direct/message.h"

int32_t cyxla__fail_message(cyxla_error *error, const char *name) {
  return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                     "the executable is damaged, or of an unknown version: ill-formed %s", name);
}

/* Numbers of a packed field: each ends with the first byte that is less than 128. */
static size_t count_varints(cyxla__span packed) {
  size_t count = 0;
  for (size_t i = 0; i < packed.size; ++i) count += packed.data[i] < 0x80;
  return count;
}

/* Whether a field is of the type that `member` expects. */
static bool take(const cyxla__member *member, const cyxla__field *field) {
  if (member->numbers) {
    *member->numbers += field->is_bytes ? count_varints(field->bytes) : 1;
    return true;
  }
  if (member->number || member->boolean) {
    if (field->is_bytes) return false;
    if (member->number) *member->number = field->value;
    if (member->boolean) *member->boolean = field->value != 0;
    return true;
  }
  if (!field->is_bytes) return false;
  if (member->messages) {
    ++*member->messages;
    return true;
  }
  /* One that occurs twice would have to be merged, which no writer asks for. */
  if (member->bytes->data) return false;
  *member->bytes = field->bytes;
  return true;
}

int32_t cyxla__message_read(cyxla__span message, const char *name, const cyxla__member *members,
                            cyxla_error *error) {
  cyxla__field field;
  while (cyxla__proto_next(&message, &field)) {
    const cyxla__member *member = members;
    while (member->field && member->field != field.number) ++member;
    if (member->field && !take(member, &field)) return cyxla__fail_message(error, name);
  }
  return message.size ? cyxla__fail_message(error, name) : CYXLA_OK;
}

bool cyxla__message_next(cyxla__span *rest, uint32_t field, cyxla__span *out_bytes) {
  cyxla__field next;
  while (cyxla__proto_next(rest, &next)) {
    if (next.number != field) continue;
    *out_bytes = next.bytes;
    return true;
  }
  return false;
}

int32_t cyxla__message_numbers(cyxla__span message, const char *name, uint32_t number,
                               int64_t *out_numbers, cyxla_error *error) {
  cyxla__field field;
  uint64_t value;
  while (cyxla__proto_next(&message, &field)) {
    if (field.number != number) continue;
    if (!field.is_bytes) *out_numbers++ = (int64_t)field.value;
    while (cyxla__proto_next_varint(&field.bytes, &value)) *out_numbers++ = (int64_t)value;
    if (field.bytes.size) return cyxla__fail_message(error, name);
  }
  return CYXLA_OK;
}
