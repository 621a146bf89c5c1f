/* What loops over queries share: how queries are shared out, and how the documents of one are sorted. */
#ifndef SMOOTHPERF_QUERIES_H
#define SMOOTHPERF_QUERIES_H

#include <stddef.h>

typedef struct {
    double key;
    ptrdiff_t document;
} ranked;

enum { SHORT_RUN = 8 };

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

/* The highest keys first; of equal ones, the first comes first. */
static inline void sort_short_run(ranked *entries, ptrdiff_t count)
{
    for (ptrdiff_t i = 1; i < count; i++) {
        const ranked entry = entries[i];
        ptrdiff_t j = i;
        for (; j > 0 && entries[j - 1].key < entry.key; j--)
            entries[j] = entries[j - 1];
        entries[j] = entry;
    }
}

static inline void merge_runs(const ranked *a, const ranked *a_end, const ranked *b, const ranked *b_end, ranked *out)
{
    while (a < a_end && b < b_end) {
        const int second = b->key > a->key;
        *out++ = *(second ? b : a);
        b += second;
        a += !second;
    }
    while (a < a_end)
        *out++ = *a++;
    while (b < b_end)
        *out++ = *b++;
}

/* Queries are short and many, so a merge sort without branches on what the keys are is quicker than one that compares
 * less. Stable; O(m log m) whatever the keys are.
 *
 * Sort entries; ``room`` has space for as many. Returns where the result is: one of the two. */
static ranked *sort_query(ranked *entries, ranked *room, ptrdiff_t count)
{
    for (ptrdiff_t begin = 0; begin < count; begin += SHORT_RUN)
        sort_short_run(entries + begin, count - begin < SHORT_RUN ? count - begin : SHORT_RUN);
    for (ptrdiff_t run = SHORT_RUN; run < count; run *= 2) {
        for (ptrdiff_t begin = 0; begin < count; begin += 2 * run) {
            const ptrdiff_t middle = begin + run < count ? begin + run : count;
            const ptrdiff_t end = begin + 2 * run < count ? begin + 2 * run : count;
            merge_runs(entries + begin, entries + middle, entries + middle, entries + end, room + begin);
        }
        ranked *const sorted = room;
        room = entries;
        entries = sorted;
    }
    return entries;
}

#endif
