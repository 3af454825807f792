/* tune_search: chooses the candidates to try.
 *
 * If there are at most --limit combinations, all are tried. Otherwise the search walks: it starts at the
 * unchanged program, and tries all values of each pair of axes; then it starts again at the best candidate,
 * until no pair is an improvement or --limit different programs are found. The order follows the axes and
 * their values, so that two runs try the same candidates. */
#include "cli/tune.h"
#include <string.h>

static uint32_t find_candidate(const struct tune *t, const uint8_t *choice)
{
	uint32_t k = 0;
	while (k < t->candidate.n && memcmp(t->candidate.at[k].choice, choice, TUNE_MAX_AXES))
		k++;
	return k;
}

/* Returns the number of streams of a candidate. *stated: the candidate chooses it. */
static int64_t streams_of(const struct tune *t, const struct tune_candidate *c, bool *stated)
{
	int64_t streams = t->ranks.streams;
	*stated = false;
	for (uint32_t k = 0; k < t->axis_n; k++)
		if (t->axis[k].kind == TUNE_STREAMS && c->choice[k]) {
			str_parse_size(t->axis[k].value[c->choice[k]], &streams);
			*stated = true;
		}
	return streams;
}

/* Finds a good candidate with the same hash; t->candidate.n: none. */
static uint32_t find_same(const struct tune *t, const struct tune_candidate *c)
{
	uint32_t k = 0;
	while (k < t->candidate.n &&
	       (t->candidate.at[k].state != TUNE_GOOD || t->candidate.at[k].hash != c->hash))
		k++;
	return k;
}

/* Copies the facts about a candidate from the one with the default number of streams, since the number does
 * not change the program. False: the candidate has to be compiled. */
static bool infer(struct tune *t, struct tune_candidate *c)
{
	bool stated;
	int64_t streams = streams_of(t, c, &stated);
	uint8_t choice[TUNE_MAX_AXES];
	memcpy(choice, c->choice, sizeof choice);
	for (uint32_t k = 0; k < t->axis_n; k++)
		if (t->axis[k].kind == TUNE_STREAMS)
			choice[k] = 0;
	uint32_t other = find_candidate(t, choice);
	if (!stated || other == t->candidate.n)
		return false;
	*c = t->candidate.at[other];
	if (c->state == TUNE_REFUSED)
		return true;
	tune_candidate_hash(c, streams);
	return find_same(t, c) < t->candidate.n;
}

/* Evaluates a candidate, unless that was done before. Returns its index. */
static uint32_t look_at_candidate(struct tune *t, const uint8_t *choice, int64_t in_all)
{
	struct tune_candidate c = {0};
	uint32_t k = find_candidate(t, choice);
	if (k < t->candidate.n)
		return k;
	progress_show(&t->progress, (double)t->candidate.n / (double)in_all, "looking at candidates");
	memcpy(c.choice, choice, sizeof c.choice);
	bool inferred = infer(t, &c);
	memcpy(c.choice, choice, sizeof c.choice);
	if (!inferred)
		tune_candidate_evaluate(t, &c);
	c.same = c.state == TUNE_REFUSED ? k : find_same(t, &c);
	if (c.same < k)
		c.state = TUNE_SAME;
	vec_push(&t->candidate, c);
	return k;
}

/* Returns the time of a candidate's program; INT64_MAX: not known. */
static int64_t time_of(const struct tune *t, uint32_t k)
{
	const struct tune_candidate *c = &t->candidate.at[k];
	if (c->state == TUNE_SAME)
		c = &t->candidate.at[c->same];
	return c->state == TUNE_GOOD && c->predicted >= 0 ? c->predicted : INT64_MAX;
}

/* Counts the different programs so far. */
static int64_t differing(const struct tune *t)
{
	int64_t n = 0;
	for (uint32_t k = 0; k < t->candidate.n; k++)
		n += t->candidate.at[k].state == TUNE_GOOD;
	return n;
}

/* Counts the combinations, at most limit + 1. */
static int64_t combinations(const struct tune *t)
{
	int64_t n = 1;
	for (uint32_t k = 0; k < t->axis_n && n <= t->limit; k++)
		n *= t->axis[k].n;
	return n <= t->limit ? n : t->limit + 1;
}

static void look_at_all(struct tune *t, int64_t n)
{
	uint8_t choice[TUNE_MAX_AXES] = {0};
	for (int64_t at = 0; at < n; at++) {
		look_at_candidate(t, choice, n);
		for (uint32_t k = t->axis_n; k-- > 0;) { /* the last axis varies fastest */
			if (++choice[k] < t->axis[k].n)
				break;
			choice[k] = 0;
		}
	}
}

/* Tries all values of axes i and j, which may be the same axis, with the other choices of `best`. Returns the
 * best candidate. */
static uint32_t look_at_pair(struct tune *t, uint32_t best, uint32_t i, uint32_t j)
{
	uint8_t choice[TUNE_MAX_AXES];
	memcpy(choice, t->candidate.at[best].choice, sizeof choice);
	for (uint32_t a = 0; a < t->axis[i].n; a++)
		for (uint32_t b = 0; b < t->axis[j].n && differing(t) < t->limit; b++) {
			choice[i] = (uint8_t)a;
			choice[j] = (uint8_t)b;
			uint32_t k = look_at_candidate(t, choice, t->limit);
			if (time_of(t, k) < time_of(t, best))
				best = k;
		}
	return best;
}

static void walk_pairs(struct tune *t)
{
	uint8_t choice[TUNE_MAX_AXES] = {0};
	uint32_t best = look_at_candidate(t, choice, t->limit), before;
	do {
		before = best;
		for (uint32_t i = 0; i < t->axis_n; i++)
			for (uint32_t j = t->axis_n > 1 ? i + 1 : i; j < t->axis_n; j++)
				best = look_at_pair(t, best, i, j);
	} while (best != before && differing(t) < t->limit);
}

void tune_search(struct tune *t)
{
	int64_t n = combinations(t);
	if (n <= t->limit)
		look_at_all(t, n);
	else
		walk_pairs(t);
	progress_end(&t->progress);
}

/* ---- the order of predicted times */

struct entry {
	int64_t time;
	uint32_t candidate;
};

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->candidate < y->candidate ? -1 : x->candidate > y->candidate;
}

void tune_order_make(const struct tune *t, tune_order *out)
{
	VEC(struct entry) entry = {0};
	for (uint32_t k = 0; k < t->candidate.n; k++)
		if (t->candidate.at[k].state == TUNE_GOOD)
			vec_push(&entry, ((struct entry){time_of(t, k), k}));
	if (entry.n)
		qsort(entry.at, entry.n, sizeof *entry.at, by_time);
	out->n = 0;
	for (uint32_t k = 0; k < entry.n; k++)
		vec_push(out, entry.at[k].candidate);
	vec_free(&entry);
}
