/* What pmpi.c records with: the file, the communicators and the open requests of this rank.

   Records go into a window of memory that is itself a small file, the tail: they stay if the process
   dies. A full window is written to the trace and then cleared. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "format.h" /* header, record, codes: from parcast_traces.tracer.records */

enum { WINDOW = 1 << 18 };
typedef int64_t ns;

static int file = -1, world_rank, world_size, threads;
static char *window, tail[4096];
static size_t used;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static inline ns now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1000000000 * (ns)t.tv_sec + t.tv_nsec;
}
static void lock(void) { if (threads) pthread_mutex_lock(&mutex); }
static void unlock(void) { if (threads) pthread_mutex_unlock(&mutex); }

/* ---- the file ---- */

static void note(size_t field, int32_t value) { /* in the header */
    if (file >= 0 && pwrite(file, &value, sizeof value, (off_t)field) < 0) perror("parcast");
}
static void stop(int error) {
    fprintf(stderr, "parcast: the trace of rank %d ends here: %s\n", world_rank, strerror(error));
    note(offsetof(header, full), 1);
    if (file >= 0) close(file);
    file = -1; /* the tail is kept */
}
static int spill(void) {
    for (size_t at = 0; at < used;) {
        ssize_t done = write(file, window + at, used - at);
        if (done < 0 && errno != EINTR) { stop(errno); return 0; }
        at += done < 0 ? 0 : (size_t)done;
    }
    memset(window, 0, used);
    used = 0;
    return 1;
}
static void put(const record *r) {
    if (file < 0 || (used + sizeof *r > WINDOW && !spill())) return;
    record *to = (record *)(window + used);
    used += sizeof *r;
    memcpy(to, r, offsetof(record, call));
    to->done = r->done;
    to->count = r->count;
    __atomic_store_n(&to->call, r->call, __ATOMIC_RELEASE); /* now it is whole */
}
static void open_file(void) {
    char path[4096], *folder = getenv("PARCAST_TRACE");
    if (!folder) return;
    snprintf(path, sizeof path, "%s/rank-%d.trace", folder, world_rank);
    snprintf(tail, sizeof tail, "%s/rank-%d.tail", folder, world_rank);
    file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    int other = open(tail, O_RDWR | O_CREAT | O_TRUNC, 0666);
    int error = file < 0 || other < 0 ? errno : posix_fallocate(other, 0, WINDOW);
    if (!error) {
        window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0);
        error = window == MAP_FAILED ? errno : 0;
    }
    close(other);
    if (error) { stop(error); return; }
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    header first = {{0}, VERSION, sizeof(record), world_rank, world_size, 0, 0, 0, 0, 0, 0};
    memcpy(first.magic, MAGIC, 8);
    first.day = 1000000000 * (ns)t.tv_sec + t.tv_nsec;
    first.clock = now();
    if (write(file, &first, sizeof first) < 0) stop(errno);
}
static void close_file(void) {
    if (file < 0 || !spill()) return;
    note(offsetof(header, ended), 1);
    close(file);
    unlink(tail);
    file = -1;
}

/* ---- communicators ---- */

typedef struct { MPI_Comm comm; uint32_t id, twins; int size, *ranks; } communicator;
static communicator *comms;
static int comm_count, comm_last;

