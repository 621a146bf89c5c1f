/* How a loop gets a second version for processors with wider vectors, chosen at load time; where the compiler can. */
#ifndef SMOOTHPERF_WIDE_H
#define SMOOTHPERF_WIDE_H

#include <stddef.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && defined(__GLIBC__)
#define WIDE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define WIDE_VECTORS
#endif

/* Loops are written once; the weights ``c`` are NULL for ones, which the compiler knows where a loop is inlined. */
#if defined(__GNUC__) || defined(__clang__)
#define INLINED static inline __attribute__((always_inline))
#else
#define INLINED static inline
#endif

/* Before a loop over a few lanes, whose sums are in arrays: it becomes one vector, and not as many single numbers. */
#if defined(__GNUC__) && !defined(__clang__)
#define AS_ONE_VECTOR _Pragma("GCC unroll 1")
#else
#define AS_ONE_VECTOR
#endif

#endif
