/* links: finds the levels of teams, and applies the formulas of links.h. */
#include "cost/links.h"
#include "cost/curve.h"
#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Returns the number of devices in each group of a span; 0 if groups differ. sorted: by device. */
static uint32_t group_size(const uint32_t *sorted, uint32_t n, int64_t span)
{
	uint32_t size = 0, from = 0;
	for (uint32_t k = 1; k <= n; k++) {
		if (k < n && sorted[k] / span == sorted[from] / span)
			continue;
		if (from && k - from != size)
			return 0;
		size = k - from;
		from = k;
	}
	return size;
}

static bool find_levels(const struct cluster *c, const uint32_t *sorted, uint32_t n, struct links_team *t)
{
	uint32_t inner = 1;
	t->levels = 0;
	for (unsigned l = 0; l <= t->link; l++) {
		uint32_t size = group_size(sorted, n, c->network.link[l].span);
		if (!size)
			return false;
		if (size > inner) {
			t->level[t->levels].link = l;
			t->level[t->levels++].members = size / inner;
		}
		inner = size;
	}
	return true;
}

static int64_t at_least_one(int64_t n)
{
	return n ? n : 1;
}

/* Returns the largest number of these ranks that have one device. */
static int64_t most_on_device(const struct cluster *c, const uint32_t *rank, uint32_t n)
{
	uint32_t *device = mem_alloc(sizeof *device * ((size_t)n + 1));
	int64_t most = 1, same = 0;
	for (uint32_t k = 0; k < n; k++)
		device[k] = rank[k] % (uint32_t)c->devices;
	qsort(device, n, sizeof *device, by_number);
	for (uint32_t k = 0; k < n; k++) {
		same = k && device[k] == device[k - 1] ? same + 1 : 1;
		most = same > most ? same : most;
	}
	free(device);
	return most;
}

bool links_team(const struct cluster *c, const uint32_t *device, uint32_t n, struct links_team *out)
{
	struct links_team t = {.ranks = n, .sharing = c->sharers};
	uint32_t *sorted = mem_alloc(sizeof *sorted * ((size_t)n + 1));
	if (n)
		memcpy(sorted, device, sizeof *sorted * n);
	qsort(sorted, n, sizeof *sorted, by_number);
	while (n && t.link < c->network.link_n &&
	       sorted[0] / c->network.link[t.link].span != sorted[n - 1] / c->network.link[t.link].span)
		t.link++;
	bool joined = t.link < c->network.link_n;
	if (joined && !find_levels(c, sorted, n, &t)) {
		t.levels = 1;
		t.level[0].link = t.link;
		t.level[0].members = n;
	}
	if (c->devices) {
		int64_t measured = at_least_one(c->measured_ranks);
		t.members = most_on_device(c, sorted, n);
		t.members = t.members < measured ? t.members : measured;
	}
	free(sorted);
	if (joined)
		*out = t;
	return joined;
}

static int64_t steps(int64_t n)
{
	int64_t k = 0;
	while ((int64_t)1 << k < n)
		k++;
	return k;
}

int64_t links_share(const struct links_team *t, int64_t time)
{
	cost_amount now = (cost_amount)at_least_one(t->sharing), then = (cost_amount)at_least_one(t->members);
	return curve_limit(((cost_amount)time * now + then - 1) / then);
}

/* Returns the time of sending so many messages with n / d bytes in all. */
static int64_t sent(const struct links_team *t, const struct cluster_link *l, int64_t messages, cost_amount n,
                    int64_t d)
{
	return curve_add(
	    curve_rate_time(n * (cost_amount)at_least_one(t->sharing), d * at_least_one(t->members), l->rate),
	    l->alpha > CLUSTER_MAX_TIME / messages ? CLUSTER_MAX_TIME : l->alpha * messages);
}

/* The sums of links.h over the levels. */
struct sums {
	int64_t ring, tree, halves, blocks, pairs, steps;
};

