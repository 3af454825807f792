/* sim_chakra_tensors: see sim_chakra_tensors.h.
 *
 *     node        mm         relu       add         each node of work stands for the time since the one before
 *     live      ▃▅▂▂▂       ▂▂▆▃       ▃▃▁          and has the tensors of the largest moment in that time
 *     A         ──           ─                      mm gives A, relu takes it: A is live from mm to relu
 *     B                      ──        ──
 *
 * The peak of the import is the largest of these moments, so it is that of the timeline. A tensor that is live between
 * two such moments only is left out.
 *
 * A run may reserve more than is live, for places and copies: the rest is a tensor that is live all the time. It may
 * reserve less, since a plan leaves tensors out: then tensors that would exceed the peak are cut. */
#include "sim/sim_chakra_tensors.h"

enum { MOST_RESULTS = 128 }; /* tensors that one node makes */

struct lifetime { /* places of changes; UINT32_MAX: the change does not happen */
	uint32_t taken, freed;
};

/* Adds the memory that a run reserves beside tensors, and cuts tensors that it leaves out. */
static void fit_peak(struct timeline_class *c)
{
	int64_t live = 0;
	if (c->peak > c->live)
		vec_push(&c->tensor,
		         ((struct timeline_tensor){.bytes = c->peak - c->live, .resident = true}));
	for (uint32_t t = 0; t < c->tensor.n; t++) {
		struct timeline_tensor *x = &c->tensor.at[t];
		if (!x->resident)
			continue;
		x->bytes = x->bytes < c->peak - live ? x->bytes : c->peak - live;
		live += x->bytes;
	}
	for (uint32_t k = 0; k < c->change.n; k++) {
		struct timeline_tensor *x = &c->tensor.at[c->change.at[k].tensor];
		if (!c->change.at[k].frees)
			x->bytes = x->bytes < c->peak - live ? x->bytes : c->peak - live;
		live += c->change.at[k].frees ? -x->bytes : x->bytes;
	}
}

/* Finds, for each node of work, how many changes are before its largest moment. Returns the number of nodes of work.
 * work: their indexes. */
static uint32_t find_moments(const struct timeline_class *c, const struct chakra_drafts *all, uint32_t *work,
                             uint32_t *moment)
{
	int64_t live = 0, since = INT64_MIN;
	uint32_t n = 0, k = 0;
	for (uint32_t t = 0; t < c->tensor.n; t++)
		live += c->tensor.at[t].resident ? c->tensor.at[t].bytes : 0;
	for (uint32_t i = 0; i < all->list.n; i++) {
		int64_t until = all->list.at[i].until, most = -1;
		if (!all->list.at[i].works)
			continue;
		if (k == c->change.n || c->change.at[k].at > since) {
			most = live;
			moment[n] = k;
		}
		while (k < c->change.n && (c->change.at[k].at < until || until == INT64_MAX)) {
			const struct timeline_change *x = &c->change.at[k++];
			int64_t bytes = c->tensor.at[x->tensor].bytes;
			live += x->frees ? -bytes : bytes;
			if (live > most) {
				most = live;
				moment[n] = k;
			}
		}
		work[n++] = i;
		since = until;
	}
	return n;
}

/* Returns the first of n moments with more than `changes` changes before it; n: there is none. */
static uint32_t first_after(const uint32_t *moment, uint32_t n, uint32_t changes)
{
	uint32_t low = 0, high = n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (moment[middle] > changes)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void move_draft(struct chakra_drafts *to, struct chakra_draft *n, uint32_t *id)
{
	*id = sim_chakra_add(to, *n);
	*n = (struct chakra_draft){0};
}

/* Adds nodes that make the tensors which a node has too many of. */
static void split_results(struct chakra_drafts *to, struct chakra_draft *n)
{
	while (n->out.n > MOST_RESULTS) {
		struct chakra_draft x = {.name = "tensors", .kind = CHAKRA_METADATA};
		for (uint32_t k = 0; k < MOST_RESULTS; k++)
			vec_push(&x.out, n->out.at[--n->out.n]);
		sim_chakra_add(to, x);
	}
}

/* Returns true if a node says nothing: an end of the step without waits and tensors. */
static bool is_empty(const struct chakra_draft *n)
{
	return n->works && n->kind == CHAKRA_METADATA && !n->in.n && !n->out.n && !n->data.n;
}

/* Inserts the nodes that hold tensors alone: before a node with too many results, and after a node whose result nothing
 * uses. alone: by node. */
static void insert_nodes(struct chakra_drafts *all, struct chakra_draft *alone)
{
	struct chakra_drafts made = {0};
	uint32_t *id = mem_zalloc(sizeof *id * ((size_t)all->list.n + 1)), unused;
	for (uint32_t k = 0; k < all->list.n; k++) {
		if (is_empty(&all->list.at[k]))
			continue;
		split_results(&made, &all->list.at[k]);
		move_draft(&made, &all->list.at[k], &id[k + 1]);
		if (alone[k].in.n)
			move_draft(&made, &alone[k], &unused);
	}
	for (uint32_t k = 0; k < made.list.n; k++) {
		struct chakra_draft *n = &made.list.at[k];
		for (uint32_t i = 0; i < n->ctrl.n; i++)
			n->ctrl.at[i] = id[n->ctrl.at[i]];
		for (uint32_t i = 0; i < n->data.n; i++)
			n->data.at[i] = id[n->data.at[i]];
	}
	sim_chakra_free_drafts(all);
	*all = made;
	free(id);
}

void sim_chakra_give_tensors(struct timeline_class *c, struct chakra_drafts *all)
{
	uint32_t *work = mem_alloc(sizeof *work * ((size_t)all->list.n + 1)),
	         *moment = mem_zalloc(sizeof *moment * ((size_t)all->list.n + 1));
	struct chakra_draft *alone = mem_zalloc(sizeof *alone * ((size_t)all->list.n + 1));
	fit_peak(c);
	struct lifetime *life = mem_alloc(sizeof *life * ((size_t)c->tensor.n + 1));
	for (uint32_t t = 0; t < c->tensor.n; t++)
		life[t] = (struct lifetime){UINT32_MAX, UINT32_MAX};
	for (uint32_t k = 0; k < c->change.n; k++)
		*(c->change.at[k].frees ? &life[c->change.at[k].tensor].freed
		                        : &life[c->change.at[k].tensor].taken) = k;
	uint32_t n = find_moments(c, all, work, moment);
	for (uint32_t t = 0; t < c->tensor.n; t++) {
		if (c->tensor.at[t].resident && n && c->tensor.at[t].bytes)
			vec_push(&all->list.at[work[0]].in, t);
		if (c->tensor.at[t].resident || life[t].taken == UINT32_MAX || !c->tensor.at[t].bytes)
			continue;
		uint32_t first = first_after(moment, n, life[t].taken),
		         after = first_after(moment, n, life[t].freed);
		if (first >= after)
			continue;
		vec_push(&all->list.at[work[first]].out, t);
		if (after == n)
			continue; /* nothing frees it: it is live to the end */
		if (after - 1 > first)
			vec_push(&all->list.at[work[after - 1]].in, t);
		else
			vec_push(&alone[work[first]].in, t);
		alone[work[first]].name = "free";
		alone[work[first]].kind = CHAKRA_METADATA;
	}
	insert_nodes(all, alone);
	free(life);
	free(work);
	free(moment);
	free(alone);
}
