/* Names of C. */
#ifndef CYXLA_EXPORT_IDENTIFIER_H
#define CYXLA_EXPORT_IDENTIFIER_H

#include "base/arena.h"
#include "base/bytes.h"

/* Whether `name` can be that of a function of the user's: an identifier of at most `size_limit`
 * characters that begins with a letter and does not end in an underscore, is no word of C or C++,
 * and no function that compiled code may call. */
bool cyxla__identifier_is_function(const char *name, size_t size_limit);

/* Gives `count` parameters names, in memory of `arena`: identifiers made of `paths` (such as
 * "params['w'][0]"; NULL or "": none), each other than the ones before it, than `taken_count`
 * names that are in front of the list already, and than all that a header can't have.  None ends
 * in an underscore.
 *
 *   role   what a parameter is called by its number where its path gives no name, such as "input".
 *   names  `taken_count` + `count` of them.
 *
 * False: no memory. */
bool cyxla__identifiers_make(cyxla__arena *arena, const char *const *paths, size_t count,
                             const char *role, size_t taken_count, const char **names);

#endif
