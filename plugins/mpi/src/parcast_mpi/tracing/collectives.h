/* Collectives and communicators, and the beginning and end of a program. `bytes` are what one process
   contributes: to alltoall for each peer, to reduce_scatter for each block (the mean, of the v forms). */

#define AT(counts, i, N) ((int64_t)((const N *)(counts))[i])
#define PEERS(c, size)                                                                         \
    int size, inter;                                                                           \
    PMPI_Comm_test_inter(c, &inter);                                                           \
    if (inter) PMPI_Comm_remote_size(c, &size); else PMPI_Comm_size(c, &size)
#define OF_COUNTS(S, N)                                                                        \
    static int64_t own##S(MPI_Comm c, const N *counts, MPI_Datatype t) {                       \
        int rank;                                                                              \
        PMPI_Comm_rank(c, &rank);                                                              \
        return size_of(t, AT(counts, rank, N));                                                \
    }                                                                                          \
    static int64_t mean##S(MPI_Comm c, const N *counts, MPI_Datatype t) {                      \
        int64_t all = 0;                                                                       \
        PEERS(c, size);                                                                        \
        for (int i = 0; i < size; i++) all += AT(counts, i, N);                                \
        return size_of(t, all) / (size ? size : 1);                                            \
    }                                                                                          \
    static int64_t mean_of_types##S(MPI_Comm c, const N *counts, const MPI_Datatype *t) {      \
        int64_t all = 0;                                                                       \
        PEERS(c, size);                                                                        \
        for (int i = 0; i < size; i++) all += size_of(t[i], AT(counts, i, N));                 \
        return all / (size ? size : 1);                                                        \
    }

#define LIST(...) __VA_ARGS__
#define COLLECTIVE(Name, Iname, name, S, ROOT, BYTES, PARAMETERS, ARGUMENTS)                   \
    int MPI_##Name##S(LIST PARAMETERS, MPI_Comm c) {                                           \
        ns start = now();                                                                      \
        int e = PMPI_##Name##S(LIST ARGUMENTS, c);                                             \
        record r = call(CALL_##name, start, c, ROOT, 0, BYTES);                                \
        over(&r);                                                                              \
        return e;                                                                              \
    }                                                                                          \
    int MPI_##Iname##S(LIST PARAMETERS, MPI_Comm c, MPI_Request *q) {                          \
        ns start = now();                                                                      \
        int e = PMPI_##Iname##S(LIST ARGUMENTS, c, q);                                         \
        record r = call(CALL_i##name, start, c, ROOT, 0, BYTES);                               \
        begun(&r, *q, c, 0);                                                                   \
        return e;                                                                              \
    }

