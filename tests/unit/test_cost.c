/* Tests of src/cost: times computed by hand, files that read back to the same figures, and the largest part
 * of a tensor compared with all parts. */
#include "check.h"
#include "cost/cost.h"
#include "cost/curve.h"
#include "cost/links.h"
#include "cost/local.h"
#include "ir/edit.h"
#include "ir/part.h"
#include "sched/problem.h"
#include "test_program.h"
#include <stdlib.h>

/* ---- curves */

static void test_curve(void)
{
	static const struct cluster_point up[] = {{10, 100}, {20, 205}, {40, 245}}, down[] = {{4, 9}, {8, 2}};
	const struct cluster_points p = {up, 3}, q = {down, 2}, one = {up, 1};
	CHECK_EQ(curve_time(&p, 0), 100);
	CHECK_EQ(curve_time(&p, 10), 100);
	CHECK_EQ(curve_time(&p, 15), 153); /* 152.5: halves up */
	CHECK_EQ(curve_time(&p, 20), 205);
	CHECK_EQ(curve_time(&p, 30), 225);
	CHECK_EQ(curve_time(&p, 41), 247); /* 2 a byte */
	CHECK_EQ(curve_time(&p, INT64_MAX), CLUSTER_MAX_TIME);
	CHECK_EQ(curve_time(&q, 5), 7); /* 7.25 */
	CHECK_EQ(curve_time(&q, 6), 6); /* 5.5 */
	CHECK_EQ(curve_time(&q, 9), 2); /* not less than the last point */
	CHECK_EQ(curve_time(&one, 99), 100);
	CHECK_EQ(curve_rate_time(0, 1, 5), 0);
	CHECK_EQ(curve_rate_time(1, 1, 1000000000), 1);
	CHECK_EQ(curve_rate_time(10, 3, 1000000000), 4); /* 3.3, rounded up */
	CHECK_EQ(curve_rate_time((cost_amount)1 << 120, 1, 1), CLUSTER_MAX_TIME);
	CHECK_EQ(curve_add(CLUSTER_MAX_TIME, CLUSTER_MAX_TIME), CLUSTER_MAX_TIME);
}

/* The scheduler's tables give the same times. */
static void test_curve_is_the_scheduler_s(void)
{
	uint64_t random = 1;
	for (unsigned round = 0; round < 200; round++) {
		struct cluster_point at[8];
		struct sched_point point[8];
		int64_t size = 0, time = 0;
		for (unsigned k = 0; k < 8; k++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			size += 1 + (int64_t)(random >> 40);
			time += (int64_t)(random >> 33 & 0xffff);
			at[k] = (struct cluster_point){size, time};
			point[k] = (struct sched_point){(double)size, (double)time};
		}
		const struct cluster_points p = {at, 8};
		const struct sched_family f = {.point = point, .n = 8};
		for (int64_t x = 0; x < 2 * size; x += size / 37 + 1)
			CHECK_EQ(curve_time(&p, x), sched_family_time(&f, x));
	}
}

/* ---- links */

/* Pairs at 100 GB/s and 1000 ns, groups of 8 at 10 GB/s and 5000 ns. */
static const struct cluster_link pod_link[] = {{2, 1000, 100000000000, false}, {8, 5000, 10000000000, true}};
static const struct cluster pod = {
    .name = "pod", .memory_rate = 1000000000000, .network.link = pod_link, .network.link_n = 2};

static int64_t on_links(enum collective kind, const uint32_t *device, uint32_t n, int64_t bytes)
{
	struct links_team t;
	CHECK(links_team(&pod, device, n, &t));
	return links_time(&pod, &t, kind, bytes);
}

