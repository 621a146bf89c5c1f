/* Rows that loops go over, cut into pieces for several threads; and what a piece leaves behind, a few sums. */
#ifndef SMOOTHPERF_ROWS_H
#define SMOOTHPERF_ROWS_H

#include <stddef.h>

typedef struct {
    const double *f;            /* scores */
    const unsigned char *label; /* 1 for positives */
    const double *c;            /* weights; NULL for ones */
    const double *q;            /* a direction; NULL if there is none */
    double *gradient;           /* NULL if it is not wanted */
    ptrdiff_t n, pieces;
    long double *sums; /* as many for each piece as there are, piece by piece */
} row_arrays;

static inline ptrdiff_t first_row(const row_arrays *rows, ptrdiff_t piece) { return rows->n * piece / rows->pieces; }

/* The rows of one piece. */
static inline row_arrays rows_of_piece(const row_arrays *all, ptrdiff_t piece)
{
    const ptrdiff_t start = first_row(all, piece);
    row_arrays rows = *all;
    rows.f += start;
    rows.label += start;
    rows.c = all->c ? all->c + start : NULL;
    rows.q = all->q ? all->q + start : NULL;
    rows.gradient = all->gradient ? all->gradient + start : NULL;
    rows.n = first_row(all, piece + 1) - start;
    return rows;
}

#endif
