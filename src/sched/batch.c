/* batch: see batch.h. The runtime is divided into steps. Pieces begin and end somewhere in a step; a piece
 * counts as if it had the most bytes that are possible between the two, so that the bound holds. */
#include "sched/batch.h"
#include "base/arena.h"
#include "sched/partner.h"
#include <math.h>
#include <stdlib.h>

enum {
	SIZES = 4096,      /* most sizes of pieces whose times are known */
	EVEN = 1024,       /* the largest piece has so many of the largest steps between sizes */
	FINE = 64,         /* smaller steps are this part of a size */
	LEAST_STEPS = 256, /* of 3/2 of the runtime; more if the shortest piece is shorter than a step */
	MOST_STEPS = 2048,
	HALVINGS = 9
};

/* ---- most bytes */

static bool is_unpacked(const struct sched_problem *p, const struct sched_transfer *c)
{
	return !p->grouped && (p->copies || p->family[c->family].collective == SCHED_ALLGATHER);
}

/* Adds the bytes that each wait makes to those of its comm. In a bucket, its unpack makes them. */
static void add_waits(const struct sched_problem *p, int64_t *made)
{
	for (uint32_t w = 0; w < p->n; w++) {
		uint32_t comm = p->node[w].comm;
		bool chained = false; /* such a wait is in no bucket */
		for (uint32_t i = p->pred.at[w]; i < p->pred.end[w]; i++)
			chained |= p->node[p->pred.item[i]].kind == SCHED_WAIT;
		if (p->node[w].kind == SCHED_WAIT && comm != SCHED_NONE && !chained)
			made[comm] += sched_made(p, w);
	}
}

int64_t sched_batch_operands(const struct sched_problem *p, uint32_t comm)
{
	int64_t bytes = 0;
	for (uint32_t i = p->uses.at[comm]; i < p->uses.end[comm]; i++) {
		const struct sched_storage *s = &p->storage[p->uses.item[i]];
		uint32_t comms = 0, u = p->uses.item[i];
		for (uint32_t k = p->users.at[u]; k < p->users.end[u]; k++)
			comms += p->node[p->users.item[k]].kind == SCHED_COMM;
		bytes += comms == 1 && s->def != SCHED_NONE && s->def != comm ? s->bytes : 0;
	}
	return bytes;
}

void sched_batch_most(const struct sched_problem *p, int64_t limit, int64_t *most, bool *alone)
{
	int64_t *least = mem_alloc(sizeof *least * ((size_t)p->family_n + 1)); /* by family: of a comm */
	double *ratio = mem_alloc(sizeof *ratio * ((size_t)p->family_n + 1)),
	       room = (double)(limit - p->fixed);
	int64_t *copied = mem_zalloc(sizeof *copied * ((size_t)p->n + 1)); /* by comm: by its waits */
	sched_partners(p, alone);
	add_waits(p, copied);
	for (uint32_t f = 0; f < p->family_n; f++) {
		ratio[f] = INFINITY;
		most[f] = 0;
		least[f] = INT64_MAX;
	}
	for (uint32_t x = 0; x < p->n; x++) {
		const struct sched_transfer *c = sched_transfer(p, x);
		if (p->node[x].kind != SCHED_COMM || alone[x] || c->in <= 0)
			continue;
		int64_t out = is_unpacked(p, c) ? c->out : 0, made = sched_made(p, x);
		int64_t issued = (p->grouped ? 0 : c->in) + sched_batch_operands(p, x) + (out ? out : made);
		int64_t unpacked = out ? out + made + copied[x] : 0,
		        need = issued > unpacked ? issued : unpacked;
		double here = (double)need / (double)c->in;
		ratio[c->family] = here < ratio[c->family] ? here : ratio[c->family];
		most[c->family] += c->in;
		least[c->family] = c->in < least[c->family] ? c->in : least[c->family];
	}
	for (uint32_t f = 0; f < p->family_n; f++) {
		double here = room > 0 ? room / ratio[f] : 0;
		most[f] = here < (double)most[f] ? (int64_t)here : most[f];
	}
	for (uint32_t x = 0; x < p->n; x++) {
		const struct sched_transfer *c = sched_transfer(p, x);
		if (p->node[x].kind == SCHED_COMM && !alone[x] && c->in > 0)
			alone[x] = c->in + least[c->family] > most[c->family];
	}
	free(copied);
	free(least);
	free(ratio);
}

