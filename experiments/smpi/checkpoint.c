#include "common.h"
int main(int argc, char **argv) {
  begin(&argc, &argv);
  int n = 100000;
  char *out = bytes(n), *all = bytes((size_t)n * size);
  for (int step = 0; step < 3; step++) {
    smpi_execute_flops(1e7 * (1 + (rank + step) % 3));
    MPI_Gather(out, n, MPI_CHAR, all, n, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) smpi_execute_flops(2.0 * n * size);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return end();
}