static void add_level(const struct links_team *t, const struct cluster_link *l, int64_t members,
                      int64_t inner, int64_t bytes, struct sums *x)
{
	int64_t ranks = t->ranks, all = inner * members, depth = steps(members);
	cost_amount s = (cost_amount)bytes, most = s * (cost_amount)(members - 1),
	            outside = s * (cost_amount)(all - inner);
	x->ring = curve_add(x->ring, sent(t, l, members - 1, most, all));
	x->tree = curve_add(x->tree, sent(t, l, depth, s * (cost_amount)depth, 1));
	x->halves = curve_add(x->halves, sent(t, l, depth + members - 1, 2 * most, all));
	x->blocks = curve_add(x->blocks, sent(t, l, depth, outside, ranks));
	x->pairs = curve_add(x->pairs, sent(t, l, all - inner, outside, ranks));
	x->steps = curve_add(x->steps, sent(t, l, depth, 0, 1));
}

static struct sums sums_of(const struct cluster *c, const struct links_team *t, int64_t bytes)
{
	struct sums x = {0};
	int64_t inner = 1;
	for (unsigned k = 0; k < t->levels; k++) {
		add_level(t, &c->network.link[t->level[k].link], t->level[k].members, inner, bytes, &x);
		inner *= t->level[k].members;
	}
	return x;
}

/* Returns the time of one ring of all ranks on the outermost link. */
static int64_t flat_ring(const struct cluster *c, const struct links_team *t, int64_t bytes)
{
	struct links_team flat = *t;
	flat.levels = 1;
	flat.level[0].link = t->link;
	flat.level[0].members = t->ranks;
	return sums_of(c, &flat, bytes).ring;
}

unsigned links_algorithms(const struct cluster *c, const struct links_team *t, enum collective kind,
                          int64_t bytes, struct links_algorithm out[LINKS_ALGORITHMS])
{
	struct sums x = sums_of(c, t, bytes);
	bool levels = t->levels > 1;
	const char *ring = levels ? "rings by level" : "ring";
	unsigned n = 0;
	switch (kind) {
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_REDUCE_SCATTER:
		out[n++] = (struct links_algorithm){ring, x.ring};
		out[n++] = (struct links_algorithm){"pairwise exchange", x.pairs};
		if (levels)
			out[n++] = (struct links_algorithm){"one ring of all", flat_ring(c, t, bytes)};
		return n;
	case COLLECTIVE_ALLREDUCE:
		out[n++] = (struct links_algorithm){ring, curve_add(x.ring, x.ring)};
		out[n++] = (struct links_algorithm){"recursive doubling", x.tree};
		if (levels) {
			int64_t flat = flat_ring(c, t, bytes);
			out[n++] = (struct links_algorithm){"one ring of all", curve_add(flat, flat)};
		}
		break;
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_REDUCE:
		out[n++] = (struct links_algorithm){"binomial tree", x.tree};
		out[n++] = (struct links_algorithm){"two halves", x.halves};
		break;
	case COLLECTIVE_GATHER:
	case COLLECTIVE_SCATTER:
		out[n++] = (struct links_algorithm){"binomial tree", x.blocks};
		out[n++] = (struct links_algorithm){"pairwise exchange", x.pairs};
		return n;
	case COLLECTIVE_ALL_TO_ALL:
	case COLLECTIVE_ALL_TO_ALLV:
		out[n++] = (struct links_algorithm){"pairwise exchange", x.pairs};
		return n;
	case COLLECTIVE_SEND_RECV:
		out[n++] = (struct links_algorithm){
		    "one message", sent(t, &c->network.link[t->link], 1, (cost_amount)bytes, 1)};
		return n;
	case COLLECTIVE_BARRIER:
		out[n++] = (struct links_algorithm){"dissemination", x.steps};
		return n;
	case COLLECTIVE_COUNT:
		return 0;
	}
	if (out[1].time < out[0].time) { /* the model takes the faster of the two */
		struct links_algorithm second = out[0];
		out[0] = out[1];
		out[1] = second;
	}
	return n;
}

int64_t links_time(const struct cluster *c, const struct links_team *t, enum collective kind, int64_t bytes)
{
	struct links_algorithm a[LINKS_ALGORITHMS];
	return links_algorithms(c, t, kind, bytes, a) ? a[0].time : 0;
}
