/* Hinges of all pairs of documents with different grades, within one query; where pairs are many, without forming them. */
#ifndef SMOOTHPERF_QUERY_PAIRS_LOOPS_H
#define SMOOTHPERF_QUERY_PAIRS_LOOPS_H

#include "_few_pairs_loops.h"
#include "_queries.h"
#include "_wide.h"

/* For how many pairs of each document it is quicker to look at all of them than to sort. (Measured: with 40 pairs in a third
 * to a half of the time, with 100 in 60 to 85% of it, and with 150 of two grades in as much.) */
enum { FEW_PAIRS = 96 };

/* Sums over all pairs of c times what query_hinges returns. */
typedef struct {
    long double value, height, hinges, betas;
} hinge_sums;

/* Sums over pairs of x = margin - (higher - lower score): over pairs on the ramp of the Huber hinge, 0 < x < kappa, and
 * over those beyond it. */
typedef struct {
    long double betas; /* sum of the slopes of all pairs, between 0 and 1 */
    long double ramps, squares;
    long double beyond, numbers;
} pair_sums;

typedef struct {
    double score;
    ptrdiff_t document;
    ptrdiff_t level;
} graded;

/* Entry i of an array that is sorted upwards, or of its mirror image, which is so too. */
INLINED double entry(const double *values, ptrdiff_t count, ptrdiff_t i, int mirrored)
{
    return mirrored ? -values[count - 1 - i] : values[i];
}

/* Fill slopes: for each probe t the sum of clip((t - p) / kappa, 0, 1) over points p. Both are sorted upwards, so one
 * sweep does it: the points on the ramp are a window that moves along. Their sums are measured from the probe, which
 * keeps them small: at most kappa for each. */
INLINED void sweep(
    const double *points, ptrdiff_t n_points, const double *probes, ptrdiff_t n_probes, double kappa, int mirrored,
    double *slopes, pair_sums *sums)
{
    ptrdiff_t full = 0, seen = 0; /* points beyond the ramp, and these with those on it */
    double ramp = 0.0, square = 0.0, beyond = 0.0, before = 0.0;
    for (ptrdiff_t l = 0; l < n_probes; l++) {
        const double t = entry(probes, n_probes, l, mirrored);
        const double step = l > 0 ? t - before : 0.0;
        beyond += step * (double)full;
        for (; full < seen && t - entry(points, n_points, full, mirrored) >= kappa; full++) {
            const double p = entry(points, n_points, full, mirrored), x = before - p;
            ramp -= x;
            square -= x * x;
            beyond += t - p;
        }
        if (full == seen) {
            ramp = square = 0.0;
        } else {
            const double count = (double)(seen - full);
            square += step * (2.0 * ramp + step * count);
            ramp += step * count;
        }
        for (; seen < n_points && entry(points, n_points, seen, mirrored) < t; seen++) {
            const double x = t - entry(points, n_points, seen, mirrored);
            if (x >= kappa) { /* then no point is on the ramp: they would be further away */
                full++;
                beyond += x;
            } else {
                ramp += x;
                square += x * x;
            }
        }
        before = t;
        double slope = (double)full;
        if (seen > full) {
            const double most = (double)(seen - full), share = ramp / kappa;
            slope += share < 0.0 ? 0.0 : share > most ? most : share;
        }
        slopes[mirrored ? n_probes - 1 - l : l] = slope;
        if (sums) {
            sums->betas += slope;
            sums->ramps += ramp;
            sums->squares += square;
            sums->beyond += beyond;
            sums->numbers += (double)full;
        }
    }
}

/* Room for one query, of more numbers than documents by LANES. */
typedef struct {
    ranked *entries;     /* twice as many as documents */
    graded *documents;   /* twice as many */
    double *low, *high;  /* scores; those of the lower grades with the margin added */
    double *slopes;
    ptrdiff_t *begins;
} pairs_room;

/* Put documents of the lower half of some grades before those of the upper half, and fill ``low`` and ``high`` with their
 * scores. Returns how many are in the lower half. Documents are sorted upwards by score, and stay so in each half. */
static ptrdiff_t split_grades(
    graded *documents, ptrdiff_t count, ptrdiff_t middle, double margin, graded *spare, const pairs_room *room)
{
    ptrdiff_t lower = 0, higher = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        /* To both, and one of them stays: grades are in no order that a processor could foresee. */
        const graded document = documents[i];
        const int is_low = document.level < middle;
        room->low[lower] = margin + document.score;
        documents[lower] = document;
        lower += is_low;
        room->high[higher] = document.score;
        spare[higher] = document;
        higher += !is_low;
    }
    for (ptrdiff_t i = 0; i < higher; i++)
        documents[lower + i] = spare[i];
    return lower;
}

/* Pairs between the lower and the upper half of some grades, then those within each half: every document is looked at
 * once for each halving, so O(m log grades). ``documents`` are sorted upwards by score, and their order is lost. */
static void halve_grades(
    graded *documents, ptrdiff_t count, ptrdiff_t first_level, ptrdiff_t end_level, double margin, double kappa,
    double *by_document, graded *spare, const pairs_room *room, pair_sums *sums)
{
    const ptrdiff_t middle = first_level + (end_level - first_level) / 2;
    if (end_level - first_level < 2 || count < 2)
        return;
    const ptrdiff_t lower = split_grades(documents, count, middle, margin, spare, room), higher = count - lower;
    sweep(room->high, higher, room->low, lower, kappa, 0, room->slopes, sums);
    for (ptrdiff_t i = 0; i < lower; i++)
        by_document[documents[i].document] += room->slopes[i];
    sweep(room->low, lower, room->high, higher, kappa, 1, room->slopes, NULL);
    for (ptrdiff_t i = 0; i < higher; i++)
        by_document[documents[lower + i].document] -= room->slopes[i];
    halve_grades(documents, lower, first_level, middle, margin, kappa, by_document, spare, room, sums);
    halve_grades(documents + lower, higher, middle, end_level, margin, kappa, by_document, spare, room, sums);
}

