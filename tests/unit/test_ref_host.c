/* Host-level programs, stepped on all ranks, compared with equivalent fusion-level ones; programs that do not
 * end, or whose ranks disagree. */
#include "test_ref_program.h"

static const char *const relu_4096 =
    "mesh m(x = 2)\nprogram p on m {\n  input X: f32[8, 64@x]\n  output Y: f32[8, 64] = relu(X)\n}\n";

static void double_buffer(void)
{
	CHECK_SAME(
	    "mesh m(x = 2)\nprogram p on m {\n  input X: f32[8, 64@x]\n  output Y: f32[8, 64] = allocate()\n"
	    "  B: f32[2, 64] = allocate()\n  for i in 0..9 {\n    if i < 8 {\n      xi = select(X, axis=0, "
	    "index=i)\n"
	    "      b = select(B, axis=0, index=i%2)\n      b <- allgather(xi, axis=x) as c\n    }\n    if i "
	    "> 0 {\n"
	    "      wait(c)\n      y = select(Y, axis=0, index=i-1)\n      y <- relu(select(B, axis=0, "
	    "index=(i-1)%2))\n    }\n  }\n}\n",
	    relu_4096);
}

static void ring(void)
{
	const char *const linear = "mesh ring(x = 4)\nprogram p on ring {\n  input X: bf16[4@x, 3, 8]\n  "
	                           "input W: bf16[5, 8]\n  input B: bf16[5]\n"
	                           "  output Y: bf16[4, 3, 5] = linear(X, W, B)\n}\n";
	static const char *const host =
	    "mesh ring(x = 4)\nprogram ag_linear on ring {\n  input X: bf16[4@x, 3, 8]\n  input W: bf16[5, "
	    "8]\n  input B: bf16[5]\n"
	    "  A: bf16[4@stream(4), 3, 8] = allocate()\n  output Y: bf16[4@stream(4), 3, 5] = allocate()\n  "
	    "main = get_current_stream()\n"
	    "  for i in 0..4 parallel(stream) {\n    set_stream(i %% streams)\n    synchronize(main)\n  }\n"
	    "  for i in 0..4 parallel(stream) {\n    set_stream(i %% streams)\n    let src = (4 + "
	    "(axis_index(x) - i)) %% 4\n"
	    "    let dst = (axis_index(x) + i) %% 4\n    slot = select(A, axis=0, index=src)\n    if src == "
	    "axis_index(x) {\n"
	    "      own = select(X, axis=0, index=0)\n      slot <- set(own)\n    } else {\n      recv(slot, "
	    "peer=device(x, src)) as r\n"
	    "      send(X, peer=device(x, dst)) as s\n      share_mem_handles(r, s)\n      %s\n      "
	    "wait(s)\n      wait(r)\n    }\n"
	    "    y = select(Y, axis=0, index=src)\n    y <- linear(slot, W, B)\n    set_stream(main)\n    "
	    "synchronize(i %% streams)\n  }\n}\n";
	char text[2048];
	snprintf(text, sizeof text, host, "post(s)\n      post(r)");
	CHECK_SAME(text, linear);
	snprintf(text, sizeof text, host, "post(r, s)");
	CHECK_SAME(text, linear);
	snprintf(text, sizeof text, host, "post(r)"); /* the sends are issued at their text */
	CHECK_SAME(text, linear);
	for (int64_t streams = 0; streams < 4; streams++) {
		snprintf(text, sizeof text, host, "post(s)\n      post(r)");
		struct ran a = run_with(text, streams), b = run(linear);
		CHECK(same_result(&a, &b));
		ran_free(&a);
		ran_free(&b);
	}
}

