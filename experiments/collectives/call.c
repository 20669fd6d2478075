#include <mpi.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  const char *op = argv[1];
  int n = atoi(argv[2]), root = atoi(argv[3]), p, r;
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  char *in = calloc((size_t)n * p + 8, 1), *out = calloc((size_t)n * p + 8, 1);
  int d = n / 8;
  for (int turn = atoi(argv[4]); turn > 0; turn--) {
    if (!strcmp(op, "barrier")) MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(op, "bcast")) MPI_Bcast(in, n, MPI_BYTE, root, MPI_COMM_WORLD);
    if (!strcmp(op, "reduce")) MPI_Reduce(in, out, d, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    if (!strcmp(op, "allreduce")) MPI_Allreduce(in, out, d, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(op, "gather")) MPI_Gather(in, n, MPI_BYTE, out, n, MPI_BYTE, root, MPI_COMM_WORLD);
    if (!strcmp(op, "scatter")) MPI_Scatter(in, n, MPI_BYTE, out, n, MPI_BYTE, root, MPI_COMM_WORLD);
    if (!strcmp(op, "allgather")) MPI_Allgather(in, n, MPI_BYTE, out, n, MPI_BYTE, MPI_COMM_WORLD);
    if (!strcmp(op, "alltoall")) MPI_Alltoall(in, n, MPI_BYTE, out, n, MPI_BYTE, MPI_COMM_WORLD);
    if (!strcmp(op, "scan")) MPI_Scan(in, out, d, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(op, "reduce_scatter")) {
      int *counts = malloc(p * sizeof(int));
      for (int k = 0; k < p; k++) counts[k] = d;
      MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
  }
  MPI_Finalize();
  return 0;
}
