/* Tests of src/plan: windows, slots, loops and refused programs, by the printed plan. */
#include "check.h"
#include "ir/number.h"
#include "parse/ast.h"
#include "parse/sema.h"
#include "plan/plan_packs.h"
#include <stdlib.h>

/* Returns the plan of a rank of a program without passes, or the messages. */
static char *plan_text_for(const char *text, int64_t rank, const struct plan_target *target, bool packs)
{
	char *report = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&report, &n);
	struct diag *d = diag_new(f, DIAG_TEXT, 0);
	struct source *s = source_from_text("p.hir", text, (uint32_t)strlen(text));
	struct sema_options options = {0};
	struct buf out = {0};
	diag_set_source(d, s);
	struct ast *a = ast_parse(d, s);
	struct module *m = diag_error_count(d) ? NULL : sema_build(d, a, &options);
	if (m) {
		ir_number(m);
		struct plan *p = plan_build(m, d, rank, module_ranks(m), target);
		if (p && !packs)
			plan_packs_drop(p);
		if (p)
			plan_print(p, m, &out);
		plan_free(p);
	}
	ast_free(a);
	module_free(m);
	source_free(s);
	diag_free(d);
	fclose(f);
	buf_puts(&out, report);
	free(report);
	return out.at;
}

static char *plan_text_of(const char *text, int64_t rank, int64_t streams, bool packs)
{
	return plan_text_for(text, rank, &(struct plan_target){.streams = streams}, packs);
}

static char *plan_text(const char *text, int64_t rank, int64_t streams)
{
	return plan_text_of(text, rank, streams, true);
}

static void check_plan(const char *text, int64_t rank, const char *want)
{
	char *got = plan_text(text, rank, 4);
	CHECK_STR(got, want);
	free(got);
}

/* Checks that one line of the plan contains want. */
static void check_line(const char *text, int64_t rank, int64_t streams, const char *want)
{
	char *got = plan_text(text, rank, streams);
	CHECK(strstr(got, want));
	if (!strstr(got, want))
		printf("--- got:\n%s--- want a line with:\n%s\n", got, want);
	free(got);
}

#define MESH "mesh m(x = 2)\nprogram p on m {\n"

static void test_windows(void)
{
	/* the block of the result, from operands that hold more */
	check_plan(MESH "  input A: f32[6@x, 4]\n  input B: f32[6, 4]\n  input C: f32[4]\n"
	                "  M: bool[6@x, 4] = A > B\n  output Y: f32[6@x, 4] = where(M, C, 1.5)\n}\n",
	           1,
	           "plan of rank 1 of 2\n"
	           "  buffer A: 12 of f32, input, at 128\n"
	           "  buffer B: 24 of f32, input, at 0\n"
	           "  buffer C: 4 of f32, input, at 192\n"
	           "  buffer M: 12 of bool, at 256\n"
	           "  buffer Y: 12 of f32, at 320\n"
	           "  memory: 384 bytes\n"
	           "   0  task M[0; 3:4 4:1] = gt(A[0; 3:4 4:1], B[12; 3:4 4:1])\n"
	           "   1  task Y[0; 3:4 4:1] = where(M[0; 3:4 4:1], C[0; 3:0 4:1], 1.5)\n"
	           "   2  end\n");
}

