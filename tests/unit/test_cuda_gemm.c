/* Contractions by cuBLASLt on the device "cuda", compared with the device "cpu". With the mock of the
 * libraries also: queries are made once, calls fail, and the library is missing. LABELS: cuda */
#include "test_cuda_gemm.h"
#include "cuda/gemm.h"
#include "cuda/gemm_shape.h"
#include <limits.h>
#include <sched.h>
#include <sys/wait.h>

static struct rt_device *cpu, *gpu;

static struct cuda *cuda(void)
{
	return (struct cuda *)gpu;
}

static const struct rt_async_ops *async(void)
{
	return gpu->ops->async;
}

static void *stream_new(void)
{
	void *s = NULL;
	CHECK_EQ(async()->stream_new(gpu, &s), STATUS_OK);
	return s;
}

static void wait_for(void *stream)
{
	struct rt_origin at = {.iteration = -1};
	bool over = false;
	void *event;
	CHECK_EQ(async()->record(gpu, stream, at, &event), STATUS_OK);
	while (async()->is_over(gpu, event, &over) == STATUS_OK && !over)
		sched_yield();
	async()->release(gpu, event);
}

/* ---- a product on the GPU */

struct on_gpu {
	struct rt_task task;
	char *buffer[TEST_OPERANDS];
};

static struct on_gpu upload(const struct product *p)
{
	struct on_gpu g = {.task = p->task};
	for (int o = 0; o < TEST_OPERANDS; o++) {
		void *at;
		if (!p->buffer[o])
			continue;
		CHECK_EQ(rt_device_alloc(gpu, p->bytes[o], "it", &at), STATUS_OK);
		CHECK_EQ(async()->upload(gpu, at, p->buffer[o], p->bytes[o]), STATUS_OK);
		g.buffer[o] = at;
		view_of(&g.task, o)->data = g.buffer[o] + ((char *)view_of(&g.task, o)->data - p->buffer[o]);
	}
	return g;
}

static bool is_right(const struct product *p, const struct on_gpu *g)
{
	char *got = malloc(p->bytes[TEST_OUT]);
	CHECK_EQ(async()->download(gpu, got, g->buffer[TEST_OUT], p->bytes[TEST_OUT]), STATUS_OK);
	bool right = product_is(p, got);
	free(got);
	return right;
}

static void release(struct on_gpu *g)
{
	for (int o = 0; o < TEST_OPERANDS; o++)
		rt_device_free(gpu, g->buffer[o]);
}

/* Prepares and runs a product, if cuBLASLt takes it. */
static enum status launch_gemm(CUstream s, const struct rt_task *t, bool *taken)
{
	struct cuda_gemm_call call;
	enum status status = cuda_gemm_make(cuda(), t, &call, taken);
	return *taken && status == STATUS_OK ? cuda_gemm_run(cuda(), s, &call) : status;
}

static bool taken_by(void *stream, const struct rt_task *t)
{
	bool taken = false;
	CHECK_EQ(launch_gemm(stream, t, &taken), STATUS_OK);
	return taken;
}

/* Tests a function that cuBLASLt applies; the CPU applies it to the rounded product. */
static void test_functions(void)
{
	static const enum dtype types[][TEST_OPERANDS] = {{DTYPE_F32, DTYPE_F32, DTYPE_F32, DTYPE_F32},
	                                                  {DTYPE_F64, DTYPE_F64, DTYPE_F64, DTYPE_F64},
	                                                  {DTYPE_BF16, DTYPE_BF16, DTYPE_BF16, DTYPE_BF16},
	                                                  {DTYPE_F16, DTYPE_F16, DTYPE_F32, DTYPE_F32}};
	void *stream = stream_new();
	int taken = 0;
	for (int r = 0; r < 200; r++) {
		struct product p = product_new(types[r % 4], 1, (int)(next() % 2));
		struct cuda_gemm_call call;
		bool is = false;
		p.task.function = POINTWISE_RELU + 1;
		struct on_gpu g = upload(&p);
		product_compute(&p, cpu);
		CHECK_EQ(cuda_gemm_make(cuda(), &g.task, &call, &is), STATUS_OK);
		if (is) {
			CHECK(!call.lacks_function);
			CHECK_EQ(cuda_gemm_run(cuda(), stream, &call), STATUS_OK);
			wait_for(stream);
			CHECK(is_right(&p, &g));
			g.task.function = POINTWISE_GELU_TANH + 1;
			CHECK_EQ(cuda_gemm_make(cuda(), &g.task, &call, &is), STATUS_OK);
			CHECK_EQ(call.lacks_function, p.task.out.dtype != DTYPE_BF16);
			g.task.function = POINTWISE_GELU + 1;
			CHECK_EQ(cuda_gemm_make(cuda(), &g.task, &call, &is), STATUS_OK);
			CHECK(call.lacks_function);
		}
		taken += is;
		release(&g);
		product_free(&p);
	}
	CHECK(taken > 60);
}

