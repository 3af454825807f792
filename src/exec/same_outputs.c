/* same_outputs: keeps this rank's elements of each output as the first run made them. */
#include "exec/same_outputs.h"
#include "base/arena.h"
#include "exec/data.h"
#include <stdlib.h>
#include <string.h>

struct kept {
	struct data_map map;
	value_id value;
	size_t bytes;       /* bytes of an element */
	const char *memory; /* the output; NULL: this rank holds nothing */
	char *first;        /* owned */
};

struct same_outputs {
	struct rt_job *job;
	const struct module *m;
	struct kept *at;
	unsigned n;
	bool replay;
};

struct same_outputs *same_outputs_new(struct rt_job *job, const struct module *m,
                                      const struct check_output *out, unsigned n, bool replay)
{
	if (n == 0)
		return NULL;
	struct same_outputs *s = mem_zalloc(sizeof *s);
	*s = (struct same_outputs){.job = job, .m = m, .replay = replay, .at = mem_zalloc(n * sizeof *s->at)};
	for (; s->n < n; s->n++) {
		struct kept *k = &s->at[s->n];
		if (!data_map_make(m, out[s->n].type, job->rank, &k->map)) {
			rt_job_error(job, "an output is too large to be checked");
			rt_job_fail(job, STATUS_INTERNAL);
			same_outputs_free(s);
			return NULL;
		}
		k->value = out[s->n].want->value;
		k->bytes = dtype_bytes(ir_type(m, out[s->n].type)->dtype);
		k->memory = out[s->n].memory;
		k->first = k->memory ? mem_alloc((size_t)k->map.count * k->bytes + 1) : NULL;
	}
	return s;
}

void same_outputs_free(struct same_outputs *s)
{
	for (unsigned i = 0; s && i < s->n; i++) {
		data_map_free(&s->at[i].map);
		free(s->at[i].first);
	}
	free(s ? s->at : NULL);
	free(s);
}

/* keep: stores the elements. Otherwise returns the logical index of the first that differs, or -1. */
static int64_t keep_or_compare(struct kept *k, bool keep)
{
	struct data_cursor c = {0};
	struct data_batch b;
	char *first = k->first;
	while (data_map_next(&k->map, &c, DATA_BATCH, &b))
		for (unsigned i = 0; i < b.n; i++, first += k->bytes) {
			const char *now = k->memory + b.offset[i] * (int64_t)k->bytes;
			if (keep)
				memcpy(first, now, k->bytes);
			else if (memcmp(first, now, k->bytes) != 0)
				return b.linear[i];
		}
	return -1;
}

enum status same_outputs_compare(struct same_outputs *s, int64_t run)
{
	for (unsigned i = 0; s && i < s->n; i++) {
		struct kept *k = &s->at[i];
		int64_t at = k->memory ? keep_or_compare(k, run == 0) : -1;
		rt_job_progress(s->job);
		if (at < 0)
			continue;
		char name[DATA_NAME_BYTES];
		struct buf index = {0};
		data_index_text(&k->map, at, &index);
		if (s->replay)
			rt_job_error(s->job, "%s%s has another value in the other order",
			             data_name(s->m, k->value, name), index.at ? index.at : "");
		else
			rt_job_error(s->job, "run %lld gives another %s%s than the first run",
			             (long long)run + 1, data_name(s->m, k->value, name),
			             index.at ? index.at : "");
		buf_free(&index);
		return rt_job_fail(s->job, STATUS_WRONG);
	}
	return STATUS_OK;
}
