/* Records the MPI calls of a program that this library is loaded into (records.py: the format).

   Each MPI_X here calls PMPI_X and then writes one record. A group of calls that differ in name only
   is one macro; from MPI 4.0 on each is made twice, with int and, ending in _c, with large counts.
   Tests and probes that find nothing are not recorded. */
#include "recorder.h"

#if MPI_VERSION >= 4
#define TWICE(M, ...) M(__VA_ARGS__, , int, int) M(__VA_ARGS__, _c, MPI_Count, MPI_Aint)
#else
#define TWICE(M, ...) M(__VA_ARGS__, , int, int)
#endif
#define STATUS(s) MPI_Status own; if ((s) == MPI_STATUS_IGNORE) (s) = &own

/* ---- messages ---- */

#define SEND(Name, name, S, N, A)                                                              \
    int MPI_##Name##S(const void *b, N n, MPI_Datatype t, int to, int tag, MPI_Comm c) {       \
        ns start = now();                                                                      \
        int e = PMPI_##Name##S(b, n, t, to, tag, c);                                           \
        record r = call(CALL_##name, start, c, to, tag, size_of(t, n));                        \
        over(&r);                                                                              \
        return e;                                                                              \
    }
TWICE(SEND, Send, send) TWICE(SEND, Bsend, bsend) TWICE(SEND, Ssend, ssend) TWICE(SEND, Rsend, rsend)

#define POST(Name, name, Buffer, lasting, S, N, A)                                             \
    int MPI_##Name##S(Buffer b, N n, MPI_Datatype t, int peer, int tag, MPI_Comm c,            \
                      MPI_Request *q) {                                                        \
        ns start = now();                                                                      \
        int e = PMPI_##Name##S(b, n, t, peer, tag, c, q);                                      \
        record r = call(CALL_##name, start, c, peer, tag, size_of(t, n));                      \
        begun(&r, *q, c, lasting);                                                             \
        return e;                                                                              \
    }
TWICE(POST, Isend, isend, const void *, 0) TWICE(POST, Ibsend, ibsend, const void *, 0)
TWICE(POST, Issend, issend, const void *, 0) TWICE(POST, Irsend, irsend, const void *, 0)
TWICE(POST, Irecv, irecv, void *, 0) TWICE(POST, Recv_init, irecv, void *, 1)
TWICE(POST, Send_init, isend, const void *, 1) TWICE(POST, Bsend_init, ibsend, const void *, 1)
TWICE(POST, Ssend_init, issend, const void *, 1) TWICE(POST, Rsend_init, irsend, const void *, 1)

#define RECV(S, N)                                                                             \
    int MPI_Recv##S(void *b, N n, MPI_Datatype t, int from, int tag, MPI_Comm c,               \
                    MPI_Status *s) {                                                           \
        STATUS(s);                                                                             \
        ns start = now();                                                                      \
        int e = PMPI_Recv##S(b, n, t, from, tag, c, s);                                        \
        record r = call(CALL_recv, start, c, from, tag, 0);                                    \
        if (from != MPI_PROC_NULL) receive_of(&r, c, s);                                       \
        over(&r);                                                                              \
        return e;                                                                              \
    }                                                                                          \
    int MPI_Sendrecv##S(const void *b, N n, MPI_Datatype t, int to, int tag, void *b2, N n2,   \
                        MPI_Datatype t2, int from, int tag2, MPI_Comm c, MPI_Status *s) {      \
        STATUS(s);                                                                             \
        ns start = now();                                                                      \
        int e = PMPI_Sendrecv##S(b, n, t, to, tag, b2, n2, t2, from, tag2, c, s);              \
        exchange(start, c, to, tag, size_of(t, n), from, s);                                   \
        return e;                                                                              \
    }                                                                                          \
    int MPI_Sendrecv_replace##S(void *b, N n, MPI_Datatype t, int to, int tag, int from,       \
                                int tag2, MPI_Comm c, MPI_Status *s) {                         \
        STATUS(s);                                                                             \
        ns start = now();                                                                      \
        int e = PMPI_Sendrecv_replace##S(b, n, t, to, tag, from, tag2, c, s);                  \
        exchange(start, c, to, tag, size_of(t, n), from, s);                                   \
        return e;                                                                              \
    }                                                                                          \
    int MPI_Mrecv##S(void *b, N n, MPI_Datatype t, MPI_Message *m, MPI_Status *s) {            \
        STATUS(s);                                                                             \
        ns start = now();                                                                      \
        MPI_Comm c = matched(*m);                                                              \
        int e = PMPI_Mrecv##S(b, n, t, m, s);                                                  \
        record r = call(CALL_recv, start, c, NOBODY, 0, 0);                                    \
        receive_of(&r, c, s);                                                                  \
        over(&r);                                                                              \
        return e;                                                                              \
    }                                                                                          \
    int MPI_Imrecv##S(void *b, N n, MPI_Datatype t, MPI_Message *m, MPI_Request *q) {          \
        ns start = now();                                                                      \
        MPI_Comm c = matched(*m);                                                              \
        int e = PMPI_Imrecv##S(b, n, t, m, q);                                                 \
        record r = call(CALL_irecv, start, c, NOBODY, 0, size_of(t, n));                       \
        begun(&r, *q, c, 0);                                                                   \
        return e;                                                                              \
    }