/* Returns true if cuBLASLt took it. */
static bool try(void *stream, const enum dtype type[], int unit)
{
	struct product p = product_new(type, unit, (int)(next() % 3));
	struct on_gpu g = upload(&p);
	struct cuda_gemm_shape shape;
	product_compute(&p, cpu);
	bool taken = taken_by(stream, &g.task), has_shape = cuda_gemm_shape(&g.task, &shape);
	CHECK(taken == has_shape);
	wait_for(stream);
	if (taken)
		CHECK(is_right(&p, &g));
	release(&g);
	product_free(&p);
	return taken;
}

static void test_random(void)
{
	static const enum dtype types[][TEST_OPERANDS] = {
	    {DTYPE_F64, DTYPE_F64, DTYPE_F64, DTYPE_F64},
	    {DTYPE_F32, DTYPE_F32, DTYPE_F32, DTYPE_F32},
	    {DTYPE_BF16, DTYPE_BF16, DTYPE_BF16, DTYPE_BF16},
	    {DTYPE_F16, DTYPE_F16, DTYPE_F16, DTYPE_F16},
	    {DTYPE_BF16, DTYPE_BF16, DTYPE_F32, DTYPE_F32},
	    {DTYPE_F16, DTYPE_F16, DTYPE_F32, DTYPE_F32},
	    {DTYPE_F8E4M3, DTYPE_F8E4M3, DTYPE_BF16, DTYPE_F32},
	    {DTYPE_F8E4M3, DTYPE_F8E4M3, DTYPE_BF16, DTYPE_BF16},
	};
	void *stream[] = {stream_new(), stream_new()};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		int taken = 0, narrow = dtype_bytes(types[i][0]) == 1, rounds = narrow ? 60 : 200;
		for (int r = 0; r < rounds; r++)
			taken += try(stream[r % 2], types[i], narrow ? 16 : 1);
		CHECK(taken > (narrow ? 0 : rounds / 3));
	}
}

/* out += a * b, several times: work of one stream runs in order, and other streams have their own
 * workspaces. */
static void test_order(void)
{
	enum { STREAMS = 3, TIMES = 5 };
	static const enum dtype type[TEST_OPERANDS] = {DTYPE_F32, DTYPE_F32, DTYPE_F32, DTYPE_F32};
	struct product p[STREAMS];
	struct on_gpu g[STREAMS];
	void *stream[STREAMS];
	struct cuda_gemm_shape shape;
	for (int i = 0; i < STREAMS; i++) {
		for (;;) {
			p[i] = product_new(type, 16, 2);
			if (cuda_gemm_shape(&p[i].task, &shape))
				break;
			product_free(&p[i]);
		}
		stream[i] = stream_new();
		g[i] = upload(&p[i]);
		product_compute(&p[i], cpu);
	}
	for (int k = 0; k < TIMES; k++)
		for (int i = 0; i < STREAMS; i++)
			CHECK(taken_by(stream[i], &g[i].task));
	for (int i = 0; i < STREAMS; i++) {
		/* n times the sum of one product */
		for (size_t b = 0; b < p[i].bytes[TEST_OUT]; b += sizeof(float)) {
			float was, is;
			memcpy(&was, p[i].buffer[TEST_OUT] + b, sizeof was);
			memcpy(&is, p[i].want + b, sizeof is);
			is = was + TIMES * (is - was);
			memcpy(p[i].want + b, &is, sizeof is);
		}
		wait_for(stream[i]);
		CHECK(is_right(&p[i], &g[i]));
		release(&g[i]);
		product_free(&p[i]);
	}
}

