/* blas: descriptors, heuristic and call of the mock cuBLASLt. An algorithm remembers the problem for which it
 * was found, and is refused for any other. */
#include "blas.h"
#include <stdlib.h>
#include <string.h>

static void *make(size_t bytes)
{
	struct mock_object *o = calloc(1, bytes);
	if (!o)
		mock_abort("cublasLt", "the host has no memory");
	mock_object_add(o, MOCK_OTHER);
	return o;
}

#define GET(handle) mock_object_get(__func__, MOCK_OTHER, (handle))

/* ---- the library */

size_t cublasLtGetVersion(void)
{
	return CUBLAS_VERSION;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
	switch (status) {
	case CUBLAS_STATUS_SUCCESS:
		return "the function completed successfully";
	case CUBLAS_STATUS_NOT_INITIALIZED:
		return "the library was not initialized";
	case CUBLAS_STATUS_ALLOC_FAILED:
		return "the resource allocation failed";
	case CUBLAS_STATUS_INVALID_VALUE:
		return "an invalid value was used as an argument";
	case CUBLAS_STATUS_NOT_SUPPORTED:
		return "the requested functionality is not supported";
	case CUBLAS_STATUS_EXECUTION_FAILED:
		return "the function failed to launch on the GPU";
	default:
		return "unknown error";
	}
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
	MOCK_ENTER(CUBLAS_STATUS_ALLOC_FAILED, NULL);
	if (mock_device_current() < 0)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*out = make(sizeof(struct mock_object));
	return CUBLAS_STATUS_SUCCESS;
}

/* Defines the destroy function of a kind of handle. */
#define DESTROY(name, type, status)                                                                          \
	cublasStatus_t name(type handle)                                                                     \
	{                                                                                                    \
		MOCK_ENTER(status, NULL);                                                                    \
		mock_object_end(__func__, MOCK_OTHER, handle);                                               \
		return CUBLAS_STATUS_SUCCESS;                                                                \
	}
DESTROY(cublasLtDestroy, cublasLtHandle_t, CUBLAS_STATUS_NOT_INITIALIZED)
DESTROY(cublasLtMatmulDescDestroy, cublasLtMatmulDesc_t, CUBLAS_STATUS_INVALID_VALUE)
DESTROY(cublasLtMatrixLayoutDestroy, cublasLtMatrixLayout_t, CUBLAS_STATUS_INVALID_VALUE)
DESTROY(cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreference_t, CUBLAS_STATUS_INVALID_VALUE)

/* ---- attributes */

/* A member of a descriptor that an attribute sets. */
struct member {
	int attribute;
	size_t at, bytes;
};
#define MEMBER(attribute, descriptor, name)                                                                  \
	{                                                                                                    \
		(int)(attribute), offsetof(struct descriptor, name), sizeof(((struct descriptor *)0)->name)  \
	}