/* ---- the host */

static int64_t least_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Rounds down: the copies of a bucket are rounded together. */
static int64_t copy_time(const struct sched_problem *p, int64_t bytes)
{
	return p->grouped ? 0 : (int64_t)(2 * (double)bytes / p->bytes_per_ns);
}

void sched_batch_hosts(const struct sched_problem *p, const bool *alone, struct sched_batch_host *host,
                       uint32_t *wait)
{
	for (uint32_t x = 0; x < p->n; x++) {
		wait[x] = SCHED_NONE;
		uint32_t comm = sched_awaited(&p->node[x]);
		if (comm != SCHED_NONE && wait[comm] == SCHED_NONE)
			wait[comm] = x;
	}
	for (uint32_t x = 0; x < p->n; x++) {
		const struct sched_transfer *c = sched_transfer(p, x);
		if (p->node[x].kind != SCHED_COMM || alone[x])
			continue;
		int64_t issue = sched_host_time(p, x),
		        waits = wait[x] == SCHED_NONE ? 0 : sched_host_time(p, wait[x]);
		int64_t pack = copy_time(p, c->in), unpack = is_unpacked(p, c) ? copy_time(p, c->out) : 0;
		host[x].before = least_of(issue, pack);
		host[x].after = least_of(waits, unpack);
		host[x].both = least_of(issue + waits, pack + unpack);
	}
}

/* ---- pieces of one family */

struct job {
	int64_t key, bytes, time; /* key: its tail, or its head; time: alone */
};

struct line {
	struct job *job[2]; /* by direction: the longest key first */
	uint32_t n;
	int64_t bytes;       /* of all jobs */
	int64_t largest;     /* most bytes of a piece */
	int64_t base[2];     /* by direction: time before the first piece */
	int64_t size[SIZES]; /* sizes of pieces, ascending */
	int64_t time[SIZES]; /* by size: the least time of such a piece or a larger one */
	uint32_t size_n;
	double rate; /* most bytes a ns of any piece */
	uint32_t step_n;
	double step;                 /* ns */
	double loss[MOST_STEPS + 1]; /* by steps between begin and end of a piece: least loss of bytes */
	double begin;                /* most bytes of pieces that end in the first step */
};

static int by_key(const void *a, const void *b)
{
	const struct job *x = a, *y = b;
	return (x->key < y->key) - (x->key > y->key);
}

/* Chooses sizes from 1 byte to the largest piece: dense below, and evenly spread above. */
static void choose_sizes(struct line *l)
{
	int64_t size = 1;
	for (l->size_n = 0; l->size_n < SIZES - 1 && size < l->largest; l->size_n++) {
		int64_t step = size / FINE < l->largest / EVEN ? size / FINE : l->largest / EVEN;
		l->size[l->size_n] = size;
		size += step > 1 ? step : 1;
	}
	l->size[l->size_n++] = l->largest;
}

/* Returns the last size that is at most so many bytes. */
static uint32_t place_of(const struct line *l, int64_t bytes)
{
	uint32_t low = 0, high = l->size_n;
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;
		*(l->size[middle] <= bytes ? &low : &high) = middle;
	}
	return low;
}