/* ---- what is asked of the library, as the mock logs it */

static char log_name[] = "/tmp/test_cuda_gemm_XXXXXX";

static int logged(const char *call)
{
	char line[1024];
	int n = 0;
	FILE *f = fopen(log_name, "r");
	while (f && fgets(line, sizeof line, f))
		n += strncmp(line, call, strlen(call)) == 0 &&
		     !strchr("abcdefghijklmnopqrstuvwxyz", line[strlen(call)] | 32);
	if (f)
		fclose(f);
	return n;
}

/* [16, 8] = [16, 4] * [4, 8] */
static struct rt_task small(char *memory)
{
	static const int64_t out[] = {16, 8}, a[] = {16, 4}, b[] = {4, 8};
	return (struct rt_task){.kernel = RT_TASK_GEMM,
	                        .out = rt_view_dense(memory, DTYPE_F32, 2, out),
	                        .in = {rt_view_dense(memory + 1024, DTYPE_F32, 2, a),
	                               rt_view_dense(memory + 2048, DTYPE_F32, 2, b)}};
}

static void test_asked_once(void)
{
	void *memory, *stream;
	if (!logged("cuInit")) /* not the mock */
		return;
	stream = stream_new();
	CHECK_EQ(rt_device_alloc(gpu, 8192, "it", &memory), STATUS_OK);
	CHECK_EQ(logged("cublasLtCreate"), 0);
	struct rt_task t = small(memory), integers = small(memory);
	integers.out.dtype = integers.in[0].dtype = integers.in[1].dtype = DTYPE_I32;
	CHECK(!taken_by(stream, &integers));
	CHECK_EQ(logged("cublasLtCreate"), 0);
	for (int i = 0; i < 3; i++)
		CHECK(taken_by(stream, &t));
	t.out.data = (char *)memory + 4096; /* the same alignment as before */
	CHECK(taken_by(stream, &t));
	CHECK_EQ(logged("cublasLtCreate"), 1);
	CHECK_EQ(logged("cublasLtMatmulAlgoGetHeuristic"), 1);
	t.out.data = (char *)memory + 4096 + 4;
	CHECK(taken_by(stream, &t));
	CHECK_EQ(logged("cublasLtMatmulAlgoGetHeuristic"), 2);
	cuda_allow_tf32(gpu, true);
	for (int i = 0; i < 3; i++)
		CHECK(taken_by(stream, &t));
	CHECK_EQ(logged("cublasLtMatmulAlgoGetHeuristic"), 3);
	cuda_allow_tf32(gpu, false);
	CHECK(taken_by(stream, &t));
	CHECK_EQ(logged("cublasLtMatmulAlgoGetHeuristic"), 3);
	CHECK_EQ(logged("cublasLtMatmul"), 9);
	wait_for(stream);
	/* more keys than the table has room for at first: all are found again */
	for (int round = 0; round < 2; round++)
		for (int n = 1; n <= 100; n++) {
			struct rt_task one = small(memory);
			one.in[0].n[1] = one.in[1].n[0] = 1 + n % 4;
			one.out.n[0] = one.in[0].n[0] = 1 + n / 8;
			one.out.n[1] = one.in[1].n[1] = 1 + n % 8;
			CHECK(taken_by(stream, &one));
		}
	CHECK(logged("cublasLtMatmulAlgoGetHeuristic") <= 103);
	wait_for(stream);
	rt_device_free(gpu, memory);
}

/* ---- jobs */

static enum status open_both(struct rt_job *job)
{
	enum status status = rt_device_open(job, "cpu", &cpu);
	return status == STATUS_OK ? cuda_open(job, &gpu) : status;
}

static void close_both(void)
{
	CHECK_EQ(gpu->bytes_now % CUDA_GEMM_WORKSPACE, 0);
	rt_device_close(gpu);
	rt_device_close(cpu);
}

