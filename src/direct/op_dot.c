#include "direct/op_dot.h"
