/* bench_program: starts the ranks that measure programs.
 *
 * Under a launcher the ranks are already running, and each prepares every point of the sweep. Otherwise this
 * process prepares the points one after the other, and starts new ranks for each. */
#include "cli/bench.h"
#include "cli/output.h"
#include "rt/environment.h"
#include <stdlib.h>
#include <string.h>

static void open_set(const struct bench *b, const struct bench_point *point, bool first,
                     struct bench_set *out)
{
	*out = (struct bench_set){.b = b, .point = point, .first = first};
	out->run = mem_zalloc(sizeof *out->run * b->file.n);
	for (uint32_t f = 0; f < b->file.n; f++) {
		struct run *r = &out->run[f];
		r->compile = b->compile;
		r->compile.define.at = point->define;
		r->compile.define.n = r->compile.define.cap = point->define_n;
		r->path = b->file.at[f];
		r->check = b->check ? "" : NULL;
		r->check_limit = REF_DEFAULT_LIMIT;
		r->proves = !b->no_check;
		r->ranks = b->ranks;
		r->repeat = 1;
	}
}

static void close_set(struct bench_set *set)
{
	for (uint32_t f = 0; set->run && f < set->b->file.n; f++)
		run_free(&set->run[f]);
	free(set->run);
}

/* Compiles the programs of a point. *ranks: the most ranks that one of them needs. */
static enum status prepare_set(struct bench_set *set, struct diag *d, int64_t *ranks)
{
	int64_t np = set->b->compile.np;
	enum status status = STATUS_OK;
	*ranks = np > 0 ? np : 1;
	for (uint32_t f = 0; f < set->b->file.n && status == STATUS_OK; f++) {
		struct run *r = &set->run[f];
		status = run_prepare(r, d, np, true);
		if (status != STATUS_OK)
			return status;
		if (np > 0 && r->needed > np) {
			diag_error(d, E_RANKS, DIAG_NOWHERE, "%s needs %lld ranks, --np gives %lld", r->path,
			           (long long)r->needed, (long long)np);
			return STATUS_USAGE;
		}
		if (!run_prove(r, d))
			return STATUS_DIAGNOSTICS;
		*ranks = r->needed > *ranks ? r->needed : *ranks;
	}
	if (*ranks > RT_SHM_MAX_RANKS) {
		diag_error(d, E_RANKS, DIAG_NOWHERE,
		           "%lld ranks are more than can be started here (limit %d)", (long long)*ranks,
		           RT_SHM_MAX_RANKS);
		return STATUS_USAGE;
	}
	if (set->b->check && set->b->file.n)
		status = run_trial(&set->run[0], &set->b->launch, *ranks);
	for (uint32_t f = 0; f < set->b->file.n && status == STATUS_OK && set->b->check; f++)
		status = run_reference(&set->run[f], d, *ranks);
	return status;
}

static enum status launch_point(struct bench_ranks *all, uint32_t point)
{
	struct bench *b = all->b;
	struct diag *d = compile_diag(&b->compile);
	int64_t ranks;
	enum status status = prepare_set(&all->set[point], d, &ranks);
	diag_finish(d);
	diag_free(d);
	fflush(NULL);
	if (status != STATUS_OK)
		return status;
	all->first = point;
	all->last = point + 1;
	b->launch.np = (int)ranks;
	return rt_launch(&b->launch, bench_program_rank, all);
}

/* Warns of each -D whose name no program has at any point. */
static void warn_unused(const struct bench *b, const struct bench_sweep *s, struct diag *d)
{
	for (uint32_t k = 0; k < b->compile.define.n; k++) {
		bool used = false;
		for (uint32_t p = 0; p < s->point.n; p++)
			used |= s->point.at[p].define[k].used;
		b->compile.define.at[k].used = used;
	}
	compile_warn_unused(d, &b->compile);
}

static bool print_part(void (*what)(const struct bench *, struct buf *), const struct bench *b)
{
	struct buf text = {0};
	what(b, &text);
	bool ok = output_write(&text);
	buf_free(&text);
	return ok;
}

int bench_programs(struct bench *b)
{
	struct diag *d = compile_diag(&b->compile);
	struct bench_sweep sweep;
	bool launched = b->launch.kind == RT_BOOT_MPI, prints = !launched || rt_env_rank() <= 0;
	if (!bench_sweep_make(&b->compile, d, &sweep)) {
		diag_finish(d);
		diag_free(d);
		return STATUS_USAGE;
	}
	struct bench_ranks all = {.b = b, .sweep = &sweep, .last = sweep.point.n};
	all.set = mem_zalloc(sizeof *all.set * sweep.point.n);
	enum status status = STATUS_OK;
	if (prints && !print_part(bench_program_header, b))
		status = STATUS_DIAGNOSTICS;
	for (uint32_t p = 0; p < sweep.point.n; p++)
		open_set(b, &sweep.point.at[p], p == 0, &all.set[p]);
	if (launched && status == STATUS_OK)
		status = rt_launch(&b->launch, bench_program_rank, &all);
	for (uint32_t p = 0; p < sweep.point.n && !launched && status == STATUS_OK; p++)
		status = launch_point(&all, p);
	/* Also after an error: the object of --json ends with the rows so far. */
	if (prints && !print_part(bench_program_footer, b) && status == STATUS_OK)
		status = STATUS_DIAGNOSTICS;
	if (status == STATUS_OK && !launched)
		warn_unused(b, &sweep, d);
	for (uint32_t p = 0; p < sweep.point.n; p++)
		close_set(&all.set[p]);
	free(all.set);
	bench_sweep_free(&sweep);
	diag_finish(d);
	diag_free(d);
	return status;
}
