/* Symmetric views and accumulate=true in the reference: host-level programs compared with equivalent
 * fusion-level ones, and programs that use memory they must not use. */
#include "test_ref_program.h"

/* Tests a mesh, an extent of the sharded axis, and its placement. */
static void gather(const char *mesh, int rows, const char *place, const char *gathered)
{
	char host[1024], fusion[1024], view[64] = "G";
	if (strcmp(gathered, "@block(y)@x") != 0) /* the default */
		snprintf(view, sizeof view, "G: f32[%d%s, 6]", rows, gathered);
	snprintf(host, sizeof host,
	         "mesh m(%s)\nprogram p on m {\n  input X: f32[%d%s, 6] symmetric\n  input W: f32[6, 5]\n"
	         "  %s = symmetric_view(X)\n  output Y: f32[%d%s, 5] = allocate()\n"
	         "  Y <- matmul(G, W)\n  deallocate(G)\n}\n",
	         mesh, rows, place, view, rows, gathered);
	snprintf(fusion, sizeof fusion,
	         "mesh m(%s)\nprogram p on m {\n  input X: f32[%d%s, 6]\n  input W: f32[6, 5]\n"
	         "  output Y = matmul(X, W)\n}\n",
	         mesh, rows, place);
	CHECK_SAME(host, fusion);
}

static void gathers(void)
{
	gather("x = 1", 8, "@x", "@block(x)");
	gather("x = 2", 8, "@x", "@block(x)");
	gather("x = 4", 10, "@x", "@block(x)"); /* blocks of 3, 3, 3 and 1 */
	gather("x = 4", 5, "@x", "@block(x)");  /* of 2, 2, 1 and 0 */
	gather("y = 2, x = 2", 8, "@x", "@block(x)");
	gather("y = 2, x = 2", 10, "@y@x", "@y@block(x)");
	gather("y = 2, x = 2", 10, "@y@x", "@block(y)@x");
}

/* In step i every rank adds its product to the block of the rank that is i after it. */
static const char *const turns =
    "mesh m(x = %d)\nprogram p on m {\n  input A: f32[%d, 8@x]\n  input B: f32[8@x, 3]\n"
    "  S: f32[%d@x, 3] symmetric = allocate(zero_init=true)\n"
    "  for i in 0..%d {\n    let j = (axis_index(x) + i) %% %d\n    G = symmetric_view(S)\n"
    "    a: f32[%d@stream(size(x)), 8@x] = shard_by_stream(A, j)\n"
    "    g: f32[%d@stream(size(x)), 3] = shard_by_stream(G, j)\n"
    "    g <- matmul(a, B, accumulate=true)\n    deallocate(G)\n  }\n"
    "  output Y: f32[%d@x, 3] = allocate()\n  Y <- set(S)\n  deallocate(S)\n}\n";

static void takes_turns(void)
{
	static const int ranks[] = {1, 2, 4};
	for (unsigned k = 0; k < 3; k++) {
		char host[2048], fusion[1024];
		int d = ranks[k], rows = 10;
		snprintf(host, sizeof host, turns, d, rows, rows, d, d, rows, rows, rows);
		snprintf(fusion, sizeof fusion,
		         "mesh m(x = %d)\nprogram p on m {\n  input A: f32[%d, 8@x]\n  input B: f32[8@x, "
		         "3]\n  output Y: f32[%d@x, 3] = matmul(A, B)\n}\n",
		         d, rows, rows);
		CHECK_SAME(host, fusion);
	}
}

/* A view is an output: every rank returns the blocks of all. */
static void returned(void)
{
	CHECK_SAME("mesh m(x = 2)\nprogram p on m {\n  input X: f32[6@x, 4]\n"
	           "  S: f32[6@x, 4] symmetric = allocate()\n  S <- relu(X)\n"
	           "  output Y: f32[6@block(x), 4] = symmetric_view(S)\n}\n",
	           "mesh m(x = 2)\nprogram p on m {\n  input X: f32[6@x, 4]\n  output Y: f32[6, 4] = "
	           "relu(X)\n}\n");
}

/* One part of a view is selected; the own buffer is written again after the deallocate. */
static void selected(void)
{
	CHECK_SAME("mesh m(x = 4)\nprogram p on m {\n  input X: f32[4@x, 3]\n"
	           "  S: f32[4@x, 3] symmetric = allocate()\n  S <- neg(X)\n  G = symmetric_view(S)\n"
	           "  output Y: f32[4@x, 3] = allocate()\n"
	           "  a = select(G, axis=0, index=(axis_index(x)+1)%4)\n"
	           "  b = select(Y, axis=0, index=0)\n  b <- relu(a)\n  deallocate(G)\n  S <- set(X)\n"
	           "  deallocate(S)\n}\n",
	           "mesh m(x = 4)\nprogram p on m {\n  input X: f32[4@x, 3]\n"
	           "  A = slice(X, axis=0, start=1, stop=4)\n  B = slice(X, axis=0, start=0, stop=1)\n"
	           "  C: f32[4@x, 3] = cat(A, B, axis=0)\n  output Y: f32[4@x, 3] = relu(neg(C))\n}\n");
}