static void exchange(ns start, MPI_Comm c, int to, int tag, int64_t bytes, int from,
                     const MPI_Status *s) {
    record r = call(CALL_sendrecv, start, c, to, tag, bytes), in = r;
    if (from != MPI_PROC_NULL) {
        receive_of(&in, c, s);
        r.source = in.peer;
        r.source_tag = in.tag;
        r.received = in.bytes;
    }
    over(&r);
}

/* Matched probes: the communicator of a message that is still to be received. */
static struct { MPI_Message message; MPI_Comm comm; } probed[64];
static void match(MPI_Message message, MPI_Comm comm) {
    static int next;
    probed[next].message = message;
    probed[next++ % 64].comm = comm;
    next %= 64;
}
static MPI_Comm matched(MPI_Message message) {
    for (int i = 0; i < 64; i++) if (probed[i].message == message) return probed[i].comm;
    return MPI_COMM_WORLD;
}
RECV(, int)
#if MPI_VERSION >= 4
RECV(_c, MPI_Count)
#endif

static void found(int code, ns start, int from, MPI_Comm c, const MPI_Status *s) {
    record r = call(code, start, c, NOBODY, 0, 0);
    if (from != MPI_PROC_NULL) receive_of(&r, c, s);
    over(&r);
}
int MPI_Probe(int from, int tag, MPI_Comm c, MPI_Status *s) {
    STATUS(s);
    ns start = now();
    int e = PMPI_Probe(from, tag, c, s);
    found(CALL_probe, start, from, c, s);
    return e;
}
int MPI_Iprobe(int from, int tag, MPI_Comm c, int *flag, MPI_Status *s) {
    STATUS(s);
    ns start = now();
    int e = PMPI_Iprobe(from, tag, c, flag, s);
    if (*flag) found(CALL_iprobe, start, from, c, s);
    return e;
}
int MPI_Mprobe(int from, int tag, MPI_Comm c, MPI_Message *m, MPI_Status *s) {
    STATUS(s);
    ns start = now();
    int e = PMPI_Mprobe(from, tag, c, m, s);
    match(*m, c);
    found(CALL_mprobe, start, from, c, s);
    return e;
}
int MPI_Improbe(int from, int tag, MPI_Comm c, int *flag, MPI_Message *m, MPI_Status *s) {
    STATUS(s);
    ns start = now();
    int e = PMPI_Improbe(from, tag, c, flag, m, s);
    if (*flag) { match(*m, c); found(CALL_improbe, start, from, c, s); }
    return e;
}

/* ---- requests ---- */

static void start_one(MPI_Request q, ns start) {
    lock();
    request *r = asked(q);
    record one = {start, now(), 0, 0, NOBODY, 0, NOBODY, 0, 0, 0, CALL_call, 0, 0};
    if (r) {
        one = r->call;
        one.start = start;
        one.end = now();
        r->id = one.request = ++requests;
    }
    over(&one);
}
int MPI_Start(MPI_Request *q) {
    ns start = now();
    int e = PMPI_Start(q);
    start_one(*q, start);
    return e;
}
int MPI_Startall(int n, MPI_Request q[]) {
    ns start = now();
    int e = PMPI_Startall(n, q);
    for (int i = 0; i < n; i++) { start_one(q[i], start); start = now(); }
    return e;
}
int MPI_Request_free(MPI_Request *q) {
    ns start = now();
    MPI_Request before = *q;
    int e = PMPI_Request_free(q);
    record r = call(CALL_call, start, MPI_COMM_WORLD, NOBODY, 0, 0);
    request *a = asked(before);
    if (a) {
        if (a->id) { r.call = CALL_request_free; r.request = a->id; }
        unask(a);
    }
    over(&r);
    return e;
}

