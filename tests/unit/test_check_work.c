/* Tests how many statements src/check walks: few ranks of many, and few more once an error is known. */
#include "check/check.h"
#include "test_program.h"

enum { RANKS = 4096, ONE_RANK = 1 << 16 }; /* a rank of the programs walks less than ONE_RANK statements */

struct checked {
	unsigned errors;
	unsigned times; /* calls of o->progress */
};

static void count(void *to, double done)
{
	(void)done;
	++*(unsigned *)to;
}

/* Checks a program on RANKS ranks, in at most so many steps. */
static struct checked check(const char *text, uint64_t work)
{
	struct program p = program_of(text);
	struct diag *nowhere = diag_new(NULL, DIAG_TEXT, 0);
	struct checked out = {0};
	const struct check_options o = {.ranks = RANKS, .work = work, .progress = count, .to = &out.times};
	struct check_result r;
	check_program(p.m, nowhere, &o, &r);
	out.errors = diag_error_count(nowhere);
	diag_free(nowhere);
	program_free(&p);
	return out;
}

/* All ranks have the errors of one. */
static void test_errors_of_one_rank(void)
{
	static const char *const race = "mesh ring(x = 4096)\n"
	                                "program race on ring {\n"
	                                "  input V: f32[4095@x, 10]\n"
	                                "  output S: f32[4095@x, 10] = allocate()\n"
	                                "  output Z: f32[4095, 10] = allocate()\n"
	                                "  for i in 0..4096 {\n"
	                                "    Z <- allgather(V, axis=x) as d\n"
	                                "    S <- reduce_scatter(Z, axis=x) as e\n"
	                                "    wait(d)\n"
	                                "    wait(e)\n"
	                                "  }\n"
	                                "}\n";
	static const char *const wait = "mesh ring(x = 4096)\n"
	                                "program wait on ring {\n"
	                                "  input X: f32[8192@x, 10]\n"
	                                "  output Y: f32[8192, 10] = allocate()\n"
	                                "  Y <- allgather(X, axis=x) as c\n"
	                                "  for i in 0..4096 {\n"
	                                "    wait(c)\n"
	                                "  }\n"
	                                "}\n";
	CHECK_EQ(check(race, ONE_RANK).errors, 1);
	CHECK_EQ(check(wait, ONE_RANK).errors, 1);
	CHECK(check(race, CHECK_MAX_WORK).times < 32);
	CHECK(check(wait, CHECK_MAX_WORK).times < 32);
}

/* All ranks are walked for an error that names several, until it is found. */
static void test_errors_of_several_ranks(void)
{
	static const char *const blocks = "mesh ring(x = 4096)\n"
	                                  "program blocks on ring {\n"
	                                  "  input X: f32[8192@x, 10]\n"
	                                  "  output Y: f32[8192@x, 10] = allocate()\n"
	                                  "  for i in 0..4096 {\n"
	                                  "    send(X, peer=device(x, (axis_index(x) + 1) % 4096)) as s\n"
	                                  "    recv(Y, peer=device(x, (axis_index(x) + 4095) % 4096)) as r\n"
	                                  "    wait(s)\n"
	                                  "    wait(r)\n"
	                                  "  }\n"
	                                  "}\n";
	struct checked c = check(blocks, CHECK_MAX_WORK);
	CHECK_EQ(c.errors, 1);
	CHECK(c.times < 2 * CHECK_MORE_WORK >> 13);
}

int main(void)
{
	test_errors_of_one_rank();
	test_errors_of_several_ranks();
	return check_result();
}
