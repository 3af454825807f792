/* rt_report: see rt_report.h. */
#include "rt/rt_report.h"
#include "base/hash.h"
#include "rt/bell.h"
#include "rt/bootstrap.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	SHOWN_RANKS = 16,      /* most ranks in a list */
	PATIENCE_US = 2000000, /* time that it waits for another rank that reports */
};

/* ---- text */

void rt_text_send(struct rt_text *t)
{
	for (size_t done = 0; done < t->n;) {
		ssize_t k = write(t->file, t->at + done, t->n - done);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break;
		done += (size_t)k;
	}
	t->n = 0;
}

static void put_bytes(struct rt_text *t, const char *s, size_t n)
{
	if (t->n + n > sizeof t->at)
		rt_text_send(t);
	n = n < sizeof t->at ? n : sizeof t->at;
	memcpy(t->at + t->n, s, n);
	t->n += n;
}

void rt_text_puts(struct rt_text *t, const char *s)
{
	put_bytes(t, s, strlen(s));
}

void rt_text_int(struct rt_text *t, int64_t i)
{
	char digits[STR_INT + 1];
	size_t at = sizeof digits;
	uint64_t u = i < 0 ? -(uint64_t)i : (uint64_t)i;
	do
		digits[--at] = (char)('0' + u % 10);
	while (u /= 10);
	if (i < 0)
		digits[--at] = '-';
	put_bytes(t, digits + at, sizeof digits - at);
}

/* ---- lines */

static uint32_t read_u32(const _Atomic uint32_t *x)
{
	return atomic_load_explicit(x, memory_order_relaxed);
}

static void put_rank(struct rt_text *t, int rank)
{
	rt_text_puts(t, "rank ");
	rt_text_int(t, rank);
}

static void put_label(struct rt_text *t, const struct rt_board_rank *r, uint32_t label, int64_t iteration)
{
	const char *text = rt_board_text(r, label);
	if (!text)
		return;
	rt_text_puts(t, text);
	const char *where = text + strlen(text) + 1;
	if (*where) {
		rt_text_puts(t, "  (");
		rt_text_puts(t, where);
		rt_text_puts(t, ")");
	}
	if (iteration >= 0) {
		rt_text_puts(t, " iteration ");
		rt_text_int(t, iteration);
	}
}

/* An earlier statement of a line. find_lasts lists them: lasts[0] is the latest. */
struct last {
	uint32_t label;
	int64_t iteration;
};

static unsigned find_lasts(const struct rt_board_line *l, struct last *lasts)
{
	uint64_t begun = atomic_load_explicit(&l->begun, memory_order_relaxed);
	unsigned n = begun < RT_BOARD_RECENT ? (unsigned)begun : RT_BOARD_RECENT;
	for (unsigned k = 0; k < n; k++) {
		unsigned at = (unsigned)(begun - 1 - k) % RT_BOARD_RECENT;
		lasts[k] = (struct last){
		    read_u32(&l->recent[at].label),
		    atomic_load_explicit(&l->recent[at].iteration, memory_order_relaxed),
		};
	}
	return n;
}

static void put_standing(struct rt_text *t, const struct rt_board_rank *r, const struct rt_board_line *l)
{
	struct last lasts[RT_BOARD_RECENT];
	unsigned n = find_lasts(l, lasts), k = 0;
	uint32_t label = read_u32(&l->label), awaited = read_u32(&l->awaited);
	int64_t iteration = atomic_load_explicit(&l->iteration, memory_order_relaxed);
	int peer = atomic_load_explicit(&l->peer, memory_order_relaxed) - 1;
	rt_text_puts(t, read_u32(&l->state) == RT_LINE_RUNNING ? ": running  " : ": waiting in  ");
	put_label(t, r, label, iteration);
	if (rt_board_text(r, awaited)) {
		rt_text_puts(t, "  for  ");
		put_label(t, r, awaited, -1);
	} else if (peer >= 0) {
		rt_text_puts(t, "  for  ");
		put_rank(t, peer);
	}
	rt_text_puts(t, "\n");
	if (n && lasts[0].label == label && lasts[0].iteration == iteration)
		k = 1; /* the first is the current statement */
	for (; k < n; k++) {
		rt_text_puts(t, "    after  ");
		put_label(t, r, lasts[k].label, lasts[k].iteration);
		rt_text_puts(t, "\n");
	}
}

static bool is_stream(const struct rt_board_line *l, const char *name)
{
	return !read_u32(&l->members) && strcmp(name, "message") != 0;
}

/* Prints a line in which the rank is, or a stream that is done with everything. Returns false if there
 * is nothing to print. */
