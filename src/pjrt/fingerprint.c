/* PJRT gives no such thing: the versions that a plugin reports stay the same over many builds, and libraries
 * need not have a build id.  So it is made of the file: its size, and what is at its ends, where the dynamic
 * linker's tables and the sizes of all sections are.  All of it would be hundreds of megabytes. */
#include "pjrt/fingerprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/disk.h"

enum { END_SIZE = 64 << 10 };

/* Reads the first and the last bytes of a file; of a small one some or all twice. */
static int32_t read_ends(const char *path, cyxla__span first, cyxla__span last,
                         uint64_t *out_size) {
  cyxla__disk_file file;
  TRY(cyxla__disk_open(path, &file, NULL));
  first.size = last.size = file.size < END_SIZE ? (size_t)file.size : END_SIZE;
  int32_t status = cyxla__disk_read(file, 0, first, NULL);
  if (!status) status = cyxla__disk_read(file, file.size - last.size, last, NULL);
  cyxla__disk_close(file);
  *out_size = file.size;
  return status;
}

int32_t cyxla__pjrt_fingerprint_init(cyxla_plugin *plugin, cyxla_error *error) {
  char text[96] = "";
  const cyxla__span ends = {calloc(2, END_SIZE), 2 * END_SIZE};
  if (!ends.data) return cyxla__fail_memory(error, ends.size);
  uint64_t size;
  if (!read_ends(plugin->path, (cyxla__span){ends.data, END_SIZE},
                 (cyxla__span){ends.data + END_SIZE, END_SIZE}, &size))
    snprintf(text, sizeof text, "PJRT %d.%d, %" PRIu64 " bytes, %016" PRIx64,
             plugin->api.table.pjrt_api_version.major_version,
             plugin->api.table.pjrt_api_version.minor_version, size, cyxla__checksum(ends));
  free(ends.data);
  plugin->fingerprint = strdup(text);
  return plugin->fingerprint ? CYXLA_OK : cyxla__fail_memory(error, sizeof text);
}
