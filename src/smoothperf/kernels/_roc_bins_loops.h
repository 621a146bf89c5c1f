/* The passes over all examples of the sums over pairs by bins (_roc_bins.pyx).
 *
 * In blocks: first the bins and the positions within them, many at once; then what has to go one by one, the access to
 * the tables. Both passes must put an example into the same bin, so arithmetic is exactly as written: no reordering by
 * the compiler, and sums in four lanes by hand. */
#ifndef SMOOTHPERF_ROC_BINS_LOOPS_H
#define SMOOTHPERF_ROC_BINS_LOOPS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "_rows.h"
#include "_wide.h"

enum { BINS_BLOCK = 512 };

typedef struct {
    double mass;   /* sum c */
    double first;  /* sum c x */
    double second; /* sum c x^2 */
    double count;  /* number of terms */
} bin_moments_t;

typedef struct {
    double intercept, slope;
} bin_line_t;

/* x = score + shift + shift_step [positive]; bins are ``width`` wide. */
typedef struct {
    double shift, shift_step, width;
} bin_grid;

typedef struct {
    long double slopes, inner, along;
} bin_sums;

typedef struct {
    double low, high;
} score_range;

/* The lowest and the highest of some numbers; infinities if there are none. If one is NaN, for which there is no bin, the
 * range is all there is. */
INLINED score_range range_loop(const double *f, ptrdiff_t n)
{
    double low[8], high[8];
    int64_t odd[8];
    ptrdiff_t i = 0;
    for (int lane = 0; lane < 8; lane++) {
        low[lane] = INFINITY;
        high[lane] = -INFINITY;
        odd[lane] = 0;
    }
    for (; i + 8 <= n; i += 8)
        for (int lane = 0; lane < 8; lane++) {
            const double x = f[i + lane];
            low[lane] = x < low[lane] ? x : low[lane];
            high[lane] = x > high[lane] ? x : high[lane];
            odd[lane] |= x != x;
        }
    for (; i < n; i++) {
        low[0] = f[i] < low[0] ? f[i] : low[0];
        high[0] = f[i] > high[0] ? f[i] : high[0];
        odd[0] |= f[i] != f[i];
    }
    for (int lane = 1; lane < 8; lane++) {
        low[0] = low[lane] < low[0] ? low[lane] : low[0];
        high[0] = high[lane] > high[0] ? high[lane] : high[0];
        odd[0] |= odd[lane];
    }
    return odd[0] ? (score_range){-INFINITY, INFINITY} : (score_range){low[0], high[0]};
}

/* Row in a table with two entries for each bin, and position in the bin. */
INLINED void locate(const double *restrict f, const unsigned char *restrict label, ptrdiff_t size, const bin_grid grid,
                    int32_t *restrict rows, double *restrict positions)
{
    const double inverse = 1.0 / grid.width;
    for (ptrdiff_t i = 0; i < size; i++) {
        const double x = f[i] + (grid.shift + grid.shift_step * label[i]);
        const int32_t bin = (int32_t)(x * inverse);
        positions[i] = x - bin * grid.width;
        rows[i] = 2 * bin + label[i];
    }
}

/* The four moments of a bin at once, where the compiler knows vectors. Two tables in turns: examples that lie next to
 * each other often fall into the same bin, and would wait for each other. Returns the range of the scores; if that is not
 * within the one that there are bins for, the tables are of no use. */
INLINED score_range moments_loop(const double *restrict f, const unsigned char *restrict label,
                                 const double *restrict c, ptrdiff_t n, const bin_grid grid, const score_range binned,
                                 bin_moments_t *first, bin_moments_t *second)
{
    int32_t rows[BINS_BLOCK];
    double positions[BINS_BLOCK];
    score_range seen = {INFINITY, -INFINITY};
    for (ptrdiff_t begin = 0; begin < n; begin += BINS_BLOCK) {
        const ptrdiff_t size = begin + BINS_BLOCK < n ? BINS_BLOCK : n - begin;
        const score_range here = range_loop(f + begin, size);
        seen.low = here.low < seen.low ? here.low : seen.low;
        seen.high = here.high > seen.high ? here.high : seen.high;
        if (seen.low < binned.low || seen.high > binned.high)
            continue;
        locate(f + begin, label + begin, size, grid, rows, positions);
        for (ptrdiff_t i = 0; i < size; i++) {
            bin_moments_t *place = (i & 1 ? second : first) + rows[i];
            const double x = positions[i], weight = c ? c[begin + i] : 1.0;
            place->mass += weight;
            place->first += weight * x;
            place->second += weight * x * x;
            place->count += 1.0;
        }
    }
    return seen;
}

#if defined(__GNUC__) || defined(__clang__)
typedef double two_t __attribute__((vector_size(16), aligned(8)));
typedef double four_t __attribute__((vector_size(32), aligned(8)));
#endif

/* Both numbers of a line are loaded at once. (Of its own accord the compiler gathers them one by one, which takes
 * longer.) */
