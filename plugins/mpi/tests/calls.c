/* Every kind of call that the tracer records, between two ranks; test_trace.py knows how many. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, flag, index, count, which[4], counts[2] = {2, 2}, shifts[2] = {0, 2}, provided;
    double a[64] = {0}, b[64] = {0};
    MPI_Request q[4], many[40];
    MPI_Status s;
    MPI_Message m;
    MPI_Win window;
    MPI_Comm back, twin;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Comm_rank(w, &rank);
    int other = 1 - rank;

    if (rank == 0) {
        MPI_Send(a, 3, MPI_DOUBLE, 1, 5, w);
        MPI_Ssend(a, 1, MPI_INT, 1, 5, w);
        MPI_Send(a, 7, MPI_BYTE, 1, 6, w);
        MPI_Send(a, 9, MPI_BYTE, 1, 7, w);
    } else {
        MPI_Recv(b, 64, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, w, MPI_STATUS_IGNORE);
        MPI_Recv(b, 1, MPI_INT, 0, 5, w, &s);
        MPI_Probe(0, 6, w, &s);
        MPI_Recv(b, 7, MPI_BYTE, 0, 6, w, MPI_STATUS_IGNORE);
        MPI_Mprobe(MPI_ANY_SOURCE, 7, w, &m, MPI_STATUS_IGNORE);
        MPI_Mrecv(b, 64, MPI_BYTE, &m, MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(a, 1 + rank, MPI_DOUBLE, other, 1, b, 64, MPI_DOUBLE, other, 1, w, &s);
    MPI_Sendrecv(a, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, b, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, w, &s);
    MPI_Sendrecv_replace(a, 4, MPI_BYTE, other, 2, other, 2, w, MPI_STATUS_IGNORE);

    MPI_Irecv(b, 64, MPI_BYTE, MPI_ANY_SOURCE, 8, w, &q[0]);
    MPI_Isend(a, 11, MPI_BYTE, other, 8, w, &q[1]);
    MPI_Irecv(b, 1, MPI_BYTE, MPI_PROC_NULL, 8, w, &q[2]);
    q[3] = MPI_REQUEST_NULL;
    MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
    MPI_Irecv(b, 64, MPI_BYTE, other, 9, w, &q[0]);
    MPI_Isend(a, 12, MPI_BYTE, other, 9, w, &q[1]);
    MPI_Waitany(2, q, &index, MPI_STATUS_IGNORE);
    do MPI_Testany(2, q, &index, &flag, &s); while (!flag);
    MPI_Irecv(b, 64, MPI_BYTE, other, 10, w, &q[0]);
    MPI_Issend(a, 13, MPI_BYTE, other, 10, w, &q[1]);
    for (int done = 0; done < 2; done += count)
        MPI_Waitsome(2, q, &count, which, MPI_STATUSES_IGNORE);
    MPI_Irecv(b, 64, MPI_BYTE, other, 11, w, &q[0]);
    MPI_Cancel(&q[0]);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);

    for (int i = 0; i < 40; i++) MPI_Isend(a, i, MPI_BYTE, other, 20, w, &many[i]);
    for (int i = 0; i < 40; i++) MPI_Recv(b, 64, MPI_BYTE, other, 20, w, MPI_STATUS_IGNORE);
    MPI_Waitall(40, many, MPI_STATUSES_IGNORE); /* of which libraries give many the same handle */

    MPI_Send_init(a, 14, MPI_BYTE, other, 12, w, &q[0]);
    MPI_Recv_init(b, 64, MPI_BYTE, other, 12, w, &q[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, q);
        do MPI_Testall(2, q, &flag, MPI_STATUSES_IGNORE); while (!flag);
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);

    MPI_Comm_split(w, 0, -rank, &back); /* the ranks in reverse */
    MPI_Comm_dup(back, &twin);
    if (rank == 0) MPI_Send(a, 15, MPI_BYTE, 0, 3, twin);
    else MPI_Recv(b, 15, MPI_BYTE, 1, 3, twin, &s);
    MPI_Bcast(a, 2, MPI_DOUBLE, 0, back);
    MPI_Comm_free(&twin);

    MPI_Comm_idup(back, &twin, &q[0]);
    MPI_Wait(&q[0], &s);
    MPI_Sendrecv(a, 16, MPI_BYTE, rank, 4, b, 16, MPI_BYTE, rank, 4, twin, &s);
    MPI_Comm_free(&twin);
    MPI_Win_create(a, 8, 1, MPI_INFO_NULL, w, &window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);

    MPI_Barrier(w);
    MPI_Reduce(a, b, 2, MPI_DOUBLE, MPI_SUM, 1, w);
    MPI_Allreduce(MPI_IN_PLACE, b, 3, MPI_DOUBLE, MPI_SUM, w);
    MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, 0, w);
    MPI_Gatherv(a, 2, MPI_INT, b, counts, shifts, MPI_INT, 0, w);
    MPI_Scatter(a, 1, MPI_INT, b, 1, MPI_INT, 0, w);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 4, MPI_BYTE, w);
    MPI_Alltoall(a, 5, MPI_BYTE, b, 5, MPI_BYTE, w);
    MPI_Alltoallv(a, counts, shifts, MPI_INT, b, counts, shifts, MPI_INT, w);
    MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, w);
    MPI_Reduce_scatter_block(a, b, 3, MPI_INT, MPI_SUM, w);
    MPI_Scan(a, b, 1, MPI_DOUBLE, MPI_SUM, w);
    MPI_Ibarrier(w, &q[0]);
    MPI_Iallreduce(a, b, 6, MPI_DOUBLE, MPI_SUM, w, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    return 0;
}
