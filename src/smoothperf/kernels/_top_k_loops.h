/* The two passes over all examples of the projection onto the capped simplex, (_top_k.pyx).
 *
 * In C, so that the compiler can make a second version of each for processors with wider vectors and choose at load
 * time. Sums run in blocks of 512, whose totals are added in long double. */
#ifndef SMOOTHPERF_TOP_K_LOOPS_H
#define SMOOTHPERF_TOP_K_LOOPS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "_rows.h"
#include "_wide.h"

enum { TOP_K_BLOCK = 512 };

typedef struct {
    double scale, shift, shift_step;     /* v = scale f + shift + shift_step [positive] */
    double target_negative, target_step; /* t = target_negative + target_step [positive] */
    double slope, tau, theta;
    double correction, other, blend; /* what the root finder found beside tau; 0 but where tau is large */
} top_k_line;

typedef struct {
    long double n_negative, n_positive, above;
} top_k_kept;

typedef struct {
    long double missed, mass, inner, prox, violation, along;
} top_k_sums;

/* Up to this size of what v is made of, tau may be taken off first, which is faster: it rounds v other than the root
 * finder does, by no more than some thousand units in the last place of u. */
static const double SMALL = 1000.0;

INLINED double clipped(double x)
{
    x = x > 0.0 ? x : 0.0;
    return x < 1.0 ? x : 1.0;
}

/* u = clip(v - tau, 0, 1), gradient = slope c (u - t), and the sums that _top_k.finish documents; q may be NULL. If it is
 * ``careful``, v is what the root finder knows, and u is mixed and corrected as that says. */
INLINED top_k_sums finish_loop(const double *restrict f, const unsigned char *restrict label, const double *restrict c,
                               const double *restrict q, double *restrict gradient, ptrdiff_t n, const top_k_line line,
                               const int careful)
{
    top_k_sums sums = {0.0L, 0.0L, 0.0L, 0.0L, 0.0L, 0.0L};
    const double first = careful ? 0.0 : line.tau, shift = line.shift - first, tau = line.tau - first;
    const double theta = line.theta - first;
    for (ptrdiff_t begin = 0; begin < n; begin += TOP_K_BLOCK) {
        const ptrdiff_t end = begin + TOP_K_BLOCK < n ? begin + TOP_K_BLOCK : n;
        double missed = 0.0, mass = 0.0, inner = 0.0, prox = 0.0, violation = 0.0, along = 0.0;
        for (ptrdiff_t i = begin; i < end; i++) {
            const double y = label[i], weight = c ? c[i] : 1.0;
            const double t = line.target_negative + line.target_step * y;
            const double v = line.scale * f[i] + (shift + line.shift_step * y);
            double u = clipped(careful ? v - tau : v);
            if (careful) {
                u += line.blend * (clipped(v - line.other) - u);
                u = clipped(u + line.correction * ((u > 0.0 ? 1.0 : 0.0) - (u < 1.0 ? 0.0 : 1.0)));
            }
            const double change = u - t, weighted = weight * change;
            const double x = v - t - theta;
            violation += weight * ((x > 0.0 ? x : 0.0) - t * x);
            missed -= y * weighted;
            mass += weight * u;
            inner += weighted * f[i];
            prox += weighted * change;
            const double g = line.slope * weighted;
            along += q ? g * q[i] : 0.0;
            gradient[i] = g;
        }
        sums.missed += missed;
        sums.mass += mass;
        sums.inner += inner;
        sums.prox += 0.5 * prox;
        sums.violation += violation;
        sums.along += along;
    }
    return sums;
}

typedef struct {
    row_arrays rows;
    top_k_line line;
    double low, high;           /* collect: the v to keep, */
    double *kept, *kept_weights; /* and where to */
} top_k_rows;

INLINED top_k_sums finish_rows(const row_arrays r, const top_k_line line, const int careful)
{
    if (r.c)
        return r.q ? finish_loop(r.f, r.label, r.c, r.q, r.gradient, r.n, line, careful)
                   : finish_loop(r.f, r.label, r.c, NULL, r.gradient, r.n, line, careful);
    return r.q ? finish_loop(r.f, r.label, NULL, r.q, r.gradient, r.n, line, careful)
               : finish_loop(r.f, r.label, NULL, NULL, r.gradient, r.n, line, careful);
}

WIDE_VECTORS
static void finish_piece(void *context, ptrdiff_t piece)
{
    const top_k_rows *all = context;
    const row_arrays r = rows_of_piece(&all->rows, piece);
    const top_k_line line = all->line;
    const int careful = line.blend > 0.0 || line.correction != 0.0 || fabs(line.tau) + fabs(line.shift_step) > SMALL;
    ((top_k_sums *)r.sums)[piece] = careful ? finish_rows(r, line, 1) : finish_rows(r, line, 0);
}

/* Keep the v with low < v < high: those of negatives from the front of ``kept`` on, those of positives from its back.
 * A block at a time, of which the values are computed first, many at once. Most groups of eight have nothing to keep,
 * and are passed over. In the others there are no branches: both ends are written, and a pointer moves on only if what
 * it points at is to stay. */
INLINED void collect_loop(const double *restrict f, const unsigned char *restrict label, const double *restrict c,
                          double *restrict kept, double *restrict kept_weights, ptrdiff_t n, const top_k_line line,
                          double low, double high, top_k_kept *found)
{
    double values[TOP_K_BLOCK];
    unsigned char undecided[TOP_K_BLOCK];
    ptrdiff_t front = 0, back = n - 1;
    double above = 0.0;
    for (ptrdiff_t begin = 0; begin < n; begin += TOP_K_BLOCK) {
        const ptrdiff_t size = begin + TOP_K_BLOCK < n ? TOP_K_BLOCK : n - begin;
        for (ptrdiff_t i = 0; i < size; i++) {
            const double v = line.scale * f[begin + i] + (line.shift + line.shift_step * label[begin + i]);
            values[i] = v;
            undecided[i] = (v > low) & (v < high);
            above += v >= high ? (c ? c[begin + i] : 1.0) : 0.0;
        }
        for (ptrdiff_t group = 0; group < size; group += 8) {
            const ptrdiff_t end = group + 8 < size ? group + 8 : size;
            if (end - group == 8) {
                uint64_t any;
                memcpy(&any, undecided + group, 8);
                if (any == 0)
                    continue;
            }
            for (ptrdiff_t i = group; i < end; i++) {
                const ptrdiff_t keep = undecided[i], positive = label[begin + i];
                kept[front] = values[i];
                kept[back] = values[i];
                if (c) {
                    kept_weights[front] = c[begin + i];
                    kept_weights[back] = c[begin + i];
                }
                front += keep & (1 - positive);
                back -= keep & positive;
            }
        }
    }
    *found = (top_k_kept){front, n - 1 - back, above};
}

WIDE_VECTORS
static void collect_piece(void *context, ptrdiff_t piece)
{
    const top_k_rows *all = context;
    const row_arrays r = rows_of_piece(&all->rows, piece);
    const ptrdiff_t start = first_row(&all->rows, piece);
    top_k_kept *found = (top_k_kept *)r.sums + piece;
    if (r.c)
        collect_loop(r.f, r.label, r.c, all->kept + start, all->kept_weights + start, r.n, all->line, all->low, all->high,
                     found);
    else
        collect_loop(r.f, r.label, NULL, all->kept + start, NULL, r.n, all->line, all->low, all->high, found);
}

#endif