INLINED double on_line(const bin_line_t *line, double x)
{
#if defined(__GNUC__) || defined(__clang__)
    const two_t both = *(const two_t *)line;
    return both[0] + both[1] * x;
#else
    return line->intercept + line->slope * x;
#endif
}

/* Add to the sums those of slopes, of g f, and of g q unless q is NULL; each in four lanes, all at the same time, so
 * that no addition waits for the one before. */
INLINED void add_sums(bin_sums *sums, const double *slopes, const double *g, const double *f, const double *q,
                      ptrdiff_t n)
{
    double lanes[3][4] = {{0.0}};
    ptrdiff_t i = 0;
#if defined(__GNUC__) || defined(__clang__)
    four_t slope = {0.0, 0.0, 0.0, 0.0}, inner = slope, along = slope;
    for (; i + 4 <= n; i += 4) {
        const four_t values = *(const four_t *)(g + i);
        slope += *(const four_t *)(slopes + i);
        inner += values * *(const four_t *)(f + i);
        if (q)
            along += values * *(const four_t *)(q + i);
    }
    for (int lane = 0; lane < 4; lane++) {
        lanes[0][lane] = slope[lane];
        lanes[1][lane] = inner[lane];
        lanes[2][lane] = along[lane];
    }
#endif
    for (; i < n; i++) {
        lanes[0][i & 3] += slopes[i];
        lanes[1][i & 3] += g[i] * f[i];
        if (q)
            lanes[2][i & 3] += g[i] * q[i];
    }
    sums->slopes += (lanes[0][0] + lanes[0][1]) + (lanes[0][2] + lanes[0][3]);
    sums->inner += (lanes[1][0] + lanes[1][1]) + (lanes[1][2] + lanes[1][3]);
    sums->along += (lanes[2][0] + lanes[2][1]) + (lanes[2][2] + lanes[2][3]);
}

INLINED bin_sums gradient_loop(const double *restrict f, const unsigned char *restrict label, const double *restrict c,
                               const double *restrict q, ptrdiff_t n, const bin_grid grid,
                               const bin_line_t *restrict table, double scale, double *restrict gradient)
{
    int32_t rows[BINS_BLOCK];
    double positions[BINS_BLOCK];
    bin_sums sums = {0.0L, 0.0L, 0.0L};
    for (ptrdiff_t begin = 0; begin < n; begin += BINS_BLOCK) {
        const ptrdiff_t size = begin + BINS_BLOCK < n ? BINS_BLOCK : n - begin;
        locate(f + begin, label + begin, size, grid, rows, positions);
        for (ptrdiff_t i = 0; i < size; i++)
            positions[i] = on_line(table + rows[i], positions[i]);
        for (ptrdiff_t i = 0; i < size; i++) {
            const double positive = label[begin + i];
            const double slope = c ? c[begin + i] * positions[i] : positions[i];
            positions[i] = slope - slope * positive;
            gradient[begin + i] = slope * (scale - 2.0 * scale * positive);
        }
        add_sums(&sums, positions, gradient + begin, f + begin, q ? q + begin : NULL, size);
    }
    return sums;
}

typedef struct {
    row_arrays rows;
    bin_grid grid;
    score_range binned;    /* there are bins for these scores */
    bin_moments_t *tables; /* two for each piece */
    ptrdiff_t table_size;
    score_range *ranges; /* one for each piece */
    const bin_line_t *lines;
    double scale;
} bin_rows;

static void add_table(bin_moments_t *total, const bin_moments_t *table, ptrdiff_t size)
{
    double *sums = (double *)total;
    const double *terms = (const double *)table;
    for (ptrdiff_t i = 0; i < 4 * size; i++)
        sums[i] += terms[i];
}

WIDE_VECTORS
static void moments_piece(void *context, ptrdiff_t piece)
{
    const bin_rows *all = context;
    const row_arrays r = rows_of_piece(&all->rows, piece);
    bin_moments_t *first = all->tables + 2 * piece * all->table_size, *second = first + all->table_size;
    memset(first, 0, 2 * all->table_size * sizeof(bin_moments_t));
    all->ranges[piece] = r.c ? moments_loop(r.f, r.label, r.c, r.n, all->grid, all->binned, first, second)
                             : moments_loop(r.f, r.label, NULL, r.n, all->grid, all->binned, first, second);
    add_table(first, second, all->table_size);
}

WIDE_VECTORS
static void gradient_piece(void *context, ptrdiff_t piece)
{
    const bin_rows *all = context;
    const row_arrays r = rows_of_piece(&all->rows, piece);
    bin_sums *sums = (bin_sums *)r.sums + piece;
    if (r.c)
        *sums = r.q ? gradient_loop(r.f, r.label, r.c, r.q, r.n, all->grid, all->lines, all->scale, r.gradient)
                    : gradient_loop(r.f, r.label, r.c, NULL, r.n, all->grid, all->lines, all->scale, r.gradient);
    else
        *sums = r.q ? gradient_loop(r.f, r.label, NULL, r.q, r.n, all->grid, all->lines, all->scale, r.gradient)
                    : gradient_loop(r.f, r.label, NULL, NULL, r.n, all->grid, all->lines, all->scale, r.gradient);
}

#endif
