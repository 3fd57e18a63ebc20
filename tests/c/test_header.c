/* The public header, included alone and first, is complete C11. */
#include "cyxla/cyxla.h"

int main(void) {
  cyxla_error error = CYXLA_ERROR_INIT;
  cyxla_plugin *plugin;
  const int32_t status = cyxla_plugin_load("/nowhere.so", "cpu", NULL, 0, &plugin, &error);
  return !(cyxla_abi_version() == CYXLA_ABI_VERSION && status == CYXLA_PLUGIN_NOT_LOADED &&
           error.code == status && sizeof(cyxla_error) == 4096);
}