#define SENT (b == MPI_IN_PLACE ? size_of(t2, n2) : size_of(t, n))
#define TAKEN (b2 == MPI_IN_PLACE ? size_of(t, n) : size_of(t2, n2))
#define EACH(S, N_, A_)                                                                        \
    OF_COUNTS(S, N_)                                                                           \
    COLLECTIVE(Bcast, Ibcast, bcast, S, root, size_of(t, n),                                   \
               (void *b, N_ n, MPI_Datatype t, int root), (b, n, t, root))                     \
    COLLECTIVE(Reduce, Ireduce, reduce, S, root, size_of(t, n),                                \
               (const void *b, void *b2, N_ n, MPI_Datatype t, MPI_Op op, int root),           \
               (b, b2, n, t, op, root))                                                        \
    COLLECTIVE(Allreduce, Iallreduce, allreduce, S, NOBODY, size_of(t, n),                     \
               (const void *b, void *b2, N_ n, MPI_Datatype t, MPI_Op op), (b, b2, n, t, op))  \
    COLLECTIVE(Scan, Iscan, scan, S, NOBODY, size_of(t, n),                                    \
               (const void *b, void *b2, N_ n, MPI_Datatype t, MPI_Op op), (b, b2, n, t, op))  \
    COLLECTIVE(Exscan, Iexscan, exscan, S, NOBODY, size_of(t, n),                              \
               (const void *b, void *b2, N_ n, MPI_Datatype t, MPI_Op op), (b, b2, n, t, op))  \
    COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter_block, S, NOBODY,   \
               size_of(t, n), (const void *b, void *b2, N_ n, MPI_Datatype t, MPI_Op op),      \
               (b, b2, n, t, op))                                                              \
    COLLECTIVE(Reduce_scatter, Ireduce_scatter, reduce_scatter, S, NOBODY, mean##S(c, n, t),   \
               (const void *b, void *b2, const N_ n[], MPI_Datatype t, MPI_Op op),             \
               (b, b2, n, t, op))                                                              \
    COLLECTIVE(Gather, Igather, gather, S, root, SENT,                                         \
               (const void *b, N_ n, MPI_Datatype t, void *b2, N_ n2, MPI_Datatype t2,         \
                int root), (b, n, t, b2, n2, t2, root))                                        \
    COLLECTIVE(Gatherv, Igatherv, gatherv, S, root,                                            \
               b == MPI_IN_PLACE ? own##S(c, n2, t2) : size_of(t, n),                          \
               (const void *b, N_ n, MPI_Datatype t, void *b2, const N_ n2[], const A_ d2[],   \
                MPI_Datatype t2, int root), (b, n, t, b2, n2, d2, t2, root))                   \
    COLLECTIVE(Scatter, Iscatter, scatter, S, root, TAKEN,                                     \
               (const void *b, N_ n, MPI_Datatype t, void *b2, N_ n2, MPI_Datatype t2,         \
                int root), (b, n, t, b2, n2, t2, root))                                        \
    COLLECTIVE(Scatterv, Iscatterv, scatterv, S, root,                                         \
               b2 == MPI_IN_PLACE ? own##S(c, n, t) : size_of(t2, n2),                         \
               (const void *b, const N_ n[], const A_ d[], MPI_Datatype t, void *b2, N_ n2,    \
                MPI_Datatype t2, int root), (b, n, d, t, b2, n2, t2, root))                    \
    COLLECTIVE(Allgather, Iallgather, allgather, S, NOBODY, SENT,                              \
               (const void *b, N_ n, MPI_Datatype t, void *b2, N_ n2, MPI_Datatype t2),        \
               (b, n, t, b2, n2, t2))                                                          \
    COLLECTIVE(Allgatherv, Iallgatherv, allgatherv, S, NOBODY,                                 \
               b == MPI_IN_PLACE ? own##S(c, n2, t2) : size_of(t, n),                          \
               (const void *b, N_ n, MPI_Datatype t, void *b2, const N_ n2[], const A_ d2[],   \
                MPI_Datatype t2), (b, n, t, b2, n2, d2, t2))                                   \
    COLLECTIVE(Alltoall, Ialltoall, alltoall, S, NOBODY, SENT,                                 \
               (const void *b, N_ n, MPI_Datatype t, void *b2, N_ n2, MPI_Datatype t2),        \
               (b, n, t, b2, n2, t2))                                                          \
    COLLECTIVE(Alltoallv, Ialltoallv, alltoallv, S, NOBODY,                                    \
               b == MPI_IN_PLACE ? mean##S(c, n2, t2) : mean##S(c, n, t),                      \
               (const void *b, const N_ n[], const A_ d[], MPI_Datatype t, void *b2,           \
                const N_ n2[], const A_ d2[], MPI_Datatype t2), (b, n, d, t, b2, n2, d2, t2))  \
    COLLECTIVE(Alltoallw, Ialltoallw, alltoallw, S, NOBODY,                                    \
               b == MPI_IN_PLACE ? mean_of_types##S(c, n2, t2) : mean_of_types##S(c, n, t),    \
               (const void *b, const N_ n[], const A_ d[], const MPI_Datatype t[], void *b2,   \
                const N_ n2[], const A_ d2[], const MPI_Datatype t2[]),                        \
               (b, n, d, t, b2, n2, d2, t2))
EACH(, int, int)
#if MPI_VERSION >= 4
EACH(_c, MPI_Count, MPI_Aint)
#endif

int MPI_Barrier(MPI_Comm c) {
    ns start = now();
    int e = PMPI_Barrier(c);
    record r = call(CALL_barrier, start, c, NOBODY, 0, 0);
    over(&r);
    return e;
}
int MPI_Ibarrier(MPI_Comm c, MPI_Request *q) {
    ns start = now();
    int e = PMPI_Ibarrier(c, q);
    record r = call(CALL_ibarrier, start, c, NOBODY, 0, 0);
    begun(&r, *q, c, 0);
    return e;
}

