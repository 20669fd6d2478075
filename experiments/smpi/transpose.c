#include "common.h"
int main(int argc, char **argv) {
  begin(&argc, &argv);
  int n = 20000;
  char *in = bytes((size_t)n * size), *out = bytes((size_t)n * size);
  for (int step = 0; step < 3; step++) {
    smpi_execute_flops(1e7 * (1 + (rank + step) % 2));
    MPI_Alltoall(out, n, MPI_CHAR, in, n, MPI_CHAR, MPI_COMM_WORLD);
  }
  return end();
}
