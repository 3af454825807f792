/* Tests of crest_path: it finds the least of a search in which buckets may end before more parts than they must. */
#include "check.h"
#include "sched/crest_path.h"
#include "test_sched.h"

enum { PROBLEMS = 3000, PARTS = 6, CELLS = 5, KINDS = 4, RARE = 2 };

struct drawn {
	struct crest_path path;
	struct crest_part part[PARTS];
	struct crest_kind kind[KINDS];
	int64_t known[RARE + 1][PARTS + 1][CELLS + 1]; /* least cost of the rest; -1: not yet found */
};

static struct crest_kind draw_kind(struct test_random *r)
{
	return (struct crest_kind){.cost = test_draw(r, 30),
	                           .time = test_draw(r, 60),
	                           .flight = test_draw(r, 8),
	                           .issue = test_draw(r, 10),
	                           .cells = test_draw(r, 3)};
}

static void draw(struct drawn *d, uint32_t seed)
{
	struct test_random r = {seed * 7013u + 3};
	int64_t needed = 0;
	*d = (struct drawn){.path = {.part = d->part,
	                             .kind = d->kind,
	                             .part_n = 1 + test_draw(&r, PARTS),
	                             .kind_n = 1 + test_draw(&r, KINDS),
	                             .room = 6 + test_draw(&r, 10),
	                             .cell = 1,
	                             .gathered = test_draw(&r, CELLS + 1),
	                             .ratio = 0.5 * (1 + test_draw(&r, 4)),
	                             .rare_n = test_draw(&r, RARE + 1),
	                             .rare_from = test_draw(&r, PARTS)}};
	for (uint32_t k = 0; k < d->path.part_n; k++) {
		if (needed < d->path.gathered)
			needed += test_draw(&r, 2);
		d->part[k] = (struct crest_part){.time = 1 + test_draw(&r, 30),
		                                 .room = test_draw(&r, 12),
		                                 .needed = needed,
		                                 .used = needed};
	}
	for (uint32_t k = 0; k < d->path.kind_n; k++)
		d->kind[k] = draw_kind(&r);
	d->path.rare = draw_kind(&r);
	d->path.rare.cells = 0;
	memset(d->known, 0xff, sizeof d->known);
}

static int64_t search(struct drawn *d, uint32_t rare, uint32_t done, uint32_t cells);

/* Returns the least cost of the rest if it begins with a bucket of a kind. */
static int64_t with_bucket(struct drawn *d, const struct crest_kind *k, uint32_t rare, uint32_t done,
                           uint32_t cells)
{
	int64_t best = INT64_MAX, between = 0;
	for (uint32_t end = done;; end++) {
		uint32_t after = cells + k->cells;
		bool moves = end > done || k->cells || k == &d->path.rare;
		int64_t rest = moves ? search(d, rare, end, after) : INT64_MAX;
		if (rest < INT64_MAX && rest + k->cost < best)
			best = rest + k->cost;
		if (end == d->path.part_n)
			return best;
		const struct crest_part *p = &d->part[end];
		int64_t ahead = cells > p->used ? (int64_t)(d->path.ratio * (double)(cells - p->used)) : 0;
		between += end > done + 1 ? d->part[end - 1].time : 0;
		if (cells < p->needed || k->flight + ahead > p->room || between > k->time)
			return best;
	}
}

static int64_t search(struct drawn *d, uint32_t rare, uint32_t done, uint32_t cells)
{
	if (cells > d->path.gathered)
		return INT64_MAX;
	if (done == d->path.part_n && cells == d->path.gathered)
		return 0;
	int64_t *known = &d->known[rare][done][cells], best = INT64_MAX;
	if (*known >= 0)
		return *known;
	bool last = done == d->path.part_n;
	int64_t used = last ? d->path.gathered : d->part[done].used,
	        ahead = cells > used ? (int64_t)(d->path.ratio * (double)(cells - used)) : 0;
	if (!last && cells >= d->part[done].needed && ahead <= d->part[done].room) {
		int64_t rest = search(d, rare, done + 1, cells);
		best = rest < INT64_MAX ? rest + d->part[done].time : best;
	}
	for (uint32_t k = 0; k < d->path.kind_n; k++) {
		if (d->kind[k].issue + ahead > d->path.room)
			continue;
		int64_t here = with_bucket(d, &d->kind[k], rare, done, cells);
		best = here < best ? here : best;
	}
	if (rare < d->path.rare_n && done >= d->path.rare_from) {
		int64_t here = with_bucket(d, &d->path.rare, rare + 1, done, cells);
		best = here < best ? here : best;
	}
	*known = best;
	return best;
}

int main(void)
{
	unsigned found = 0, rare = 0;
	for (uint32_t seed = 0; seed < PROBLEMS; seed++) {
		struct drawn d;
		draw(&d, seed);
		int64_t least = crest_path_least(&d.path);
		CHECK_EQ(least, search(&d, 0, 0, 0));
		found += least < INT64_MAX;
		d.path.rare_n = 0;
		rare += crest_path_least(&d.path) > least;
	}
	CHECK(found > PROBLEMS / 4);
	CHECK(rare > PROBLEMS / 100);
	return check_result();
}