/* A stream loop as passes make it: chunks, a pending product, an allreduce into a view of the output. */
static void row_parallel(void)
{
	CHECK_SAME("mesh ring(x = 2)\nprogram p on ring {\n  input X: f32[10@stream(3), 8@x]\n  input W: "
	           "f32[5, 8@x]\n"
	           "  output Y: f32[10@stream(3), 5] = allocate()\n  main = get_current_stream()\n  for i in "
	           "0..3 parallel(stream) {\n"
	           "    set_stream(i)\n    synchronize(main)\n    Xi = shard_by_stream(X, stream_index=i)\n"
	           "    P: f32[10@stream(3), 5] partial(x) = allocate()\n    P <- linear(Xi, W)\n    Yi = "
	           "shard_by_stream(Y, stream_index=i)\n"
	           "    Yi <- allreduce(P, axis=x) as c\n    wait(c)\n    deallocate(P)\n  }\n  "
	           "set_stream(main)\n  for i in 0..3 {\n    synchronize(i)\n  }\n}\n",
	           "mesh ring(x = 2)\nprogram p on ring {\n  input X: f32[10, 8@x]\n  input W: f32[5, 8@x]\n "
	           " output Y: f32[10, 5] = linear(X, W)\n}\n");
	/* chunks in an order that the program chooses */
	CHECK_SAME("mesh ring(x = 2)\nprogram p on ring {\n  input X: f32[10@stream(3), 8]\n  output Y: "
	           "f32[10@stream(3), 8] = allocate()\n"
	           "  for i in 0..3 parallel(stream) {\n    let j = (i + 1 + rank) % 3\n    Xi = "
	           "shard_by_stream(X, stream_index=j)\n"
	           "    T: f32[10@stream(3), 8] = allocate()\n    T <- neg(Xi)\n    Yi = shard_by_stream(Y, "
	           "stream_index=j)\n    Yi <- neg(T)\n  }\n}\n",
	           "program p {\n  input X: f32[10, 8]\n  output Y: f32[10, 8] = X\n}\n");
}

static void swizzled(void)
{
	CHECK_SAME(
	    "mesh ring(x) = {0 2 3}\nprogram p on ring {\n  input X: f32[6@x, 4]\n  input W: f32[9@x, 4]\n"
	    "  output Y: f32[6@swizzle1d(x), 9@x] = allocate()\n  for i in 0..3 parallel(stream) {\n"
	    "    G: f32[6@swizzle1d(x), 4] = allocate()\n"
	    "    G <- collective_permute(X, axis=x, send_peer=(3 + axis_index(x) - i) % 3, "
	    "recv_peer=(axis_index(x) + i) % 3) as c\n"
	    "    wait(c)\n    Yi = shard_by_stream(Y, stream_index=i)\n    Yi <- linear(G, W)\n  }\n}\n",
	    "program p {\n  input X: f32[6, 4]\n  input W: f32[9, 4]\n  output Y: f32[6, 9] = linear(X, "
	    "W)\n}\n");
	/* the gather as broadcasts, one root for each iteration */
	CHECK_SAME("mesh ring(x = 3)\nprogram p on ring {\n  input X: f32[6@x, 4]\n  output Y: "
	           "f32[6@stream(3), 4] = allocate()\n"
	           "  for i in 0..3 parallel(stream) {\n    Yi = shard_by_stream(Y, stream_index=i)\n    Yi "
	           "<- broadcast_from(X, axis=x, root=i) as c\n    wait(c)\n  }\n}\n",
	           "program p {\n  input X: f32[6, 4]\n  output Y: f32[6, 4] = X\n}\n");
}

