/* gemm: see gemm.h. */
#include "cuda/gemm.h"
#include "base/hash.h"
#include "base/vec.h"
#include "cuda/gemm_timing.h"
#include "rt/job.h"
#include <string.h>

enum { ANSWERS = 4 /* algorithms to ask for: the first one may not run on this GPU */ };

/* The calls of cuBLASLt for products with a key. */
struct cuda_gemm_plan {
	struct cuda_gemm_key key;
	bool exists; /* cuBLASLt has an algorithm */
	cublasLtMatmulDesc_t desc;
	cublasLtMatrixLayout_t layout[CUDA_GEMM_BIAS]; /* of a, b, d */
	cublasLtMatrixLayout_t unread;                 /* of c, if d has 8 bits; else NULL: c lies as d */
	cublasLtMatmulAlgo_t algorithm;
	size_t workspace; /* bytes that the algorithm needs */
};

struct cuda_gemms {
	bool tf32;
	bool times;              /* algorithms are timed */
	cublasLtHandle_t handle; /* NULL: no contraction so far */
	cublasLtMatmulPreference_t preference;
	VEC(struct cuda_gemm_plan *) plan;
	struct hash_table plans; /* by key, + 1 */
	VEC(struct workspace {
		CUstream stream;
		void *at;
	})
	workspace;
};

static enum status get_gemm_status(const struct cuda *c)
{
	return rt_job_status(c->base.job);
}

/* ---- types */

static cudaDataType_t type_of(uint8_t dtype)
{
	static const cudaDataType_t type[DTYPE_COUNT] = {
	    [DTYPE_F64] = CUDA_R_64F, [DTYPE_F32] = CUDA_R_32F,        [DTYPE_BF16] = CUDA_R_16BF,
	    [DTYPE_F16] = CUDA_R_16F, [DTYPE_F8E4M3] = CUDA_R_8F_E4M3, [DTYPE_F8E5M2] = CUDA_R_8F_E5M2,
	};
	return type[dtype];
}