/* Finds the least times of pieces, with the launch: those of buckets, and of comms alone that are faster. */
static void find_times(struct line *l, const struct sched_family *f, int64_t launch)
{
	double least = sched_family_least(f, l->largest);
	int64_t time = INT64_MAX;
	for (uint32_t k = l->size_n; k-- > 0;) {
		int64_t next = k + 1 < l->size_n ? l->size[k + 1] : l->largest;
		int64_t here = sched_family_floor(f, l->size[k], next) + launch;
		time = here < time ? here : time;
		l->time[k] = time;
	}
	for (uint32_t i = 0; i < l->n; i++) {
		const struct job *j = &l->job[0][i];
		least = fmin(least, (double)j->time / (double)j->bytes);
		for (uint32_t k = place_of(l, j->bytes) + 1; k-- > 0 && l->time[k] > j->time + launch;)
			l->time[k] = j->time + launch;
	}
	l->rate = 1 / least; /* infinite: pieces take no time */
}

/* Finds by how much pieces have less bytes than `rate` gives for their time. A piece takes up to one step
 * more or less than the distance of the steps in which it begins and ends. Only the losses are rounded, so
 * that the steps of many pieces together are as long as they are. */
static void find_losses(struct line *l)
{
	double step = l->step;
	uint32_t first = 0; /* the last size that takes at most k - 1 steps */
	for (uint32_t k = 0; k <= l->step_n; k++) {
		double low = k ? (k - 1) * step : 0, high = (k + 1) * step;
		while (first + 1 < l->size_n && (double)l->time[first + 1] <= low)
			first++;
		l->loss[k] = INFINITY;
		for (uint32_t i = first; i < l->size_n && (double)l->time[i] < high; i++) {
			double most = (double)(i + 1 < l->size_n ? l->size[i + 1] : l->largest);
			double loss = l->rate * fmax((double)l->time[i], low) - most;
			l->loss[k] = fmin(l->loss[k], fmax(0, loss));
		}
	}
	l->begin = (double)l->time[0] <= step ? l->rate * step : 0;
}

/* Returns the least time of the lane for pieces that end early enough for the runtime; INT64_MAX: there are
 * none. more[k]: the most bytes of pieces that end in step k or before, above the rate. */
static int64_t least_time(const struct line *l, unsigned direction, int64_t runtime)
{
	double step = l->step;
	double more[MOST_STEPS + 1];
	int64_t key[MOST_STEPS + 1]; /* by step: the least key of a piece that begins there; it falls */
	const struct job *job = l->job[direction];
	uint32_t i = 0, first = 0; /* first: pieces that begin before it end too late */
	double end = (double)job[0].bytes, most = l->begin;
	for (uint32_t b = 0; b <= l->step_n; b++) {
		int64_t late = runtime - l->base[direction] - (int64_t)(b * step);
		double best = b ? -INFINITY : 0;
		while (first < b && key[first] > late)
			first++;
		for (uint32_t a = first; a < b; a++) {
			double here = more[a] - l->loss[b - a];
			best = here > best ? here : best;
		}
		more[b] = best;
		most = b ? fmax(most, best + l->rate * (b + 1) * step) : most;
		if (most >= (double)l->bytes)
			return (int64_t)(b * step);
		while (i + 1 < l->n && end <= most)
			end += (double)job[++i].bytes;
		key[b] = job[i].key;
	}
	return INT64_MAX;
}

/* ---- a lane */

struct lane {
	struct line *line;
	uint32_t n;
	int64_t alone; /* time of comms that share no bucket */
	int64_t ends;  /* least head and least tail */
	int64_t launch;
};

static bool is_possible(const struct lane *l, int64_t runtime)
{
	int64_t all = l->alone + l->ends - l->launch;
	for (uint32_t i = 0; i < l->n && all <= runtime; i++) {
		int64_t forward = least_time(&l->line[i], 0, runtime + l->launch);
		int64_t backward = least_time(&l->line[i], 1, runtime + l->launch);
		if (forward == INT64_MAX || backward == INT64_MAX)
			return false;
		all += forward > backward ? forward : backward;
	}
	return all <= runtime;
}

