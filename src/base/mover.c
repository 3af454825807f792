/* mover: see mover.h. */
#include "base/mover.h"
#include <assert.h>
#include <string.h>

#define BIT(k) (1u << (k))

struct row {
	const char *name;
	unsigned transports, kinds; /* bit sets */
	int64_t least, most;        /* bytes */
	bool window;
};

static const struct row rows[MOVER_COUNT] = {
#define MOVER(id, name, transports, kinds, least, most, window, meaning)                                     \
	[MOVER_##id] = {name, transports, kinds, least, most, window},
#include "base/movers.def"
#undef MOVER
};

const char mover_list[] = "auto"
#define MOVER(id, name, ...) "|" name
#include "base/movers.def"
#undef MOVER
    ;

const char *mover_name(enum mover m)
{
	return rows[m].name;
}

enum mover mover_find(const char *name)
{
	enum mover m = 0;
	while (m < MOVER_COUNT && strcmp(rows[m].name, name) != 0)
		m++;
	assert(m < MOVER_COUNT || strcmp(name, "auto") == 0);
	return m;
}

bool mover_needs_window(enum mover m)
{
	return rows[m].window;
}

/* Returns true if NCCL's kernels for symmetric memory compute the reduction as hirc defines it: they only add floats of
 * 16 and 32 bits. A mean is a sum that hirc divides, and a sum of f16 may be too large for f16. */
static bool adds_in_window(const struct mover_case *c)
{
	bool sums = c->op == REDUCE_SUM || (c->op == REDUCE_AVG && c->dtype != DTYPE_F16);
	return sums && (c->dtype == DTYPE_F32 || c->dtype == DTYPE_F16 || c->dtype == DTYPE_BF16);
}

/* Returns the reason why a mover does not do a collective of its transport; NULL: it can. */
static const char *find_obstacle(enum mover m, const struct mover_case *c)
{
	if (!(c->able & BIT(m)))
		return "library or GPUs lack it";
	if (!rows[m].window)
		return NULL;
	if (!c->placed)
		return "its size or place varies";
	if (!c->even)
		return "its blocks differ in size or order";
	if (collective_reduces(c->kind) && !adds_in_window(c))
		return "NCCL adds only f32, bf16 and f16 in windows";
	if (collective_reduces(c->kind) && c->exact)
		return "NCCL rounds at each step";
	return NULL;
}

static void put_size(const struct mover_case *c, struct buf *out)
{
	if (c->bytes < 0)
		buf_puts(out, "its size varies");
	else
		buf_printf(out, "%s%lld bytes", collective_has_blocks(c->kind) ? "blocks of " : "",
		           (long long)c->bytes);
}

enum mover mover_choose(enum mover asked, const struct mover_case *c, struct buf *why)
{
	bool found = false;
	for (enum mover m = MOVER_TRANSPORT + 1; m < MOVER_COUNT && c->members > 1; m++) {
		if ((asked != MOVER_AUTO && asked != m) || !(rows[m].transports & BIT(c->transport)) ||
		    !(rows[m].kinds & BIT(c->kind)))
			continue;
		const char *obstacle = find_obstacle(m, c);
		bool fits = c->bytes >= rows[m].least && c->bytes <= rows[m].most;
		if (!obstacle && (fits || asked == m)) {
			why->n = 0;
			put_size(c, why);
			return m;
		}
		buf_printf(why, "%snot %s: ", found ? "; " : "", rows[m].name);
		if (obstacle)
			buf_puts(why, obstacle);
		else
			put_size(c, why);
		found = true;
	}
	if (c->members == 1)
		buf_puts(why, "the team has one member");
	else if (!found) {
		buf_puts(why, asked == MOVER_AUTO ? "nothing else moves" : rows[asked].name);
		buf_printf(why, "%s %s with %s", asked == MOVER_AUTO ? "" : " does not move",
		           collective_name(c->kind), transport_kind_name(c->transport));
	}
	return MOVER_TRANSPORT;
}
