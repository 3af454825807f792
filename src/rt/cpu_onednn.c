/* cpu_onednn: see cpu_onednn.h.
 *
 * oneDNN makes its code when it is first called, which takes 20 ms; programs of small contractions only,
 * where it wins little, are left to BLAS. */
#include "rt/cpu_onednn.h"
#ifdef HIRC_HAVE_ONEDNN
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

/* m * n * k from which it is worth it. */
enum { LEAST_WORK = 1 << 24 };

/* Without AVX-512 BLAS is as fast. */
static bool has(dnnl_cpu_isa_t isa)
{
	return (dnnl_get_effective_cpu_isa() & isa) == isa;
}

/* The number belongs to the calling thread. */
static void use_threads(const struct cpu_lane *lane)
{
	if (lane->threads)
		omp_set_num_threads(lane->threads);
}

bool cpu_onednn_f32(const struct cpu_lane *lane, const struct cpu_product *p)
{
	bool at = p->a.col != 1, bt = p->b.col != 1;
	if ((double)p->m * (double)p->n * (double)p->k < LEAST_WORK || (at && bt) ||
	    !has(dnnl_cpu_isa_avx512_core))
		return false;
	use_threads(lane);
	return dnnl_sgemm(at ? 'T' : 'N', bt ? 'T' : 'N', p->m, p->n, p->k, 1, p->a.data,
	                  at ? p->a.col : p->a.row, p->b.data, bt ? p->b.col : p->b.row, p->add, p->c,
	                  p->c_row) == dnnl_success;
}
#else
bool cpu_onednn_f32(const struct cpu_lane *lane, const struct cpu_product *p)
{
	(void)lane, (void)p;
	return false;
}
#endif
