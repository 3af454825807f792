/* tune_measure: runs the best candidates, as `hirc bench` does, and compares their results with the reference
 * of the unchanged program.
 *
 * A batch of up to BATCH candidates is open in one job, and their samples alternate. All batches are measured
 * one after the other, PASSES times, and the smallest median of a candidate counts: disturbances of a machine
 * last for seconds, and would make one batch slower than another. A candidate that hangs ends its job, and
 * the others are measured without it. A candidate with wrong results ends the command. */
#include "cli/bench.h"
#include "cli/bench_rounds.h"
#include "cli/tune.h"
#include <string.h>
#include <sys/mman.h>

enum { PASSES = 2, BATCH = 16, WARMUP = 2, LEAD = 8, BURST = 8, SLOW = 20 };
#define BUDGET_NS 1.5e8 /* time of one candidate's samples in a pass */

/* Memory in which ranks report to the process that started them. */
struct shared {
	volatile uint32_t current; /* candidate of the batch that runs */
	double median[BATCH];      /* ns */
	double half[BATCH];        /* ns, see struct bench_statistics */
	int64_t samples[BATCH];
};

struct batch {
	struct tune *t;
	struct shared *shared;
	struct run run[BATCH];
	uint32_t candidate[BATCH], n;
	double done, part; /* progress, 0 … 1: before this batch, and the share of this batch */
};

static void show_candidate(void *to, const struct rt_job *job, uint32_t k, double done)
{
	struct batch *b = to;
	if (job->rank)
		return;
	b->shared->current = k;
	progress_show(&b->t->progress, b->done + b->part * done, "running");
}

static int rank(struct rt_job *job, void *batch)
{
	struct batch *b = batch;
	const struct bench_rounds o = {.ranks = &b->t->ranks,
	                               .run = b->run,
	                               .n = b->n,
	                               .warmup = WARMUP,
	                               .budget = BUDGET_NS * b->n,
	                               .slow = SLOW,
	                               .lead = LEAD,
	                               .burst = BURST,
	                               .check = b->t->check,
	                               .before = show_candidate,
	                               .to = b};
	struct bench_samples s;
	enum status status = bench_rounds(job, &o, &s);
	for (uint32_t k = 0; k < b->n && status == STATUS_OK && job->rank == 0; k++) {
		b->shared->samples[k] = s.of[k].samples;
		struct bench_statistics x =
		    bench_statistics(s.ms + (size_t)k * (size_t)s.samples, s.of[k].samples);
		b->shared->median[k] = 1e6 * x.median;
		b->shared->half[k] = 1e6 * x.half;
	}
	bench_samples_free(&s);
	return status;
}

/* ---- preparing */

static enum status prepare_candidate(struct tune *t, uint32_t candidate, struct diag *d, struct run *r)
{
	struct tune_candidate *c = &t->candidate.at[candidate];
	enum status status = STATUS_USAGE;
	*r = (struct run){.path = t->source->name,
	                  .text = t->source->text,
	                  .check = t->check ? "" : NULL,
	                  .check_limit = REF_DEFAULT_LIMIT,
	                  .ranks = t->ranks,
	                  .repeat = 1};
	if (tune_options_make(t, c, d, &r->compile, &r->ranks.streams))
		status = run_prepare(r, d, t->compile.np, true);
	diag_set_source(d, t->source);
	return status;
}

static void release_candidate(struct tune *t, struct run *r)
{
	run_free(r);
	tune_options_free(t, &r->compile);
}

/* Adds a candidate to a batch. If it cannot run, records the reason and refuses it. */
static void add_candidate(struct batch *b, uint32_t candidate, const struct run *reference)
{
	struct tune *t = b->t;
	struct tune_messages x;
	struct run *r = &b->run[b->n];
	tune_messages_open(t, &x);
	enum status status = prepare_candidate(t, candidate, x.d, r);
	if (status == STATUS_OK && t->check && !run_reference_share(r, x.d, reference))
		status = STATUS_WRONG;
	const char *reason = tune_messages_close(t, &x);
	if (status == STATUS_OK) {
		b->candidate[b->n++] = candidate;
		return;
	}
	t->candidate.at[candidate].state = TUNE_REFUSED;
	t->candidate.at[candidate].reason = reason ? reason : "it cannot run";
	release_candidate(t, r);
}

/* ---- running */

static void drop_candidate(struct batch *b, uint32_t k)
{
	release_candidate(b->t, &b->run[k]);
	b->n--;
	memmove(&b->run[k], &b->run[k + 1], sizeof *b->run * (b->n - k));
	memmove(&b->candidate[k], &b->candidate[k + 1], sizeof *b->candidate * (b->n - k));
}

static enum status handle_failure(struct batch *b, enum status status)
{
	struct tune *t = b->t;
	uint32_t k = b->shared->current;
	struct buf name = {0};
	tune_put_choices(t, &t->candidate.at[b->candidate[k]], &name);
	if (status == STATUS_STUCK) {
		t->candidate.at[b->candidate[k]].state = TUNE_REFUSED;
		t->candidate.at[b->candidate[k]].reason = "nothing moved for --timeout seconds when it ran";
		drop_candidate(b, k);
		status = STATUS_OK;
	} else if (status == STATUS_WRONG) {
		diag_error(t->d, E_CANDIDATE_WRONG, DIAG_NOWHERE, "candidate '%s' computes other outputs",
		           name.at);
		struct buf options = {0};
		tune_put_options(t, &t->candidate.at[b->candidate[k]], true, &options);
		diag_note(t->d, DIAG_NOWHERE, "its options:%s", options.at ? options.at : " none");
		diag_note(t->d, DIAG_NOWHERE,
		          "--check compares with the program as it stands; a const that counts chunks must "
		          "not change the outputs");
		buf_free(&options);
	} else {
		diag_error(t->d, E_CANDIDATE_FAILED, DIAG_NOWHERE, "candidate '%s' did not run to its end",
		           name.at);
	}
	buf_free(&name);
	return status;
}

