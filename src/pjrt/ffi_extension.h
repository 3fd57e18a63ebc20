/* Registering FFI targets with a plugin. */
#ifndef CYXLA_PJRT_FFI_EXTENSION_H
#define CYXLA_PJRT_FFI_EXTENSION_H

#include "pjrt/plugin.h"

/* Registers all targets for the plugin's platform that it does not have yet.  What fails is kept
 * with the target and fails when a program needs it: the plugin's compiler then says that it does
 * not know the target, and cyxla_ffi_target_get_info why. */
void cyxla__pjrt_register_targets(cyxla_plugin *plugin);

#endif
