/* Compares half-lowered programs with their sources: sets between layouts are meetings of all ranks. */
#include "test_program.h"
#include "values/values.h"

static enum values_relation compare(const char *half, const char *source, int64_t ranks)
{
	struct program p = program_of(half), q = program_of(source);
	struct diag *nowhere = diag_new(NULL, DIAG_TEXT, 0);
	const struct values_options o = {.ranks = ranks, .half_lowered = true};
	enum values_relation found = VALUES_NOT_RELATED;
	const enum values_status status = values_compare(p.m, q.m, nowhere, &o, "the source", &found);
	diag_free(nowhere);
	program_free(&p);
	program_free(&q);
	return status == VALUES_PROVED ? found : VALUES_NOT_RELATED;
}

#define RING                                                                                                 \
	"mesh ring(x = 4)\n"                                                                                 \
	"program p on ring {\n"                                                                              \
	"  input X: f32[8@x, 4]\n"                                                                           \
	"  input W: f32[4, 6]\n"

static const char ring[] = RING "  output Y: f32[8@swizzle1d(x), 6] = matmul(X, W)\n"
                                "}\n";

/* A ring: in each step a rank takes the block of the next one. */
static void test_gather_in_steps(void)
{
#define STEPS(body)                                                                                          \
	RING "  output Y: f32[8@swizzle1d(x), 6] = allocate()\n"                                             \
	     "  for i in 0..4 parallel(stream) {\n" body "  }\n"                                             \
	     "}\n"
	CHECK_EQ(compare(STEPS("    G: f32[8@swizzle1d(x), 4] = set(X)\n"
	                       "    y = shard_by_stream(Y, i)\n"
	                       "    y <- matmul(G, W)\n"),
	                 ring, 4),
	         VALUES_COMPUTES);
	CHECK_EQ(compare(STEPS("    G: f32[8@swizzle1d(x), 4] = set(X)\n"
	                       "    H: f32[8@swizzle1d(x), 4] = add(G, G)\n"
	                       "    y = shard_by_stream(Y, i)\n"
	                       "    y <- matmul(H, W)\n"),
	                 ring, 4),
	         VALUES_DIFFERS);
}

#define SUM                                                                                                  \
	"mesh grid(y = 2, x = 2)\n"                                                                          \
	"program p on grid {\n"                                                                              \
	"  input A: f32[4@swizzle1d(y), 8@x]\n"                                                              \
	"  input B: f32[8@x, 6]\n"

/* The ranks along x give the parts of a sum; those along y hold other rows. */
static void test_sum_in_steps(void)
{
#define SUM_STEPS(set)                                                                                       \
	SUM "  output Y: f32[4@swizzle1d(y), 6] = allocate()\n"                                              \
	    "  for i in 0..2 parallel(stream) {\n"                                                           \
	    "    a = shard_by_stream(A, i)\n"                                                                \
	    "    P: f32[4@swizzle1d(y), 6] partial(x) = matmul(a, B)\n"                                      \
	    "    y = shard_by_stream(Y, i)\n" set "  }\n"                                                    \
	    "}\n"
	const char *source = SUM "  output Y: f32[4@swizzle1d(y), 6] = matmul(A, B)\n"
	                         "}\n";
	CHECK_EQ(compare(SUM_STEPS("    y <- set(P)\n"), source, 4), VALUES_COMPUTES);
	CHECK_EQ(compare(SUM_STEPS("    Q: f32[4@swizzle1d(y), 6] = set(P)\n"
	                           "    y <- neg(Q)\n"),
	                 source, 4),
	         VALUES_DIFFERS);
}

/* A stage on other devices takes what the first one has, in another layout. */
static void test_other_mesh(void)
{
#define STAGES(of)                                                                                           \
	"mesh first(x) = {0 1}\n"                                                                            \
	"mesh second(x) = {2 3}\n"                                                                           \
	"program p on first {\n"                                                                             \
	"  input X: f32[8@stream(2), 4@x]\n"                                                                 \
	"  output Y: f32[8@stream(2), 4] on second = allocate()\n"                                           \
	"  for i in 0..2 parallel(stream) {\n"                                                               \
	"    x = shard_by_stream(X, i)\n"                                                                    \
	"    H: f32[8@stream(2), 4@x] = " of "\n"                                                            \
	"    y = shard_by_stream(Y, i)\n"                                                                    \
	"    y <- set(H)\n"                                                                                  \
	"  }\n"                                                                                              \
	"}\n"
	const char *source = "mesh first(x) = {0 1}\n"
	                     "mesh second(x) = {2 3}\n"
	                     "program p on first {\n"
	                     "  input X: f32[8@stream(2), 4@x]\n"
	                     "  H: f32[8@stream(2), 4@x] = relu(X)\n"
	                     "  output Y: f32[8@stream(2), 4] on second = set(H)\n"
	                     "}\n";
	CHECK_EQ(compare(STAGES("relu(x)"), source, 4), VALUES_COMPUTES);
	CHECK_EQ(compare(STAGES("neg(x)"), source, 4), VALUES_DIFFERS);
}

/* No pass lowers a set that begins a sum, so nothing is known of its result. */
static void test_begins_sum(void)
{
	const char *source = "mesh ring(x = 2)\n"
	                     "program p on ring {\n"
	                     "  input X: f32[8]\n"
	                     "  output Y: f32[8] = set(X)\n"
	                     "}\n";
	CHECK_EQ(compare("mesh ring(x = 2)\n"
	                 "program p on ring {\n"
	                 "  input X: f32[8@stream(2)]\n"
	                 "  output Y: f32[8@stream(2)] = allocate()\n"
	                 "  for i in 0..2 parallel(stream) {\n"
	                 "    a = shard_by_stream(X, i)\n"
	                 "    P: f32[8@stream(2)] partial(x) = set(a)\n"
	                 "    y = shard_by_stream(Y, i)\n"
	                 "    y <- set(P)\n"
	                 "  }\n"
	                 "}\n",
	                 source, 2),
	         VALUES_COMPUTES); /* as one rank, of all elements */
	CHECK_EQ(compare("mesh ring(x = 2)\n"
	                 "program p on ring {\n"
	                 "  input X: f32[8]\n"
	                 "  output Y: f32[8@swizzle1d(x)] = allocate()\n"
	                 "  for i in 0..2 parallel(stream) {\n"
	                 "    a: f32[8@swizzle1d(x)] = shard_by_stream(X, i)\n"
	                 "    P: f32[8@swizzle1d(x)] partial(x) = set(a)\n"
	                 "    y = shard_by_stream(Y, i)\n"
	                 "    y <- set(P)\n"
	                 "  }\n"
	                 "}\n",
	                 source, 2),
	         VALUES_NOT_RELATED);
}

int main(void)
{
	test_gather_in_steps();
	test_sum_in_steps();
	test_other_mesh();
	test_begins_sum();
	return check_result();
}