#define GRID "mesh g(y = 2, x = 3)\nprogram p on g {\n  input X: f32[7, 11]\n  main = get_current_stream()\n"
static void collectives(void)
{
	static const char *const same = "program p {\n  input X: f32[7, 11]\n  output Y: f32[7, 11] = X\n}\n";
	static const char *const thrice = "program p {\n  input X: f32[7, 11]\n  output Y = X * 3.0\n}\n";
	CHECK_SAME(GRID "  A: f32[7@y, 11@x] = X\n  B: f32[7@y, 11] = allgather(A, axis=x)\n  output Y: "
	                "f32[7, 11] = allgather(B, axis=y)\n}\n",
	           same);
	CHECK_SAME(GRID "  A: f32[7@x@y, 11] = X\n  output Y: f32[7, 11] = allgather(A, axis=(x, y))\n}\n",
	           same);
	CHECK_SAME(GRID "  output Y = allreduce(X, axis=x)\n}\n", thrice);
	CHECK_SAME(GRID "  S: f32[7@x, 11] = reduce_scatter(X, axis=x)\n  output Y: f32[7, 11] = "
	                "allgather(S, axis=x)\n}\n",
	           thrice);
	CHECK_SAME(GRID "  R: f32[7, 11] = reduce(X, axis=x, root=1)\n  output Y: f32[7, 11] = "
	                "broadcast_from(R, axis=x, root=1)\n}\n",
	           thrice);
	CHECK_SAME(GRID "  S: f32[7@x, 11] = scatter_from(X, axis=x, root=2)\n  R: f32[7, 11] = gather_to(S, "
	                "axis=x, root=1)\n"
	                "  output Y: f32[7, 11] = broadcast_from(R, axis=x, root=1)\n}\n",
	           same);
	CHECK_SAME(GRID "  A: f32[7@x, 11] = X\n  B: f32[7, 11@x] = all_to_all(A, axis=x)\n  output Y: "
	                "f32[7, 11] = allgather(B, axis=x)\n}\n",
	           same);
	CHECK_SAME("mesh g(y = 2)\nprogram p on g {\n  input X: f32[3]\n  main = get_current_stream()\n  A: "
	           "f32[3] = full(0.0)\n"
	           "  B: f32[3] = allocate()\n  B <- set(X)\n  if rank == 1 {\n    B <- set(A)\n  }\n  C: "
	           "f32[3] = allocate()\n  C <- set(X)\n"
	           "  C <- send_recv(B, axis=y, root=0)\n  output Y: f32[3] = C\n}\n",
	           "program p {\n  input X: f32[3]\n  output Y: f32[3] = X\n}\n");
	/* sets between any layouts, also of pending sums */
	CHECK_SAME(GRID "  A: f32[7@y@x, 11] = X\n  B: f32[7@x@y, 11] = A\n  C: f32[7, 11@block(2)@x] = B\n  "
	                "output Y: f32[7, 11] = C\n}\n",
	           same);
	CHECK_SAME("mesh g(y = 2, x = 2)\nprogram p on g {\n  input A: f32[5, 6@y@x]\n  input B: f32[6@y@x, "
	           "4]\n  main = get_current_stream()\n"
	           "  C: f32[5, 4] partial(y, x) = matmul(A, B)\n  D: f32[5@x, 4] partial(y) = C\n  output "
	           "E: f32[5, 4] = D\n}\n",
	           "program p {\n  input A: f32[5, 6]\n  input B: f32[6, 4]\n  output E = matmul(A, B)\n}\n");
	/* a select of a mesh axis: blocks are matched by place, not by types */
	CHECK_SAME(
	    "mesh g(x = 3)\nprogram p on g {\n  input X: f32[3@x, 4]\n  own = select(X, axis=0, index=0)\n"
	    "  output Y: f32[3, 4] = allgather(own, axis=x)\n}\n",
	    "program p {\n  input X: f32[3, 4]\n  output Y: f32[3, 4] = X\n}\n");
	CHECK_SAME(
	    "mesh g(x = 3)\nprogram p on g {\n  input X: f32[3@x, 4]\n  own = select(X, axis=0, index=0)\n"
	    "  output Y: f32[4] = allreduce(own, axis=x, op=max)\n}\n",
	    "program p {\n  input X: f32[3, 4]\n  output Y = max(X, axis=0)\n}\n");
}

