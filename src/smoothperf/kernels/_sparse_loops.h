/* Loops over compressed rows (_sparse.pyx), for one type each of POINTER, INDEX and VALUE, after which LOOP names them.
 *
 * This file is included once for each combination of types. Where ``data`` is NULL all values are 1, or ``levels`` has
 * that of each row; the compiler knows the former where a loop is inlined. The order of every sum is as written. */

#define TERM(p) (data ? (double)data[p] * x[indices[p]] : x[indices[p]])

/* sum_j A[i, j] x[j] for one row: in two sums if the row is short, else in four, so that no addition waits for the one
 * before. */
INLINED double LOOP(row_sum)(const INDEX *indices, const VALUE *data, const double *x, ptrdiff_t p, ptrdiff_t end)
{
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    if (end - p <= SHORT_ROW) {
        for (; p + 1 < end; p += 2) {
            a += TERM(p);
            b += TERM(p + 1);
        }
        if (p < end)
            a += TERM(p);
        return a + b;
    }
    for (; p + 3 < end; p += 4) {
        a += TERM(p);
        b += TERM(p + 1);
        c += TERM(p + 2);
        d += TERM(p + 3);
    }
    for (; p < end; p++)
        a += TERM(p);
    return (a + b) + (c + d);
}

/* The same for two short rows at a time, [p, end_p) and [q, end_q): loops end half as often, where processors guess
 * wrong. */
INLINED void LOOP(two_row_sums)(const INDEX *indices, const VALUE *data, const double *x, ptrdiff_t p, ptrdiff_t end_p,
                                ptrdiff_t q, ptrdiff_t end_q, double *out)
{
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    for (; p + 1 < end_p && q + 1 < end_q; p += 2, q += 2) {
        a += TERM(p);
        b += TERM(p + 1);
        c += TERM(q);
        d += TERM(q + 1);
    }
    for (; p + 1 < end_p; p += 2) {
        a += TERM(p);
        b += TERM(p + 1);
    }
    for (; q + 1 < end_q; q += 2) {
        c += TERM(q);
        d += TERM(q + 1);
    }
    if (p < end_p)
        a += TERM(p);
    if (q < end_q)
        c += TERM(q);
    out[0] = a + b;
    out[1] = c + d;
}

#undef TERM

INLINED void LOOP(gather_rows)(const POINTER *indptr, const INDEX *indices, const VALUE *data, const double *x,
                               double *out, ptrdiff_t start, ptrdiff_t stop)
{
    for (ptrdiff_t i = start; i < stop;) {
        const ptrdiff_t begin = indptr[i], middle = indptr[i + 1];
        if (i + 1 < stop && middle - begin <= SHORT_ROW && indptr[i + 2] - middle <= SHORT_ROW) {
            LOOP(two_row_sums)(indices, data, x, begin, middle, middle, indptr[i + 2], out + i);
            i += 2;
        } else {
            out[i] = LOOP(row_sum)(indices, data, x, begin, middle);
            i += 1;
        }
    }
}

#define ADD(sums, p, g) ((sums)[indices[p]] += data ? (g) * (double)data[p] : (g))

INLINED void LOOP(add_row)(const INDEX *indices, const VALUE *data, double g, double *sums, ptrdiff_t p, ptrdiff_t end)
{
    for (; p + 3 < end; p += 4) {
        ADD(sums, p, g);
        ADD(sums, p + 1, g);
        ADD(sums, p + 2, g);
        ADD(sums, p + 3, g);
    }
    for (; p < end; p++)
        ADD(sums, p, g);
}

/* Add row i to the first sums and row j to the second ones; in turns if both are short. */
INLINED void LOOP(add_two_rows)(const POINTER *indptr, const INDEX *indices, const VALUE *data, double g_p, double g_q,
                                double *first, double *second, ptrdiff_t i, ptrdiff_t j)
{
    ptrdiff_t p = indptr[i], q = indptr[j];
    const ptrdiff_t end_p = indptr[i + 1], end_q = indptr[j + 1];
    if (first != second && end_p - p <= SHORT_ROW && end_q - q <= SHORT_ROW)
        for (; p < end_p && q < end_q; p++, q++) {
            ADD(first, p, g_p);
            ADD(second, q, g_q);
        }
    LOOP(add_row)(indices, data, g_p, first, p, end_p);
    LOOP(add_row)(indices, data, g_q, second, q, end_q);
}

/* first += A^T g, or first + second, over the listed rows; second may be first. The list goes on with ROWS_AHEAD rows of
 * any kind. ``with_gaps``: the rows are not all that there are. */