static int right_main(struct rt_job *job, void *arg)
{
	(void)arg;
	enum status status = open_both(job);
	if (status != STATUS_OK)
		return status;
	test_asked_once();
	test_random();
	test_functions();
	test_order();
	close_both();
	return check_failures ? STATUS_WRONG : STATUS_OK;
}

/* Computes one product; if it fails, the job fails. */
static int one_main(struct rt_job *job, void *arg)
{
	bool taken = false;
	void *memory = NULL;
	(void)arg;
	enum status status = open_both(job);
	if (status != STATUS_OK)
		return status;
	CHECK_EQ(rt_device_alloc(gpu, 8192, "it", &memory), STATUS_OK);
	struct rt_task t = small(memory);
	status = launch_gemm(stream_new(), &t, &taken);
	CHECK(!taken || status == STATUS_OK);
	rt_device_free(gpu, memory);
	close_both();
	return status;
}

static enum status status_without(const char *call, struct captured *c)
{
	setenv("HIRC_MOCK_FAIL", call, 1);
	launch_captured(RT_BOOT_FORK, 1, 0, one_main, NULL, c);
	unsetenv("HIRC_MOCK_FAIL");
	return c->status;
}

static void test_failures(void)
{
	static const char *const call[] = {"cublasLtCreate",
	                                   "cublasLtMatmulPreferenceCreate",
	                                   "cublasLtMatmulDescCreate",
	                                   "cublasLtMatmulDescSetAttribute",
	                                   "cublasLtMatrixLayoutCreate",
	                                   "cublasLtMatrixLayoutSetAttribute",
	                                   "cublasLtMatmulPreferenceSetAttribute",
	                                   "cublasLtMatmul"};
	struct captured c;
	for (size_t i = 0; i < sizeof call / sizeof *call; i++) {
		CHECK_EQ(status_without(call[i], &c), STATUS_DIAGNOSTICS);
		CHECK(has(c.text, call[i]) && has(c.text, "cuBLASLt"));
	}
	/* no algorithm: a kernel computes it */
	CHECK_EQ(status_without("cublasLtMatmulAlgoGetHeuristic", &c), STATUS_OK);
	CHECK_STR(c.text, "");
}

/* Runs this program again, with libraries from a folder in which cuBLASLt is an empty file. */
static void test_absent(const char *program)
{
	char folder[] = "/tmp/test_cuda_gemm_XXXXXX", path[PATH_MAX], target[PATH_MAX];
	static const char *const library[] = {"libcuda.so.1", "libnvrtc.so.13", "libcublasLt.so.13"};
	const char *mock = getenv("LD_LIBRARY_PATH");
	if (!mock || strchr(mock, ':') || !mkdtemp(folder))
		return;
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, library[i]);
		snprintf(target, sizeof target, "%s/%s", mock, library[i]);
		CHECK_EQ(symlink(i < 2 ? target : "/dev/null", path), 0);
	}
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		setenv("LD_LIBRARY_PATH", folder, 1);
		execl(program, program, "absent", NULL);
		_exit(1);
	}
	int state = 0;
	CHECK_EQ(waitpid(child, &state, 0), child);
	CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 0);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, library[i]);
		unlink(path);
	}
	rmdir(folder);
}

int main(int argc, char **argv)
{
	struct captured c;
	if (argc > 1) {
		launch_captured(RT_BOOT_THREAD, 1, 0, one_main, NULL, &c);
		CHECK_EQ(c.status, STATUS_ABSENT);
		CHECK(has(c.text, "--target=cuda needs libcublasLt.so.13 or libcublasLt.so.12, the library "
		                  "of contractions"));
		return check_result();
	}
	int file = mkstemp(log_name);
	CHECK(file >= 0);
	close(file);
	if (TEST_FORK) {
		test_absent(argv[0]);
		test_failures();
	}
	setenv("HIRC_MOCK_LOG", log_name, 1);
	launch_captured(RT_BOOT_THREAD, 1, 0, right_main, NULL, &c);
	unlink(log_name);
	if (c.status == STATUS_ABSENT && !check_failures) {
		printf("%s", c.text);
		return 77;
	}
	CHECK_EQ(c.status, STATUS_OK);
	printf("%s", c.text);
	return check_result();
}
