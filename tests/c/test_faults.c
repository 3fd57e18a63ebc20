#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <math.h>

#include "data.h"
#include "xla_cpu/faults.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <sys/mman.h>
#define CAN_RUN_CODE 1
#endif

/* ---- where what is, as a disassembler tells it ---- */

enum { BODY_SIZE = 73, ADDRESS = 25 };

/* A faulty function in a file of tests/data. */
typedef struct site {
  const char *name;
  size_t object_size;     /* of the ELF object with it */
  size_t code, code_size; /* the function in the object */
  size_t offset;          /* of the function in its section */
  size_t relocation;      /* the record of libm's address in the object */
  const uint8_t *body;    /* what has to be there */
  size_t object;          /* of the object in the file: find_object sets it */
} site;

static const uint8_t body_f32[BODY_SIZE] = {
    0x55,                                           /* push rbp */
    0x48, 0x89, 0xe5,                               /* mov rbp, rsp */
    0x53,                                           /* push rbx */
    0x41, 0x54,                                     /* push r12 */
    0x48, 0x83, 0xe4, 0xe0,                         /* and rsp, -32 */
    0x48, 0x83, 0xec, 0x20,                         /* sub rsp, 32 */
    0xc5, 0xfc, 0x29, 0x04, 0x24,                   /* vmovaps [rsp], ymm0 */
    0xc5, 0xf8, 0x77,                               /* vzeroupper */
    0x48, 0xbb, 0,    0,    0,    0,    0, 0, 0, 0, /* movabs rbx, the address */
    0x45, 0x31, 0xe4,                               /* xor r12d, r12d */
    0xc4, 0xa1, 0x7a, 0x10, 0x04, 0xa4,             /* vmovss xmm0, [rsp + 4*r12] */
    0xff, 0xd3,                                     /* call rbx */
    0xc4, 0xa1, 0x7a, 0x11, 0x04, 0xa4,             /* vmovss [rsp + 4*r12], xmm0 */
    0x41, 0xff, 0xc4,                               /* inc r12d */
    0x41, 0x83, 0xfc, 0x08,                         /* cmp r12d, 8 */
    0x75, 0xe9,                                     /* jne vmovss */
    0xc5, 0xfc, 0x28, 0x04, 0x24,                   /* vmovaps ymm0, [rsp] */
    0x48, 0x8d, 0x65, 0xf0,                         /* lea rsp, [rbp - 16] */
    0x41, 0x5c, 0x5b, 0x5d, 0xc3,                   /* pop r12, rbx, rbp; ret */
};

static const uint8_t body_f64[BODY_SIZE] = {
    0x55,                                           /* push rbp */
    0x48, 0x89, 0xe5,                               /* mov rbp, rsp */
    0x53,                                           /* push rbx */
    0x41, 0x54,                                     /* push r12 */
    0x48, 0x83, 0xe4, 0xe0,                         /* and rsp, -32 */
    0x48, 0x83, 0xec, 0x20,                         /* sub rsp, 32 */
    0xc5, 0xfd, 0x29, 0x04, 0x24,                   /* vmovapd [rsp], ymm0 */
    0xc5, 0xf8, 0x77,                               /* vzeroupper */
    0x48, 0xbb, 0,    0,    0,    0,    0, 0, 0, 0, /* movabs rbx, the address */
    0x45, 0x31, 0xe4,                               /* xor r12d, r12d */
    0xc4, 0xa1, 0x7b, 0x10, 0x04, 0xe4,             /* vmovsd xmm0, [rsp + 8*r12] */
    0xff, 0xd3,                                     /* call rbx */
    0xc4, 0xa1, 0x7b, 0x11, 0x04, 0xe4,             /* vmovsd [rsp + 8*r12], xmm0 */
    0x41, 0xff, 0xc4,                               /* inc r12d */
    0x41, 0x83, 0xfc, 0x04,                         /* cmp r12d, 4 */
    0x75, 0xe9,                                     /* jne vmovsd */
    0xc5, 0xfd, 0x28, 0x04, 0x24,                   /* vmovapd ymm0, [rsp] */
    0x48, 0x8d, 0x65, 0xf0,                         /* lea rsp, [rbp - 16] */
    0x41, 0x5c, 0x5b, 0x5d, 0xc3,                   /* pop r12, rbx, rbp; ret */
};

