#include "direct/cpu.h"
