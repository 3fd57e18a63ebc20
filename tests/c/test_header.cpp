// The public header, included alone and first, is complete C++, and its functions link.
#include "cyxla/cyxla.h"

int main() {
  cyxla_error error = CYXLA_ERROR_INIT;
  cyxla_plugin *plugin = nullptr;
  const int32_t status = cyxla_plugin_load("/nowhere.so", "cpu", nullptr, 0, &plugin, &error);
  const cyxla_input input = {nullptr, CYXLA_F32, 0};
  return !(cyxla_abi_version() == CYXLA_ABI_VERSION && status == CYXLA_PLUGIN_NOT_LOADED &&
           error.code == status && cyxla_element_size(input.type) == 4);
}