/* ---- communicators: all processes of the old one call, but for MPI_Comm_create_group ---- */

#define NEW(Name, name, OLD, PARAMETERS, ARGUMENTS)                                            \
    int MPI_##Name(LIST PARAMETERS, MPI_Comm *made) {                                          \
        ns start = now();                                                                      \
        int e = PMPI_##Name(LIST ARGUMENTS, made);                                             \
        record r = call(CALL_##name, start, OLD, NOBODY, 0, 0);                                \
        over(&r);                                                                              \
        if (e == MPI_SUCCESS) learn(*made);                                                    \
        return e;                                                                              \
    }
NEW(Comm_dup, comm_dup, c, (MPI_Comm c), (c))
NEW(Comm_dup_with_info, comm_dup, c, (MPI_Comm c, MPI_Info i), (c, i))
NEW(Comm_split, comm_split, c, (MPI_Comm c, int color, int key), (c, color, key))
NEW(Comm_split_type, comm_split, c, (MPI_Comm c, int type, int key, MPI_Info i), (c, type, key, i))
NEW(Comm_create, comm_create, c, (MPI_Comm c, MPI_Group g), (c, g))
NEW(Comm_create_group, call, MPI_COMM_WORLD, (MPI_Comm c, MPI_Group g, int tag), (c, g, tag))
NEW(Cart_create, comm_create, c,
    (MPI_Comm c, int n, const int dims[], const int periods[], int reorder),
    (c, n, dims, periods, reorder))
NEW(Cart_sub, comm_split, c, (MPI_Comm c, const int remain[]), (c, remain))
NEW(Graph_create, comm_create, c,
    (MPI_Comm c, int n, const int index[], const int edges[], int reorder),
    (c, n, index, edges, reorder))
NEW(Dist_graph_create, comm_create, c,
    (MPI_Comm c, int n, const int sources[], const int degrees[], const int to[],
     const int weights[], MPI_Info i, int reorder),
    (c, n, sources, degrees, to, weights, i, reorder))
NEW(Dist_graph_create_adjacent, comm_create, c,
    (MPI_Comm c, int in, const int from[], const int weights[], int out, const int to[],
     const int weights2[], MPI_Info i, int reorder),
    (c, in, from, weights, out, to, weights2, i, reorder))
NEW(Intercomm_create, call, MPI_COMM_WORLD,
    (MPI_Comm c, int leader, MPI_Comm peers, int other, int tag), (c, leader, peers, other, tag))
NEW(Intercomm_merge, call, MPI_COMM_WORLD, (MPI_Comm c, int high), (c, high))

#define NEW_LATER(Name, PARAMETERS, ARGUMENTS)                                                 \
    int MPI_##Name(LIST PARAMETERS, MPI_Comm *made, MPI_Request *q) {                          \
        ns start = now();                                                                      \
        int e = PMPI_##Name(LIST ARGUMENTS, made, q);                                          \
        record r = call(CALL_call, start, MPI_COMM_WORLD, NOBODY, 0, 0);                       \
        if (e == MPI_SUCCESS && *q != MPI_REQUEST_NULL) {                                      \
            request *one = ask(*q);                                                            \
            one->made = made;                                                                  \
            one->twin = twin(c);                                                               \
        }                                                                                      \
        over(&r);                                                                              \
        return e;                                                                              \
    }
NEW_LATER(Comm_idup, (MPI_Comm c), (c))
#if MPI_VERSION >= 4
NEW_LATER(Comm_idup_with_info, (MPI_Comm c, MPI_Info i), (c, i))
#endif

int MPI_Comm_free(MPI_Comm *c) {
    ns start = now();
    MPI_Comm before = *c;
    int e = PMPI_Comm_free(c);
    plain(CALL_call, start);
    lock();
    forget(before);
    unlock();
    return e;
}

/* ---- what is not recorded is said where it must begin ---- */

