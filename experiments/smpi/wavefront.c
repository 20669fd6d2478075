#include "common.h"
int main(int argc, char **argv) {
  begin(&argc, &argv);
  int n = 40000, across = 1;
  while (across * across * 4 <= size) across *= 2;
  int along = size / across, row = rank / along, column = rank % along;
  char *block = bytes(n);
  for (int sweep = 0; sweep < 8; sweep++) {
    if (row > 0) MPI_Recv(block, n, MPI_CHAR, rank - along, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (column > 0) MPI_Recv(block, n, MPI_CHAR, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    smpi_execute_flops(1e6);
    if (row < across - 1) MPI_Send(block, n, MPI_CHAR, rank + along, 0, MPI_COMM_WORLD);
    if (column < along - 1) MPI_Send(block, n, MPI_CHAR, rank + 1, 1, MPI_COMM_WORLD);
  }
  return end();
}