static void test_views(void)
{
	/* uneven blocks are clipped, strides are those of full blocks */
	check_line(MESH "  input A: f32[5@x, 3]\n  output Y: f32[5@x, 3] = neg(A)\n}\n", 1, 4,
	           "task Y[0; 2:3 3:1] = neg(A[0; 2:3 3:1])");
	/* the loop's chunk; full blocks fold to a constant */
	check_line(
	    MESH
	    "  input A: f32[8, 3]\n  output Y: f32[8, 3] = allocate()\n  for i in 0..4 parallel(stream) {\n"
	    "    a: f32[8@stream(4), 3] = shard_by_stream(A, stream_index=i)\n"
	    "    y: f32[8@stream(4), 3] = shard_by_stream(Y, stream_index=i)\n    y <- neg(a)\n  }\n}\n",
	    0, 4, "    let r6 = r2 * 6\n   2    task Y[r6; 2:3 3:1] = neg(A[r6; 2:3 3:1])");
	/* a select is relative to the elements that the rank holds */
	check_line(MESH "  input A: f32[6@x, 3]\n  a = select(A, axis=0, index=3)\n  output Y: f32[3] = "
	                "allocate()\n  Y <- neg(a)\n}\n",
	           1, 4, "task Y[0; 3:1] = neg(A[0; 3:1])");
	check_line(MESH "  input A: f32[6@x, 3]\n  a = select(A, axis=0, index=2)\n  output Y: f32[3] = "
	                "allocate()\n  Y <- neg(a)\n}\n",
	           1, 4,
	           "error: the index of axis 0 of 'A' is outside the block of this rank: it is 2 [E0707]\n");
	/* a mesh axis: the rank's own slice */
	check_line(MESH "  input A: f32[2@x, 3]\n  a = select(A, axis=0, index=0)\n  output Y: f32[3] = "
	                "allocate()\n  Y <- neg(a)\n}\n",
	           1, 4, "task Y[0; 3:1] = neg(A[0; 3:1])");
	/* memory order */
	check_line(MESH "  input A: f32[6@x, 4]\n  schedule A { allocation (2, 0, 1) }\n  output Y: f32[6@x, "
	                "4] = neg(A)\n}\n",
	           1, 4, "task Y[0; 3:4 4:1] = neg(A[0; 3:1 4:3])");
	/* the contracted axis: the elements on this rank */
	check_line(MESH "  input A: f32[4, 6@x]\n  input B: f32[6@x, 5]\n  output Y: f32[4, 5] partial(x) = "
	                "matmul(A, B)\n}\n",
	           1, 4, "task Y[0; 4:5 5:1] = gemm(A[0; 4:3 3:1], B[0; 3:5 5:1])");
	check_line(MESH "  input A: f32[4, 6@x]\n  input B: f32[6, 5]\n  output Y: f32[4, 5] partial(x) = "
	                "matmul(A, B)\n}\n",
	           1, 4, "task Y[0; 4:5 5:1] = gemm(A[0; 4:3 3:1], B[15; 3:5 5:1])");
	check_line(MESH "  input A: f32[6@x, 4]\n  output Y: f32[4, 6@x] = permute(A, (1, 0))\n}\n", 1, 4,
	           "task Y[0; 4:3 3:1] = copy(A[0; 4:1 3:4])");
	check_line(MESH "  input A: f32[6, 4@x]\n  output Y: f32[2, 3, 4@x] = reshape(A, [2, 3, 4])\n}\n", 1,
	           4, "task Y[0; 2:6 3:2 2:1] = copy(A[0; 2:6 3:2 2:1])");
}

/* If there is no memory for packed operands, the plan is that of a program without packs. */
static void test_packs(void)
{
	const char *program = MESH "input X: bf16[64, 64]\ninput W: bf16[64, 64]\n"
	                           "output Y = matmul(X, W)\noutput Z = matmul(Y, W)\n}\n";
	char *with = plan_text_of(program, 0, 4, true), *without = plan_text_of(program, 0, 4, false);
	CHECK(strstr(with, "pack 0: 8192 bytes at 32768, for products with W\n  memory: 40960 bytes"));
	CHECK(!strstr(without, "pack") && strstr(without, "memory: 32768 bytes"));
	free(with);
	free(without);
}

/* Compiles with relu as a part of products. */
static void check_fused(const char *text, const char *want)
{
	const struct plan_target target = {
	    .streams = 4, .transposes = true, .views = true, .epilogue[POINTWISE_RELU] = true};
	char *got = plan_text_for(text, 0, &target, false);
	CHECK(strstr(got, want));
	if (!strstr(got, want))
		printf("--- got:\n%s--- want a line with:\n%s\n", got, want);
	free(got);
}

