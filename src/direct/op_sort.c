#include "direct/op_sort.h"