static void messages(void)
{
	/* every rank sends first */
	static const char *const shift =
	    "mesh g(x = 4)\nprogram p on g {\n  input X: f32[8@x]\n  output Y: f32[4@x, 2] = allocate()\n%s"
	    "  send(X, peer=device(x, (axis_index(x) + 1) %% 4)) as s\n  recv(Y, peer=device(x, "
	    "(axis_index(x) + 3) %% 4)) as r\n%s}\n";
	static const char *const shifted =
	    "program p {\n  input X: f32[8]\n  output Y = reshape(cat(slice(X, axis=0, start=6, stop=8), "
	    "slice(X, axis=0, start=0, stop=6), axis=0), [4, 2])\n}\n";
	char text[1024];
	snprintf(text, sizeof text, shift, "", "  wait(s)\n  wait(r)\n");
	CHECK_SAME(text, shifted);
	snprintf(text, sizeof text, shift, "  start_coalescing()\n", "  end_coalescing() as e\n  wait(e)\n");
	CHECK_SAME(text, shifted);
	CHECK_FAILS("mesh g(x = 2)\nprogram p on g {\n  input X: f32[8@x]\n  input Z: f32[6@x]\n  output Y: "
	            "f32[8@x] = allocate()\n"
	            "  send(Z, peer=1 - rank) as s\n  recv(Y, peer=1 - rank) as r\n  wait(s)\n  wait(r)\n}\n",
	            STATUS_DIAGNOSTICS, "rank 0 receives 4 of f32, rank 1 sends 3 of f32");
	CHECK_FAILS("mesh g(x = 2)\nprogram p on g {\n  input X: f32[8@x]\n  output Y: f32[8@x] = X\n  if "
	            "rank == 0 {\n    send(X, peer=1) as s\n  }\n}\n",
	            STATUS_STUCK, "the program ends before send 's', whose recv rank 1 does not reach");
}

static void deadlocks(void)
{
	CHECK_FAILS("mesh g(x = 2)\nprogram p on g {\n  input X: f32[8@x]\n  output Y: f32[8] = allocate()\n "
	            " if rank == 0 {\n"
	            "    Y <- allgather(X, axis=x) as c\n    wait(c)\n  }\n}\n",
	            STATUS_STUCK,
	            "rank 0, initial stream: waits for allgather 'c', which rank 1 does not reach");
	CHECK_FAILS(
	    "mesh g(x = 2)\nprogram p on g {\n  input X: f32[8@x]\n  output Y: f32[8@x] = allocate()\n"
	    "  recv(Y, peer=1 - rank) as r\n  wait(r)\n  send(X, peer=1 - rank) as s\n  wait(s)\n}\n",
	    STATUS_STUCK, "rank 1, initial stream: waits for recv 'r', whose send rank 0 does not reach");
	CHECK_FAILS("mesh g(x = 2)\nprogram p on g {\n  input X: f32[8]\n  output Y: f32[8] = allocate()\n  "
	            "if rank == 0 {\n"
	            "    Y <- allreduce(X, axis=x) as c\n    wait(c)\n  } else {\n    Y <- broadcast_from(X, "
	            "axis=x, root=0) as e\n    wait(e)\n  }\n}\n",
	            STATUS_DIAGNOSTICS, "rank 0 is in allreduce while rank 1 is in broadcast_from");
	CHECK_FAILS("mesh g(x = 2)\nprogram p on g {\n  input X: f32[8]\n  Y: f32[8] = allreduce(X, axis=x) "
	            "as c\n  wait(c)\n  wait(c)\n  output Z: f32[8] = Y\n}\n",
	            STATUS_DIAGNOSTICS, "rank 0 has nothing to wait for here");
}

