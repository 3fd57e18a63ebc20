/* A program file in memory. */
#ifndef CYXLA_FILE_FILE_H
#define CYXLA_FILE_FILE_H

#include "file/description.h"

struct cyxla_file {
  void *bytes; /* all of it, aligned to 64 */
  cyxla__arena arena;
  cyxla__description description; /* points into both */
};

#endif
