/* The pass over all examples of the smoothed error rate (_pointwise.pyx).
 *
 * In C, so that the compiler can make a second version of each loop for processors with wider vectors and choose at
 * load time. Sums run in blocks of 512, whose totals are added in long double. */
#ifndef SMOOTHPERF_POINTWISE_LOOPS_H
#define SMOOTHPERF_POINTWISE_LOOPS_H

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

WIDE_VECTORS
static pointwise_sums hinges_plain(const double *f, const unsigned char *label, double *gradient, ptrdiff_t n,
                                   const pointwise_costs costs)
{
    return hinge_loop(f, label, NULL, gradient, n, costs);
}

WIDE_VECTORS
static pointwise_sums hinges_weighted(const double *f, const unsigned char *label, const double *c, double *gradient,
                                      ptrdiff_t n, const pointwise_costs costs)
{
    return hinge_loop(f, label, c, gradient, n, costs);
}

#endif
