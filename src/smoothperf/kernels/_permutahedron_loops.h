/* The best ranking of one query, and the best point of the hull of all rankings. */
#ifndef SMOOTHPERF_PERMUTAHEDRON_LOOPS_H
#define SMOOTHPERF_PERMUTAHEDRON_LOOPS_H

#include <float.h>

#include "_queries.h"
#include "_wide.h"

/* Places are few if there are so many documents for each. */
enum { FEW_PLACES = 4, LANES = 4 };

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

/* Room for one query; twice as many entries as documents, and as many of all others. */
typedef struct {
    ranked *entries;
    shared_places *pools;
    double *keys, *v;
    double *scores, *direction; /* by document, where rows are not */
} ranking_room;

/* Decreasing isotonic regression of key - discount by pooling neighbours: O(m). Returns the number of pools. Places from
 * ``counted`` on have no discount: as keys fall, the first of them that is in no pool is followed by such ones only. */
static inline ptrdiff_t pool_places(
    const ranked *sorted, const double *discount, ptrdiff_t count, ptrdiff_t counted, shared_places *pools)
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
        if (place >= counted && pool.count == 1)
            break;
        pools[++last] = pool;
    }
    return last + 1;
}

/* Give the documents of a pool their shares, v = key - mean. Returns how far these may be from the hull.
 *
 * They are in the hull of the pool's own discounts, as v is decreasing, if the sum of the first ones is never ahead of that
 * of the discounts, and not behind in the end. Where rounding makes it so, a nearby point is in the hull: with sums V + e
 * or those of the discounts, D, whichever is less, for any e that V is not further behind in the end. That
 * changes v by the variation of max(V - D, -e), in the sum of absolute values. */
static inline double share_places(
    const shared_places *pool, const ranked *sorted, const double *discount, double *v)
{
    const ptrdiff_t end = pool->begin + pool->count;
    const double spare = 4.0 * DBL_EPSILON * (double)pool->count * discount[pool->begin];
    long double sum = 0.0L, ahead = 0.0L, last = 0.0L, variation = 0.0L;
    for (ptrdiff_t place = pool->begin; place < end; place++) /* once more, as pooling gathers rounding */
        sum += (sorted[place].key - pool->level) - discount[place];
    const double mean = (double)(sum / (long double)pool->count);
    for (ptrdiff_t place = pool->begin; place < end; place++) {
        const double share = (sorted[place].key - pool->level) - mean;
        v[sorted[place].document] = share;
        ahead += (long double)share - (long double)discount[place];
        const long double now = ahead > -spare ? ahead : -spare;
        variation += now > last ? now - last : last - now;
        last = now;
    }
    if (ahead < -spare) /* never seen: e has to be that much, which may be gone through at every place */
        variation += 2.0L * (long double)pool->count * -ahead;
    return (double)variation;
}

/* A key that as many documents as ``counted`` reach, and not many more: each of that many groups of documents has one that
 * reaches the least of the groups' highest keys. */
static inline double reached_key(const double *keys, ptrdiff_t count, ptrdiff_t counted, double *highest)
{
    double least = DBL_MAX;
    for (ptrdiff_t group = 0; group < counted; group++)
        highest[group] = keys[group];
    for (ptrdiff_t begin = counted; begin + counted <= count; begin += counted)
        for (ptrdiff_t group = 0; group < counted; group++)
            highest[group] = keys[begin + group] > highest[group] ? keys[begin + group] : highest[group];
    for (ptrdiff_t group = 0; group < counted; group++)
        least = highest[group] < least ? highest[group] : least;
    return least;
}

/* Fill entries with the documents that may get a discount, of which there are ``counted``. Returns how many they are.
 *
 * Without smoothing these have the highest keys. With it, let z_k be the last of the highest keys, k = counted. A document
 * with a lower key z and v > 0 is in the pool of z_k, so that v = z - z_k + v_k; and v_k is at most the mean of the
 * discounts, as v is decreasing. So z > z_k - mean (docs/maths.md, eq. ranking-candidates). */
static ptrdiff_t candidates(
    const ranking_task *task, const double *discount, ptrdiff_t count, ptrdiff_t counted, const ranking_room *room)
{
    double least = -DBL_MAX;
    ptrdiff_t chosen = 0;
    if (count >= FEW_PLACES * counted) {
        double sum = 0.0;
        for (ptrdiff_t place = 0; place < counted; place++)
            sum += discount[place];
        least = reached_key(room->keys, count, counted, room->v) - (task->smoothed ? sum / (double)counted : 0.0);
    }
    for (ptrdiff_t i = 0; i < count; i++) { /* to the end of the list, where it stays or not */
        room->entries[chosen].key = room->keys[i];
        room->entries[chosen].document = i;
        chosen += room->keys[i] >= least;
    }
    return chosen;
}

