/* Features of AArch64 processors, as Linux tells them (Documentation/arch/arm64/elf_hwcaps.rst;
 * bits: arch/arm64/include/uapi/asm/hwcap.h); names: LLVM's
 * (llvm/lib/Target/AArch64/AArch64Features.td). */
#include "direct/cpu_features.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

const char cyxla__cpu_architecture[] = "aarch64";

#define BIT(number) ((uint64_t)1 << (number))

static const struct {
  char name[16];
  uint64_t first, second; /* bits of AT_HWCAP and AT_HWCAP2 */
} features[] = {
    {"v8a", 0, 0},
    {"fp-armv8", BIT(0), 0},
    {"neon", BIT(1), 0},
    {"aes", BIT(3) | BIT(4), 0},
    {"sha2", BIT(5) | BIT(6), 0},
    {"crypto", BIT(3) | BIT(4) | BIT(5) | BIT(6), 0},
    {"crc", BIT(7), 0},
    {"lse", BIT(8), 0},
    {"fullfp16", BIT(9) | BIT(10), 0},
    {"rdm", BIT(12), 0},
    {"jsconv", BIT(13), 0},
    {"complxnum", BIT(14), 0},
    {"rcpc", BIT(15), 0},
    {"ccpp", BIT(16), 0},
    {"sha3", BIT(17) | BIT(21), 0},
    {"sm4", BIT(18) | BIT(19), 0},
    {"dotprod", BIT(20), 0},
    {"sve", BIT(22), 0},
    {"fp16fml", BIT(23), 0},
    {"dit", BIT(24), 0},
    {"lse2", BIT(25), 0},
    {"rcpc-immo", BIT(26), 0},
    {"flagm", BIT(27), 0},
    {"ssbs", BIT(28), 0},
    {"sb", BIT(29), 0},
    {"pauth", BIT(30) | BIT(31), 0},
    {"ccdp", 0, BIT(0)},
    {"sve2", 0, BIT(1)},
    {"sve-aes", 0, BIT(2) | BIT(3)},
    {"sve2-aes", 0, BIT(2) | BIT(3)},
    {"sve-bitperm", 0, BIT(4)},
    {"sve2-bitperm", 0, BIT(4)},
    {"sve-sha3", 0, BIT(5)},
    {"sve2-sha3", 0, BIT(5)},
    {"sve-sm4", 0, BIT(6)},
    {"sve2-sm4", 0, BIT(6)},
    {"altnzcv", 0, BIT(7)},
    {"fptoint", 0, BIT(8)},
    {"f32mm", 0, BIT(10)},
    {"f64mm", 0, BIT(11)},
    {"i8mm", 0, BIT(13)},
    {"bf16", 0, BIT(14)},
    {"rand", 0, BIT(16)},
    {"bti", 0, BIT(17)},
    {"mte", 0, BIT(18)},
};

cyxla__feature_state cyxla__cpu_feature(cyxla__span name) {
  const uint64_t first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  for (size_t i = 0; i < sizeof features / sizeof features[0]; ++i) {
    if (!cyxla__span_is(name, features[i].name)) continue;
    return (first & features[i].first) == features[i].first &&
                   (second & features[i].second) == features[i].second
               ? CYXLA__FEATURE_PRESENT
               : CYXLA__FEATURE_MISSING;
  }
  return CYXLA__FEATURE_UNKNOWN;
}

const char *cyxla__cpu_feature_name(size_t index) {
  return index < sizeof features / sizeof features[0] ? features[index].name : NULL;
}

/* The cores of one processor may be of different models. */
uint32_t cyxla__cpu_model(void) {
  return 0;
}
#endif