static cublasComputeType_t compute_type(const struct cuda_gemm_key *k)
{
	if (k->dtype[CUDA_GEMM_D] == DTYPE_F64)
		return CUBLAS_COMPUTE_64F;
	return k->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

static cublasLtEpilogue_t epilogue_of(const struct cuda_gemm_key *k)
{
	static const cublasLtEpilogue_t epilogue[][2] = {
	    [CUDA_GEMM_NO_FUNCTION] = {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS},
	    [CUDA_GEMM_RELU] = {CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS},
	    [CUDA_GEMM_GELU] = {CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS},
	};
	return epilogue[k->function][k->bias];
}

/* ---- plans */

#define set_desc(c, p, name, ...)                                                                            \
	cuda_call_blas(c, cublasLtMatmulDescSetAttribute, (p)->desc, CUBLASLT_MATMUL_DESC_##name,            \
	               &(__VA_ARGS__), sizeof(__VA_ARGS__))
#define set_layout(c, layout, name, ...)                                                                     \
	cuda_call_blas(c, cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_##name,           \
	               &(__VA_ARGS__), sizeof(__VA_ARGS__))
#define set_preference(c, name, ...)                                                                         \
	cuda_call_blas(c, cublasLtMatmulPreferenceSetAttribute, (c)->gemms->preference,                      \
	               CUBLASLT_MATMUL_PREF_##name, &(__VA_ARGS__), sizeof(__VA_ARGS__))

/* Sets the addresses of bias and scales. The alignment of the bias decides which algorithms are possible. */
static bool set_pointers(struct cuda *c, struct cuda_gemm_plan *p, const void *bias,
                         const void *const scale[])
{
	return (!p->key.bias || set_desc(c, p, BIAS_POINTER, bias)) &&
	       (p->key.scales < 1 || set_desc(c, p, A_SCALE_POINTER, scale[0])) &&
	       (p->key.scales < 2 || set_desc(c, p, B_SCALE_POINTER, scale[1])) &&
	       (p->key.scales < 3 || set_desc(c, p, D_SCALE_POINTER, scale[2]));
}

static bool make_desc(struct cuda *c, struct cuda_gemm_plan *p)
{
	const struct cuda_gemm_key *k = &p->key;
	cublasLtEpilogue_t epilogue = epilogue_of(k);
	if (!cuda_call_blas(c, cublasLtMatmulDescCreate, &p->desc, compute_type(k),
	                    k->dtype[CUDA_GEMM_D] == DTYPE_F64 ? CUDA_R_64F : CUDA_R_32F))
		return false;
	int32_t a = k->transposed[CUDA_GEMM_A] ? CUBLAS_OP_T : CUBLAS_OP_N;
	int32_t b = k->transposed[CUDA_GEMM_B] ? CUBLAS_OP_T : CUBLAS_OP_N;
	if (!set_desc(c, p, TRANSA, a) || !set_desc(c, p, TRANSB, b) || !set_desc(c, p, EPILOGUE, epilogue))
		return false;
	if (!k->bias)
		return true;
	int32_t type = (int32_t)type_of(k->dtype[CUDA_GEMM_BIAS]);
	return set_desc(c, p, BIAS_DATA_TYPE, type) &&
	       set_desc(c, p, BIAS_BATCH_STRIDE, k->batch_stride[CUDA_GEMM_BIAS]);
}

static bool make_layout_as(struct cuda *c, const struct cuda_gemm_plan *p, int o, cudaDataType_t type,
                           cublasLtMatrixLayout_t *out)
{
	const struct cuda_gemm_key *k = &p->key;
	int64_t rows = o == CUDA_GEMM_B ? k->inner : k->rows, cols = o == CUDA_GEMM_A ? k->inner : k->cols;
	bool transposed = o != CUDA_GEMM_D && k->transposed[o];
	int32_t batch = (int32_t)k->batch;
	return cuda_call_blas(c, cublasLtMatrixLayoutCreate, out, type, (uint64_t)(transposed ? cols : rows),
	                      (uint64_t)(transposed ? rows : cols), k->lead[o]) &&
	       set_layout(c, *out, BATCH_COUNT, batch) &&
	       set_layout(c, *out, STRIDED_BATCH_OFFSET, k->batch_stride[o]);
}

static bool make_layout(struct cuda *c, struct cuda_gemm_plan *p, int o)
{
	return make_layout_as(c, p, o, type_of(p->key.dtype[o]), &p->layout[o]);
}

/* Makes the layout of c that cuBLASLt asks for beside a result of 8 bits, though it reads no c. */
static bool make_unread(struct cuda *c, struct cuda_gemm_plan *p)
{
	return dtype_bytes((enum dtype)p->key.dtype[CUDA_GEMM_D]) > 1 ||
	       make_layout_as(c, p, CUDA_GEMM_D, CUDA_R_16BF, &p->unread);
}

static cublasLtMatrixLayout_t layout_of_c(const struct cuda_gemm_plan *p)
{
	return p->unread ? p->unread : p->layout[CUDA_GEMM_D];
}

/* Returns the ways to add up a split sum: only in f32 if the result is narrower. */
static uint32_t reduction_schemes(const struct cuda_gemm_key *k)
{
	enum dtype out = k->dtype[CUDA_GEMM_D];
	return out == dtype_wide(out) ? CUBLASLT_REDUCTION_SCHEME_MASK
	                              : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
}

static bool multiply_by(struct cuda *c, CUstream s, struct cuda_gemm_plan *p, char *const at[],
                        const void *const scale[], const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                        size_t bytes)
{
	union {
		float f32;
		double f64;
	} one = {.f32 = 1}, zero = {.f32 = 0};
	if (p->key.dtype[CUDA_GEMM_D] == DTYPE_F64)
		one.f64 = 1, zero.f64 = 0;
	const void *added = p->key.addend ? at[CUDA_GEMM_C] : p->unread ? NULL : at[CUDA_GEMM_D];
	return set_pointers(c, p, at[CUDA_GEMM_BIAS], scale) &&
	       cuda_call_blas(c, cublasLtMatmul, c->gemms->handle, p->desc, &one, at[CUDA_GEMM_A],
	                      p->layout[CUDA_GEMM_A], at[CUDA_GEMM_B], p->layout[CUDA_GEMM_B],
	                      p->key.accumulate || p->key.addend ? &one : &zero, added, layout_of_c(p),
	                      at[CUDA_GEMM_D], p->layout[CUDA_GEMM_D], algorithm, workspace, bytes, s);
}

/* Asks for algorithms, and puts those that run on this GPU first. */
static bool ask_heuristic(struct cuda *c, struct cuda_gemm_plan *p, cublasLtMatmulHeuristicResult_t *answer,
                          int *usable)
{
	struct cuda_gemms *g = c->gemms;
	uint32_t aligned[CUDA_GEMM_OPERANDS], schemes = reduction_schemes(&p->key);
	int answers = 0;
	*usable = 0;
	for (int o = 0; o < CUDA_GEMM_OPERANDS; o++)
		aligned[o] = p->key.aligned[o];
	if (!p->key.addend)
		aligned[CUDA_GEMM_C] = aligned[CUDA_GEMM_D];
	if (!set_preference(c, REDUCTION_SCHEME_MASK, schemes) ||
	    !set_preference(c, MIN_ALIGNMENT_A_BYTES, aligned[CUDA_GEMM_A]) ||
	    !set_preference(c, MIN_ALIGNMENT_B_BYTES, aligned[CUDA_GEMM_B]) ||
	    !set_preference(c, MIN_ALIGNMENT_C_BYTES, aligned[CUDA_GEMM_C]) ||
	    !set_preference(c, MIN_ALIGNMENT_D_BYTES, aligned[CUDA_GEMM_D]))
		return false;
	cublasStatus_t r = c->api->cublasLtMatmulAlgoGetHeuristic(
	    g->handle, p->desc, p->layout[CUDA_GEMM_A], p->layout[CUDA_GEMM_B], layout_of_c(p),
	    p->layout[CUDA_GEMM_D], g->preference, ANSWERS, answer, &answers);
	if (r == CUBLAS_STATUS_NOT_SUPPORTED || r == CUBLAS_STATUS_ARCH_MISMATCH)
		return true;
	if (!cuda_check_blas(c, r, "cublasLtMatmulAlgoGetHeuristic"))
		return false;
	for (int i = 0; i < answers; i++)
		if (answer[i].state == CUBLAS_STATUS_SUCCESS)
			answer[(*usable)++] = answer[i];
	return true;
}

/* ---- the fastest algorithm */

/* A product that is timed: its own operands, and a result in memory that nobody reads. */
struct trial {
	struct cuda_gemm_plan *plan;
	const struct cuda_gemm_shape *shape;
	const cublasLtMatmulHeuristicResult_t *answer;
	char *memory; /* the workspace, then the result */
};

static bool try_answer(struct cuda *c, void *data, int k, CUstream s)
{
	const struct trial *t = data;
	char *at[CUDA_GEMM_OPERANDS];
	cuda_gemm_operands(t->shape, 0, at);
	at[CUDA_GEMM_D] = t->memory + CUDA_GEMM_WORKSPACE;
	return multiply_by(c, s, t->plan, at, t->shape->scale, &t->answer[k].algo, t->memory,
	                   t->answer[k].workspaceSize);
}

/* Returns the bytes from the first to the last element of the result. */
static size_t bytes_of_result(const struct cuda_gemm_key *k)
{
	int64_t last =
	    (k->batch - 1) * k->batch_stride[CUDA_GEMM_D] + (k->cols - 1) * k->lead[CUDA_GEMM_D] + k->rows;
	return (size_t)last * dtype_bytes((enum dtype)k->dtype[CUDA_GEMM_D]);
}

/* Finds the fastest answer; the first one if there is no memory to time them. */
static bool find_fastest(struct cuda *c, struct cuda_gemm_plan *p, const struct cuda_gemm_shape *shape,
                         const cublasLtMatmulHeuristicResult_t *answer, int answers, int *out)
{
	CUdeviceptr memory;
	CUresult r = c->api->cuMemAlloc(&memory, CUDA_GEMM_WORKSPACE + bytes_of_result(&p->key));
	if (r == CUDA_ERROR_OUT_OF_MEMORY)
		return true;
	if (!cuda_check(c, r, "cuMemAlloc"))
		return false;
	struct trial t = {p, shape, answer, (char *)memory};
	bool ok = cuda_gemm_fastest(c, &p->key, answers, try_answer, &t, out);
	return cuda_call(c, cuMemFree, memory) && ok;
}

static bool choose_algorithm(struct cuda *c, struct cuda_gemm_plan *p, const struct cuda_gemm_shape *shape)
{
	cublasLtMatmulHeuristicResult_t answer[ANSWERS];
	int answers, best = 0;
	if (!ask_heuristic(c, p, answer, &answers))
		return false;
	p->exists = answers > 0;
	if (!p->exists)
		return true;
	if (c->gemms->times && answers > 1 && !c->captured &&
	    !find_fastest(c, p, shape, answer, answers, &best))
		return false;
	p->algorithm = answer[best].algo;
	p->workspace = answer[best].workspaceSize;
	return true;
}

static void free_plan(struct cuda *c, struct cuda_gemm_plan *p)
{
	for (int o = 0; o < CUDA_GEMM_BIAS; o++)
		if (p->layout[o])
			cuda_call_blas(c, cublasLtMatrixLayoutDestroy, p->layout[o]);
	if (p->unread)
		cuda_call_blas(c, cublasLtMatrixLayoutDestroy, p->unread);
	if (p->desc)
		cuda_call_blas(c, cublasLtMatmulDescDestroy, p->desc);
	free(p);
}

/* Makes a plan. shape: of the first launch. */
static struct cuda_gemm_plan *make_plan(struct cuda *c, const struct cuda_gemm_shape *shape)
{
	struct cuda_gemm_plan *p = mem_zalloc(sizeof *p);
	p->key = shape->key;
	if (make_desc(c, p) && set_pointers(c, p, shape->at[CUDA_GEMM_BIAS], shape->scale) &&
	    make_layout(c, p, CUDA_GEMM_A) && make_layout(c, p, CUDA_GEMM_B) &&
	    make_layout(c, p, CUDA_GEMM_D) && make_unread(c, p) && choose_algorithm(c, p, shape))
		return p;
	free_plan(c, p);
	return NULL;
}

/* ---- the table of plans */

/* Returns the plan for a shape. NULL after a message. */
static struct cuda_gemm_plan *plan_of(struct cuda *c, const struct cuda_gemm_shape *shape)
{
	struct cuda_gemms *g = c->gemms;
	const struct cuda_gemm_key *key = &shape->key;
	struct hash_probe p = {.hash = hash_block(0, key, sizeof *key)};
	for (uint32_t k; (k = hash_next(&g->plans, &p));)
		if (memcmp(&g->plan.at[k - 1]->key, key, sizeof *key) == 0)
			return g->plan.at[k - 1];
	struct cuda_gemm_plan *new = make_plan(c, shape);
	if (new) {
		vec_push(&g->plan, new);
		hash_insert(&g->plans, p.hash, g->plan.n);
	}
	return new;
}

/* ---- launches */

static bool open_blas(struct cuda *c)
{
	struct cuda_gemms *g = c->gemms;
	uint64_t most = CUDA_GEMM_WORKSPACE;
	return g->handle ||
	       (cuda_need(c, CUDA_BLAS) == STATUS_OK && cuda_call_blas(c, cublasLtCreate, &g->handle) &&
	        cuda_call_blas(c, cublasLtMatmulPreferenceCreate, &g->preference) &&
	        set_preference(c, MAX_WORKSPACE_BYTES, most));
}

/* Finds a stream's workspace. Products of one stream run one after the other, so they share it. */
static bool workspace_of(struct cuda *c, CUstream s, void **out)
{
	struct cuda_gemms *g = c->gemms;
	for (uint32_t i = 0; i < g->workspace.n; i++)
		if (g->workspace.at[i].stream == s) {
			*out = g->workspace.at[i].at;
			return true;
		}
	if (rt_device_alloc(&c->base, CUDA_GEMM_WORKSPACE, "the workspace of cuBLASLt", out) != STATUS_OK)
		return false;
	vec_push(&g->workspace, (struct workspace){s, *out});
	return true;
}

static bool multiply_matrices(struct cuda *c, CUstream s, struct cuda_gemm_plan *p, char *const at[],
                              const void *const scale[])
{
	void *workspace = NULL;
	if (p->workspace && !workspace_of(c, s, &workspace))
		return false;
	return multiply_by(c, s, p, at, scale, &p->algorithm, workspace, p->workspace);
}

enum status cuda_gemm_make(struct cuda *c, const struct rt_task *t, struct cuda_gemm_call *out, bool *taken)
{
	struct cuda_gemm_shape *shape = &out->shape;
	*taken = false;
	if (!cuda_gemm_shape(t, shape))
		return STATUS_OK;
	shape->key.tf32 = c->gemms->tf32 && t->in[0].dtype == DTYPE_F32;
	if (!open_blas(c))
		return get_gemm_status(c);
	out->plan = plan_of(c, shape);
	if (out->plan && !out->plan->exists && shape->key.function) {
		shape->key.function = CUDA_GEMM_NO_FUNCTION;
		out->plan = plan_of(c, shape);
	}
	if (!out->plan)
		return get_gemm_status(c);
	out->lacks_function = t->function && !shape->key.function;
	*taken = out->plan->exists;
	return STATUS_OK;
}

enum status cuda_gemm_prepare(struct cuda *c, CUstream s, const struct cuda_gemm_call *call)
{
	void *workspace;
	return !call->plan->workspace || workspace_of(c, s, &workspace) ? STATUS_OK : get_gemm_status(c);
}

enum status cuda_gemm_run(struct cuda *c, CUstream s, const struct cuda_gemm_call *call)
{
	char *at[CUDA_GEMM_OPERANDS];
	for (int64_t i = 0; i < call->shape.launches; i++) {
		cuda_gemm_operands(&call->shape, i, at);
		if (!multiply_matrices(c, s, call->plan, at, call->shape.scale))
			return get_gemm_status(c);
	}
	return STATUS_OK;
}

/* ---- beginning and end */

enum status cuda_gemms_open(struct cuda *c)
{
	c->gemms = mem_zalloc(sizeof *c->gemms);
	return STATUS_OK;
}

void cuda_allow_tf32(struct rt_device *d, bool allowed)
{
	((struct cuda *)d)->gemms->tf32 = allowed;
}

void cuda_time_products(struct rt_device *d, bool timed)
{
	((struct cuda *)d)->gemms->times = timed;
}

void cuda_gemms_close(struct cuda *c)
{
	struct cuda_gemms *g = c->gemms;
	if (!g)
		return;
	for (uint32_t i = 0; i < g->plan.n; i++)
		free_plan(c, g->plan.at[i]);
	for (uint32_t i = 0; i < g->workspace.n; i++)
		rt_device_free(&c->base, g->workspace.at[i].at);
	if (g->preference)
		cuda_call_blas(c, cublasLtMatmulPreferenceDestroy, g->preference);
	if (g->handle)
		cuda_call_blas(c, cublasLtDestroy, g->handle);
	vec_free(&g->workspace);
	vec_free(&g->plan);
	hash_table_free(&g->plans);
	free(g);
	c->gemms = NULL;
}
