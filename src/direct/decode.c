#include "direct/image.h"
