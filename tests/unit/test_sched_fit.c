/* Tests of sched_fit: the order is a schedule within the limit afterwards, or as before if that fails. An order that fits
 * does not change. */
#include "check.h"
#include "sched/fit.h"
#include "test_sched.h"

enum { PROBLEMS = 2000, NODES = 12 };

/* Draws an order: at each step, one of the nodes whose needs are issued. */
static void draw_order(const struct sched_problem *p, struct test_random *r, uint32_t *order)
{
	bool issued[NODES] = {0};
	for (uint32_t n = 0; n < p->n; n++) {
		uint32_t ready[NODES], ready_n = 0;
		for (uint32_t x = 0; x < p->n; x++) {
			bool is_ready = !issued[x];
			for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
				is_ready &= issued[p->pred.item[i]];
			if (is_ready)
				ready[ready_n++] = x;
		}
		order[n] = ready[test_draw(r, ready_n)];
		issued[order[n]] = true;
	}
}

/* Fits a drawn order into the memory of another one. Returns true if it exceeded that, and fits now. */
static bool fit_drawn(uint32_t seed)
{
	struct arena *a = arena_new();
	struct test_random random = {seed};
	struct sched_problem p;
	uint32_t order[NODES], before[NODES];
	test_problem(a, seed, NODES, &p);
	draw_order(&p, &random, order);
	int64_t limit = sched_simulate(&p, order, NULL).peak;
	draw_order(&p, &random, order);
	memcpy(before, order, sizeof order);
	bool over = sched_simulate(&p, order, NULL).peak > limit, fits = sched_fit(&p, limit, order);
	CHECK(fits || over);
	CHECK(sched_is_schedule(&p, order));
	if (fits)
		CHECK(sched_simulate(&p, order, NULL).peak <= limit);
	if (!fits || !over)
		CHECK(!memcmp(before, order, sizeof order));
	arena_free(a);
	return over && fits;
}

/* Checks that a node without room goes as soon as it fits, and that the others keep their order:
 *
 *     make a; make b; make c; use a; use b; use c
 *
 * Each makes 2 bytes, and memory has 4. */
static void check_places(void)
{
	enum { MADE = 3, ALL = 2 * MADE };
	static const uint32_t expected[ALL] = {0, 1, 3, 2, 4, 5};
	struct arena *a = arena_new();
	struct sched_problem p = {.n = ALL, .storage_n = MADE};
	struct sched_pair edge[MADE], use[MADE];
	uint32_t order[ALL];
	p.node = arena_new_array(a, struct sched_node, ALL);
	p.storage = arena_new_array(a, struct sched_storage, MADE);
	for (uint32_t k = 0; k < MADE; k++) {
		p.node[k] = p.node[k + MADE] = (struct sched_node){.comm = SCHED_NONE, .kind = SCHED_COMPUTE};
		p.storage[k] = (struct sched_storage){2, k, false};
		edge[k] = (struct sched_pair){k, k + MADE};
		use[k] = (struct sched_pair){k + MADE, k};
	}
	sched_problem_finish(&p, a, edge, MADE, use, MADE);
	for (uint32_t x = 0; x < ALL; x++)
		order[x] = x;
	CHECK(!sched_fit(&p, 1, order));
	CHECK(sched_fit(&p, 4, order));
	for (uint32_t k = 0; k < ALL; k++)
		CHECK_EQ(order[k], expected[k]);
	arena_free(a);
}

int main(void)
{
	unsigned fitted = 0;
	check_places();
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		fitted += fit_drawn(seed);
	CHECK(fitted > PROBLEMS / 16);
	return check_result();
}
