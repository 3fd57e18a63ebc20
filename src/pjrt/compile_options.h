/* XLA's compile options, encoded by hand. */
#ifndef CYXLA_PJRT_COMPILE_OPTIONS_H
#define CYXLA_PJRT_COMPILE_OPTIONS_H

#include "base/proto_writer.h"
#include "signature.h"

/* Appends an xla.CompileOptionsProto to the zeroed `message`: one device, the row-major entry
 * layout of `signature`, and `options` by their names in xla.DebugOptions; a later one wins over an
 * earlier one of the same name.
 *
 * The layout makes the plugin compare the signature with the module, and arrays are row-major even
 * where the module asks for another layout.  Empty options are never sent: XLA's CPU plugin aborts
 * the process on them. */
int32_t cyxla__compile_options_write(cyxla__proto *message, const cyxla__signature *signature,
                                     const cyxla_option *options, size_t option_count,
                                     cyxla_error *error);

#endif