static void accumulate(void)
{
	static const char *const text =
	    "mesh m(x = 2)\nprogram p on m {\n  input A: %s[4, 6]\n  input B: %s[6, "
	    "5]\n  input C: %s[4, 5]\n%s}\n";
	static const char *const dtype[] = {"f32", "bf16", "i32"};
	for (unsigned k = 0; k < 3; k++) {
		char host[1024], fusion[1024];
		const char *t = dtype[k];
		char body[512];
		snprintf(body, sizeof body,
		         "  output Y: %s[4, 5] = allocate()\n  Y <- set(C)\n"
		         "  Y <- matmul(A, B, accumulate=true)\n",
		         t);
		snprintf(host, sizeof host, text, t, t, t, body);
		snprintf(fusion, sizeof fusion, text, t, t, t, "  output Y = add(C, matmul(A, B))\n");
		CHECK_SAME(host, fusion);
		snprintf(body, sizeof body,
		         "  output Y: %s[4, 5] = allocate(zero_init=true)\n  Y <- set(C)\n"
		         "  Y <- matmul(A, B, accumulate=false)\n",
		         t);
		snprintf(host, sizeof host, text, t, t, t, body);
		snprintf(fusion, sizeof fusion, text, t, t, t, "  output Y = matmul(A, B)\n");
		CHECK_SAME(host, fusion);
	}
	/* there is no sum of unwritten elements */
	struct ran r = run("mesh m(x = 2)\nprogram p on m {\n  input A: f32[4, 6]\n  input B: f32[6, 5]\n"
	                   "  output Y: f32[4, 5] = allocate()\n  Y <- matmul(A, B, accumulate=true)\n}\n");
	CHECK_EQ(r.status, STATUS_OK);
	CHECK_EQ(r.out[0].state[0], REF_POISON);
	ran_free(&r);
	/* the added term has an error, and the sum adds another */
	r = run("mesh m(x = 2)\nprogram p on m {\n  input A: f32[4, 6]\n  input B: f32[6, 5]\n"
	        "  input C: f32[4, 5]\n  output Y: f32[4, 5] = allocate()\n  Y <- exp(C)\n"
	        "  Y <- matmul(A, B, accumulate=true)\n}\n");
	CHECK_EQ(r.status, STATUS_OK);
	for (int64_t i = 0; i < 20; i++)
		CHECK(r.out[0].error[i] > 8 * 0x1p-24 * exp(test_value(2, i)));
	ran_free(&r);
	/* exact by itself, but not in one sum with the products */
	r = run("mesh m(x = 2)\nprogram p on m {\n  input A: f32[4, 6]\n  input B: f32[6, 5]\n"
	        "  output Y: f32[4, 5] = allocate()\n  Y <- full(0.000000476837158203125)\n"
	        "  Y <- matmul(A, B, accumulate=true)\n}\n");
	CHECK_EQ(r.status, STATUS_OK);
	for (int64_t i = 0; i < 20; i++)
		CHECK(r.out[0].error[i] > 0x1p-24);
	ran_free(&r);
	/* an argument that is written needs no allocate */
	CHECK_SAME("mesh m(x = 2)\nprogram p on m {\n  input A: f32[4, 6]\n  input B: f32[6, 5]\n"
	           "  inout C: f32[4, 5]\n  C <- matmul(A, B, accumulate=true)\n}\n",
	           "mesh m(x = 2)\nprogram p on m {\n  input A: f32[4, 6]\n  input B: f32[6, 5]\n"
	           "  input C: f32[4, 5]\n  output Y = add(C, matmul(A, B))\n}\n");
}

static void refused(void)
{
	CHECK_FAILS(
	    "mesh m(x = 2)\nprogram p on m {\n  input A: f32[4@x, 6@serial(2)]\n  input B: f32[6, 5]\n"
	    "  inout C: f32[4, 5]\n  main = get_current_stream()\n"
	    "  C <- matmul(A, B, accumulate=true)\n}\n",
	    STATUS_DIAGNOSTICS, "rank 0 does not hold all that its part of the result of matmul needs");
	CHECK_FAILS(
	    "mesh m(x = 2)\nprogram p on m {\n  input X: f32[4@x] symmetric\n"
	    "  input Z: f32[4@x] symmetric\n  output Y: f32[4] = allocate(zero_init=true)\n"
	    "  if rank == 0 {\n    G = symmetric_view(X)\n  } else {\n    H = symmetric_view(Z)\n  }\n"
	    "}\n",
	    STATUS_DIAGNOSTICS,
	    "rank 0 is in symmetric_view of 'X' while rank 1 is in symmetric_view of 'Z'");
	CHECK_FAILS("mesh m(x = 2)\nprogram p on m {\n  input X: f32[4@x] symmetric\n"
	            "  output Y: f32[4@block(2)] = allocate()\n  G = symmetric_view(X)\n  Y <- neg(G)\n"
	            "  if rank == 0 {\n    deallocate(G)\n  }\n}\n",
	            STATUS_STUCK, "deallocate, which rank 1 does not reach");
	CHECK_FAILS("mesh m(x = 2)\nprogram p on m {\n  input X: f32[4@x] symmetric\n"
	            "  output Y: f32[4@stream(2)] = allocate()\n  G = symmetric_view(X)\n"
	            "  g: f32[4@stream(2)] = shard_by_stream(G, 1)\n"
	            "  y: f32[4@stream(2)] = shard_by_stream(Y, 1)\n  deallocate(G)\n  y <- neg(g)\n}\n",
	            STATUS_DIAGNOSTICS, "rank 0 uses a symmetric view of 'X' after its deallocate");
	CHECK_FAILS("mesh m(x = 2)\nprogram p on m {\n  S: f32[4@x] symmetric = allocate(zero_init=true)\n"
	            "  output Y: f32[4@block(2)] = allocate()\n  G = symmetric_view(S)\n"
	            "  if rank == 1 {\n    deallocate(S)\n    send(Y, peer=0) as s\n    wait(s)\n  } else {\n"
	            "    recv(Y, peer=1) as r\n    wait(r)\n    Y <- neg(G)\n  }\n  deallocate(G)\n}\n",
	            STATUS_DIAGNOSTICS, "rank 0 uses a buffer of rank 1 after its deallocate");
}

int main(void)
{
	gathers();
	takes_turns();
	returned();
	selected();
	accumulate();
	refused();
	return check_result();
}