INLINED void LOOP(scatter_rows)(const sparse_product *product, const VALUE *data, double *first, double *second,
                                const ptrdiff_t *rows, ptrdiff_t count, int with_gaps)
{
    const POINTER *indptr = product->indptr;
    const INDEX *indices = product->indices;
    ptrdiff_t k = 0;
    for (; k + 1 < count; k += 2) {
        for (ptrdiff_t ahead = k + ROWS_AHEAD - 2; with_gaps && ahead < k + ROWS_AHEAD; ahead++) {
            const ptrdiff_t p = indptr[rows[ahead]], end = indptr[rows[ahead] + 1];
            const ptrdiff_t last = end - p < ENTRIES_AHEAD ? end : p + ENTRIES_AHEAD;
            for (ptrdiff_t q = p; q < last; q += CACHE_LINE / sizeof(INDEX))
                PREFETCH(indices + q);
            for (ptrdiff_t q = p; data && q < last; q += CACHE_LINE / sizeof(VALUE))
                PREFETCH(data + q);
        }
        LOOP(add_two_rows)(indptr, indices, data, coefficient(product, rows[k]), coefficient(product, rows[k + 1]), first,
                           second, rows[k], rows[k + 1]);
    }
    if (k < count)
        LOOP(add_row)(indices, data, coefficient(product, rows[k]), second, indptr[rows[k]], indptr[rows[k] + 1]);
}

#undef ADD

/* The first row of a piece: pieces have as many entries as possible alike. */
static ptrdiff_t LOOP(first_row)(const sparse_product *product, ptrdiff_t piece)
{
    const POINTER *indptr = product->indptr;
    const POINTER begin = indptr[0], n_entries = indptr[product->n_rows] - begin;
    const POINTER wanted = begin + (POINTER)((double)n_entries * ((double)piece / (double)product->pieces));
    ptrdiff_t low = 0, high = product->n_rows;
    if (piece == product->pieces)
        return high;
    while (low < high) {
        const ptrdiff_t middle = (low + high) / 2;
        if (indptr[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void LOOP(gather_piece)(void *context, ptrdiff_t piece)
{
    const sparse_product *product = context;
    const ptrdiff_t start = LOOP(first_row)(product, piece), stop = LOOP(first_row)(product, piece + 1);
    double *out = product->out;
    if (product->data) {
        LOOP(gather_rows)(product->indptr, product->indices, product->data, product->x, out, start, stop);
        return;
    }
    for (ptrdiff_t begin = start; begin < stop; begin += ROWS_LISTED) {
        const ptrdiff_t end = begin + ROWS_LISTED < stop ? begin + ROWS_LISTED : stop;
        LOOP(gather_rows)(product->indptr, product->indices, NULL, product->x, out, begin, end);
        if (product->levels)
            for (ptrdiff_t i = begin; i < end; i++)
                out[i] *= product->levels[i];
    }
}

/* sums += A^T g over the rows from start to stop. Rows with g[i] = 0 are not read: the others are listed first, without
 * branches, which no processor could predict; nor could it predict the addresses, so they are prefetched. */
INLINED void LOOP(scatter_some)(const sparse_product *product, const VALUE *data, double *sums, ptrdiff_t start,
                                ptrdiff_t stop)
{
    const POINTER *indptr = product->indptr;
    const double *g = product->x;
    const ptrdiff_t d = product->n_columns;
    const int chunks = d <= FEW_COLUMNS;
    double *first = chunks ? sums + d : sums, *second = chunks ? sums + 2 * d : sums;
    const ptrdiff_t chunk = stop > start ? PER_COLUMN * d * (stop - start) / (1 + indptr[stop] - indptr[start]) : 0;
    ptrdiff_t rows[ROWS_LISTED + ROWS_AHEAD], in_chunk = 0;
    while (start < stop) {
        const ptrdiff_t begin = start;
        ptrdiff_t count = 0;
        for (; start < stop && count < ROWS_LISTED; start++) {
            rows[count] = start;
            count += g[start] != 0.0;
        }
        for (ptrdiff_t ahead = 0; ahead < ROWS_AHEAD; ahead++)
            rows[count + ahead] = start - 1;
        LOOP(scatter_rows)(product, data, first, second, rows, count, count < SHARE_WITHOUT_GAPS * (start - begin));
        in_chunk += count;
        if (chunks && (in_chunk >= chunk || start == stop)) {
            for (ptrdiff_t j = 0; j < d; j++) {
                sums[j] += first[j] + second[j];
                first[j] = second[j] = 0.0;
            }
            in_chunk = 0;
        }
    }
}

static void LOOP(scatter_piece)(void *context, ptrdiff_t piece)
{
    const sparse_product *product = context;
    const ptrdiff_t start = LOOP(first_row)(product, piece), stop = LOOP(first_row)(product, piece + 1);
    double *sums = sums_of_piece(product, piece);
    if (sums != product->out || product->clear)
        memset(sums, 0, (sums == product->out ? product->n_columns : room_of_piece(product->n_columns)) * sizeof(double));
    if (product->data)
        LOOP(scatter_some)(product, product->data, sums, start, stop);
    else
        LOOP(scatter_some)(product, NULL, sums, start, stop);
}

#undef POINTER
#undef INDEX
#undef VALUE