/* Fill v, by document. Returns how far it may be from the hull. */
static double discounts_of_documents(
    const ranking_task *task, const double *discount, ptrdiff_t count, ptrdiff_t counted, const ranking_room *room)
{
    double departure = 0.0;
    const ptrdiff_t chosen = counted ? candidates(task, discount, count, counted, room) : 0;
    const ranked *const sorted = room->entries;
    for (ptrdiff_t i = 0; i < count; i++)
        room->v[i] = 0.0;
    sort_query(room->entries, room->entries + chosen, chosen);
    if (!task->smoothed) {
        for (ptrdiff_t place = 0; place < counted; place++)
            room->v[sorted[place].document] = discount[place];
        return 0.0;
    }
    const ptrdiff_t n_pools = pool_places(sorted, discount, chosen, counted, room->pools);
    for (const shared_places *pool = room->pools; pool < room->pools + n_pools; pool++) {
        if (pool->count == 1)
            room->v[sorted[pool->begin].document] = discount[pool->begin];
        else
            departure += share_places(pool, sorted, discount, room->v);
    }
    return departure;
}

/* Numbers by document, of those that are by row. */
static inline const double *by_document(
    const double *values, const ptrdiff_t *rows, ptrdiff_t begin, ptrdiff_t count, double *room)
{
    if (!rows)
        return values + begin;
    for (ptrdiff_t i = 0; i < count; i++)
        room[i] = values[rows[begin + i]];
    return room;
}

INLINED void fill_keys(
    const ranking_task *task, const double *f, const double *r, const double *t, ptrdiff_t count, double *keys)
{
    if (task->smoothed)
        for (ptrdiff_t i = 0; i < count; i++)
            keys[i] = t[i] + (task->scale * f[i] - task->loss * r[i]) * task->inverse_mu;
    else
        for (ptrdiff_t i = 0; i < count; i++)
            keys[i] = task->scale * f[i] - task->loss * r[i];
}

/* Sums over documents, in LANES parts that need not wait for one another. */
INLINED void sum_documents(
    const double *v, const double *f, const double *q, const double *r, const double *t, ptrdiff_t count,
    query_sums *sums)
{
    double gained[LANES] = {0.0}, inner[LANES] = {0.0}, squares[LANES] = {0.0}, along[LANES] = {0.0};
    ptrdiff_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        AS_ONE_VECTOR
        for (int lane = 0; lane < LANES; lane++) {
            const double change = v[i + lane] - t[i + lane];
            gained[lane] += v[i + lane] * r[i + lane];
            inner[lane] += change * f[i + lane];
            squares[lane] += change * change;
            along[lane] += change * q[i + lane];
        }
    }
    for (; i < count; i++) {
        const double change = v[i] - t[i];
        gained[0] += v[i] * r[i];
        inner[0] += change * f[i];
        squares[0] += change * change;
        along[0] += change * q[i];
    }
    for (int lane = 0; lane < LANES; lane++) {
        sums->gained += gained[lane];
        sums->inner += inner[lane];
        sums->squares += squares[lane];
        sums->along += along[lane];
    }
}

/* Rank documents [begin, end): by discount[0] >= discount[1] >= ... for the best one on, of which the first ``counted``
 * are above 0. */
static query_sums rank_query(
    const ranking_task *task, ptrdiff_t begin, ptrdiff_t end, const double *discount, ptrdiff_t counted,
    double coefficient, const ranking_room *room)
{
    const ptrdiff_t count = end - begin;
    const double *f = by_document(task->scores, task->rows, begin, count, room->scores);
    const double *q = task->direction ? by_document(task->direction, task->rows, begin, count, room->direction) : f;
    const double *r = task->relevance + begin, *t = task->target + begin;
    query_sums sums = {0.0, 0.0, 0.0, 0.0, 0.0};
    fill_keys(task, f, r, t, count, room->keys);
    sums.departure = discounts_of_documents(task, discount, count, counted < count ? counted : count, room);
    sum_documents(room->v, f, q, r, t, count, &sums);
    if (!task->direction)
        sums.along = 0.0;
    if (task->gradient && task->rows)
        for (ptrdiff_t i = 0; i < count; i++)
            task->gradient[task->rows[begin + i]] = coefficient * (room->v[i] - t[i]);
    else if (task->gradient)
        for (ptrdiff_t i = 0; i < count; i++)
            task->gradient[begin + i] = coefficient * (room->v[i] - t[i]);
    return sums;
}

#endif
