/* Products with compressed rows for every pair of types of indices and values: what _sparse.pyx explains. */
#ifndef SMOOTHPERF_SPARSE_H
#define SMOOTHPERF_SPARSE_H

#include <stdint.h>
#include <string.h>

#include "_wide.h"

enum {
    SHORT_ROW = 32,      /* entries; two such rows are summed at a time */
    ROWS_LISTED = 1024,  /* rows with a coefficient that are listed at a time, */
    ROWS_AHEAD = 16,     /* how many of them ahead memory is told of, */
    ENTRIES_AHEAD = 256, /* and of how many entries of each */
    CACHE_LINE = 64,     /* bytes */
    FEW_COLUMNS = 1024,  /* so many sums, twice, fit the nearest cache */
    PER_COLUMN = 128     /* entries for each column in a chunk: clearing and adding up its sums takes little time then */
};

/* Where so many of all rows are listed, the processor itself sees what comes next. */
static const double SHARE_WITHOUT_GAPS = 0.9;

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)0)
#endif

typedef struct {
    const void *indptr, *indices, *data; /* data is NULL if all values are 1, */
    const double *levels;                /* or all of row i are levels[i]; else this is NULL */
    const double *x;                     /* what is multiplied */
    double *out;
    double *sums; /* scatter: room for the sums of the pieces */
    ptrdiff_t n_rows, n_columns, pieces;
    int clear; /* scatter: whether what is in the result does not count */
} sparse_product;

/* What the entries of row i are multiplied with to add them up. */
INLINED double coefficient(const sparse_product *product, ptrdiff_t i)
{
    return product->levels ? product->x[i] * product->levels[i] : product->x[i];
}

/* Numbers that a piece needs for its sums. */
static inline ptrdiff_t room_of_piece(ptrdiff_t n_columns)
{
    return n_columns <= FEW_COLUMNS ? 3 * n_columns : n_columns;
}

/* Where the sums of a piece are; the first piece adds to the result itself, unless it needs more room. */
static inline double *sums_of_piece(const sparse_product *product, ptrdiff_t piece)
{
    if (product->n_columns <= FEW_COLUMNS)
        return product->sums + piece * room_of_piece(product->n_columns);
    return piece == 0 ? product->out : product->sums + (piece - 1) * product->n_columns;
}

/* A part of the columns: add up the sums of all pieces that have their own. */
static void add_up_piece(void *context, ptrdiff_t part)
{
    const sparse_product *product = context;
    const ptrdiff_t d = product->n_columns, begin = d * part / product->pieces, end = d * (part + 1) / product->pieces;
    double *out = product->out;
    for (ptrdiff_t piece = 0; piece < product->pieces; piece++) {
        const double *sums = sums_of_piece(product, piece);
        if (piece == 0 && product->clear && sums != out)
            memset(out + begin, 0, (end - begin) * sizeof(double));
        for (ptrdiff_t j = begin; sums != out && j < end; j++)
            out[j] += sums[j];
    }
}

#define LOOP_OF(name, pointer, index, value) name##_##pointer##_##index##_##value
#define LOOP_FOR(name, pointer, index, value) LOOP_OF(name, pointer, index, value)
#define LOOP(name) LOOP_FOR(name, POINTER, INDEX, VALUE)

#define POINTER int32_t
#define INDEX int32_t
#define VALUE float
#include "_sparse_loops.h"

#define POINTER int32_t
#define INDEX int32_t
#define VALUE double
#include "_sparse_loops.h"

#define POINTER int64_t
#define INDEX int64_t
#define VALUE float
#include "_sparse_loops.h"

#define POINTER int64_t
#define INDEX int64_t
#define VALUE double
#include "_sparse_loops.h"

#define POINTER int32_t
#define INDEX uint16_t
#define VALUE float
#include "_sparse_loops.h"

#define POINTER int32_t
#define INDEX uint16_t
#define VALUE double
#include "_sparse_loops.h"

#define POINTER int64_t
#define INDEX uint16_t
#define VALUE float
#include "_sparse_loops.h"

#define POINTER int64_t
#define INDEX uint16_t
#define VALUE double
#include "_sparse_loops.h"

typedef void (*sparse_loop)(void *product, ptrdiff_t piece);

/* The loop for types of these sizes; NULL if there is none. */
#define CHOICE(name, pointer, index)                                                       \
    if (pointer_size == sizeof(pointer) && index_size == sizeof(index))                    \
    return value_size == sizeof(float) ? LOOP_OF(name, pointer, index, float) : LOOP_OF(name, pointer, index, double)
#define CHOICES(name)                                                                      \
    static inline sparse_loop name##_for(size_t pointer_size, size_t index_size, size_t value_size) \
    {                                                                                      \
        CHOICE(name, int32_t, int32_t);                                                    \
        CHOICE(name, int64_t, int64_t);                                                    \
        CHOICE(name, int32_t, uint16_t);                                                   \
        CHOICE(name, int64_t, uint16_t);                                                   \
        return NULL;                                                                       \
    }
CHOICES(gather_piece)
CHOICES(scatter_piece)

#endif
