/* Hinges of pairs of documents with different grades, within one query: all pairs, several at once.
 *
 * A pair has x = margin - (higher - lower score) and the hinge h = max(0, x). With c = min(h, kappa), the Huber hinge is
 * c^2 / (2 kappa) + (h - c), and its slope c / kappa. */
#ifndef SMOOTHPERF_FEW_PAIRS_LOOPS_H
#define SMOOTHPERF_FEW_PAIRS_LOOPS_H

#include <float.h>

#include "_wide.h"

/* Numbers in a vector. */
enum { LANES = 4 };

/* Sums over pairs of the hinge as far as it is clipped, of the square of that, and of the rest of the hinge. */
typedef struct {
    double clipped, squares, excess;
} clipped_sums;

/* Pairs of one document with ``count`` lower ones, to whose slopes they are added; numbers behind these must count nothing,
 * up to the next multiple of LANES. The hinge is clipped at kappa; without smoothing, 1 stands for any that is above 0. */
INLINED clipped_sums pairs_of_one(
    const double *restrict low, double *restrict slopes, ptrdiff_t count, double high, double kappa, int smoothed)
{
    double clipped[LANES] = {0.0}, squares[LANES] = {0.0}, excess[LANES] = {0.0};
    clipped_sums sums = {0.0, 0.0, 0.0};
    for (ptrdiff_t begin = 0; begin < count; begin += LANES) {
        AS_ONE_VECTOR
        for (int lane = 0; lane < LANES; lane++) {
            const double x = low[begin + lane] - high, beyond = x - kappa, hinge = x > 0.0 ? x : 0.0;
            const double part = smoothed ? (hinge < kappa ? hinge : kappa) : (x > 0.0 ? 1.0 : 0.0);
            slopes[begin + lane] += part;
            clipped[lane] += part;
            squares[lane] += part * part;
            excess[lane] += beyond > 0.0 ? beyond : 0.0;
        }
    }
    for (int lane = 0; lane < LANES; lane++) {
        sums.clipped += clipped[lane];
        sums.squares += squares[lane];
        sums.excess += excess[lane];
    }
    return sums;
}

/* All pairs of some documents, which are sorted by level: ``begins`` says where levels begin, and ``slopes`` is filled. */
INLINED clipped_sums pairs_of_all(
    const double *scores, const ptrdiff_t *begins, ptrdiff_t levels, double margin, double kappa, double *low,
    double *slopes, int smoothed)
{
    const ptrdiff_t count = begins[levels];
    clipped_sums all = {0.0, 0.0, 0.0};
    for (ptrdiff_t i = 0; i < count + LANES; i++) {
        low[i] = -DBL_MAX; /* no hinge with anything */
        slopes[i] = 0.0;
    }
    for (ptrdiff_t level = 1; level < levels; level++) {
        for (ptrdiff_t i = begins[level - 1]; i < begins[level]; i++)
            low[i] = margin + scores[i];
        for (ptrdiff_t i = begins[level]; i < begins[level + 1]; i++) {
            const clipped_sums sums = pairs_of_one(low, slopes, begins[level], scores[i], kappa, smoothed);
            slopes[i] -= sums.clipped;
            all.clipped += sums.clipped;
            all.squares += sums.squares;
            all.excess += sums.excess;
        }
    }
    return all;
}

/* The same, for what the compiler knows. (Not that kappa is above 0, of which it would make branches.) */
WIDE_VECTORS static clipped_sums few_pairs(
    const double *scores, const ptrdiff_t *begins, ptrdiff_t levels, double margin, double kappa, double *low,
    double *slopes, int smoothed)
{
    if (smoothed)
        return pairs_of_all(scores, begins, levels, margin, kappa, low, slopes, 1);
    return pairs_of_all(scores, begins, levels, margin, kappa, low, slopes, 0);
}

#endif