static inline ptrdiff_t number_of_levels(const ptrdiff_t *levels, ptrdiff_t count)
{
    ptrdiff_t end_level = 0;
    for (ptrdiff_t i = 0; i < count; i++)
        end_level = levels[i] >= end_level ? levels[i] + 1 : end_level;
    return end_level;
}

/* The documents of a query sorted upwards by score, in room->documents. */
static void sort_graded(
    const double *scores, const ptrdiff_t *rows, const ptrdiff_t *levels, ptrdiff_t begin, ptrdiff_t count,
    const pairs_room *room)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        room->entries[i].key = scores[rows ? rows[begin + i] : begin + i];
        room->entries[i].document = i;
    }
    sort_query(room->entries, room->entries + count, count);
    for (ptrdiff_t i = 0; i < count; i++) {
        const ranked entry_ = room->entries[count - 1 - i];
        const graded document = {entry_.key, entry_.document, levels[begin + entry_.document]};
        room->documents[i] = document;
    }
}

/* Fill ``begins``: where levels begin if documents are sorted by them, and the end. Returns how many pairs there are. */
static ptrdiff_t count_levels(const ptrdiff_t *levels, ptrdiff_t count, ptrdiff_t end_level, ptrdiff_t *begins)
{
    ptrdiff_t pairs = 0;
    for (ptrdiff_t level = 0; level <= end_level; level++)
        begins[level] = 0;
    for (ptrdiff_t i = 0; i < count; i++)
        begins[levels[i] + 1]++;
    for (ptrdiff_t level = 0; level < end_level; level++) {
        pairs += begins[level] * begins[level + 1];
        begins[level + 1] += begins[level];
    }
    return pairs;
}

/* The sums of one query by its pairs, given where levels begin, which is lost. */
static hinge_sums hinges_of_pairs(
    const double *scores, const ptrdiff_t *rows, const ptrdiff_t *levels, ptrdiff_t begin, ptrdiff_t count,
    ptrdiff_t end_level, double margin, double kappa, double *by_document, const pairs_room *room)
{
    ranked *const entries = room->entries;
    for (ptrdiff_t i = 0; i < count; i++) { /* after which ``begins`` has the ends of levels */
        const ptrdiff_t place = room->begins[levels[begin + i]]++;
        entries[place].document = i;
        room->high[place] = scores[rows ? rows[begin + i] : begin + i];
    }
    for (ptrdiff_t level = end_level; level > 0; level--)
        room->begins[level] = room->begins[level - 1];
    room->begins[0] = 0;
    const clipped_sums sums = few_pairs(
        room->high, room->begins, end_level, margin, kappa, room->low, room->slopes, kappa > 0.0);
    const double unit = kappa > 0.0 ? kappa : 1.0;
    for (ptrdiff_t i = 0; i < count; i++)
        by_document[entries[i].document] = room->slopes[i] / unit;
    const long double clipped = sums.clipped, squares = sums.squares, excess = sums.excess;
    const hinge_sums smoothed = {
        squares / (2.0L * unit) + excess, squares / unit + excess, clipped + excess, clipped / unit};
    const hinge_sums exact = {excess, excess, excess, clipped};
    return kappa > 0.0 ? smoothed : exact;
}

/* The sums of one query of many pairs: by sorting. */
static hinge_sums hinges_of_halves(
    const double *scores, const ptrdiff_t *rows, const ptrdiff_t *levels, ptrdiff_t begin, ptrdiff_t count,
    ptrdiff_t end_level, double margin, double kappa, double *by_document, const pairs_room *room)
{
    pair_sums sums = {0.0L, 0.0L, 0.0L, 0.0L, 0.0L};
    sort_graded(scores, rows, levels, begin, count, room);
    for (ptrdiff_t i = 0; i < count; i++)
        by_document[i] = 0.0;
    halve_grades(
        room->documents, count, 0, end_level, margin, kappa, by_document, room->documents + count, room, &sums);
    const long double hinges = sums.ramps + sums.beyond;
    const hinge_sums smoothed = {
        sums.squares / (2.0L * kappa) + sums.beyond - kappa / 2.0L * sums.numbers, sums.squares / kappa + sums.beyond,
        hinges, sums.betas};
    const hinge_sums exact = {hinges, hinges, hinges, sums.betas};
    return kappa > 0.0 ? smoothed : exact;
}

/* Sums over the pairs of a query. Fill by_document with the derivatives of the value by the scores. */
static hinge_sums query_pairs(
    const double *scores, const ptrdiff_t *rows, const ptrdiff_t *levels, ptrdiff_t begin, ptrdiff_t end, double margin,
    double kappa, double *by_document, const pairs_room *room)
{
    const ptrdiff_t count = end - begin, end_level = number_of_levels(levels + begin, count);
    if (end_level <= count && count_levels(levels + begin, count, end_level, room->begins) <= FEW_PAIRS * count)
        return hinges_of_pairs(scores, rows, levels, begin, count, end_level, margin, kappa, by_document, room);
    return hinges_of_halves(scores, rows, levels, begin, count, end_level, margin, kappa, by_document, room);
}

#endif
