/* A second object file, with a local function and a section of the same names as the first. */
static __attribute__((noinline)) int add(int left, int right) {
  return left + right + 0;
}

int linked_triple(int value) {
  return add(value, 2 * value);
}
