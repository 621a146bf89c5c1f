/* What loops over queries share: how queries are shared out, and how the documents of one are sorted. */
#ifndef SMOOTHPERF_QUERIES_H
#define SMOOTHPERF_QUERIES_H

#include <stddef.h>
#include <stdint.h>

#include "_wide.h"

typedef struct {
    double key;
    ptrdiff_t document;
} ranked;

enum { MOST_COUNTED = 32 };

/* The first query of a piece, of which all have about as many documents; that of the piece behind the last is the number
 * of queries. */
static inline ptrdiff_t first_query(const ptrdiff_t *starts, ptrdiff_t queries, ptrdiff_t piece, ptrdiff_t pieces)
{
    const ptrdiff_t document = (ptrdiff_t)((double)starts[queries] * ((double)piece / (double)pieces));
    ptrdiff_t low = 0, high = queries;
    if (piece == pieces)
        return queries;
    while (low < high) {
        const ptrdiff_t middle = low + (high - low) / 2;
        if (starts[middle] < document)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* For each of ``width`` keys, how many of the first ``count`` are higher. No branch depends on them. */
INLINED void count_higher(const double *keys, ptrdiff_t count, int64_t *higher, int width)
{
    for (int j = 0; j < width; j++)
        higher[j] = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        const double key = keys[i];
        for (int j = 0; j < width; j++)
            higher[j] += key > keys[j];
    }
}

/* The same for one of two widths, which the compiler knows: then the numbers stay in registers. */
WIDE_VECTORS static void count_higher_of_few(const double *keys, ptrdiff_t count, int64_t *higher)
{
    if (count <= MOST_COUNTED / 2)
        count_higher(keys, count, higher, MOST_COUNTED / 2);
    else
        count_higher(keys, count, higher, MOST_COUNTED);
}

/* Sort up to MOST_COUNTED entries to ``out``, which may be where they are. The place of an entry is the number of higher
 * ones, and of equal ones that came before. That takes m^2 comparisons, but many at once and none that has to wait: for a
 * few dozen entries it is quicker than what compares less. */
static void sort_by_counting(const ranked *entries, ranked *out, ptrdiff_t count)
{
    double keys[MOST_COUNTED];
    ptrdiff_t documents[MOST_COUNTED];
    int64_t higher[MOST_COUNTED];
    unsigned char taken[MOST_COUNTED];
    for (int i = 0; i < MOST_COUNTED; i++) {
        keys[i] = 0.0;
        taken[i] = 0;
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        keys[i] = entries[i].key;
        documents[i] = entries[i].document;
    }
    count_higher_of_few(keys, count, higher);
    for (ptrdiff_t i = 0; i < count; i++) {
        const ptrdiff_t place = (ptrdiff_t)higher[i] + taken[higher[i]]++;
        out[place].key = keys[i];
        out[place].document = documents[i];
    }
}

/* Merge the sorted halves of some entries, ``count / 2`` of them and the others, from both ends at once: the two need
 * not wait for one another, and neither half can be used up on the way. */
static inline void merge_halves(const ranked *entries, ranked *out, ptrdiff_t count)
{
    const ptrdiff_t half = count / 2;
    const ranked *a = entries, *b = entries + half, *a_last = b - 1, *b_last = entries + count - 1;
    ranked *out_last = out + count - 1;
    for (ptrdiff_t i = 0; i < half; i++) {
        const int second = b->key > a->key;
        *out++ = *(second ? b : a);
        b += second;
        a += !second;
        const int last_is_first = b_last->key > a_last->key;
        *out_last-- = *(last_is_first ? a_last : b_last);
        a_last -= last_is_first;
        b_last -= !last_is_first;
    }
    if (count % 2)
        *out = *(a <= a_last ? a : b);
}

/* Sort entries, to ``room`` or where they are; the other is overwritten. */
static void sort_halves(ranked *entries, ranked *room, ptrdiff_t count, int to_room)
{
    ranked *const out = to_room ? room : entries;
    if (count <= MOST_COUNTED) {
        sort_by_counting(entries, out, count);
        return;
    }
    const ptrdiff_t half = count / 2;
    sort_halves(entries, room, half, !to_room);
    sort_halves(entries + half, room + half, count - half, !to_room);
    merge_halves(to_room ? entries : room, out, count);
}

/* Sort the entries of a query, the highest keys first; ``room`` has space for as many. Stable; O(m log m) whatever the
 * keys are, and no branch depends on them. */
static inline void sort_query(ranked *entries, ranked *room, ptrdiff_t count)
{
    sort_halves(entries, room, count, 0);
}

#endif