static communicator *find(MPI_Comm comm) {
    if (comm_last < comm_count && comms[comm_last].comm == comm) return &comms[comm_last];
    for (int i = 0; i < comm_count; i++)
        if (comms[i].comm == comm) return &comms[comm_last = i];
    return NULL;
}
static uint32_t id_of(MPI_Comm comm) {
    communicator *c = comm == MPI_COMM_WORLD ? NULL : find(comm);
    return c ? c->id : 0;
}
static int world(MPI_Comm comm, int rank) {
    if (rank < 0) return rank == MPI_PROC_NULL ? NOBODY : rank == MPI_ANY_SOURCE ? -1 : NOBODY;
    communicator *c = comm == MPI_COMM_WORLD ? NULL : find(comm);
    return c && rank < c->size ? c->ranks[rank] : rank;
}
static void forget(MPI_Comm comm) {
    communicator *c = find(comm);
    if (!c) return;
    free(c->ranks);
    *c = comms[--comm_count];
}
static void join(communicator c) {
    comms = realloc(comms, sizeof *comms * (size_t)(comm_count + 1));
    comms[comm_count++] = c;
}
static void list(const communicator *c) { /* by its first member */
    char path[4096];
    snprintf(path, sizeof path, "%s/rank-%d.comms", getenv("PARCAST_TRACE"), world_rank);
    FILE *names = getenv("PARCAST_TRACE") ? fopen(path, "a") : NULL;
    if (!names) return;
    fprintf(names, "%u", c->id);
    for (int i = 0; i < c->size; i++) fprintf(names, " %d", c->ranks[i]);
    fputc('\n', names);
    fclose(names);
}
/* Ids are the first member's rank and how many it has begun, so all members have the same one. */
static void learn(MPI_Comm comm) {
    static uint32_t begun;
    MPI_Group all, mine;
    communicator c = {comm, 0, 0, 0, NULL};
    int inter, rank;
    if (comm == MPI_COMM_NULL) return;
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    if (inter) PMPI_Comm_remote_group(comm, &mine); else PMPI_Comm_group(comm, &mine);
    PMPI_Group_size(mine, &c.size);
    int *own = malloc(sizeof *own * (size_t)c.size);
    c.ranks = malloc(sizeof *c.ranks * (size_t)c.size);
    for (int i = 0; i < c.size; i++) own[i] = i;
    PMPI_Group_translate_ranks(mine, c.size, own, all, c.ranks);
    free(own);
    PMPI_Group_free(&mine);
    PMPI_Group_free(&all);
    PMPI_Comm_rank(comm, &rank);
    if (!inter) {
        if (!rank) c.id = 1 + (uint32_t)world_rank + (uint32_t)world_size * begun++;
        PMPI_Bcast(&c.id, 1, MPI_UINT32_T, 0, comm);
        if (!rank) list(&c);
    }
    join(c);
}
/* A duplicate that is not there yet cannot be asked; all members count those of a communicator. */
static communicator twin(MPI_Comm of) {
    static uint32_t of_world;
    communicator *old = of == MPI_COMM_WORLD ? NULL : find(of), c = {MPI_COMM_NULL, 0, 0, 0, NULL};
    uint32_t count = old ? ++old->twins : ++of_world;
    c.id = 0x80000000u | ((old ? old->id : 0) * 0x9E3779B1u + count * 0x85EBCA6Bu);
    c.size = old ? old->size : world_size;
    c.ranks = malloc(sizeof *c.ranks * (size_t)c.size);
    for (int i = 0; i < c.size; i++) c.ranks[i] = old ? old->ranks[i] : i;
    if (c.ranks[0] == world_rank) list(&c);
    return c;
}

/* ---- requests: a table from handles to what was asked ----

   Libraries give one handle to all sends that are complete at once: these stand below each other. */

typedef struct request {
    uint64_t key;
    uint32_t id;
    int used, persistent;
    MPI_Comm comm;
    record call;
    MPI_Comm *made; /* by MPI_Comm_idup: */
    communicator twin;
    struct request *below;
} request;
static request *table;
static size_t slots, filled;
static uint32_t requests;

static uint64_t key_of(MPI_Request r) { uint64_t key = 0; memcpy(&key, &r, sizeof r); return key; }
static request *slot(uint64_t key) {
    size_t at = (size_t)(key * 0x9E3779B97F4A7C15u >> 20) & (slots - 1);
    while (table[at].used && table[at].key != key) at = (at + 1) & (slots - 1);
    return &table[at];
}
static request *asked(MPI_Request r) {
    if (r == MPI_REQUEST_NULL || !slots) return NULL;
    request *found = slot(key_of(r));
    return found->used ? found : NULL;
}
static request *ask(MPI_Request r) {
    if (2 * filled >= slots) {
        request *old = table;
        size_t count = slots;
        slots = count ? 2 * count : 1024;
        table = calloc(slots, sizeof *table);
        for (size_t i = 0; i < count; i++) if (old[i].used) *slot(old[i].key) = old[i];
        free(old);
    }
    request *made = slot(key_of(r)), *below = NULL;
    if (made->used) memcpy(below = malloc(sizeof *below), made, sizeof *below);
    else filled++;
    memset(made, 0, sizeof *made);
    made->below = below;
    made->used = 1;
    made->key = key_of(r);
    return made;
}
static void unask(request *r) { /* and move up what this place kept away from its own */
    request *below = r->below;
    if (below) {
        *r = *below;
        free(below);
        return;
    }
    size_t hole = (size_t)(r - table);
    filled--;
    for (size_t at = (hole + 1) & (slots - 1); table[at].used; at = (at + 1) & (slots - 1)) {
        size_t home = (size_t)(table[at].key * 0x9E3779B97F4A7C15u >> 20) & (slots - 1);
        if (((at - home) & (slots - 1)) >= ((at - hole) & (slots - 1))) {
            table[hole] = table[at];
            hole = at;
        }
    }
    table[hole].used = 0;
}

