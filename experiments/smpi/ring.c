#include "common.h"
int main(int argc, char **argv) {
  begin(&argc, &argv);
  int n = 1000000, right = (rank + 1) % size, left = (rank + size - 1) % size;
  char *in = bytes(n), *out = bytes(n);
  for (int step = 0; step < 20; step++) {
    MPI_Request requests[2];
    MPI_Irecv(in, n, MPI_CHAR, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, n, MPI_CHAR, right, 0, MPI_COMM_WORLD, &requests[1]);
    smpi_execute_flops(5e6 * (1 + (rank * 7 + step) % 4));
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  return end();
}