static void memory(void)
{
	CHECK_FAILS("program p {\n  input X: f32[2]\n  for i in 0..100000000000 {\n  }\n  output X\n}\n",
	            STATUS_DIAGNOSTICS, "3:3: error: the program is too long for the reference evaluation");
	struct ran r = run("mesh m(x = 2)\nprogram p on m {\n  input X: f32[4]\n  output Y: f32[4, 4] = "
	                   "allocate()\n  for i in 0..2 {\n"
	                   "    y = select(Y, axis=0, index=i*2)\n    y <- set(X)\n  }\n}\n");
	CHECK_EQ(r.status, 0);
	for (int64_t i = 0; r.n && i < 16; i++)
		CHECK_EQ(r.out[0].state[i], i / 4 % 2 ? REF_POISON : REF_DEFINED);
	ran_free(&r);
	CHECK_SAME("program p {\n  input X: f32[4]\n  output Y: f32[4] = allocate(zero_init=true)\n}\n",
	           "program p {\n  input X: f32[4]\n  output Y: f32[4] = full(0.0)\n}\n");
	CHECK_FAILS("program p {\n  input X: f32[4]\n  A: f32[4] = allocate()\n  A <- set(X)\n  a = "
	            "select(A, axis=0, index=0)\n  deallocate(A)\n"
	            "  output Y: f32[] = neg(a)\n}\n",
	            STATUS_DIAGNOSTICS, "uses a buffer after its deallocate");
	CHECK_FAILS("mesh m(x = 2)\nprogram p on m {\n  input X: f32[2@x, 3]\n  own = select(X, axis=0, "
	            "index=0)\n  output Y: f32[3] = neg(own)\n}\n",
	            STATUS_WRONG, "ranks 0 and 1 disagree about element 0 of the output 'Y'");
	CHECK_FAILS("mesh m(x = 2)\nprogram p on m {\n  input X: f32[4@x]\n  main = get_current_stream()\n  "
	            "output Y: f32[4] = neg(X)\n}\n",
	            STATUS_DIAGNOSTICS, "rank 0 does not hold all that its part of the result of neg needs");
	/* allocation orders, splits without a mesh axis */
	CHECK_SAME("mesh m(x = 2)\nprogram p on m {\n  input X: f32[6, 8@x]\n  schedule X { allocation (1, "
	           "0, 2) }\n  main = get_current_stream()\n"
	           "  output Y: f32[6, 8] = set(X)\n  schedule Y { allocation (1, 0) }\n}\n",
	           "program p {\n  input X: f32[6, 8]\n  output Y: f32[6, 8] = X\n}\n");
	CHECK_SAME("mesh m(x = 2)\nprogram p on m {\n  input X: f32[6]\n  schedule X { split 0 inner 2; "
	           "parallelize 1 x }\n  main = get_current_stream()\n"
	           "  output Y: f32[6@x] = set(X)\n}\n",
	           "program p {\n  input X: f32[6]\n  output Y: f32[6] = X\n}\n");
	/* in a loop, written in place */
	CHECK_SAME("mesh m(x = 2)\nprogram p on m {\n  acc: f32[10] = allocate()\n  acc <- full(0.0)\n  for "
	           "i in 0..3 {\n    let y = i * 2 + 1\n"
	           "    acc <- add(acc, y)\n  }\n  output acc\n}\n",
	           "program p {\n  output Y: f32[10] = full(9.0)\n}\n");
	/* a pending input: one tensor for each rank */
	r = run("mesh m(x = 2)\nprogram p on m {\n  input X: f32[3] partial(x)\n  main = "
	        "get_current_stream()\n  output Y: f32[3] = X\n}\n");
	for (int64_t i = 0; r.n && i < 3; i++)
		CHECK(r.out[0].data[i] == test_value(0, i * 2) + test_value(0, i * 2 + 1));
	CHECK(r.n);
	ran_free(&r);
}

int main(void)
{
	double_buffer();
	ring();
	row_parallel();
	swizzled();
	collectives();
	messages();
	deadlocks();
	memory();
	return check_result();
}
