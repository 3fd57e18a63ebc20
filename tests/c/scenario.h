/* Everything that a user does in the life of a program, for tests that make one step after the
 * other fail: with the fake plugin, in this process. */
#ifndef CYXLA_TEST_SCENARIO_H
#define CYXLA_TEST_SCENARIO_H

#include "support.h"

/* Loads the plugin, compiles, executes in all ways, serializes, deserializes, destroys; returns
 * the first failure, after having freed everything, or CYXLA_OK after having checked all results.
 * A static array holds what it prepares, so that nothing but the library needs memory. */
int32_t run_scenario(cyxla_error *error);

#endif