/* Returns the largest runtime up to 3/2 of `least` that is found to be impossible; `least` if there is none. */
static int64_t raise_runtime(struct lane *l, int64_t least)
{
	int64_t low = least, high = least + least / 2;
	for (uint32_t i = 0; i < l->n; i++) {
		struct line *line = &l->line[i];
		double steps = ceil((double)high / (double)line->time[0]);
		line->step_n = (uint32_t)fmax(LEAST_STEPS, fmin(MOST_STEPS, steps));
		line->step = (double)high / line->step_n;
		find_losses(line);
	}
	if (is_possible(l, low))
		return low;
	if (!is_possible(l, high))
		return high;
	for (unsigned k = 0; k < HALVINGS && high - low > 1; k++) {
		int64_t middle = low + (high - low) / 2;
		*(is_possible(l, middle) ? &high : &low) = middle;
	}
	return low;
}

static bool is_in_line(const struct sched_batches *b, uint32_t family, uint32_t x)
{
	const struct sched_transfer *c = sched_transfer(b->p, x);
	return b->p->node[x].kind == SCHED_COMM && c->family == family && b->tail[x] >= 0 && c->in > 0 &&
	       !b->alone[x];
}

/* Makes a line of the comms of a family that may be in buckets. Returns false if they bound nothing. */
static bool make_line(const struct sched_batches *b, uint32_t family, struct line *l)
{
	const struct sched_problem *p = b->p;
	uint32_t n = 0;
	*l = (struct line){0};
	for (uint32_t x = 0; x < p->n; x++)
		n += is_in_line(b, family, x);
	for (unsigned k = 0; k < 2; k++)
		l->job[k] = mem_alloc(sizeof *l->job[k] * ((size_t)n + 1));
	for (uint32_t x = 0; x < p->n; x++) {
		const struct sched_transfer *c = sched_transfer(p, x);
		if (!is_in_line(b, family, x))
			continue;
		l->job[0][l->n] = (struct job){b->tail[x], c->in, p->node[x].time};
		l->job[1][l->n++] = (struct job){b->head[x], c->in, p->node[x].time};
		l->bytes += c->in;
	}
	l->largest = b->most[family] < l->bytes ? b->most[family] : l->bytes;
	if (!l->n)
		return false;
	qsort(l->job[0], l->n, sizeof *l->job[0], by_key);
	qsort(l->job[1], l->n, sizeof *l->job[1], by_key);
	choose_sizes(l);
	find_times(l, &p->family[family], p->launch);
	return isfinite(l->rate);
}

static void free_line(struct line *l)
{
	free(l->job[0]);
	free(l->job[1]);
}

int64_t sched_bound_batches(const struct sched_batches *b, uint32_t lane, int64_t least)
{
	const struct sched_problem *p = b->p;
	struct lane l = {.launch = p->launch};
	int64_t head = INT64_MAX, tail = INT64_MAX;
	l.line = mem_alloc(sizeof *l.line * ((size_t)p->family_n + 1));
	for (uint32_t x = 0; x < p->n; x++) {
		const struct sched_node *c = &p->node[x];
		if (c->kind != SCHED_COMM || c->lane != lane || b->tail[x] < 0)
			continue;
		head = b->head[x] < head ? b->head[x] : head;
		tail = b->tail[x] < tail ? b->tail[x] : tail;
		l.alone += b->alone[x] ? c->time + p->launch : 0;
	}
	for (uint32_t f = 0; f < p->family_n && head < INT64_MAX; f++) {
		if (p->family[f].lane != lane)
			continue;
		struct line *made = &l.line[l.n];
		if (make_line(b, f, made))
			l.n++;
		else
			free_line(made);
		made->base[0] = head;
		made->base[1] = tail;
	}
	l.ends = head < INT64_MAX ? head + tail : 0;
	for (int64_t before = 0; head < INT64_MAX && before < least;) {
		before = least;
		least = raise_runtime(&l, least);
	}
	for (uint32_t i = 0; i < l.n; i++)
		free_line(&l.line[i]);
	free(l.line);
	return least;
}
