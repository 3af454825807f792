/* run_same: under a launcher, checks that all ranks run the same program with the same parameters and
 * options. Both are compared as texts, and the message names the first line that differs. */
#include "cli/run.h"
#include "ir/print.h"
#include "rt/compare.h"
#include <inttypes.h>

static void put_text(struct buf *b, const char *option, const char *value)
{
	buf_printf(b, "--%s=%s\n", option, value);
}

static void put_number(struct buf *b, const char *option, int64_t value)
{
	buf_printf(b, "--%s=%" PRId64 "\n", option, value);
}

static void put_switch(struct buf *b, const char *option, bool value)
{
	buf_printf(b, "%s--%s\n", value ? "" : "no ", option);
}

/* Puts the options that change how ranks work together. Not among them: files, which may differ by host, and
 * options that concern one rank alone. */
static void put_options(const struct run *r, struct buf *b)
{
	const struct rank_options *o = &r->ranks;
	buf_puts(b, "hirc run\n");
	put_text(b, "target", o->target);
	put_text(b, "transport", o->transport);
	put_text(b, "p2p-protocol", o->p2p_protocol);
	put_text(b, "p2p-transport", o->p2p_transport);
	put_text(b, "mover", o->mover);
	put_text(b, "engine", o->engine);
	put_number(b, "streams", o->streams);
	put_number(b, "timeout", o->timeout);
	put_number(b, "repeat", r->repeat);
	put_switch(b, "replay", o->replay);
	put_switch(b, "allow-tf32", o->gpu.allow_tf32);
	put_switch(b, "exact-reductions", o->gpu.exact_reductions);
	put_switch(b, "fuse-relu", o->gpu.fuse_relu);
	put_switch(b, "time-products", o->gpu.time_products);
	if (r->check && *r->check)
		put_text(b, "check", r->check);
	else
		put_switch(b, "check", r->check != NULL);
	put_number(b, "check-limit", r->check_limit);
	buf_puts(b, r->proves ? "the proof of `hirc check`\n" : "--no-check\n");
	put_switch(b, "trace", r->trace != NULL);
	put_switch(b, "profile", r->profile);
	put_switch(b, "stats", r->stats);
	put_switch(b, "json", r->json);
	put_switch(b, "dump-plan", r->dump_plan);
	put_switch(b, "all-ranks", r->all_ranks);
	if (r->seed >= 0)
		put_number(b, "adversary", r->seed);
	else
		put_switch(b, "adversary", false);
	put_switch(b, "replay", r->replay != NULL);
	for (uint32_t k = 0; k < r->fault.n; k++)
		buf_printf(b, "--%s=%d:%" PRId64 "\n", r->fault.at[k].line ? "fail" : "rank-delay",
		           r->fault.at[k].rank,
		           r->fault.at[k].line ? (int64_t)r->fault.at[k].line : r->fault.at[k].delay_us);
	for (uint32_t k = 0; k < r->output.n; k++)
		buf_printf(b, "--output=%s=…\n", r->output.at[k].name);
}

static void put_parameters(const struct run *r, struct buf *b)
{
	for (param_id p = 1; p < r->m->param.n; p++)
		buf_printf(b, "%s = %" PRId64 "\n", names_text(r->m->names, r->m->param.at[p].name),
		           r->m->param.at[p].value);
}

/* Collective. Reports where `text` differs from rank 0's. */
static enum status compare_text(struct rt_job *job, const char *what, const char *other, struct buf *text)
{
	struct rt_difference x;
	struct buf why = {0};
	buf_puts(text, "");
	enum status status = rt_job_compare(job, what, text->at, &x);
	buf_free(text);
	if (status != STATUS_OK || x.rank < 0)
		return status;
	rt_difference_put(&x, &why);
	if (job->rank == 0)
		rt_job_error(job, "rank %d runs with %s than rank 0: %s", x.rank, other, why.at);
	buf_free(&why);
	rt_job_barrier(job, "printing messages");
	return STATUS_USAGE;
}

enum status run_same_options(struct rt_job *job, const struct run *r)
{
	struct buf text = {0};
	put_options(r, &text);
	return compare_text(job, "the options", "other options", &text);
}

enum status run_same_program(struct rt_job *job, const struct run *r)
{
	struct buf text = {0};
	put_parameters(r, &text);
	enum status status = compare_text(job, "the parameters", "other parameters", &text);
	text = (struct buf){0};
	if (status == STATUS_OK)
		ir_print_hir(r->m, &text);
	return status == STATUS_OK ? compare_text(job, "the program", "another program", &text) : status;
}
