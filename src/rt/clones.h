/* clones: compiles one function for several processors.
 *
 * RT_CLONES before a function compiles it for AVX-512, for AVX2 and for any processor; the loader
 * selects the version for this processor. An inlined copy would be the version for any processor. All
 * versions give the same bits: no multiplication is contracted with an addition. With sanitizers there
 * is one version only, since their runtime is not ready when the loader selects. */
#ifndef HIRC_RT_CLONES_H
#define HIRC_RT_CLONES_H
#include <stdint.h> /* defines __GLIBC__ */

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&                 \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RT_CLONES __attribute__((noinline, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define RT_CLONES
#endif

#endif
