/* check_memory: makes the plan of each rank as `hirc run` does, and adds up its buffers. */
#include "cli/check_memory.h"
#include "plan/plan.h"

enum { LARGEST = 3 }; /* number of buffers to name */

static int64_t bytes_of(const struct plan_buffer *b)
{
	return b->local || b->view ? 0 : b->slots * b->slot_bytes;
}

/* Names the largest buffers in notes. */
static void name_largest(const struct plan *p, struct diag *d)
{
	bool told[LARGEST] = {false};
	uint32_t last[LARGEST];
	for (unsigned n = 0; n < LARGEST; n++) {
		uint32_t best = UINT32_MAX;
		for (uint32_t k = 0; k < p->buffer.n; k++) {
			bool known = !bytes_of(&p->buffer.at[k]);
			for (unsigned i = 0; i < n; i++)
				known |= told[i] && last[i] == k;
			if (!known && (best == UINT32_MAX ||
			               bytes_of(&p->buffer.at[k]) > bytes_of(&p->buffer.at[best])))
				best = k;
		}
		if (best == UINT32_MAX)
			return;
		const struct plan_buffer *b = &p->buffer.at[best];
		told[n] = true;
		last[n] = best;
		diag_note(d, DIAG_NOWHERE, "%s takes %lld bytes%s", b->what, (long long)bytes_of(b),
		          b->slots > 1 ? ", in copies for iterations under way" : "");
	}
}

bool check_memory(const struct module *m, struct diag *d, int64_t ranks, int64_t streams, int64_t limit)
{
	const struct plan_target target = {.streams = streams, .views = true};
	for (int64_t rank = 0; rank < ranks; rank++) {
		struct plan *p = plan_build(m, d, rank, ranks, &target);
		if (!p)
			return false;
		bool fits = p->bytes <= limit;
		if (!fits) {
			diag_error(d, E_MEMORY_LIMIT, DIAG_NOWHERE,
			           "memory: rank %lld needs %lld bytes at once, --memory-limit gives %lld",
			           (long long)rank, (long long)p->bytes, (long long)limit);
			name_largest(p, d);
		}
		plan_free(p);
		if (!fits)
			return false;
	}
	return true;
}
