/* A pool of threads for loops that are cut into pieces.
 *
 * The caller works too, and takes over whatever no worker has begun. So a call never waits for a worker to wake up, and
 * a pool without workers is merely slower. Workers look out for work for a short while before they go to sleep:
 * loops come in quick succession, and waking a thread takes longer than many of them last. One loop at a time uses the
 * pool; others that come at that time, from other threads, are run by their callers alone.
 *
 * A fork leaves its child without workers: the pool begins anew there. _threads.h has what differs between systems. */
#ifndef SMOOTHPERF_POOL_H
#define SMOOTHPERF_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "_threads.h"

typedef void (*piece_function)(void *context, ptrdiff_t piece);

enum {
    MOST_PIECES = 1 << 12,
    LOOKS_BETWEEN_CLOCKS = 64,
    /* How long workers look out for work, and callers for the end of it, before they let others run in between; and how
     * long workers go on looking out then before they go to sleep. In nanoseconds. (Measured: what a solver does
     * between two loops takes up to a millisecond, and a thread that slept comes 50 microseconds late.) */
    PATIENCE = 100000,
    LONG_PATIENCE = 2000000
};

/* The loop that runs, if one does. It stays as it is until all of its pieces are done. */
static struct {
    piece_function function;
    void *context;
    shared_counter done;
} pool_loop;
/* Number of the loop, its pieces and the next piece, in one word: a piece that is taken belongs to the loop that
 * pool_loop describes, however late a worker comes. */
static shared_counter pool_ticket;
static shared_counter pool_asleep;
static int pool_workers; /* changed by whoever uses the pool */
static lock_t pool_in_use = LOCK_START, pool_lock = LOCK_START;
static condition_t pool_news = CONDITION_START;

static inline int64_t ticket_of(uint64_t loop, ptrdiff_t pieces)
{
    return (int64_t)(loop << 32 | (uint64_t)pieces << 16);
}

static inline ptrdiff_t pieces_of(int64_t ticket) { return (uint64_t)ticket >> 16 & 0xffff; }

static inline ptrdiff_t piece_of(int64_t ticket) { return ticket & 0xffff; }

static inline int has_work(int64_t ticket) { return piece_of(ticket) < pieces_of(ticket); }

static void take_pieces(void)
{
    while (has_work(counter_value(&pool_ticket))) {
        const int64_t ticket = counter_add(&pool_ticket, 1);
        if (has_work(ticket)) {
            pool_loop.function(pool_loop.context, piece_of(ticket));
            counter_add(&pool_loop.done, 1);
        }
    }
}

static void work(void)
{
    for (;;) {
        const int64_t begin = nanoseconds_now();
        int64_t waited = 0;
        while (!has_work(counter_value(&pool_ticket)) && waited < LONG_PATIENCE) {
            for (int look = 0; look < LOOKS_BETWEEN_CLOCKS && !has_work(counter_value(&pool_ticket)); look++)
                pause_briefly();
            if (waited > PATIENCE)
                let_others_run();
            waited = nanoseconds_now() - begin;
        }
        if (!has_work(counter_value(&pool_ticket))) {
            lock(&pool_lock);
            counter_add(&pool_asleep, 1); /* first this, then another look: a caller does it the other way round */
            while (!has_work(counter_value(&pool_ticket)))
                condition_wait(&pool_news, &pool_lock);
            counter_add(&pool_asleep, -1);
            unlock(&pool_lock);
        }
        take_pieces();
    }
}

static void begin_anew_after_fork(void)
{
    lock_begin(&pool_in_use);
    lock_begin(&pool_lock);
    condition_begin(&pool_news);
    counter_set(&pool_ticket, 0);
    counter_set(&pool_asleep, 0);
    pool_workers = 0;
}

/* Have so many workers, if the system lets us. */
static void hire(ptrdiff_t workers)
{
    static int knows_forks = 0;
    if (!knows_forks)
        knows_forks = hear_of_forks(begin_anew_after_fork);
    while (knows_forks && pool_workers < workers && thread_start(work))
        pool_workers++;
}

/* function(context, piece) for every piece, side by side. Nothing is promised about which thread runs which piece. */
static void pool_run(piece_function function, void *context, ptrdiff_t pieces)
{
    if (pieces < 2 || pieces > MOST_PIECES || !lock_if_free(&pool_in_use)) {
        for (ptrdiff_t piece = 0; piece < pieces; piece++)
            function(context, piece);
        return;
    }
    if (pool_workers < pieces - 1)
        hire(pieces - 1);
    pool_loop.function = function;
    pool_loop.context = context;
    counter_set(&pool_loop.done, 0);
    counter_set(&pool_ticket, ticket_of(((uint64_t)counter_value(&pool_ticket) >> 32) + 1, pieces));
    if (counter_value(&pool_asleep) > 0) {
        lock(&pool_lock);
        condition_tell_all(&pool_news);
        unlock(&pool_lock);
    }
    take_pieces();
    const int64_t begin = nanoseconds_now();
    while (counter_value(&pool_loop.done) < pieces) {
        if (nanoseconds_now() - begin < PATIENCE)
            pause_briefly();
        else
            let_others_run(); /* its processor may be what a worker waits for */
    }
    unlock(&pool_in_use);
}

#endif