static void test_epilogues(void)
{
	/* the product itself needs no memory */
	check_fused(MESH "input X: f32[3, 4]\ninput W: f32[4, 5]\noutput H = relu(matmul(X, W))\n}\n",
	            "plan of rank 0 of 2\n"
	            "  buffer X: 12 of f32, input, at 128\n"
	            "  buffer W: 20 of f32, input, at 0\n"
	            "  buffer H: 15 of f32, at 192\n"
	            "  memory: 256 bytes\n");
#define PRODUCT MESH "input X: f32[3, 4]\ninput W: f32[5, 4]\ninput B: f32[5]\nT = linear(X, W, B)\n"
	check_fused(PRODUCT "output H = relu(T)\n}\n",
	            "   0  task H[0; 3:5 5:1] = relu of gemm(X[0; 3:4 4:1], W[0; 4:1 5:4], B[0; 3:0 5:1])\n"
	            "   1  end\n");
	/* others read the product, or it is another function */
	check_fused(PRODUCT "output H = relu(T)\noutput S = neg(T)\n}\n", "= relu(T[0; 3:5 5:1])");
	check_fused(PRODUCT "output H = relu(T)\noutput T\n}\n", "= relu(T[0; 3:5 5:1])");
	check_fused(PRODUCT "output H = gelu_tanh(T)\n}\n", "= gelu_tanh(T[0; 3:5 5:1])");
	/* the function reads other elements, or in another order */
	check_fused(PRODUCT "output H = relu(permute(T, (1, 0)))\n}\n", "= relu(T");
	check_fused(PRODUCT "output H = relu(slice(T, axis=1, start=1, stop=3))\n}\n", "= relu(");
	/* the product reads memory that the function writes */
	check_fused(MESH "inout X: f32[4, 4]\ninput W: f32[4, 4]\nT = matmul(X, W)\nX <- relu(T)\n}\n",
	            "X[0; 4:4 4:1] = relu(T");
	check_fused(MESH "input X: f8e4m3[4, 4]\ninput W: f8e4m3[4, 4]\ninput S: f32[]\n"
	                 "T: f32[4, 4] = matmul(X, W)\noutput Y = T * S\n}\n",
	            "   0  task Y[0; 4:4 4:1] = gemm(X[0; 4:4 4:1], W[0; 4:4 4:1]; scaled by S[0; 4:0 4:0])\n"
	            "   1  end\n");
	check_fused(MESH "inout X: bf16[4, 4]\ninput W: bf16[4, 4]\nT: f32[4, 4] = matmul(X, W)\n"
	                 "X <- cast(T)\n}\n",
	            "X[0; 4:4 4:1] = copy(T");
	check_fused(MESH "input X: bf16[4, 4]\ninput W: bf16[4, 4]\nT: f32[4, 4] = matmul(X, W)\n"
	                 "Y: bf16[4, 4] = cast(T)\noutput Y\n}\n",
	            "   0  task Y[0; 4:4 4:1] = gemm(X[0; 4:4 4:1], W[0; 4:4 4:1])\n   1  end\n");
	/* another statement between them */
	check_fused(PRODUCT "S = neg(X)\noutput H = relu(T)\noutput S\n}\n", "= relu(T[0; 3:5 5:1])");
	/* axes with one element; loops, with their jumps and scalars */
	check_fused(MESH "input X: f32[1, 4]\ninput W: f32[4, 5]\noutput H = relu(matmul(X, W))\n}\n",
	            "task H[0; 1:0 5:1] = relu of gemm(X[0; 1:");
	check_fused(MESH "input X: f32[8, 4]\ninput W: f32[4, 5]\noutput H: f32[8, 5] = allocate()\n"
	                 "for i in 0..4 {\nx: f32[8@stream(4), 4] = shard_by_stream(X, stream_index=i)\n"
	                 "t: f32[8@stream(4), 5] = allocate()\nt <- matmul(x, W)\n"
	                 "h: f32[8@stream(4), 5] = shard_by_stream(H, stream_index=i)\nh <- relu(t)\n}\n}\n",
	            "   0  for r2 = 0 .. 4, else 5\n"
	            "   1    let r5 = r2 * 8\n"
	            "   2    let r8 = r2 * 10\n"
	            "   3    task H[r8; 2:5 5:1] = relu of gemm(X[r5; 2:4 4:1], W[0; 4:5 5:1])\n"
	            "   4  next r2, back to 1\n"
	            "   5  end\n");
}

