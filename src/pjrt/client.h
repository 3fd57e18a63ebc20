/* Creating the client of a plugin. */
#ifndef CYXLA_PJRT_CLIENT_H
#define CYXLA_PJRT_CLIENT_H

#include "pjrt/plugin.h"

/* Fills client, device, platform names, host_memory and synchronous of `plugin`, whose api is open.
 * On failure nothing of the client is left. */
int32_t cyxla__pjrt_client_create(cyxla_plugin *plugin, const char *platform,
                                  const cyxla_option *options, size_t option_count,
                                  cyxla_error *error);

/* Whether the plugin is for the platform that a caller expects (NULL: any). */
int32_t cyxla__pjrt_check_platform(const cyxla_plugin *plugin, const char *expected,
                                   cyxla_error *error);

#endif
