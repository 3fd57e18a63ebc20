/* What a program file says of its program and its executable, as a message. */
#ifndef CYXLA_FILE_DESCRIPTION_H
#define CYXLA_FILE_DESCRIPTION_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/proto_writer.h"
#include "base/status.h"

/* The program without its code, and the info without the executable. */
typedef struct cyxla__description {
  cyxla_program program;
  cyxla_file_info info;
} cyxla__description;

/* Appends the description to the zeroed `message`; texts that are NULL are left out. */
void cyxla__description_write(const cyxla__description *description, cyxla__proto *message);

/* Reads and checks a description.  Texts point into `message`, lists into `arena`.
 *
 * Returns: INVALID_ARGUMENT (it is ill-formed, or contradicts itself: the message says what),
 *          RESOURCE_EXHAUSTED. */
int32_t cyxla__description_read(cyxla__span message, cyxla__arena *arena,
                                cyxla__description *out_description, cyxla_error *error);

#endif
