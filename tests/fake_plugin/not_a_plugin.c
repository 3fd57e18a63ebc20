/* A shared library that is no PJRT plugin: it has no GetPjrtApi. */
__attribute__((visibility("default"))) int not_a_plugin(void);
int not_a_plugin(void) {
  return 0;
}
