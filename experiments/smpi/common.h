#include <math.h>
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Every process prints when it ends. */
static int rank, size;
static char *bytes(size_t n) { return SMPI_SHARED_MALLOC(n ? n : 1); }
static void begin(int *argc, char ***argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}
static int end(void) {
  printf("%.17g\n", MPI_Wtime());
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
