/* cpu_blas: the BLAS of products on the CPU. It is a shared library that is opened by the first product.
 *
 * OpenBLAS starts its threads when it is loaded. Each of them maps memory, and tries again for ever where the
 * process may have no more (`ulimit -v`); the exit of the process waits for them. So commands that compute no
 * product do not load it, the number of threads is set before, and a product fails where there is no room for
 * them. */
#ifndef HIRC_RT_CPU_BLAS_H
#define HIRC_RT_CPU_BLAS_H
#include "base/str.h"
#include <cblas.h>

struct cpu_blas {
	__typeof__(cblas_sgemm) *sgemm;
	__typeof__(cblas_dgemm) *dgemm;
	/* of OpenBLAS; NULL: another library, which chooses its threads itself */
	void (*set_threads)(int n);
	char *(*core_name)(void), *(*config)(void);
};

/* Opens the library if no caller in this process has, and makes sure that there is room for one more product at a
 * time. threads: of a product; 0: the library decides. Any thread may call it, once. Returns NULL, and appends the
 * reason to *why, if that fails. The library stays until the process ends. */
const struct cpu_blas *cpu_blas_open(int threads, struct buf *why);
void cpu_blas_close(const struct cpu_blas *b); /* NULL is allowed */

#endif
