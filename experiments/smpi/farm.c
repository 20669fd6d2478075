#include "common.h"
int main(int argc, char **argv) {
  begin(&argc, &argv);
  int n = 30000, tasks = 10 * size;
  char *block = bytes(n);
  if (rank == 0) {
    for (int task = 0; task < tasks + size - 1; task++) {
      MPI_Status status;
      MPI_Recv(block, 0, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
      MPI_Send(block, task < tasks ? n : 0, MPI_CHAR, status.MPI_SOURCE, task < tasks ? 1 + task % 5 : 0, MPI_COMM_WORLD);
    }
  } else {
    for (;;) {
      MPI_Status status;
      MPI_Send(block, 0, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
      MPI_Recv(block, n, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      if (status.MPI_TAG == 0) break;
      smpi_execute_flops(4e6 * status.MPI_TAG);
    }
  }
  return end();
}
