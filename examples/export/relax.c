/* Lets a chain of particles relax by steepest descent: see export.py, which made the function. */
#include <stdio.h>

#include "chain_energy.h"

enum { COUNT = 8 };

int main(void) {
  double positions[COUNT][3], gradient[COUNT][3], energy;
  const double stiffness = 10;
  if (!chain_energy_supported()) return fprintf(stderr, "not on this processor\n"), 2;
  for (int i = 0; i < COUNT; ++i) {
    positions[i][0] = 1.5 * i;
    positions[i][1] = i % 2;
    positions[i][2] = 0;
  }
  for (int step = 0; step < 1000; ++step) {
    if (chain_energy(&positions[0][0], &stiffness, &energy, &gradient[0][0])) return 1;
    for (int i = 0; i < COUNT; ++i)
      for (int k = 0; k < 3; ++k) positions[i][k] -= 0.02 * gradient[i][k];
    if (step == 0) printf("energy at first  %.6f\n", energy);
  }
  printf("energy at last   %.6f\n", energy);
  return 0;
}
