#include "direct/x86_64_features.h"

/* States of XCR0. */
enum {
  AVX = 0x6,     /* registers of 16 and of 32 bytes */
  AVX512 = 0xe6, /* and masks, upper halves, upper registers */
  AMX = 0x60000, /* tiles and their shapes */
  APX = 0x80000  /* 16 more general registers */
};

static const cyxla__x86_64_feature features[] = {
    {"cmov", 1, 0, 'd', 15, 0},
    {"cx8", 1, 0, 'd', 8, 0},
    {"fxsr", 1, 0, 'd', 24, 0},
    {"mmx", 1, 0, 'd', 23, 0},
    {"sse", 1, 0, 'd', 25, 0},
    {"sse2", 1, 0, 'd', 26, 0},
    {"x87", 1, 0, 'd', 0, 0},
    {"aes", 1, 0, 'c', 25, 0},
    {"avx", 1, 0, 'c', 28, AVX},
    {"crc32", 1, 0, 'c', 20, 0}, /* of SSE 4.2 */
    {"cx16", 1, 0, 'c', 13, 0},
    {"f16c", 1, 0, 'c', 29, AVX},
    {"fma", 1, 0, 'c', 12, AVX},
    {"movbe", 1, 0, 'c', 22, 0},
    {"pclmul", 1, 0, 'c', 1, 0},
    {"popcnt", 1, 0, 'c', 23, 0},
    {"sse3", 1, 0, 'c', 0, 0},
    {"sse4.1", 1, 0, 'c', 19, 0},
    {"sse4.2", 1, 0, 'c', 20, 0},
    {"ssse3", 1, 0, 'c', 9, 0},

    {"adx", 7, 0, 'b', 19, 0},
    {"avx2", 7, 0, 'b', 5, AVX},
    {"avx512bw", 7, 0, 'b', 30, AVX512},
    {"avx512cd", 7, 0, 'b', 28, AVX512},
    {"avx512dq", 7, 0, 'b', 17, AVX512},
    {"avx512er", 7, 0, 'b', 27, AVX512},
    {"avx512f", 7, 0, 'b', 16, AVX512},
    {"avx512ifma", 7, 0, 'b', 21, AVX512},
    {"avx512pf", 7, 0, 'b', 26, AVX512},
    {"avx512vl", 7, 0, 'b', 31, AVX512},
    {"evex512", 7, 0, 'b', 16, AVX512}, /* 64-byte vectors of AVX-512 */
    {"bmi", 7, 0, 'b', 3, 0},
    {"bmi2", 7, 0, 'b', 8, 0},
    {"sha", 7, 0, 'b', 29, 0},
    {"avx512bitalg", 7, 0, 'c', 12, AVX512},
    {"avx512vbmi", 7, 0, 'c', 1, AVX512},
    {"avx512vbmi2", 7, 0, 'c', 6, AVX512},
    {"avx512vnni", 7, 0, 'c', 11, AVX512},
    {"avx512vpopcntdq", 7, 0, 'c', 14, AVX512},
    {"gfni", 7, 0, 'c', 8, 0},
    {"vaes", 7, 0, 'c', 9, AVX},
    {"vpclmulqdq", 7, 0, 'c', 10, AVX},
    {"amx-bf16", 7, 0, 'd', 22, AMX},
    {"amx-int8", 7, 0, 'd', 25, AMX},
    {"amx-tile", 7, 0, 'd', 24, AMX},
    {"avx512fp16", 7, 0, 'd', 23, AVX512},
    {"avx512vp2intersect", 7, 0, 'd', 8, AVX512},

    {"amx-fp16", 7, 1, 'a', 21, AMX},
    {"avx512bf16", 7, 1, 'a', 5, AVX512},
    {"avxifma", 7, 1, 'a', 23, AVX},
    {"avxvnni", 7, 1, 'a', 4, AVX},
    {"cmpccxadd", 7, 1, 'a', 7, 0},
    {"movrs", 7, 1, 'a', 31, 0},
    {"raoint", 7, 1, 'a', 3, 0},
    {"sha512", 7, 1, 'a', 0, AVX},
    {"sm3", 7, 1, 'a', 1, AVX},
    {"sm4", 7, 1, 'a', 2, AVX},
    {"amx-complex", 7, 1, 'd', 8, AMX},
    {"avxneconvert", 7, 1, 'd', 5, AVX},
    {"avxvnniint16", 7, 1, 'd', 10, AVX},
    {"avxvnniint8", 7, 1, 'd', 4, AVX},
    {"ccmp", 7, 1, 'd', 21, APX},
    {"cf", 7, 1, 'd', 21, APX},
    {"egpr", 7, 1, 'd', 21, APX},
    {"ndd", 7, 1, 'd', 21, APX},
    {"nf", 7, 1, 'd', 21, APX},
    {"ppx", 7, 1, 'd', 21, APX},
    {"push2pop2", 7, 1, 'd', 21, APX},
    {"zu", 7, 1, 'd', 21, APX},

    {"amx-avx512", 0x1e, 1, 'a', 7, AMX | AVX512},
    {"amx-fp8", 0x1e, 1, 'a', 4, AMX},
    {"amx-movrs", 0x1e, 1, 'a', 8, AMX},
    {"amx-tf32", 0x1e, 1, 'a', 6, AMX},
    {"amx-transpose", 0x1e, 1, 'a', 5, AMX},

    {"64bit", 0x80000001, 0, 'd', 29, 0},
    {"fma4", 0x80000001, 0, 'c', 16, AVX},
    {"lzcnt", 0x80000001, 0, 'c', 5, 0},
    {"sahf", 0x80000001, 0, 'c', 0, 0},
    {"sse4a", 0x80000001, 0, 'c', 6, 0},
    {"tbm", 0x80000001, 0, 'c', 21, 0},
    {"xop", 0x80000001, 0, 'c', 11, AVX},

    /* Vectors of 64 bytes are part of it. */
    {"avx10.1", 7, 1, 'd', 19, AVX512},
    {"avx10.2", 7, 1, 'd', 19, AVX512},
};

const cyxla__x86_64_feature *cyxla__x86_64_feature_at(size_t index) {
  return index < sizeof features / sizeof features[0] ? &features[index] : NULL;
}

const cyxla__x86_64_feature *cyxla__x86_64_feature_named(cyxla__span name) {
  const cyxla__x86_64_feature *feature;
  for (size_t i = 0; (feature = cyxla__x86_64_feature_at(i)); ++i)
    if (cyxla__span_is(name, feature->name)) return feature;
  return NULL;
}