static void test_transposes(void)
{
#define TURNED                                                                                               \
	MESH "input X: f32[8, 4]\ninput W: f32[8, 12]\ninput V: f32[3, 8, 12]\nT = permute(X, (1, 0))\n"
	/* a transposed first operand, second operand, matrices of a batch, and both */
	check_fused(TURNED "output Y = matmul(T, W)\n}\n",
	            "   0  task Y[0; 4:12 12:1] = gemm(X[0; 4:1 8:4], W[0; 8:12 12:1])\n   1  end\n");
	check_fused(TURNED "output Y = matmul(W, permute(V, (0, 2, 1)))\n}\n", "V[0; 3:96 12:1 8:12]");
	check_fused(
	    MESH
	    "input X: f32[4, 8]\ninput W: f32[12, 8]\noutput Y = relu(matmul(X, permute(W, (1, 0))))\n}\n",
	    "   0  task Y[0; 4:12 12:1] = relu of gemm(X[0; 4:8 8:1], W[0; 8:1 12:8])\n   1  end\n");
	check_fused(TURNED "U = permute(T, (1, 0))\noutput Y = matmul(permute(U, (1, 0)), W)\n}\n",
	            "   0  task Y[0; 4:12 12:1] = gemm(X[0; 4:1 8:4], W[0; 8:12 12:1])\n   1  end\n");
	/* two products read it */
	check_fused(TURNED "output Y = matmul(T, matmul(X, T))\n}\n",
	            "   0  task T5[0; 8:8 8:1] = gemm(X[0; 8:4 4:1], X[0; 4:1 8:4])\n"
	            "   1  task Y[0; 4:8 8:1] = gemm(X[0; 4:1 8:4], T5[0; 8:8 8:1])\n");
	/* one operand repeats its matrix, the batch of the other moves: in either order, no copy stays */
#define REPEATED MESH "input X: f32[4, 8]\ninput V: f32[8, 3, 12]\n"
#define REPEATED_PRODUCT                                                                                     \
	"   0  task Y[0; 3:48 4:12 12:1] = gemm(X[0; 3:0 4:8 8:1], V[0; 3:12 8:36 12:1])\n   1  end\n"
	check_fused(REPEATED "B = permute(V, (1, 0, 2))\nA = broadcast(X, shape=[3, 4, 8])\n"
	                     "output Y = matmul(A, B)\n}\n",
	            REPEATED_PRODUCT);
	check_fused(REPEATED "A = broadcast(X, shape=[3, 4, 8])\nB = permute(V, (1, 0, 2))\n"
	                     "output Y = matmul(A, B)\n}\n",
	            REPEATED_PRODUCT);
	/* it is an output, the batch moves, the operand is written before it is read, or reading it would be
	 * slower */
	check_fused(TURNED "output Y = matmul(T, W)\noutput T\n}\n", "= gemm(T[0; 4:8 8:1]");
	check_fused(MESH "input X: f32[4, 3, 8]\ninput W: f32[8, 4]\n"
	                 "output Y = matmul(permute(X, (1, 0, 2)), W)\n}\n",
	            "= copy(X");
	check_fused(MESH "inout X: f32[8, 4]\ninput W: f32[8, 12]\nT = permute(X, (1, 0))\nX <- neg(X)\n"
	                 "output Y = matmul(T, W)\n}\n",
	            "= gemm(T[0; 4:8 8:1]");
	check_fused(MESH
	            "inout X: f32[8, 8]\ninput W: f32[8, 8]\nT = permute(X, (1, 0))\nX <- matmul(T, W)\n}\n",
	            "= gemm(T[0; 8:8 8:1]");
	check_fused(MESH "input X: f32[8, 6]\ninput W: f32[8, 12]\n"
	                 "output Y = matmul(permute(X, (1, 0)), W)\n}\n",
	            "= copy(X");
	check_fused(MESH "input X: f8e4m3[32, 16]\ninput W: f8e4m3[32, 16]\n"
	                 "output Y = matmul(permute(X, (1, 0)), W)\n}\n",
	            "= copy(X");
}

