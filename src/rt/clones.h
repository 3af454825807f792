/* clones: one function for several processors.
 *
 * RT_CLONES before a function makes it for AVX-512, for AVX2 and for all; the loader takes the one for this
 * processor. (Where it were inlined it would be that for all.) Floats come out the same, bit by bit:
 * no multiplication is contracted with an addition. The sanitizers' runtime is not ready when the loader
 * chooses; there it is one function. */
#ifndef HIRC_RT_CLONES_H
#define HIRC_RT_CLONES_H
#include <stdint.h> /* says __GLIBC__ */

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&                 \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RT_CLONES __attribute__((noinline, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define RT_CLONES
#endif

#endif