static const site f32 = {"xla.atan.v8f32", 1792, 0x180, 206, 0x140, 0x388, body_f32, 0};
static const site f64 = {"xla.atan.v4f64", 1968, 0x290, 113, 0x250, 0x438, body_f64, 0};
static const site f32_of_both = {"xla.atan.v8f32", 1800, 0x180, 206, 0x140, 0x388, body_f32, 0};

/* The site with the place of its object: after the last mark of an ELF file before the name. */
static site find_object(cyxla__span bytes, site site) {
  for (size_t i = 0; i + strlen(site.name) <= bytes.size; ++i) {
    if (!memcmp(bytes.data + i,
                "\x7f"
                "ELF",
                4))
      site.object = i;
    if (!memcmp(bytes.data + i, site.name, strlen(site.name))) return site;
  }
  TEST_FAIL("no %s", site.name);
}

/* What `bytes` have to become. */
static void expect_mended(cyxla__span bytes, const site *site) {
  const size_t code = site->object + site->code;
  memset(bytes.data + code, 0xcc, site->code_size);
  memcpy(bytes.data + code, site->body, BODY_SIZE);
  store(bytes, site->object + site->relocation, 8, site->offset + ADDRESS);
}

static void check_mends(const char *name, const site *sites[], size_t count) {
  cyxla__span found = read_data(name), expected = copy_of(found.data, found.size);
  for (size_t i = 0; i < count; ++i) {
    const site site = find_object(found, *sites[i]);
    expect_mended(expected, &site);
  }
  cyxla_error error = CYXLA_ERROR_INIT;
  const char *mended;
  CHECK_OK(cyxla__faults_mend(found, &mended, &error), &error);
  CHECK_CONTAINS(mended, "arctan");
  CHECK_BYTES(found.data, expected.data, found.size);
  /* Once more: there is nothing left to do. */
  CHECK_OK(cyxla__faults_mend(found, &mended, &error), &error);
  CHECK(!mended);
  CHECK_BYTES(found.data, expected.data, found.size);
  free(found.data);
  free(expected.data);
}

static void mends_exactly(void) {
  check_mends("plugin_arctan_f32", (const site *[]){&f32}, 1);
  check_mends("plugin_arctan_f64", (const site *[]){&f64}, 1);
  check_mends("plugin_both_arctans", (const site *[]){&f32_of_both, &f64}, 2);
}

static void check_left_alone(cyxla__span bytes) {
  cyxla__span copy = copy_of(bytes.data, bytes.size);
  cyxla_error error = CYXLA_ERROR_INIT;
  const char *mended = "";
  CHECK_OK(cyxla__faults_mend(bytes, &mended, &error), &error);
  CHECK(!mended);
  CHECK_BYTES(bytes.data, copy.data, copy.size);
  free(copy.data);
  free(bytes.data);
}

static void leaves_right_code_alone(void) {
  check_left_alone(read_data("plugin_sine_f32"));
  check_left_alone(read_data("jaxlib_arctan_f32")); /* a function of the same name, not faulty */
}

static void leaves_other_bytes_alone(void) {
  check_left_alone(copy_of("", 0));
  check_left_alone(copy_of("no executable", 13));
}

/* Where callers don't use ymm registers, the plugin's code is right. */
static void leaves_code_without_avx_alone(void) {
  cyxla__span bytes = read_data("plugin_arctan_f32");
  size_t count = 0;
  for (size_t i = 0; i + 6 < bytes.size; ++i) {
    if (memcmp(bytes.data + i, ",+avx,", 6)) continue;
    bytes.data[i + 1] = '-';
    ++count;
  }
  CHECK(count >= 1);
  check_left_alone(bytes);
}

/* ---- code that is faulty in another form ---- */