/* Sets a member of a descriptor. Returns false if there is no such member. */
static bool set_member(const struct member *m, size_t n, void *descriptor, int attribute, const void *from,
                       size_t bytes, cublasStatus_t *out)
{
	for (size_t k = 0; k < n; k++) {
		if (m[k].attribute != attribute)
			continue;
		*out = from && bytes == m[k].bytes ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
		if (*out == CUBLAS_STATUS_SUCCESS)
			memcpy((char *)descriptor + m[k].at, from, bytes);
		return true;
	}
	return false;
}
#define SET(member, descriptor, ...)                                                                         \
	set_member(member, sizeof member / sizeof *member, descriptor, __VA_ARGS__)

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
	MOCK_ENTER(CUBLAS_STATUS_ALLOC_FAILED, "compute %d scale %d", (int)compute, (int)scale);
	struct blas_operation *o = make(sizeof *o);
	o->compute = compute;
	o->scale = scale;
	o->transpose_a = o->transpose_b = CUBLAS_OP_N;
	o->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
	o->bias_type = -1;
	*out = (cublasLtMatmulDesc_t)o;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute, const void *from,
                                              size_t bytes)
{
	static const struct member member[] = {
	    MEMBER(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, blas_operation, compute),
	    MEMBER(CUBLASLT_MATMUL_DESC_SCALE_TYPE, blas_operation, scale),
	    MEMBER(CUBLASLT_MATMUL_DESC_TRANSA, blas_operation, transpose_a),
	    MEMBER(CUBLASLT_MATMUL_DESC_TRANSB, blas_operation, transpose_b),
	    MEMBER(CUBLASLT_MATMUL_DESC_EPILOGUE, blas_operation, epilogue),
	    MEMBER(CUBLASLT_MATMUL_DESC_BIAS_POINTER, blas_operation, bias),
	    MEMBER(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, blas_operation, bias_type),
	    MEMBER(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, blas_operation, bias_stride),
	    MEMBER(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, blas_operation, scale_a),
	    MEMBER(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, blas_operation, scale_b),
	    MEMBER(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, blas_operation, scale_c),
	    MEMBER(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, blas_operation, scale_d),
	};
	MOCK_ENTER(CUBLAS_STATUS_INVALID_VALUE, "%d", (int)attribute);
	struct blas_operation *o = GET(operation);
	cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
	if (SET(member, o, (int)attribute, from, bytes, &status))
		return status;
	int32_t value = 0;
	memcpy(&value, from, bytes < sizeof value ? bytes : sizeof value);
	/* these may be set to their default, 0; the way in which f8 is added up has no effect here */
	o->unknown |= value != 0 && attribute != CUBLASLT_MATMUL_DESC_FAST_ACCUM;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading)
{
	MOCK_ENTER(CUBLAS_STATUS_ALLOC_FAILED, "type %d %llu x %llu leading %lld", (int)type,
	           (unsigned long long)rows, (unsigned long long)columns, (long long)leading);
	struct blas_layout *l = make(sizeof *l);
	l->type = type;
	l->order = CUBLASLT_ORDER_COL;
	l->rows = rows;
	l->columns = columns;
	l->leading = leading;
	l->batch = 1;
	*out = (cublasLtMatrixLayout_t)l;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void *from,
                                                size_t bytes)
{
	static const struct member member[] = {
	    MEMBER(CUBLASLT_MATRIX_LAYOUT_TYPE, blas_layout, type),
	    MEMBER(CUBLASLT_MATRIX_LAYOUT_ORDER, blas_layout, order),
	    MEMBER(CUBLASLT_MATRIX_LAYOUT_ROWS, blas_layout, rows),
	    MEMBER(CUBLASLT_MATRIX_LAYOUT_COLS, blas_layout, columns),
	    MEMBER(CUBLASLT_MATRIX_LAYOUT_LD, blas_layout, leading),
	    MEMBER(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, blas_layout, batch),
	    MEMBER(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, blas_layout, stride),
	};
	MOCK_ENTER(CUBLAS_STATUS_INVALID_VALUE, "%d", (int)attribute);
	cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE;
	SET(member, GET(layout), (int)attribute, from, bytes, &status);
	return status;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
	MOCK_ENTER(CUBLAS_STATUS_ALLOC_FAILED, NULL);
	struct blas_preference *p = make(sizeof *p);
	for (int k = 0; k < 4; k++)
		p->alignment[k] = 256;
	*out = (cublasLtMatmulPreference_t)p;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *from, size_t bytes)
{
	static const struct member member[] = {
	    MEMBER(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, blas_preference, workspace),
	    MEMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, blas_preference, alignment[0]),
	    MEMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, blas_preference, alignment[1]),
	    MEMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, blas_preference, alignment[2]),
	    MEMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, blas_preference, alignment[3]),
	};
	MOCK_ENTER(CUBLAS_STATUS_INVALID_VALUE, "%d", (int)attribute);
	cublasStatus_t status = CUBLAS_STATUS_SUCCESS; /* preferences about algorithms have no effect here */
	SET(member, GET(preference), (int)attribute, from, bytes, &status);
	return status;
}

/* ---- algorithms */

struct algorithm {
	uint64_t problem; /* hash of its problem */
	uint64_t workspace;
	uint32_t alignment[4];
	uint32_t answer; /* its number among the heuristic's answers */
};
_Static_assert(sizeof(struct algorithm) <= sizeof(cublasLtMatmulAlgo_t), "an algorithm fits");

