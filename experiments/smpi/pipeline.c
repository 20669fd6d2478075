#include "common.h"
int main(int argc, char **argv) {
  begin(&argc, &argv);
  int n = 200000;
  char *block = bytes(n);
  for (int item = 0; item < 40; item++) {
    if (rank > 0) MPI_Recv(block, n, MPI_CHAR, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    smpi_execute_flops(1e6 * (1 + (rank + item) % 3));
    if (rank < size - 1) MPI_Send(block, n, MPI_CHAR, rank + 1, 0, MPI_COMM_WORLD);
  }
  return end();
}
