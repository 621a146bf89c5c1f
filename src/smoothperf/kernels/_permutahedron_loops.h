/* The best ranking of one query, and the best point of the hull of all rankings. */
#ifndef SMOOTHPERF_PERMUTAHEDRON_LOOPS_H
#define SMOOTHPERF_PERMUTAHEDRON_LOOPS_H

#include <float.h>

#include "_queries.h"

/* Neighbouring places whose documents share the discounts of these places among themselves. */
typedef struct {
    ptrdiff_t begin;
    ptrdiff_t count;
    double level; /* key of the first document; the other numbers are relative to it, so that nothing large cancels */
    double sum;   /* of key - level - discount */
    double mean;
} shared_places;

typedef struct {
    double gained;    /* <v, relevance> */
    double inner;     /* <v - target, scores> */
    double squares;   /* |v - target|^2 */
    double along;     /* <v - target, direction> */
    double departure; /* how far v may be from the hull, in the sum of absolute values */
} query_sums;

typedef struct {
    const double *scores;       /* by row */
    const double *direction;    /* by row, or NULL */
    const ptrdiff_t *rows;      /* row of each document, or NULL if these are the same */
    const double *relevance;    /* by document */
    const double *target;       /* by document */
    double *gradient;           /* by row, or NULL */
    double scale, loss, inverse_mu;
    int smoothed;
} ranking_task;

/* Decreasing isotonic regression of key - discount by pooling neighbours: O(m). Returns the number of pools. */
static inline ptrdiff_t pool_places(const ranked *sorted, const double *discount, ptrdiff_t count, shared_places *pools)
{
    ptrdiff_t last = -1;
    for (ptrdiff_t place = 0; place < count; place++) {
        shared_places pool = {place, 1, sorted[place].key, -discount[place], -discount[place]};
        while (last >= 0 && (pools[last].level - pool.level) + pools[last].mean < pool.mean) {
            const shared_places *before = &pools[last--];
            pool.sum += before->sum - (before->level - pool.level) * (double)pool.count;
            pool.level = before->level;
            pool.begin = before->begin;
            pool.count += before->count;
            pool.mean = pool.sum / (double)pool.count;
        }
        pools[++last] = pool;
    }
    return last + 1;
}

/* Add a document's share of the sums, given the discount v that it has got. */
static inline void take_place(
    const ranking_task *task, ptrdiff_t document, double v, double coefficient, query_sums *sums)
{
    const ptrdiff_t row = task->rows ? task->rows[document] : document;
    const double change = v - task->target[document];
    sums->gained += v * task->relevance[document];
    sums->inner += change * task->scores[row];
    sums->squares += change * change;
    if (task->direction)
        sums->along += change * task->direction[row];
    if (task->gradient)
        task->gradient[row] = coefficient * change;
}

/* Give the documents of a pool their shares, v = key - mean.
 *
 * They are in the hull of the pool's own discounts, as v is decreasing, if the sum of the first ones is never ahead of that
 * of the discounts, and not behind in the end. Where rounding makes it so, a nearby point is in the hull: with sums V + e
 * or those of the discounts, D, whichever is less, for any e that V is not further behind in the end. That
 * changes v by the variation of max(V - D, -e), in the sum of absolute values. */
static inline void share_places(
    const ranking_task *task, const shared_places *pool, const ranked *sorted, const double *discount,
    double coefficient, query_sums *sums)
{
    const ptrdiff_t end = pool->begin + pool->count;
    const double spare = 4.0 * DBL_EPSILON * (double)pool->count * discount[pool->begin];
    long double sum = 0.0L, ahead = 0.0L, last = 0.0L, variation = 0.0L;
    for (ptrdiff_t place = pool->begin; place < end; place++) /* once more, as pooling gathers rounding */
        sum += (sorted[place].key - pool->level) - discount[place];
    const double mean = (double)(sum / (long double)pool->count);
    for (ptrdiff_t place = pool->begin; place < end; place++) {
        const double v = (sorted[place].key - pool->level) - mean;
        take_place(task, sorted[place].document, v, coefficient, sums);
        ahead += (long double)v - (long double)discount[place];
        const long double now = ahead > -spare ? ahead : -spare;
        variation += now > last ? now - last : last - now;
        last = now;
    }
    if (ahead < -spare) /* never seen: e has to be that much, which may be gone through at every place */
        variation += 2.0L * (long double)pool->count * -ahead;
    sums->departure += (double)variation;
}

/* Rank documents [begin, end): by discount[0] >= discount[1] >= ... for the best one on. */
static query_sums rank_query(
    const ranking_task *task, ptrdiff_t begin, ptrdiff_t end, const double *discount, double coefficient,
    ranked *entries, ranked *room, shared_places *pools)
{
    query_sums sums = {0.0, 0.0, 0.0, 0.0, 0.0};
    const ptrdiff_t count = end - begin;
    for (ptrdiff_t i = 0; i < count; i++) {
        const ptrdiff_t document = begin + i;
        const double score = task->scores[task->rows ? task->rows[document] : document];
        const double value = task->scale * score - task->loss * task->relevance[document];
        entries[i].key = task->smoothed ? task->target[document] + value * task->inverse_mu : value;
        entries[i].document = document;
    }
    const ranked *sorted = sort_query(entries, room, count);
    if (!task->smoothed) {
        for (ptrdiff_t place = 0; place < count; place++)
            take_place(task, sorted[place].document, discount[place], coefficient, &sums);
        return sums;
    }
    const ptrdiff_t n_pools = pool_places(sorted, discount, count, pools);
    for (ptrdiff_t k = 0; k < n_pools; k++) {
        const shared_places *pool = &pools[k];
        if (pool->count == 1)
            take_place(task, sorted[pool->begin].document, discount[pool->begin], coefficient, &sums);
        else
            share_places(task, pool, sorted, discount, coefficient, &sums);
    }
    return sums;
}

#endif