static void check_refused(cyxla__span bytes, const char *function) {
  cyxla_error error = CYXLA_ERROR_INIT;
  const char *mended;
  CHECK_STATUS(cyxla__faults_mend(bytes, &mended, &error), CYXLA_UNIMPLEMENTED, &error);
  CHECK(!mended);
  CHECK_CONTAINS(error.message, function);
  CHECK_CONTAINS(error.message, "xla_cpu_prefer_vector_width = 128");
  free(bytes.data);
}

/* The symbol is the record in the file that has the function's offset and size. */
static size_t find_symbol(cyxla__span bytes, const site *site) {
  for (size_t at = site->object; at + 16 <= site->object + site->object_size; ++at) {
    uint64_t offset, size;
    CHECK(cyxla__span_load(bytes, at, 8, &offset) && cyxla__span_load(bytes, at + 8, 8, &size));
    if (offset == site->offset && size == site->code_size) return at - 8;
  }
  TEST_FAIL("no symbol");
}

static void refuses_other_forms(void) {
  cyxla__span bytes = read_data("plugin_arctan_f32");
  const site site = find_object(bytes, f32);
  const size_t symbol = find_symbol(bytes, &site), relocation = site.object + site.relocation;
  free(bytes.data);
  const struct {
    size_t offset, size;
    uint64_t value;
  } changes[] = {
      {symbol + 16, 8, BODY_SIZE - 1},             /* too short for the body */
      {relocation, 8, site.offset - 1},            /* no address of libm's function */
      {relocation - 24, 8, site.offset + 50},      /* two addresses */
      {relocation + 8, 4, 4},                      /* another kind of address: R_X86_64_PLT32 */
      {relocation + 16, 8, (uint64_t)(int64_t)-4}, /* an address with an addend */
  };
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; ++i) {
    bytes = read_data("plugin_arctan_f32");
    store(bytes, changes[i].offset, changes[i].size, changes[i].value);
    check_refused(bytes, "xla.atan.v8f32");
  }
  check_refused(read_data("plugin_arctan_v16f32"), "xla.atan.v16f32");
  check_refused(read_data("plugin_arctan_v8f64"), "xla.atan.v8f64");
}

/* ---- damaged bytes ---- */

static bool in_range(size_t at, size_t start, size_t size) {
  return at >= start && at - start < size;
}

/* Whether the object says at this place what is code and what a relocation: its first 64 bytes, and
 * all behind the code and its unwinding information. */
static bool is_structure(size_t at, const site *site) {
  return in_range(at, site->object, 0x40) ||
         in_range(at, site->object + site->code + site->code_size,
                  site->object_size - site->code - site->code_size);
}

/* Mends a damaged copy.  Whatever that does, it changes only code and the offset of a relocation:
 * those that are there, or, where the damage says that they are elsewhere, some of the object. */
static void check_damaged(cyxla__span bytes, const site *site, bool structure) {
  cyxla__span copy = copy_of(bytes.data, bytes.size);
  cyxla_error error = CYXLA_ERROR_INIT;
  const char *mended;
  const int32_t status = cyxla__faults_mend(copy, &mended, &error);
  CHECK(status == CYXLA_OK || status == CYXLA_UNIMPLEMENTED);
  for (size_t i = 0; i < bytes.size; ++i) {
    if (copy.data[i] == bytes.data[i]) continue;
    CHECK(!status && mended);
    CHECK(in_range(i, site->object, site->object_size));
    CHECK(structure || in_range(i, site->object + site->code, site->code_size) ||
          in_range(i, site->object + site->relocation, 8));
  }
  free(copy.data);
}

static void survives_truncation(const char *name, const site *where) {
  cyxla__span whole = read_data(name);
  const site site = find_object(whole, *where);
  for (size_t size = 0; size < whole.size; ++size) {
    cyxla__span part = copy_of(whole.data, size);
    check_damaged(part, &site, false);
    free(part.data);
  }
  free(whole.data);
}

