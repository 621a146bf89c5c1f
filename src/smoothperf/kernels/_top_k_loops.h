/* The two passes over all examples of the projection onto the capped simplex, (_top_k.pyx).
 *
 * In C, so that the compiler can make a second version of each for processors with wider vectors and choose at load
 * time. Sums run in blocks of 512, whose totals are added in long double. */
#ifndef SMOOTHPERF_TOP_K_LOOPS_H
#define SMOOTHPERF_TOP_K_LOOPS_H

#include <stdint.h>
#include <string.h>

#include "_wide.h"

enum { TOP_K_BLOCK = 512 };

typedef struct {
    double scale, shift, shift_step;     /* v = scale f + shift + shift_step [positive] */
    double target_negative, target_step; /* t = target_negative + target_step [positive] */
    double slope, tau, theta;
} top_k_line;

typedef struct {
    ptrdiff_t n_negative, n_positive;
    double above;
} top_k_kept;

typedef struct {
    long double missed, mass, inner, prox, violation, along;
} top_k_sums;

/* u = clip(v - tau, 0, 1), gradient = slope c (u - t), and the sums that _top_k.finish documents; q may be NULL. */
INLINED top_k_sums finish_loop(const double *restrict f, const unsigned char *restrict label, const double *restrict c,
                               const double *restrict q, double *restrict gradient, ptrdiff_t n, const top_k_line line)
{
    top_k_sums sums = {0.0L, 0.0L, 0.0L, 0.0L, 0.0L, 0.0L};
    const double shift = line.shift - line.tau, cut = line.tau - line.theta;
    for (ptrdiff_t begin = 0; begin < n; begin += TOP_K_BLOCK) {
        const ptrdiff_t end = begin + TOP_K_BLOCK < n ? begin + TOP_K_BLOCK : n;
        double missed = 0.0, mass = 0.0, inner = 0.0, prox = 0.0, violation = 0.0, along = 0.0;
        for (ptrdiff_t i = begin; i < end; i++) {
            const double y = label[i], weight = c ? c[i] : 1.0;
            const double t = line.target_negative + line.target_step * y;
            const double v = line.scale * f[i] + (shift + line.shift_step * y);
            double u = v > 0.0 ? v : 0.0;
            u = u < 1.0 ? u : 1.0;
            const double change = u - t, weighted = weight * change;
            const double x = v - t + cut;
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

/* Keep the v with low < v < high: those of negatives from the front of ``kept`` on, those of positives from its back.
 * A block at a time, of which the values are computed first, many at once. Most groups of eight have nothing to keep,
 * and are passed over. In the others there are no branches: both ends are written, and a pointer moves on only if what
 * it points at is to stay. */
INLINED void collect_loop(const double *restrict f, const unsigned char *restrict label, const double *restrict c,
                          double *restrict kept, double *restrict kept_weights, ptrdiff_t n, const top_k_line line,
                          double low, double high, top_k_kept *result)
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
    result->n_negative = front;
    result->n_positive = n - 1 - back;
    result->above = above;
}

WIDE_VECTORS
static top_k_sums finish_plain(const double *f, const unsigned char *label, const double *q, double *gradient,
                               ptrdiff_t n, const top_k_line line)
{
    return q ? finish_loop(f, label, NULL, q, gradient, n, line) : finish_loop(f, label, NULL, NULL, gradient, n, line);
}

WIDE_VECTORS
static top_k_sums finish_weighted(const double *f, const unsigned char *label, const double *c, const double *q,
                                  double *gradient, ptrdiff_t n, const top_k_line line)
{
    return q ? finish_loop(f, label, c, q, gradient, n, line) : finish_loop(f, label, c, NULL, gradient, n, line);
}

WIDE_VECTORS
static void collect_plain(const double *f, const unsigned char *label, double *kept, ptrdiff_t n,
                          const top_k_line line, double low, double high, top_k_kept *result)
{
    collect_loop(f, label, NULL, kept, NULL, n, line, low, high, result);
}

WIDE_VECTORS
static void collect_weighted(const double *f, const unsigned char *label, const double *c, double *kept,
                             double *kept_weights, ptrdiff_t n, const top_k_line line, double low, double high,
                             top_k_kept *result)
{
    collect_loop(f, label, c, kept, kept_weights, n, line, low, high, result);
}

#endif
