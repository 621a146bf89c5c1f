/* The passes over all examples of risks in which every example counts by itself (_pointwise.pyx).
 *
 * In C, so that the compiler can make a second version of each loop for processors with wider vectors and choose at
 * load time. Sums run in blocks of 512, whose totals are added in long double. */
#ifndef SMOOTHPERF_POINTWISE_LOOPS_H
#define SMOOTHPERF_POINTWISE_LOOPS_H

#include <math.h>

#include "_rows.h"
#include "_wide.h"

enum { POINTWISE_BLOCK = 512 };

typedef struct {
    double inverse;            /* 1 / kappa */
    double positive, negative; /* costs of the classes */
    double scale;              /* of the gradient */
} pointwise_costs;

typedef struct {
    long double slopes, squares, hinges, inner;
} pointwise_sums;

/* beta = clip(x / kappa, 0, 1) for x = 1 - 2 y f, gradient = -scale y q beta, and the sums that _pointwise documents. */
INLINED pointwise_sums hinge_loop(const double *restrict f, const unsigned char *restrict label,
                                  const double *restrict c, double *restrict gradient, ptrdiff_t n,
                                  const pointwise_costs costs)
{
    pointwise_sums sums = {0.0L, 0.0L, 0.0L, 0.0L};
    for (ptrdiff_t begin = 0; begin < n; begin += POINTWISE_BLOCK) {
        const ptrdiff_t end = begin + POINTWISE_BLOCK < n ? begin + POINTWISE_BLOCK : n;
        double slopes = 0.0, squares = 0.0, hinges = 0.0, inner = 0.0;
        for (ptrdiff_t i = begin; i < end; i++) {
            const double sign = 2.0 * label[i] - 1.0;
            const double cost = (c ? c[i] : 1.0) * (label[i] ? costs.positive : costs.negative);
            double x = 1.0 - 2.0 * sign * f[i];
            x = x > 0.0 ? x : 0.0;
            double beta = x * costs.inverse;
            beta = beta < 1.0 ? beta : 1.0;
            const double slope = cost * beta;
            const double g = -costs.scale * sign * slope;
            slopes += slope;
            squares += slope * beta;
            hinges += cost * x;
            inner += g * f[i];
            gradient[i] = g;
        }
        sums.slopes += slopes;
        sums.squares += squares;
        sums.hinges += hinges;
        sums.inner += inner;
    }
    return sums;
}

typedef struct {
    row_arrays rows;
    pointwise_costs costs;
} hinge_rows;

WIDE_VECTORS
static void hinges_piece(void *context, ptrdiff_t piece)
{
    const hinge_rows *all = context;
    const row_arrays r = rows_of_piece(&all->rows, piece);
    ((pointwise_sums *)r.sums)[piece] = r.c ? hinge_loop(r.f, r.label, r.c, r.gradient, r.n, all->costs)
                                            : hinge_loop(r.f, r.label, NULL, r.gradient, r.n, all->costs);
}

typedef struct {
    long double losses, offsets, along;
} loss_sums;

/* Logistic losses, with exp(-|f|) in the gradient's place. ``logs`` are log(1 + exp(-|f|)), which are there if weights
 * are. Without weights the sum of a block is the logarithm of a product, at most 2^512: one logarithm instead of 512.
 * A ``direction`` may be NULL. */