static void test_slots(void)
{
	static const char loop[] = MESH
	    "  input A: f32[8, 3]\n  output Y: f32[8, 3] = allocate()\n  for i in 0..8 parallel(stream) {\n"
	    "    set_stream(i % streams)\n    a = select(A, axis=0, index=i)\n    t: f32[3] = allocate()\n"
	    "    t <- neg(a)\n    y = select(Y, axis=0, index=i)\n    y <- neg(t)\n  }\n}\n";
	check_line(loop, 0, 4, "buffer t: 3 of f32, 4 slots");
	check_line(loop, 0, 16, "buffer t: 3 of f32, 8 slots");
	check_line(loop, 0, 1, "buffer t: 3 of f32, at ");
	/* only a chunk of the iteration */
	static const char chunk[] = MESH
	    "  input A: f32[8, 3]\n  output Y: f32[8, 3] = allocate()\n  for i in 0..4 parallel(stream) {\n"
	    "    a: f32[8@stream(4), 3] = shard_by_stream(A, stream_index=3-i)\n"
	    "    t: f32[8@stream(4), 3] = allocate()\n    t <- neg(a)\n"
	    "    y: f32[8@stream(4), 3] = shard_by_stream(Y, stream_index=3-i)\n    y <- neg(t)\n  }\n}\n";
	check_line(chunk, 0, 4, "buffer t: 6 of f32, 4 slots");
	/* it is the operand's chunk, not the loop's */
	check_line(
	    chunk, 0, 4,
	    "let r5 = 3 - r2\n   2    let r7 = r5 * 6\n   3    task t#r2[0; 2:3 3:1] = neg(A[r7; 2:3 3:1])");
}

static void test_control(void)
{
	/* the rank is folded */
	static const char branch[] = MESH
	    "  input A: f32[3]\n  output Y: f32[3] = allocate()\n  if axis_index(x) == 0 {\n    Y <- neg(A)\n"
	    "  } else {\n    Y <- abs(A)\n  }\n}\n";
	check_plan(branch, 0,
	           "plan of rank 0 of 2\n  buffer A: 3 of f32, input, at 0\n  buffer Y: 3 of f32, at 64\n"
	           "  memory: 128 bytes\n"
	           "   0  task Y[0; 3:1] = neg(A[0; 3:1])\n   1  end\n");
	check_plan(branch, 1,
	           "plan of rank 1 of 2\n  buffer A: 3 of f32, input, at 0\n  buffer Y: 3 of f32, at 64\n"
	           "  memory: 128 bytes\n"
	           "   0  task Y[0; 3:1] = abs(A[0; 3:1])\n   1  end\n");
	check_plan(branch, 2, "plan of rank 2 of 2, idle\n  memory: 0 bytes\n   0  end\n");
	/* scalars of a branch are dropped at its end */
	check_plan(MESH "  inout A: f32[8]\n  for i in 0..4 {\n    if i < 2 {\n      a = select(A, axis=0, "
	                "index=2*i)\n      a <- neg(a)\n    }\n"
	                "    b = select(A, axis=0, index=2*i)\n    b <- abs(b)\n  }\n}\n",
	           0,
	           "plan of rank 0 of 2\n"
	           "  buffer A: 8 of f32, input, at 0\n"
	           "  memory: 64 bytes\n"
	           "   0  for r2 = 0 .. 4, else 8\n"
	           "   1    let r4 = r2 < 2\n"
	           "   2    if r4, else 5\n"
	           "   3      let r5 = r2 * 2\n"
	           "   4      task A[r5;] = neg(A[r5;])\n"
	           "   5    let r6 = r2 * 2\n"
	           "   6    task A[r6;] = abs(A[r6;])\n"
	           "   7  next r2, back to 1\n"
	           "   8  end\n");
}

