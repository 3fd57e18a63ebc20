#include "direct/code.h"