/* Records a call that completed some of the requests: those at `which`, or all if that is NULL. */
static void complete(int code, ns start, awaited *a, const MPI_Status *s, int n, const int *which) {
    record r = call(code, start, MPI_COMM_WORLD, NOBODY, 0, 0), few[32];
    record *rows = a->count > 32 ? malloc(sizeof r * (size_t)a->count) : few;
    for (int i = 0; i < a->count; i++) {
        int at = which ? -1 : i;
        for (int k = 0; which && k < n; k++) if (which[k] == i) at = k;
        r.count += (uint32_t)completed(&rows[r.count], &r, a->handles[i], at < 0 ? NULL : &s[at], at >= 0);
    }
    put(&r);
    for (uint32_t i = 0; i < r.count; i++) put(&rows[i]);
    unlock();
    if (rows != few) free(rows);
    release(a);
}
#define STATUSES(s) if ((s) == MPI_STATUSES_IGNORE) (s) = a.own

int MPI_Wait(MPI_Request *q, MPI_Status *s) {
    STATUS(s);
    awaited a;
    await(&a, 1, q, 0);
    ns start = now();
    int e = PMPI_Wait(q, s);
    complete(CALL_wait, start, &a, s, 1, NULL);
    return e;
}
int MPI_Test(MPI_Request *q, int *flag, MPI_Status *s) {
    STATUS(s);
    awaited a;
    await(&a, 1, q, 0);
    ns start = now();
    int e = PMPI_Test(q, flag, s);
    if (*flag) complete(CALL_test, start, &a, s, 1, NULL); else release(&a);
    return e;
}
int MPI_Waitall(int n, MPI_Request q[], MPI_Status s[]) {
    awaited a;
    await(&a, n, q, s == MPI_STATUSES_IGNORE);
    STATUSES(s);
    ns start = now();
    int e = PMPI_Waitall(n, q, s);
    complete(CALL_waitall, start, &a, s, n, NULL);
    return e;
}
int MPI_Testall(int n, MPI_Request q[], int *flag, MPI_Status s[]) {
    awaited a;
    await(&a, n, q, s == MPI_STATUSES_IGNORE);
    STATUSES(s);
    ns start = now();
    int e = PMPI_Testall(n, q, flag, s);
    if (*flag) complete(CALL_testall, start, &a, s, n, NULL); else release(&a);
    return e;
}
int MPI_Waitany(int n, MPI_Request q[], int *index, MPI_Status *s) {
    STATUS(s);
    awaited a;
    await(&a, n, q, 0);
    ns start = now();
    int e = PMPI_Waitany(n, q, index, s);
    complete(CALL_waitany, start, &a, s, *index != MPI_UNDEFINED, index);
    return e;
}
int MPI_Testany(int n, MPI_Request q[], int *index, int *flag, MPI_Status *s) {
    STATUS(s);
    awaited a;
    await(&a, n, q, 0);
    ns start = now();
    int e = PMPI_Testany(n, q, index, flag, s);
    if (*flag) complete(CALL_testany, start, &a, s, *index != MPI_UNDEFINED, index);
    else release(&a);
    return e;
}
#define SOME(Name, name)                                                                       \
    int MPI_##Name(int n, MPI_Request q[], int *done, int which[], MPI_Status s[]) {           \
        awaited a;                                                                             \
        await(&a, n, q, s == MPI_STATUSES_IGNORE);                                             \
        STATUSES(s);                                                                           \
        ns start = now();                                                                      \
        int e = PMPI_##Name(n, q, done, which, s);                                             \
        int count = *done == MPI_UNDEFINED ? 0 : *done;                                        \
        if (count || CALL_##name == CALL_waitsome)                                             \
            complete(CALL_##name, start, &a, s, count, which);                                 \
        else                                                                                   \
            release(&a);                                                                       \
        return e;                                                                              \
    }
SOME(Waitsome, waitsome) SOME(Testsome, testsome)

#include "collectives.h"