static enum status run_batch(struct batch *b, int64_t ranks)
{
	struct rt_launch_options launch = rank_options_launch(&b->t->ranks);
	enum status status = STATUS_OK;
	launch.np = (int)ranks;
	while (status == STATUS_OK && b->n) {
		*b->shared = (struct shared){0};
		fflush(NULL);
		status = rt_launch(&launch, rank, b);
		progress_end(&b->t->progress);
		if (status == STATUS_OK)
			break;
		status = handle_failure(b, status);
	}
	for (uint32_t k = 0; k < b->n && status == STATUS_OK; k++) {
		struct tune_candidate *c = &b->t->candidate.at[b->candidate[k]];
		if (c->measured >= 0 && c->measured <= b->shared->median[k])
			continue;
		c->measured = b->shared->median[k];
		c->spread = b->shared->half[k];
		c->samples = b->shared->samples[k];
	}
	while (b->n)
		drop_candidate(b, b->n - 1);
	return status;
}

/* ---- all batches */

static bool has_time(const struct tune *t, const tune_order *chosen, int64_t predicted)
{
	for (uint32_t k = 0; k < chosen->n; k++)
		if (t->candidate.at[chosen->at[k]].predicted == predicted)
			return true;
	return false;
}

static bool has_candidate(const tune_order *chosen, uint32_t candidate)
{
	for (uint32_t k = 0; k < chosen->n; k++)
		if (chosen->at[k] == candidate)
			return true;
	return false;
}

/* Chooses the best candidates, first those with different predicted times; always the unchanged program. */
static void choose_measured(struct tune *t, tune_order *out)
{
	tune_order order = {0};
	tune_order_make(t, &order);
	out->n = 0;
	for (unsigned again = 0; again < 2; again++)
		for (uint32_t k = 0; k < order.n && out->n < t->measure; k++)
			if (!has_candidate(out, order.at[k]) &&
			    (again || !has_time(t, out, t->candidate.at[order.at[k]].predicted)))
				vec_push(out, order.at[k]);
	if (t->candidate.at[0].state == TUNE_GOOD && !has_candidate(out, 0))
		vec_push(out, 0);
	vec_free(&order);
}

static enum status measure_candidates(struct tune *t, const tune_order *order, const struct run *reference,
                                      int64_t ranks, struct shared *shared)
{
	enum status status = STATUS_OK;
	uint32_t all = PASSES * order->n;
	t->progress.of_ranks = true;
	for (uint32_t done = 0, at, end; done < all && status == STATUS_OK; done += end - at) {
		at = done % order->n;
		end = at + BATCH < order->n ? at + BATCH : order->n;
		struct batch b = {
		    .t = t, .shared = shared, .done = (double)done / all, .part = (double)(end - at) / all};
		for (uint32_t k = at; k < end; k++)
			if (t->candidate.at[order->at[k]].state == TUNE_GOOD)
				add_candidate(&b, order->at[k], reference);
		status = run_batch(&b, ranks);
	}
	return status;
}

static bool check_ranks(struct tune *t, int64_t needed, int64_t ranks)
{
	if (ranks < needed) {
		diag_error(t->d, E_RANKS, DIAG_NOWHERE, "the program needs %lld ranks, --np gives %lld",
		           (long long)needed, (long long)ranks);
		return false;
	}
	if (ranks <= RT_SHM_MAX_RANKS)
		return true;
	diag_error(t->d, E_RANKS, DIAG_NOWHERE, "%lld ranks are more than can be started here (limit %d)",
	           (long long)ranks, RT_SHM_MAX_RANKS);
	diag_note(t->d, DIAG_NOWHERE, "--measure=0 only predicts");
	return false;
}

enum status tune_measure(struct tune *t)
{
	tune_order order = {0};
	struct run reference;
	choose_measured(t, &order);
	if (!order.n || !t->measure) {
		vec_free(&order);
		return STATUS_OK;
	}
	struct shared *shared =
	    mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		diag_error(t->d, E_NO_MEMORY, DIAG_NOWHERE, "no memory to share with the ranks");
		vec_free(&order);
		return STATUS_INTERNAL;
	}
	bool stands = t->candidate.at[0].state == TUNE_GOOD;
	enum status status = prepare_candidate(t, stands ? 0 : order.at[0], t->d, &reference);
	int64_t ranks = t->compile.np > 0 ? t->compile.np : reference.needed;
	if (status == STATUS_OK && !check_ranks(t, reference.needed, ranks))
		status = STATUS_USAGE;
	const struct rt_launch_options launch = rank_options_launch(&t->ranks);
	if (status == STATUS_OK && t->check)
		status = run_trial(&reference, &launch, ranks);
	if (status == STATUS_OK && t->check)
		status = run_reference(&reference, t->d, ranks);
	if (status == STATUS_OK)
		status = measure_candidates(t, &order, &reference, ranks, shared);
	release_candidate(t, &reference);
	munmap(shared, sizeof *shared);
	vec_free(&order);
	return status;
}