INLINED loss_sums logistic_loop(const double *restrict f, const unsigned char *restrict label,
                                const double *restrict c, const double *restrict logs,
                                const double *restrict direction, double *restrict gradient, ptrdiff_t n,
                                const double scale)
{
    loss_sums sums = {0.0L, 0.0L, 0.0L};
    for (ptrdiff_t begin = 0; begin < n; begin += POINTWISE_BLOCK) {
        const ptrdiff_t end = begin + POINTWISE_BLOCK < n ? begin + POINTWISE_BLOCK : n;
        double product = 1.0, common = 0.0, wrong = 0.0, spread = 0.0, along = 0.0;
        for (ptrdiff_t i = begin; i < end; i++) {
            const double sign = 2.0 * label[i] - 1.0;
            const double cost = c ? c[i] : 1.0;
            const double z = sign * f[i], e = gradient[i];
            const double larger = 1.0 / (1.0 + e), smaller = e * larger; /* the chances of the two labels */
            const double g = -scale * sign * cost * (z < 0.0 ? larger : smaller);
            if (c)
                common += cost * logs[i];
            else
                product *= 1.0 + e;
            wrong += cost * (z < 0.0 ? -z : 0.0);
            spread += cost * (fabs(f[i]) * smaller);
            if (direction)
                along += g * direction[i];
            gradient[i] = g;
        }
        if (!c)
            common = log(product);
        sums.losses += common + wrong;
        sums.offsets += common + spread;
        sums.along += along;
    }
    return sums;
}

/* Squared hinges: x = max(0, 1 - y f), gradient = -2 scale y c x. */
INLINED loss_sums squared_loop(const double *restrict f, const unsigned char *restrict label,
                               const double *restrict c, const double *restrict direction, double *restrict gradient,
                               ptrdiff_t n, const double scale)
{
    loss_sums sums = {0.0L, 0.0L, 0.0L};
    for (ptrdiff_t begin = 0; begin < n; begin += POINTWISE_BLOCK) {
        const ptrdiff_t end = begin + POINTWISE_BLOCK < n ? begin + POINTWISE_BLOCK : n;
        double losses = 0.0, offsets = 0.0, along = 0.0;
        for (ptrdiff_t i = begin; i < end; i++) {
            const double sign = 2.0 * label[i] - 1.0;
            double x = 1.0 - sign * f[i];
            x = x > 0.0 ? x : 0.0;
            const double slope = c ? c[i] * x : x;
            const double g = -2.0 * scale * sign * slope;
            losses += slope * x;
            offsets += slope * (2.0 - x);
            if (direction)
                along += g * direction[i];
            gradient[i] = g;
        }
        sums.losses += losses;
        sums.offsets += offsets;
        sums.along += along;
    }
    return sums;
}

typedef struct {
    row_arrays rows;
    const double *logs; /* NULL if there are no weights */
    double scale;
} loss_rows;

WIDE_VECTORS
static void logistic_piece(void *context, ptrdiff_t piece)
{
    const loss_rows *all = context;
    const row_arrays r = rows_of_piece(&all->rows, piece);
    const double *logs = r.c ? all->logs + first_row(&all->rows, piece) : NULL;
    loss_sums *sums = (loss_sums *)r.sums + piece;
    if (r.c)
        *sums = r.q ? logistic_loop(r.f, r.label, r.c, logs, r.q, r.gradient, r.n, all->scale)
                    : logistic_loop(r.f, r.label, r.c, logs, NULL, r.gradient, r.n, all->scale);
    else
        *sums = r.q ? logistic_loop(r.f, r.label, NULL, NULL, r.q, r.gradient, r.n, all->scale)
                    : logistic_loop(r.f, r.label, NULL, NULL, NULL, r.gradient, r.n, all->scale);
}

WIDE_VECTORS
static void squared_piece(void *context, ptrdiff_t piece)
{
    const loss_rows *all = context;
    const row_arrays r = rows_of_piece(&all->rows, piece);
    loss_sums *sums = (loss_sums *)r.sums + piece;
    if (r.c)
        *sums = r.q ? squared_loop(r.f, r.label, r.c, r.q, r.gradient, r.n, all->scale)
                    : squared_loop(r.f, r.label, r.c, NULL, r.gradient, r.n, all->scale);
    else
        *sums = r.q ? squared_loop(r.f, r.label, NULL, r.q, r.gradient, r.n, all->scale)
                    : squared_loop(r.f, r.label, NULL, NULL, r.gradient, r.n, all->scale);
}

#endif
