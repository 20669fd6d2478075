#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int r, p, i; MPI_Status st; double a[8] = {0}, b[8], s = 0, t = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &r); MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm half; MPI_Comm_split(MPI_COMM_WORLD, r % 2, r, &half);
  int right = (r + 1) % p, left = (r + p - 1) % p, h;
  for (i = 0; i < 2; i++) {
    MPI_Request q[2];
    MPI_Irecv(b, 8, MPI_DOUBLE, left, 7, MPI_COMM_WORLD, &q[0]);
    MPI_Isend(a, 8, MPI_DOUBLE, right, 7, MPI_COMM_WORLD, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  }
  MPI_Comm_rank(half, &h);
  if (h == 0) MPI_Send(a, 2, MPI_DOUBLE, 1, 3, half);
  else if (h == 1) MPI_Recv(b, 4, MPI_DOUBLE, 0, 3, half, &st);
  MPI_Sendrecv(a, 1, MPI_DOUBLE, right, 5, b, 1, MPI_DOUBLE, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Request one;
  if (r == 0) { MPI_Irecv(b, 8, MPI_DOUBLE, 1, 9, MPI_COMM_WORLD, &one); MPI_Wait(&one, MPI_STATUS_IGNORE); }
  if (r == 1) { MPI_Isend(a, 8, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD, &one); MPI_Wait(&one, MPI_STATUS_IGNORE); }
  MPI_Allreduce(&s, &t, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(a, 4, MPI_DOUBLE, 2, MPI_COMM_WORLD);
  MPI_Reduce(a, b, 4, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
  MPI_Barrier(half);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