static uint64_t mix(uint64_t hash, uint64_t x)
{
	hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct blas_problem *p)
{
	const struct blas_layout *layout[] = {p->a, p->b, p->c, p->d};
	const struct blas_operation *o = p->operation;
	uint64_t hash = mix((uint64_t)o->compute, (uint64_t)o->scale);
	hash = mix(mix(mix(hash, (uint64_t)o->transpose_a), (uint64_t)o->transpose_b), (uint64_t)o->epilogue);
	for (int k = 0; k < 4; k++) {
		const struct blas_layout *l = layout[k];
		hash = mix(mix(mix(hash, (uint64_t)l->type), (uint64_t)l->order), l->rows);
		hash = mix(mix(mix(hash, l->columns), (uint64_t)l->leading), (uint64_t)l->batch);
	}
	return hash;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int asked,
                                              cublasLtMatmulHeuristicResult_t *out, int *found)
{
	MOCK_ENTER(CUBLAS_STATUS_NOT_SUPPORTED, NULL);
	GET(handle);
	struct blas_problem p = {GET(operation), GET(a), GET(b), GET(c), GET(d)};
	const struct blas_preference *preferred = GET(preference);
	*found = 0;
	if (asked < 1)
		return CUBLAS_STATUS_INVALID_VALUE;
	cublasStatus_t status = blas_check(&p, preferred->alignment);
	if (status != CUBLAS_STATUS_SUCCESS)
		return status;
	struct algorithm algorithm = {.problem = hash_of(&p)};
	algorithm.workspace = preferred->workspace < 1 << 16 ? 0 : 1 << 16;
	memcpy(algorithm.alignment, preferred->alignment, sizeof algorithm.alignment);
	for (int n = mock_settings()->answers; *found < asked && *found < n; ++*found) {
		cublasLtMatmulHeuristicResult_t *x = &out[*found];
		algorithm.answer = (uint32_t)*found;
		memset(x, 0, sizeof *x);
		memcpy(&x->algo, &algorithm, sizeof algorithm);
		x->workspaceSize = algorithm.workspace;
		x->state = CUBLAS_STATUS_SUCCESS;
	}
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- the call */

static bool is_aligned(const void *at, uint32_t alignment)
{
	return (uintptr_t)at % (alignment < 16 ? alignment : 16) == 0;
}

static void check_memory(const struct blas_layout *l, const void *at)
{
	uint64_t lines = l->order == CUBLASLT_ORDER_COL ? l->columns : l->rows;
	uint64_t along = l->order == CUBLASLT_ORDER_COL ? l->rows : l->columns;
	uint64_t last =
	    (uint64_t)(l->batch - 1) * (uint64_t)l->stride + (lines - 1) * (uint64_t)l->leading + along;
	mock_memory_check("cublasLtMatmul", at, last * element_bytes(blas_element(l->type)));
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t layout_a, const void *b,
                              cublasLtMatrixLayout_t layout_b, const void *beta, const void *c,
                              cublasLtMatrixLayout_t layout_c, void *d, cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t *chosen, void *workspace, size_t workspace_bytes,
                              cudaStream_t stream)
{
	static const uint32_t least[4] = {16, 16, 16, 16};
	struct algorithm algorithm = {.workspace = 0};
	if (chosen)
		memcpy(&algorithm, chosen, sizeof algorithm);
	else
		memcpy(algorithm.alignment, least, sizeof least);
	struct blas_problem p = {GET(operation), GET(layout_a), GET(layout_b), GET(layout_c), GET(layout_d)};
	MOCK_ENTER(CUBLAS_STATUS_EXECUTION_FAILED, "%llu x %llu stream %u answer %u",
	           (unsigned long long)p.d->rows, (unsigned long long)p.d->columns,
	           mock_object_number(__func__, MOCK_STREAM, stream), algorithm.answer);
	GET(handle);
	if (mock_device_current() < 0)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	cublasStatus_t status = blas_check(&p, algorithm.alignment);
	if (status != CUBLAS_STATUS_SUCCESS)
		return status;
	if (chosen && algorithm.problem != hash_of(&p))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (!is_aligned(a, algorithm.alignment[0]) || !is_aligned(b, algorithm.alignment[1]) ||
	    !is_aligned(c, algorithm.alignment[2]) || !is_aligned(d, algorithm.alignment[3]))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (algorithm.workspace > workspace_bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	mock_memory_check(__func__, workspace, workspace_bytes);
	check_memory(p.a, a);
	check_memory(p.b, b);
	check_memory(p.d, d);
	if (c)
		check_memory(p.c, c);
	blas_push(&p, alpha, a, b, beta, c, d,
	          mock_settings()->answer_us[algorithm.answer % MOCK_MOST_ANSWERS], stream);
	return CUBLAS_STATUS_SUCCESS;
}
