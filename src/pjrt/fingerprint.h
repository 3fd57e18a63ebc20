/* What tells a build of a plugin from others. */
#ifndef CYXLA_PJRT_FINGERPRINT_H
#define CYXLA_PJRT_FINGERPRINT_H

#include "pjrt/plugin.h"

/* Sets `plugin->fingerprint`, to be freed; "" where the plugin's file can't be read.  Path and API are there.
 *
 * Returns: RESOURCE_EXHAUSTED. */
int32_t cyxla__pjrt_fingerprint_init(cyxla_plugin *plugin, cyxla_error *error);

#endif
