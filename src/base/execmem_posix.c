#include "base/execmem.h"