static void test_links(void)
{
	static const uint32_t pair[] = {2, 3}, apart[] = {0, 2}, all[] = {7, 5, 3, 1, 0, 2, 4, 6},
	                      three[] = {0, 1, 2}, two_pairs[] = {4, 5, 0, 1}, far[] = {7, 8};
	struct links_team t;
	CHECK(!links_team(&pod, far, 2, &t));
	CHECK(links_team(&pod, all, 8, &t) && t.link == 1 && t.levels == 2 && t.level[0].members == 2 &&
	      t.level[1].members == 4);
	CHECK(links_team(&pod, apart, 2, &t) && t.link == 1 && t.levels == 1 && t.level[0].link == 1);
	CHECK(links_team(&pod, three, 3, &t) && t.link == 1 && t.levels == 1 && t.level[0].members == 3);
	CHECK(links_team(&pod, pair, 1, &t) && t.link == 0 && t.levels == 0);

	/* 1000 + 10^6 / 2 bytes at 100 GB/s; apart 5000 + the same at 10 GB/s */
	CHECK_EQ(on_links(COLLECTIVE_ALLGATHER, pair, 2, 1000000), 6000);
	CHECK_EQ(on_links(COLLECTIVE_REDUCE_SCATTER, apart, 2, 1000000), 55000);
	/* 8 ranks: 1 x 1000 + 800000 / 2 at 100, then 3 x 5000 + 800000 x 3 / 8 at 10 GB/s */
	CHECK_EQ(on_links(COLLECTIVE_ALLGATHER, all, 8, 800000), 1000 + 4000 + 15000 + 30000);
	/* twice that time, or (1000 + 8000) + 2 (5000 + 80000) */
	CHECK_EQ(on_links(COLLECTIVE_ALLREDUCE, all, 8, 800000), 100000);
	/* of 8 bytes: (1000 + 1) + 2 x 5000 + 2 (1.6: up) */
	CHECK_EQ(on_links(COLLECTIVE_ALLREDUCE, all, 8, 8), 11003);
	/* tree of 4 KB: 1000 + 40 + 5000 + 400; halves: (1 + 1) 1000 + 40 + (1 + 1) 5000 + 200 */
	CHECK_EQ(on_links(COLLECTIVE_BROADCAST, two_pairs, 4, 4000), 6440);
	/* 4 MB: tree 41000 + 405000; halves 2000 + 40000 + 10000 + 200000 */
	CHECK_EQ(on_links(COLLECTIVE_REDUCE, two_pairs, 4, 4000000), 252000);
	/* one rank of the pair has 1 MB, two beyond have 2 MB: 1000 + 10000 + 5000 + 200000 */
	CHECK_EQ(on_links(COLLECTIVE_GATHER, two_pairs, 4, 4000000), 216000);
	/* the same, with a message for each: 1000 + 10000 + 2 x 5000 + 200000 */
	CHECK_EQ(on_links(COLLECTIVE_ALL_TO_ALL, two_pairs, 4, 4000000), 221000);
	CHECK_EQ(on_links(COLLECTIVE_SEND_RECV, two_pairs, 4, 4000000), 405000);
	CHECK_EQ(on_links(COLLECTIVE_BARRIER, all, 8, 0), 1000 + 2 * 5000);
	/* uneven: 2 x 5000 + 3 MB x 2 / 3 at 10 GB/s */
	CHECK_EQ(on_links(COLLECTIVE_ALLGATHER, three, 3, 3000000), 210000);
}

/* Ranks that share a device share the links' rates, not their latencies. */
static void test_links_of_sharers(void)
{
	static const uint32_t pair[] = {2, 3}, uneven[] = {0, 4, 5, 6};
	struct cluster x = pod;
	struct links_team t;
	x.devices = 1;
	x.sharers = 4;
	CHECK(links_team(&x, pair, 2, &t) && t.sharing == 4 && t.members == 1);
	CHECK_EQ(links_time(&x, &t, COLLECTIVE_ALLGATHER, 1000000), 1000 + 4 * 5000);
	CHECK_EQ(links_share(&t, 7), 28);
	x.measured_ranks = 3;
	CHECK(links_team(&x, pair, 2, &t) && t.sharing == 4 && t.members == 2);
	CHECK_EQ(links_time(&x, &t, COLLECTIVE_ALLGATHER, 1000000), 1000 + 2 * 5000);
	CHECK(links_team(&x, uneven, 4, &t) && t.members == 3);
	CHECK_EQ(links_share(&t, 7), 10); /* 9.3, rounded up */
	CHECK_EQ(links_share(&t, CLUSTER_MAX_TIME), CLUSTER_MAX_TIME);
	x.devices = 2; /* 0, 4 and 6 have one, 5 the other; 2 and 3 have one each */
	x.measured_ranks = 4;
	CHECK(links_team(&x, uneven, 4, &t) && t.members == 3);
	CHECK(links_team(&x, pair, 2, &t) && t.members == 1);
	x.devices = 0;
	CHECK(links_team(&x, uneven, 4, &t) && t.members == 0);
}

/* ---- files */

static struct cluster *read_text(const char *text)
{
	struct diag *d = diag_new(stderr, DIAG_TEXT, 0);
	struct source *s = source_from_text("c.json", text, (uint32_t)strlen(text));
	struct cluster *c = cluster_read(d, s);
	source_free(s);
	diag_free(d);
	return c;
}

/* A written file reads back equal, and is written again equal. */
static void check_written(const struct cluster *c)
{
	struct buf text = {0}, again = {0};
	cluster_write(c, &text);
	struct cluster *read = read_text(text.at);
	CHECK(read != NULL);
	if (read) {
		cluster_write(read, &again);
		CHECK_STR(again.at, text.at);
		CHECK_EQ(cluster_hash(read), cluster_hash(c));
	}
	cluster_free(read);
	buf_free(&text);
	buf_free(&again);
}