#define WINDOW_OF(S, N)                                                                        \
    int MPI_Win_create##S(void *b, MPI_Aint n, N unit, MPI_Info i, MPI_Comm c, MPI_Win *w) {   \
        unseen(c, &said_windows, "one-sided calls");                                           \
        return PMPI_Win_create##S(b, n, unit, i, c, w);                                        \
    }                                                                                          \
    int MPI_Win_allocate##S(MPI_Aint n, N unit, MPI_Info i, MPI_Comm c, void *b, MPI_Win *w) { \
        unseen(c, &said_windows, "one-sided calls");                                           \
        return PMPI_Win_allocate##S(n, unit, i, c, b, w);                                      \
    }                                                                                          \
    int MPI_Win_allocate_shared##S(MPI_Aint n, N unit, MPI_Info i, MPI_Comm c, void *b,        \
                                   MPI_Win *w) {                                               \
        unseen(c, &said_windows, "one-sided calls");                                           \
        return PMPI_Win_allocate_shared##S(n, unit, i, c, b, w);                               \
    }
static int said_windows, said_files, said_neighbors;
WINDOW_OF(, int)
#if MPI_VERSION >= 4
WINDOW_OF(_c, MPI_Aint)
#endif
#define NEIGHBORS(Name, S, PARAMETERS, ARGUMENTS)                                              \
    int MPI_Neighbor_##Name##S(LIST PARAMETERS, MPI_Comm c) {                                  \
        unseen(c, &said_neighbors, "neighborhood collectives");                                \
        return PMPI_Neighbor_##Name##S(LIST ARGUMENTS, c);                                     \
    }                                                                                          \
    int MPI_Ineighbor_##Name##S(LIST PARAMETERS, MPI_Comm c, MPI_Request *q) {                 \
        unseen(c, &said_neighbors, "neighborhood collectives");                                \
        return PMPI_Ineighbor_##Name##S(LIST ARGUMENTS, c, q);                                 \
    }
#define AMONG_NEIGHBORS(S, N_, A_)                                                             \
    NEIGHBORS(allgather, S, (const void *b, N_ n, MPI_Datatype t, void *b2, N_ n2,             \
                             MPI_Datatype t2), (b, n, t, b2, n2, t2))                          \
    NEIGHBORS(allgatherv, S, (const void *b, N_ n, MPI_Datatype t, void *b2, const N_ n2[],    \
                              const A_ d2[], MPI_Datatype t2), (b, n, t, b2, n2, d2, t2))      \
    NEIGHBORS(alltoall, S, (const void *b, N_ n, MPI_Datatype t, void *b2, N_ n2,              \
                            MPI_Datatype t2), (b, n, t, b2, n2, t2))                           \
    NEIGHBORS(alltoallv, S, (const void *b, const N_ n[], const A_ d[], MPI_Datatype t,        \
                             void *b2, const N_ n2[], const A_ d2[], MPI_Datatype t2),         \
              (b, n, d, t, b2, n2, d2, t2))                                                    \
    NEIGHBORS(alltoallw, S, (const void *b, const N_ n[], const MPI_Aint d[],                  \
                             const MPI_Datatype t[], void *b2, const N_ n2[],                  \
                             const MPI_Aint d2[], const MPI_Datatype t2[]),                    \
              (b, n, d, t, b2, n2, d2, t2))
AMONG_NEIGHBORS(, int, int)
#if MPI_VERSION >= 4
AMONG_NEIGHBORS(_c, MPI_Count, MPI_Aint)
#endif
int MPI_Win_create_dynamic(MPI_Info i, MPI_Comm c, MPI_Win *w) {
    unseen(c, &said_windows, "one-sided calls");
    return PMPI_Win_create_dynamic(i, c, w);
}
int MPI_File_open(MPI_Comm c, const char *name, int mode, MPI_Info i, MPI_File *f) {
    unseen(c, &said_files, "calls of MPI's files");
    return PMPI_File_open(c, name, mode, i, f);
}

/* ---- beginning and end ---- */

static void begin(ns start) {
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    open_file();
    plain(CALL_init, start);
    learn(MPI_COMM_SELF);
}
int MPI_Init(int *count, char ***words) {
    ns start = now();
    int e = PMPI_Init(count, words);
    begin(start);
    return e;
}
int MPI_Init_thread(int *count, char ***words, int wanted, int *provided) {
    ns start = now();
    int e = PMPI_Init_thread(count, words, wanted, provided);
    threads = *provided == MPI_THREAD_MULTIPLE;
    begin(start);
    return e;
}
int MPI_Finalize(void) {
    ns start = now();
    int e = PMPI_Finalize();
    plain(CALL_finalize, start);
    close_file();
    return e;
}
