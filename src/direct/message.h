/* Strict reading of protobuf messages: what a message is expected to hold, as a table. */
#ifndef CYXLA_DIRECT_MESSAGE_H
#define CYXLA_DIRECT_MESSAGE_H

#include "base/proto_reader.h"
#include "base/status.h"

/* A field that is wanted of a message, and where it goes: one of the pointers is set.  What is
 * absent leaves its place as it was. */
typedef struct cyxla__member {
  uint32_t field;
  uint64_t *number;
  bool *boolean;
  cyxla__span *bytes; /* a string or message, which may occur once; its data is not NULL then */
  size_t *messages;   /* gets how often strings or messages of a repeated field occur */
  size_t *numbers;    /* gets how many numbers a repeated field holds, packed or not */
} cyxla__member;

/* Reads the fields of `members`, which ends with a zeroed one; skips others.
 *
 * Returns: INVALID_ARGUMENT where the message is ill-formed, or a field is of another type. */
int32_t cyxla__message_read(cyxla__span message, const char *name, const cyxla__member *members,
                            cyxla_error *error);

/* Takes the next occurrence of a repeated string or message; start with `*rest` = the message,
 * which was read before.  False: no more. */
bool cyxla__message_next(cyxla__span *rest, uint32_t field, cyxla__span *out_bytes);

/* Writes the numbers of a repeated field, as many as were counted. */
int32_t cyxla__message_numbers(cyxla__span message, const char *name, uint32_t field,
                               int64_t *out_numbers, cyxla_error *error);

/* INVALID_ARGUMENT: `name` is ill-formed. */
int32_t cyxla__fail_message(cyxla_error *error, const char *name);

#endif
