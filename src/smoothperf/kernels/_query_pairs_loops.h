/* Hinges of all pairs of documents with different grades, within one query and without forming the pairs. */
#ifndef SMOOTHPERF_QUERY_PAIRS_LOOPS_H
#define SMOOTHPERF_QUERY_PAIRS_LOOPS_H

#include "_queries.h"
#include "_wide.h"

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

/* Room for one query. */
typedef struct {
    ranked *entries;     /* twice as many as documents */
    graded *documents;   /* twice as many */
    double *low, *high;  /* scores; those of the lower grades with the margin added */
    double *slopes;
} pairs_room;

/* Pairs between the lower and the upper half of some grades, then those within each half: every document is looked at
 * once for each halving, so O(m log grades). ``documents`` are sorted upwards by score, and their order is lost. */
static void halve_grades(
    graded *documents, ptrdiff_t count, ptrdiff_t first_level, ptrdiff_t end_level, double margin, double kappa,
    double *by_document, graded *spare, const pairs_room *room, pair_sums *sums)
{
    const ptrdiff_t middle = first_level + (end_level - first_level) / 2;
    ptrdiff_t lower = 0, higher = 0;
    if (end_level - first_level < 2 || count < 2)
        return;
    for (ptrdiff_t i = 0; i < count; i++) {
        const graded document = documents[i];
        if (document.level < middle) {
            room->low[lower] = margin + document.score;
            documents[lower++] = document;
        } else {
            room->high[higher] = document.score;
            spare[higher++] = document;
        }
    }
    for (ptrdiff_t i = 0; i < higher; i++)
        documents[lower + i] = spare[i];
    sweep(room->high, higher, room->low, lower, kappa, 0, room->slopes, sums);
    for (ptrdiff_t i = 0; i < lower; i++)
        by_document[documents[i].document] += room->slopes[i];
    sweep(room->low, lower, room->high, higher, kappa, 1, room->slopes, NULL);
    for (ptrdiff_t i = 0; i < higher; i++)
        by_document[documents[lower + i].document] -= room->slopes[i];
    halve_grades(documents, lower, first_level, middle, margin, kappa, by_document, spare, room, sums);
    halve_grades(documents + lower, higher, middle, end_level, margin, kappa, by_document, spare, room, sums);
}

/* Fill by_document with the derivatives of the sum over pairs by the scores. */
static pair_sums query_pairs(
    const double *scores, const ptrdiff_t *rows, const ptrdiff_t *levels, ptrdiff_t begin, ptrdiff_t end, double margin,
    double kappa, double *by_document, const pairs_room *room)
{
    pair_sums sums = {0.0L, 0.0L, 0.0L, 0.0L, 0.0L};
    const ptrdiff_t count = end - begin;
    ptrdiff_t end_level = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        const double score = scores[rows ? rows[begin + i] : begin + i];
        room->entries[i].key = score;
        room->entries[i].document = i;
        by_document[i] = 0.0;
    }
    const ranked *sorted = sort_query(room->entries, room->entries + count, count);
    for (ptrdiff_t i = 0; i < count; i++) { /* upwards */
        const ranked entry_ = sorted[count - 1 - i];
        const ptrdiff_t level = levels[begin + entry_.document];
        const graded document = {entry_.key, entry_.document, level};
        room->documents[i] = document;
        end_level = level >= end_level ? level + 1 : end_level;
    }
    halve_grades(
        room->documents, count, 0, end_level, margin, kappa, by_document, room->documents + count, room, &sums);
    return sums;
}

#endif