/* ---- records ---- */

static int64_t size_of(MPI_Datatype type, int64_t count) {
    int size = 0;
    if (type != MPI_DATATYPE_NULL) PMPI_Type_size(type, &size);
    return size * count;
}
static record call(int code, ns start, MPI_Comm comm, int peer, int tag, int64_t bytes) {
    record r = {start, now(), bytes, 0, NOBODY, tag, NOBODY, 0, 0, 0, (uint16_t)code, 0, 0};
    lock();
    r.comm = id_of(comm);
    r.peer = peer == NOBODY ? NOBODY : world(comm, peer);
    return r;
}
static void over(record *r) { put(r); unlock(); }
/* Says once, of the whole run, which calls are not recorded. */
static void unseen(MPI_Comm comm, int *said, const char *which) {
    int rank = 1;
    if (comm != MPI_COMM_NULL) PMPI_Comm_rank(comm, &rank);
    if (!rank && !(*said)++)
        fprintf(stderr, "parcast: %s are not recorded; their time appears as computation\n", which);
}
static void plain(int code, ns start) {
    record r = call(code, start, MPI_COMM_WORLD, NOBODY, 0, 0);
    over(&r);
}
/* A request that was begun; a persistent one is recorded when it is started. */
static void begun(record *r, MPI_Request handle, MPI_Comm comm, int persistent) {
    if (handle != MPI_REQUEST_NULL) {
        request *made = ask(handle);
        made->comm = comm;
        made->persistent = persistent;
        made->call = *r;
        if (!persistent) made->id = r->request = ++requests;
    }
    if (persistent) { r->call = CALL_call; r->peer = NOBODY; }
    over(r);
}
static void receive_of(record *r, MPI_Comm comm, const MPI_Status *status) {
    MPI_Count count = 0;
    PMPI_Get_elements_x((MPI_Status *)status, MPI_BYTE, &count);
    r->peer = world(comm, status->MPI_SOURCE);
    r->tag = status->MPI_TAG;
    r->bytes = count == MPI_UNDEFINED ? 0 : (int64_t)count;
}
static int receives(const request *r) { return r->call.call == CALL_irecv; }

/* What became of requests: their handles before the call, and which of them are done now. */
typedef struct { int count; MPI_Request few[32], *handles; MPI_Status some[32], *own; } awaited;

static void await(awaited *a, int count, const MPI_Request *handles, int statuses) {
    a->count = count;
    a->handles = count > 32 ? malloc(sizeof *handles * (size_t)count) : a->few;
    memcpy(a->handles, handles, sizeof *handles * (size_t)count);
    a->own = !statuses ? NULL : count > 32 ? malloc(sizeof(MPI_Status) * (size_t)count) : a->some;
}
static void release(awaited *a) {
    if (a->handles != a->few) free(a->handles);
    if (a->own && a->own != a->some) free(a->own);
}
/* Fills in what became of one request, if it is known: returns how many records that are. */
static int completed(record *one, const record *parent, MPI_Request handle,
                     const MPI_Status *status, int done) {
    request *r = asked(handle);
    if (r && r->made && done) {
        r->twin.comm = *r->made;
        join(r->twin);
        unask(r);
        return 0;
    }
    if (!r || !r->id) return 0;
    *one = (record){parent->start, parent->end, 0, 0, NOBODY, 0, NOBODY, 0, r->id, r->call.comm,
                    CALL_request, (uint16_t)done, 0};
    if (done) {
        int cancelled = 0;
        PMPI_Test_cancelled((MPI_Status *)status, &cancelled);
        if (cancelled) one->done = 2;
        else if (receives(r)) receive_of(one, r->comm, status);
        if (r->persistent) r->id = 0; else unask(r);
    }
    return 1;
}
