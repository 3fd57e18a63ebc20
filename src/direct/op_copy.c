#include "direct/op_copy.h"
