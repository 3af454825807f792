/* fullest: see fullest.h. */
#include "sched/fullest.h"

enum { LONGEST = 64 }; /* most storages on the way to a kept result */

struct fullest {
	const struct sched_problem *p;
	const bool *there;
	uint32_t node;
	bool *before, *after; /* by node: it is the node or needed by it; it is the node or needs it */
	bool *met;            /* by storage: it is on the way to a kept result */
	int64_t room, *early;
};

/* Returns the bytes of the storages that a node reads and makes. */
static int64_t measure_use(const struct fullest *f, uint32_t x)
{
	const struct sched_problem *p = f->p;
	int64_t bytes = 0;
	for (uint32_t i = p->makes.at[x]; i < p->makes.end[x]; i++)
		bytes += f->there[p->makes.item[i]] ? p->storage[p->makes.item[i]].bytes : 0;
	for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++)
		bytes += f->there[p->uses.item[i]] ? p->storage[p->uses.item[i]].bytes : 0;
	return bytes;
}

static void find_node(struct fullest *f, uint32_t comm, const bool *needed)
{
	const struct sched_problem *p = f->p;
	int64_t most = -1;
	for (uint32_t x = 0; x <= comm; x++) {
		int64_t here = needed[x] ? measure_use(f, x) : -1;
		if (here >= most) {
			most = here;
			f->node = x;
		}
	}
	f->before[f->node] = f->after[f->node] = true;
	for (uint32_t x = f->node + 1; x-- > 0;)
		for (uint32_t i = p->pred.at[x]; f->before[x] && i < p->pred.end[x]; i++)
			f->before[p->pred.item[i]] = true;
	for (uint32_t x = f->node; x < p->n; x++)
		for (uint32_t i = p->succ.at[x]; f->after[x] && i < p->succ.end[x]; i++)
			f->after[p->succ.item[i]] = true;
}

/* Takes the storages from the room that are live in any case. Finds those that may be kept alive. */
static void take_live(struct fullest *f)
{
	const struct sched_problem *p = f->p;
	for (uint32_t s = 0; s < p->storage_n; s++) {
		const struct sched_storage *t = &p->storage[s];
		f->early[s] = 0;
		if (!f->there[s] || !f->before[t->def])
			continue;
		bool used = t->kept || t->def == f->node;
		for (uint32_t i = p->users.at[s]; i < p->users.end[s] && !used; i++)
			used = f->after[p->users.item[i]];
		if (used)
			f->room -= t->bytes;
		else
			f->early[s] = t->bytes;
	}
}

/* Returns a storage of at least so many bytes that the node uses, if possible one that is made early;
 * SCHED_NONE: there is none. */
static uint32_t find_operand(const struct fullest *f, uint32_t x, int64_t bytes)
{
	const struct sched_problem *p = f->p;
	uint32_t found = SCHED_NONE;
	if (p->node[x].kind == SCHED_COMM &&
	    (sched_transfer(p, x)->in < bytes || sched_transfer(p, x)->out < bytes))
		return SCHED_NONE; /* the buffer of a bucket takes the place of the storages */
	for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++) {
		uint32_t s = p->uses.item[i];
		const struct sched_storage *t = &p->storage[s];
		if (f->early[s] >= bytes)
			return s;
		if (t->def != SCHED_NONE && !f->before[t->def] && !f->met[s] && t->bytes >= bytes)
			found = s;
	}
	return found;
}

/* Takes a kept result from the room that is made after the node or beside it. If the first work on the way
 * to it is not done, the storage that this work uses is live; later an operand of the next one is. */
static void take_kept(struct fullest *f, uint32_t kept)
{
	const struct sched_problem *p = f->p;
	int64_t bytes = p->storage[kept].bytes;
	uint32_t s = kept;
	for (unsigned k = 0; k < LONGEST && s != SCHED_NONE && !f->early[s]; k++) {
		f->met[s] = true;
		s = find_operand(f, p->storage[s].def, bytes);
	}
	if (s == SCHED_NONE || f->early[s] < bytes)
		return;
	f->early[s] -= bytes;
	f->room -= bytes;
}

int64_t sched_fullest(const struct sched_problem *p, uint32_t comm, const bool *needed, const bool *there,
                      int64_t limit, int64_t *early)
{
	struct arena *a = arena_new();
	struct fullest f = {.p = p, .there = there, .room = limit - p->fixed, .early = early};
	f.before = arena_new_array(a, bool, p->n);
	f.after = arena_new_array(a, bool, p->n);
	f.met = arena_new_array(a, bool, p->storage_n);
	find_node(&f, comm, needed);
	take_live(&f);
	for (uint32_t s = 0; s < p->storage_n; s++) {
		const struct sched_storage *t = &p->storage[s];
		if (t->kept && t->bytes && t->def != SCHED_NONE && !f.before[t->def])
			take_kept(&f, s);
	}
	arena_free(a);
	return f.room;
}
