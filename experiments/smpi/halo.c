#include "common.h"
int main(int argc, char **argv) {
  begin(&argc, &argv);
  int n = 32768, right = (rank + 1) % size, left = (rank + size - 1) % size;
  char *in = bytes(n), *out = bytes(n);
  double mine = 1, sum;
  for (int step = 0; step < 20; step++) {
    MPI_Request requests[4];
    MPI_Irecv(in, n, MPI_CHAR, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in, n, MPI_CHAR, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, n, MPI_CHAR, right, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out, n, MPI_CHAR, left, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    smpi_execute_flops(1e5 * (1 + (rank + step) % 3));
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  return end();
}