static void test_communication(void)
{
	check_line("mesh m(x = 4)\nprogram p on m {\n  input A: f32[10@x]\n  Y: f32[10] = allocate()\n  Y <- "
	           "allgather(A, axis=x)\n  output Y\n}\n",
	           1, 4,
	           "   0  collective Allgather team (0 1 2 3) from A[0; 3:1] to Y[0; 10:1] blocks 3@0 3@3 "
	           "3@6 1@9 as 0\n"
	           "   1  wait 0\n");
	check_line(MESH "  input A: f32[4] partial(x)\n  Y: f32[4] = allocate()\n  Y <- allreduce(A, axis=x) "
	                "as c\n  wait(c)\n  output Y\n}\n",
	           1, 4, "collective Allreduce sum team (0 1) count 4 from A[0; 4:1] to Y[0; 4:1] as 0\n");
	/* ranks outside the team do nothing */
	check_line("mesh m(x = 4)\nprogram p on m {\n  input A: f32[10@x]\n  Y: f32[10] = allocate()\n"
	           "  Y <- broadcast_from(Y, team=(0 1), root=1) as c\n  wait(c)\n  output Y\n}\n",
	           3, 4, "  buffer Y: 10 of f32, at 64\n  memory: 128 bytes\n   0  end\n");
}

static void test_refused(void)
{
	check_line("mesh g(y = 2, x = 2)\nprogram p on g {\n  input A: f32[8@y@x, 2]\n  B: f32[8@block(y)@x, "
	           "2] = allocate()\n  B <- neg(A)\n  output B\n}\n",
	           0, 4,
	           "p.hir:5:3: error: 'A' and 'B' are spread over the ranks in different blocks [E0717]\n");
	check_line(MESH "  input A: f32[8@x]\n  output Y: f32[8] = allocate()\n  Y <- neg(A)\n}\n", 1, 4,
	           "error: rank 1 holds [4, 8) of axis 0 of 'A', but needs [0, 8) [E0718]\n");
	check_line(MESH "  input A: f32[4, 8@x]\n  input B: f32[8@x, 2]\n  output Y: f32[4, 2] = "
	                "allocate()\n  Y <- matmul(A, B)\n}\n",
	           1, 4, "error: axis 1 of 'A' is spread over ranks, but 'Y' is not partial [E0717]\n");
	check_line(
	    MESH
	    "  input A: f32[4, 8@x]\n  output Y: f32[4, 8] = allocate()\n  Y <- allgather(A, axis=x)\n}\n",
	    1, 4, "error: axis 1 of 'Y' is gathered but not outermost in memory [E0717]\n");
	check_line(MESH "  input A: f32[4]\n  output Y: f32[4] = extern \"f\"(A)\n}\n", 1, 4,
	           "error: 'f' has no CPU kernel [E0719]\n");
}

int main(void)
{
	test_windows();
	test_views();
	test_packs();
	test_epilogues();
	test_transposes();
	test_slots();
	test_control();
	test_communication();
	test_refused();
	return check_result();
}
