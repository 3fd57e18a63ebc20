/* Attributes of custom calls.  XLA keeps them as the text of an MLIR dictionary,
 *
 *   {uplo = 76 : ui8, scale = 1.5 : f32, name = "x\22", sizes = array<i64: 1, 2>,
 *    table = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>, more = {exact = true}}
 *
 * and makes of it what handlers get (xla/ffi/attribute_map.cc, call_frame.cc); so do we. */
#ifndef CYXLA_FFI_ATTRIBUTES_H
#define CYXLA_FFI_ATTRIBUTES_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "ffi/xla_ffi_abi.h"

/* Parses `text`, of which nothing is kept: all that `out_attributes` points to lives in `arena`.  Names are
 * sorted.  A text of nothing is an empty dictionary.
 *
 * Returns: INVALID_ARGUMENT (no such text), UNIMPLEMENTED (a kind of attribute that handlers can't get): the
 *          message tells where; RESOURCE_EXHAUSTED. */
int32_t cyxla__attributes_parse(cyxla__span text, cyxla__arena *arena,
                                XLA_FFI_Attrs *out_attributes, cyxla_error *error);

#endif