static struct cluster everything(void)
{
	static const struct cluster_point touch[] = {{64, 10}, {4096, 500}}, points[] = {{8, 1}, {16, 2}};
	static const struct cluster_product product[] = {{DTYPE_F32, 2, 3, 4, 5}, {DTYPE_I8, 6, 7, 8, 9}};
	static const int64_t extent[] = {1, 16, 64}, time[] = {9, 8, 7, 6, 5, 4};
	static const struct cluster_grid grid[] = {
	    {DTYPE_F32, {{extent, 2}, {extent, 1}, {extent, 3}}, time, {touch, 2}},
	    {DTYPE_BF16, {{extent, 1}, {extent, 1}, {extent, 1}}, time, {NULL, 0}}};
	static const struct cluster_function function[] = {{OP_GELU, DTYPE_F32, 10},
	                                                   {OP_SUM, DTYPE_BF16, 11}};
	static const struct cluster_table table[] = {{COLLECTIVE_ALLREDUCE, 2, 2, {points, 2}},
	                                             {COLLECTIVE_BARRIER, 4, 8, {points, 1}}};
	struct cluster c = pod;
	c.name = "a \"b\"\\\n";
	c.issue[CALL_KERNEL] = 7;
	c.issue[CALL_COPY] = 8;
	c.node[CALL_MEMORY] = 9;
	c.devices = 4;
	c.measured_ranks = 2;
	c.memory = CLUSTER_MAX_NUMBER;
	c.flops_rate[DTYPE_F32] = 11;
	c.flops_rate[DTYPE_I8] = 12;
	c.touch = (struct cluster_points){touch, 2};
	c.product = product;
	c.product_n = 2;
	c.grid = grid;
	c.grid_n = 2;
	c.function = function;
	c.function_n = 2;
	c.network.table = table;
	c.network.table_n = 2;
	c.network.compute_per_mille = 1100;
	c.network.comm_per_mille = 1050;
	c.network.contention[COLLECTIVE_ALLREDUCE] = (struct cluster_contention){1350, 1000};
	c.network.contention[COLLECTIVE_BARRIER] = (struct cluster_contention){1000, 1200};
	return c;
}

static void test_files(void)
{
	struct cluster c = everything();
	static const char *const names[] = {"cpu", "h100"};
	check_written(&c);
	for (unsigned k = 0; k < 2; k++) {
		struct cluster *built = cluster_builtin(names[k]);
		CHECK(built != NULL);
		check_written(built);
		cluster_free(built);
	}
	CHECK(cluster_builtin("x") == NULL);
}

/* Each figure changes the hash, the name does not. */
static void test_hash(void)
{
	struct cluster c = everything();
	uint64_t before = cluster_hash(&c);
	int64_t *figure[] = {&c.issue[CALL_KERNEL],
	                     &c.issue[CALL_EVENT],
	                     &c.node[CALL_COPY],
	                     &c.devices,
	                     &c.measured_ranks,
	                     &c.memory,
	                     &c.memory_rate,
	                     &c.flops_rate[DTYPE_F32],
	                     &c.network.compute_per_mille,
	                     &c.network.comm_per_mille,
	                     &c.network.contention[COLLECTIVE_ALLREDUCE].compute,
	                     &c.network.contention[COLLECTIVE_ALLREDUCE].comm,
	                     &c.network.contention[COLLECTIVE_GATHER].compute,
	                     &c.flops_rate[DTYPE_I8]};
	for (unsigned k = 0; k < sizeof figure / sizeof *figure; k++) {
		++*figure[k];
		CHECK(cluster_hash(&c) != before);
		--*figure[k];
	}
	c.name = "other";
	CHECK_EQ(cluster_hash(&c), before);
	c.touch.n--;
	CHECK(cluster_hash(&c) != before);
	c.touch.n++;
	c.grid_n--;
	CHECK(cluster_hash(&c) != before);
	c.grid_n++;
	c.function_n--;
	CHECK(cluster_hash(&c) != before);
	c.function_n++;
	c.network.table_n--;
	CHECK(cluster_hash(&c) != before);
}

/* ---- programs */

static op_id first_of(const struct module *m, enum op_kind kind)
{
	op_id op = ir_walk_first(m);
	while (op && m->op.at[op].kind != kind)
		op = ir_walk(m, op);
	CHECK(op != 0);
	return op;
}

/* Returns the program's ranks that share a device. */
static int64_t sharers_of(struct program *p, int64_t devices)
{
	struct cluster x = pod;
	x.devices = devices;
	struct cost *c = cost_new(p->m, &x, p->d);
	int64_t sharers = cost_cluster(c)->sharers;
	cost_free(c);
	return sharers;
}