static bool put_line(struct rt_text *t, int rank, const struct rt_board_rank *r,
                     const struct rt_board_line *l, bool want_idle)
{
	const char *name = rt_board_text(r, read_u32(&l->name));
	struct last lasts[RT_BOARD_RECENT];
	bool idle = read_u32(&l->state) == RT_LINE_IDLE;
	if (!name || idle != want_idle || (idle && (!is_stream(l, name) || !find_lasts(l, lasts))))
		return false;
	put_rank(t, rank);
	rt_text_puts(t, " ");
	rt_text_puts(t, name);
	if (!idle) {
		put_standing(t, r, l);
	} else {
		rt_text_puts(t, ": done with  ");
		put_label(t, r, lasts[0].label, lasts[0].iteration);
		rt_text_puts(t, "\n");
	}
	return true;
}

/* ---- ranks */

/* Returns the state of a process as /proc has it; 'Z' if there is none. */
static char state_of(int process)
{
	struct rt_text path = {.file = -1};
	char text[512];
	rt_text_puts(&path, "/proc/");
	rt_text_int(&path, process);
	put_bytes(&path, "/stat", sizeof "/stat");
	int file = open(path.at, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 'Z';
	ssize_t n = read(file, text, sizeof text - 1);
	close(file);
	text[n > 0 ? n : 0] = 0;
	const char *end = strrchr(text, ')'); /* end of its name */
	return end && end[1] == ' ' ? end[2] : 'Z';
}

bool rt_report_is_stopped(const struct rt_board *b, int rank)
{
	const struct rt_board_rank *r = rt_board_find(b, rank);
	int process = r ? atomic_load_explicit(&r->process, memory_order_relaxed) : 0;
	char state = process ? state_of(process) : 'R';
	return state == 'T' || state == 't';
}

static void put_rank_lines(const struct rt_board *b, int rank, struct rt_text *t)
{
	const struct rt_board_rank *r = rt_board_find(b, rank);
	if (!r)
		return;
	bool any = false;
	int process = atomic_load_explicit(&r->process, memory_order_relaxed);
	char state = process ? state_of(process) : 'R';
	const char *host = rt_board_text(r, read_u32(&r->host)), *what = "idle";
	if (host && strcmp(host, "finished") == 0) {
		put_rank(t, rank);
		rt_text_puts(t, ": finished\n");
		return;
	}
	bool dead = state == 'Z' || state == 'X' || read_u32(&r->life.lost);
	if (dead || state == 'T' || state == 't') {
		put_rank(t, rank);
		rt_text_puts(t, dead ? ": dead\n" : ": stopped\n");
		any = true;
	}
	bool stands = false;
	for (int i = 0; i < RT_BOARD_LINES; i++)
		stands |= put_line(t, rank, r, &r->line[i], false);
	for (int i = 0; i < RT_BOARD_LINES && !stands; i++)
		any |= put_line(t, rank, r, &r->line[i], true);
	any |= stands;
	if (!host && any)
		return;
	put_rank(t, rank);
	rt_text_puts(t, host ? ": waiting for " : ": ");
	rt_text_puts(t, host ? host : what);
	rt_text_puts(t, "\n");
}

/* ---- who waits for whom */

struct ranks {
	uint64_t bit[RT_MAX_RANKS / 64];
};

static void add_to_ranks(struct ranks *s, int rank)
{
	if (rank >= 0 && rank < RT_MAX_RANKS)
		s->bit[rank / 64] |= (uint64_t)1 << rank % 64;
}

static bool is_in_ranks(const struct ranks *s, int rank)
{
	return s->bit[rank / 64] >> rank % 64 & 1;
}

/* Returns the number of statements that r has reached on its line of that name, which may be at the same
 * place. */
static uint64_t begun_by(const struct rt_board_rank *r, const char *name, int place)
{
	for (int i = 0; i < RT_BOARD_LINES; i++) {
		const struct rt_board_line *l = &r->line[(place + i) % RT_BOARD_LINES];
		const char *own = rt_board_text(r, read_u32(&l->name));
		if (own && strcmp(own, name) == 0)
			return atomic_load_explicit(&l->begun, memory_order_relaxed);
	}
	return 0;
}

/* Adds the members of a collective that have not reached it. */
static void add_members(const struct rt_board *b, const struct rt_board_rank *r, int place, struct ranks *s)
{
	const struct rt_board_line *l = &r->line[place];
	const char *at = r->text + read_u32(&l->members), *name = rt_board_text(r, read_u32(&l->name));
	uint64_t begun = atomic_load_explicit(&l->begun, memory_order_relaxed);
	int n, rank;
	memcpy(&n, at, sizeof n);
	for (int k = 0; k < n && name; k++) {
		memcpy(&rank, at + ((size_t)k + 1) * sizeof rank, sizeof rank);
		const struct rt_board_rank *q = rt_board_find(b, rank);
		if (q && begun_by(q, name, place) < begun)
			add_to_ranks(s, rank);
	}
}

static void waited_for(const struct rt_board *b, int rank, struct ranks *s)
{
	const struct rt_board_rank *r = rt_board_find(b, rank);
	*s = (struct ranks){0};
	if (!r)
		return;
	for (int i = 0; i < RT_BOARD_LINES; i++) {
		const struct rt_board_line *l = &r->line[i];
		if (!read_u32(&l->name) || read_u32(&l->state) != RT_LINE_WAITING)
			continue;
		add_to_ranks(s, atomic_load_explicit(&l->peer, memory_order_relaxed) - 1);
		if (read_u32(&l->members))
			add_members(b, r, i, s);
	}
	add_to_ranks(s, atomic_load_explicit(&r->receiver, memory_order_relaxed) - 1);
	for (int k = 0; k < b->ranks && read_u32(&r->meets); k++) {
		const struct rt_board_rank *q = rt_board_find(b, b->first + k);
		if (q && read_u32(&q->met) < read_u32(&r->met))
			add_to_ranks(s, b->first + k);
	}
}

/* Prints `rank 2` or `ranks 0 1 3`. Returns their number, which may be 0. */
static int put_ranks(const struct ranks *s, struct rt_text *t)
{
	int n = 0, shown = 0;
	for (int k = 0; k < RT_MAX_RANKS; k++)
		n += is_in_ranks(s, k);
	rt_text_puts(t, n == 0 ? "" : n == 1 ? "rank" : "ranks");
	for (int k = 0; k < RT_MAX_RANKS && shown < SHOWN_RANKS; k++)
		if (is_in_ranks(s, k)) {
			rt_text_puts(t, " ");
			rt_text_int(t, k);
			shown++;
		}
	if (n > shown) {
		rt_text_puts(t, " and ");
		rt_text_int(t, n - shown);
		rt_text_puts(t, " more");
	}
	return n;
}

/* Prints a line for each set of ranks for which some wait. */
static void put_waits(const struct rt_board *b, struct rt_text *t)
{
	struct ranks set, waiters;
	uint64_t hash[RT_MAX_RANKS]; /* by rank: hash of its waits; 0: it waits for nobody */
	for (int r = 0; r < b->ranks; r++) {
		uint64_t h = 0;
		waited_for(b, b->first + r, &set);
		for (unsigned k = 0; k < sizeof set.bit / sizeof *set.bit; k++)
			h = hash_number(h, set.bit[k]);
		hash[r] = h;
	}
	for (int r = 0; r < b->ranks; r++) {
		uint64_t h = hash[r];
		if (!h)
			continue;
		waiters = (struct ranks){0};
		waited_for(b, b->first + r, &set);
		for (int k = r; k < b->ranks; k++)
			if (hash[k] == h) {
				add_to_ranks(&waiters, b->first + k);
				hash[k] = 0;
			}
		rt_text_puts(t, put_ranks(&waiters, t) == 1 ? " waits for " : " wait for ");
		put_ranks(&set, t);
		rt_text_puts(t, "\n");
	}
}

/* ---- the whole */

void rt_report_put(const struct rt_board *b, struct rt_text *t)
{
	for (int r = 0; r < b->ranks; r++)
		put_rank_lines(b, b->first + r, t);
	put_waits(b, t);
}

static int status_of(const struct rt_board *b)
{
	return atomic_load_explicit(&b->status, memory_order_acquire);
}

bool rt_report_end(struct rt_board *b, int rank, enum status status)
{
	int none = STATUS_OK;
	if (!atomic_compare_exchange_strong(&b->status, &none, (int)status))
		return false;
	atomic_store_explicit(&b->status_rank, rank, memory_order_relaxed);
	pid_t launcher = atomic_load_explicit(&b->launcher, memory_order_relaxed);
	if (launcher > 0 && rank >= 0)
		kill(launcher, SIGUSR1);
	return true;
}

bool rt_report(struct rt_board *b, int rank, const char *first, enum status status)
{
	int nobody = 0;
	if (status_of(b) != STATUS_OK)
		return false;
	if (!atomic_compare_exchange_strong(&b->reporter, &nobody, 1)) {
		int64_t end = rt_clock_us() + PATIENCE_US;
		while (status_of(b) == STATUS_OK && rt_clock_us() < end)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		return false;
	}
	struct rt_text t = {.file = STDERR_FILENO};
	rt_text_puts(&t, "hirc: ");
	if (rank >= 0) {
		put_rank(&t, rank);
		rt_text_puts(&t, ": ");
	}
	rt_text_puts(&t, "error: ");
	rt_text_puts(&t, first);
	rt_text_puts(&t, "\n");
	rt_report_put(b, &t);
	rt_text_send(&t);
	rt_report_end(b, rank, status);
	return true;
}
