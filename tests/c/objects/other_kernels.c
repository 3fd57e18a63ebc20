/* What kernels.c uses and does not have. */
float other_half(float value) {
  return value / 2;
}
