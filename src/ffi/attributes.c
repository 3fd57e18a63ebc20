#include "ffi/custom_call.h"