static void survives_wrong_bytes(const char *name, const site *where) {
  cyxla__span bytes = read_data(name);
  const site site = find_object(bytes, *where);
  for (size_t i = 0; i < bytes.size; ++i) {
    const uint8_t right = bytes.data[i];
    for (int k = 0; k < 11; ++k) {
      bytes.data[i] = k < 8 ? right ^ (1 << k) : k == 8 ? 0x00 : k == 9 ? 0xff : ~right;
      check_damaged(bytes, &site, is_structure(i, &site));
    }
    bytes.data[i] = right;
  }
  free(bytes.data);
}

/* Up to eight wrong bytes at once, from a generator that gives the same each time. */
static void survives_more_wrong_bytes(const char *name, const site *where) {
  cyxla__span whole = read_data(name);
  const site site = find_object(whole, *where);
  uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    cyxla__span bytes = copy_of(whole.data, whole.size);
    for (int k = i % 8; k >= 0; --k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      /* Half of them in the object, where the most can go wrong. */
      const size_t at = (state >> 63) ? site.object + (size_t)(state >> 33) % site.object_size
                                      : (size_t)(state >> 33) % bytes.size;
      bytes.data[at] = (uint8_t)(state >> 24);
    }
    check_damaged(bytes, &site, true);
    free(bytes.data);
  }
  free(whole.data);
}

static void survives_damage(void) {
  survives_truncation("plugin_arctan_f32", &f32);
  survives_truncation("plugin_arctan_f64", &f64);
  survives_wrong_bytes("plugin_arctan_f32", &f32);
  survives_wrong_bytes("plugin_arctan_f64", &f64);
  survives_more_wrong_bytes("plugin_arctan_f32", &f32);
  survives_more_wrong_bytes("plugin_arctan_f64", &f64);
}

/* ---- the code itself ---- */

#ifdef CAN_RUN_CODE

/* Puts a body into memory that can be run, with the address of `function` in it. */
static void *make_code(const uint8_t *body, const void *function) {
  uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != MAP_FAILED);
  memcpy(code, body, BODY_SIZE);
  memcpy(code + ADDRESS, &function, sizeof function);
  CHECK(!mprotect(code, 4096, PROT_READ | PROT_EXEC));
  return code;
}

typedef __m256 function_v8f32(__m256);
typedef __m256d function_v4f64(__m256d);

__attribute__((target("avx"))) static void runs_f32(void) {
  float (*atan_of)(float) = atanf, values[8], results[8];
  function_v8f32 *code;
  void *address = NULL;
  memcpy(&address, &atan_of, sizeof address);
  address = make_code(body_f32, address);
  memcpy(&code, &address, sizeof code);
  for (int i = -400; i < 400; i += 8) {
    for (int k = 0; k < 8; ++k) values[k] = (float)(i + k) * 0.37f;
    _mm256_storeu_ps(results, code(_mm256_loadu_ps(values)));
    for (int k = 0; k < 8; ++k) CHECK_REAL(results[k], atanf(values[k]));
  }
  munmap(address, 4096);
}

__attribute__((target("avx"))) static void runs_f64(void) {
  double (*atan_of)(double) = atan, values[4], results[4];
  function_v4f64 *code;
  void *address = NULL;
  memcpy(&address, &atan_of, sizeof address);
  address = make_code(body_f64, address);
  memcpy(&code, &address, sizeof code);
  for (int i = -400; i < 400; i += 4) {
    for (int k = 0; k < 4; ++k) values[k] = (double)(i + k) * 0.37;
    _mm256_storeu_pd(results, code(_mm256_loadu_pd(values)));
    for (int k = 0; k < 4; ++k) CHECK_REAL(results[k], atan(values[k]));
  }
  munmap(address, 4096);
}

static void runs(void) {
  if (!__builtin_cpu_supports("avx")) return;
  runs_f32();
  runs_f64();
}

#else
static void runs(void) {}
#endif

int main(void) {
  RUN(mends_exactly);
  RUN(leaves_right_code_alone);
  RUN(leaves_other_bytes_alone);
  RUN(leaves_code_without_avx_alone);
  RUN(refuses_other_forms);
  RUN(survives_damage);
  RUN(runs);
}
