/* reserve: see reserve.h. */
#include "sim/reserve.h"
#include "plan/plan.h"

/* Returns the k-th rank of a class. */
static uint32_t rank_of(const struct timeline_class *c, uint32_t k)
{
	const struct timeline_ranks *r = c->ranks.at;
	while (k > r->last - r->first) {
		k -= r->last - r->first + 1;
		r++;
	}
	return r->first + k;
}

const char *sim_reserve(const struct module *m, const struct timeline_class *c, uint32_t tasks, int64_t ranks,
                        int64_t streams, int64_t *bytes)
{
	_Static_assert(SIM_RESERVE_RANKS == 512 && SIM_RESERVE_TASKS == 16384, "as the texts say");
	if (ranks > SIM_RESERVE_RANKS)
		return "more than 512 ranks";
	if (tasks > SIM_RESERVE_TASKS)
		return "more than 16384 statements of a rank";
	struct diag *unheard = diag_new(NULL, DIAG_TEXT, 0);
	int64_t most = 0;
	for (uint32_t k = 0; k < c->count && most >= 0; k++) {
		if (k == SIM_RESERVES / 2 && c->count > SIM_RESERVES)
			k = c->count - SIM_RESERVES / 2;
		struct plan *p = plan_build(m, unheard, rank_of(c, k), ranks,
		                            &(struct plan_target){.streams = streams, .views = true});
		most = !p ? -1 : p->bytes > most ? p->bytes : most;
		plan_free(p);
	}
	diag_free(unheard);
	if (most < 0)
		return "it cannot run";
	*bytes = most;
	return NULL;
}
