/* A pool of threads for loops that are cut into pieces.
 *
 * The caller works too, and takes over whatever no worker has begun. So a call never waits for a worker to wake up, and
 * a pool without workers is merely slower. Workers look out for work for a short while before they go to sleep:
 * loops come in quick succession, and waking a thread takes longer than many of them last. One loop at a time uses the
 * pool; others that come at that time, from other threads, are run by their callers alone.
 *
 * A fork leaves its child without workers: the pool begins anew there. Without POSIX threads callers do everything. */
#ifndef SMOOTHPERF_POOL_H
#define SMOOTHPERF_POOL_H

#include <stddef.h>

typedef void (*piece_function)(void *context, ptrdiff_t piece);

static void run_alone(piece_function function, void *context, ptrdiff_t pieces)
{
    for (ptrdiff_t piece = 0; piece < pieces; piece++)
        function(context, piece);
}

#if defined(_WIN32) || defined(__STDC_NO_ATOMICS__)

static void pool_run(piece_function function, void *context, ptrdiff_t pieces)
{
    run_alone(function, context, pieces);
}

#else

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

enum { MOST_PIECES = 1 << 12, LOOKS_BETWEEN_CLOCKS = 64 };
/* How long workers look out for work, and callers for the end of it, before they let others run in between; and how long
 * workers go on looking out then before they go to sleep. In nanoseconds. (Measured: what a solver does between two
 * loops takes up to a millisecond, and a thread that slept comes 50 microseconds late.) */
static const long PATIENCE = 100000, LONG_PATIENCE = 2000000;

/* The loop that runs, if one does. It stays as it is until all of its pieces are done. */
static struct {
    piece_function function;
    void *context;
    atomic_int_least32_t done;
} pool_loop;
/* Number of the loop, its pieces and the next piece, in one word: a piece that is taken belongs to the loop that
 * pool_loop describes, however late a worker comes. */
static atomic_uint_least64_t pool_ticket;
static atomic_int pool_asleep;
static int pool_workers;
static pthread_mutex_t pool_in_use = PTHREAD_MUTEX_INITIALIZER, pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_news = PTHREAD_COND_INITIALIZER;

static inline uint_least64_t ticket_of(uint_least64_t loop, ptrdiff_t pieces)
{
    return loop << 32 | (uint_least64_t)pieces << 16;
}

static inline ptrdiff_t pieces_of(uint_least64_t ticket) { return ticket >> 16 & 0xffff; }

static inline ptrdiff_t piece_of(uint_least64_t ticket) { return ticket & 0xffff; }

static inline int has_work(uint_least64_t ticket) { return piece_of(ticket) < pieces_of(ticket); }

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void take_pieces(void)
{
    while (has_work(atomic_load(&pool_ticket))) {
        const uint_least64_t ticket = atomic_fetch_add(&pool_ticket, 1);
        if (has_work(ticket)) {
            pool_loop.function(pool_loop.context, piece_of(ticket));
            atomic_fetch_add(&pool_loop.done, 1);
        }
    }
}

static long nanoseconds_since(const struct timespec *begin)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - begin->tv_sec) * 1000000000L + (now.tv_nsec - begin->tv_nsec);
}

static void *work(void *unused)
{
    (void)unused;
    for (;;) {
        struct timespec begin;
        long waited = 0;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        while (!has_work(atomic_load(&pool_ticket)) && waited < LONG_PATIENCE) {
            for (int look = 0; look < LOOKS_BETWEEN_CLOCKS && !has_work(atomic_load(&pool_ticket)); look++)
                pause_briefly();
            if (waited > PATIENCE)
                sched_yield();
            waited = nanoseconds_since(&begin);
        }
        if (!has_work(atomic_load(&pool_ticket))) {
            pthread_mutex_lock(&pool_lock);
            atomic_fetch_add(&pool_asleep, 1); /* first this, then another look: a caller does it the other way round */
            while (!has_work(atomic_load(&pool_ticket)))
                pthread_cond_wait(&pool_news, &pool_lock);
            atomic_fetch_sub(&pool_asleep, 1);
            pthread_mutex_unlock(&pool_lock);
        }
        take_pieces();
    }
    return NULL;
}

static void begin_anew_after_fork(void)
{
    pthread_mutex_init(&pool_in_use, NULL);
    pthread_mutex_init(&pool_lock, NULL);
    pthread_cond_init(&pool_news, NULL);
    atomic_store(&pool_ticket, 0);
    atomic_store(&pool_asleep, 0);
    pool_workers = 0;
}

/* Have so many workers, if the system lets us. They leave all signals to the threads of Python. */
static void hire(ptrdiff_t workers)
{
    static int knows_forks = 0;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (!knows_forks)
        knows_forks = pthread_atfork(NULL, NULL, begin_anew_after_fork) == 0;
    if (!knows_forks || pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool_workers < workers) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, work, NULL) != 0)
            break;
        pool_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* function(context, piece) for every piece, side by side. Nothing is promised about which thread runs which piece. */
static void pool_run(piece_function function, void *context, ptrdiff_t pieces)
{
    struct timespec begin;
    if (pieces < 2 || pieces > MOST_PIECES || pthread_mutex_trylock(&pool_in_use) != 0) {
        run_alone(function, context, pieces);
        return;
    }
    if (pool_workers < pieces - 1)
        hire(pieces - 1);
    pool_loop.function = function;
    pool_loop.context = context;
    atomic_store(&pool_loop.done, 0);
    atomic_store(&pool_ticket, ticket_of((atomic_load(&pool_ticket) >> 32) + 1, pieces));
    if (atomic_load(&pool_asleep) > 0) {
        pthread_mutex_lock(&pool_lock);
        pthread_cond_broadcast(&pool_news);
        pthread_mutex_unlock(&pool_lock);
    }
    take_pieces();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (atomic_load(&pool_loop.done) < pieces) {
        if (nanoseconds_since(&begin) < PATIENCE)
            pause_briefly();
        else
            sched_yield(); /* its processor may be what a worker waits for */
    }
    pthread_mutex_unlock(&pool_in_use);
}

#endif

#endif
