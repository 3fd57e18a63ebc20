/* Checksums: those that the xxhash package of PyPI gives for the same bytes. */
#include "base/checksum.h"
#include "data.h"

static const struct {
  size_t size;
  uint64_t checksum;
} expected[] = {
    {0, UINT64_C(0xef46db3751d8e999)},   {1, UINT64_C(0x8a4127811b21e730)},
    {3, UINT64_C(0xb6e6c910c2fd373a)},   {4, UINT64_C(0x22eda2cf6af4c124)},
    {5, UINT64_C(0x1da48e4b4cafab76)},   {7, UINT64_C(0x34084d91a233a751)},
    {8, UINT64_C(0xc6f1803a5e0b3222)},   {9, UINT64_C(0x9e8adf2a0ccdb6da)},
    {12, UINT64_C(0x9178b724dce384c0)},  {15, UINT64_C(0x514c6f58d37ce6f1)},
    {31, UINT64_C(0x6ab1c40e29f50073)},  {32, UINT64_C(0x5a0756fbe9ecd3d1)},
    {33, UINT64_C(0xdc50cdc37bb9c183)},  {40, UINT64_C(0x7899cacb89a78430)},
    {63, UINT64_C(0x10dd94885c71894a)},  {64, UINT64_C(0x90083da9cdb9d795)},
    {100, UINT64_C(0xd248bfc5208b0b16)}, {255, UINT64_C(0x5da8139d7acf3995)},
    {300, UINT64_C(0xe99d1b8a38d407dd)},
};

static uint8_t bytes[301];

static void is_xxh64(void) {
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i) {
    const cyxla__span copy = copy_of(bytes, expected[i].size);
    if (cyxla__checksum(copy) != expected[i].checksum)
      TEST_FAIL("checksum of %zu bytes is wrong", expected[i].size);
    free(copy.data);
  }
}

static void takes_any_address(void) {
  for (size_t shift = 1; shift < 9; ++shift) {
    uint8_t moved[64 + 9];
    memcpy(moved + shift, bytes, 64);
    CHECK(cyxla__checksum((cyxla__span){moved + shift, 64}) == UINT64_C(0x90083da9cdb9d795));
  }
}

static void sees_every_bit(void) {
  for (size_t size = 1; size < 100; ++size) {
    const uint64_t before = cyxla__checksum((cyxla__span){bytes, size});
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
      CHECK(cyxla__checksum((cyxla__span){bytes, size}) != before);
      bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
  }
}

int main(void) {
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (uint8_t)(i * 7 + 1);
  RUN(is_xxh64);
  RUN(takes_any_address);
  RUN(sees_every_bit);
}