static void test_sharers(void)
{
	struct program p = program_of("mesh m(x = 4)\n"
	                              "program p on m {\n"
	                              "  input X: f32[400@x, 4]\n"
	                              "  Y: f32[400@x, 4] = neg(X)\n"
	                              "}\n");
	struct cluster x = pod;
	CHECK_EQ(sharers_of(&p, 0), 1);
	CHECK_EQ(sharers_of(&p, 1), 4);
	CHECK_EQ(sharers_of(&p, 3), 2); /* ranks 0 and 3 */
	CHECK_EQ(sharers_of(&p, 8), 1);

	/* 1600 bytes are read and 1600 written, at 1000 GB/s */
	x.devices = 1;
	struct cost *c = cost_new(p.m, &x, p.d);
	CHECK_EQ(cost_op_time(c, first_of(p.m, OP_NEG)), 4 * 4);
	CHECK_EQ(cost_touch_time(c, 3200), 16);
	CHECK(cost_memory_rate(c) == 1e12 / 4);
	cost_free(c);
	x.measured_ranks = 8;
	c = cost_new(p.m, &x, p.d);
	CHECK_EQ(cost_op_time(c, first_of(p.m, OP_NEG)), 2);
	CHECK(cost_memory_rate(c) == 1e12 * 2);
	cost_free(c);
	program_free(&p);
}

static void test_interface(void)
{
	struct program p = program_of("mesh m(x = 4)\n"
	                              "program p on m {\n"
	                              "  input X: f32[10@x, 4]\n"
	                              "  Y: f32[10, 4] = allgather(X, axis=x) as c\n"
	                              "  wait(c)\n"
	                              "  z: f32[1] = extern \"f\"(Y) {time=9}\n"
	                              "}\n");
	struct cost *c = cost_new(p.m, &pod, p.d);
	op_id gather = first_of(p.m, OP_ALLGATHER), recorded = first_of(p.m, OP_EXTERN);
	team_id team = p.m->op.at[gather].team;
	/* four blocks of 3 rows, 48 bytes each: 1000 + 0.96 and 5000 + 4.8, both up */
	CHECK_EQ(cost_op_bytes(c, gather), 192);
	CHECK_EQ(cost_op_time(c, gather), 1001 + 5005);
	CHECK_EQ(cost_collective_operand_time(c, OP_ALLGATHER, team, 48), 6006);
	CHECK_EQ(cost_collective_operand_time(c, OP_REDUCE_SCATTER, team, 192), 6006);
	CHECK_EQ(cost_message_time(c, 0, 1, 1000000), 1000 + 10000);
	CHECK_EQ(cost_message_time(c, 1, 2, 1000000), 5000 + 100000);
	CHECK_EQ(cost_message_time(c, 1, 1, 1000000), 2000); /* a copy */
	CHECK_EQ(cost_touch_time(c, 1500), 2);
	CHECK_EQ(cost_touch_time(c, 0), 0);
	CHECK_EQ(cost_op_time(c, first_of(p.m, OP_WAIT)), 0);
	CHECK_EQ(cost_op_time(c, recorded), 9);
	CHECK(cost_op_is_recorded(c, recorded) && !cost_op_is_recorded(c, gather));
	cost_free(c);
	program_free(&p);
}

static void test_local(void)
{
	static const char *const layout[] = {
	    "10@x, 4",     "4@x, 3",          "10@x@y, 4",         "7, 5@y@x",       "25@x@stream(3)",
	    "10@block(3)", "25@block(4)@x",   "9@stream(2)@x",     "1@x, 1@y",       "3@x@y",
	    "0@x, 4",      "13@swizzle1d(x)", "20@y@swizzle1d(x)", "11@serial(2)@x", "6",
	};
	for (unsigned k = 0; k < sizeof layout / sizeof *layout; k++) {
		char text[256];
		struct local_shape s = {0};
		int64_t most = 0;
		snprintf(text, sizeof text,
		         "mesh m(x = 4, y = 2)\nprogram p on m {\n  input X: f32[%s]\n  Y = set(X)\n}\n",
		         layout[k]);
		struct program p = program_of(text);
		value_id v = p.m->input.at[0].value;
		for (int64_t r = 0; r < 8; r++) {
			struct part part;
			CHECK(part_of(p.m, p.m->value.at[v].type, r, NULL, &part));
			most = part_elements(&part) > most ? part_elements(&part) : most;
		}
		CHECK_EQ(local_shape(p.m, v, &s), EXPR_OK);
		CHECK_EQ(s.elements, most);
		if (s.elements != most)
			printf("    of f32[%s]\n", layout[k]);
		CHECK_EQ(s.bytes, 4 * most);
		program_free(&p);
	}
}

int main(void)
{
	test_curve();
	test_curve_is_the_scheduler_s();
	test_links();
	test_links_of_sharers();
#ifdef HIRC_HAVE_CJSON
	test_files();
#endif
	test_hash();
	test_sharers();
	test_interface();
	test_local();
	return check_result();
}
