/* record_nccl: calls of NCCL. */
#include "cuda/record_calls.h"
#include <string.h>

static const char *const type_name[] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                                        "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
static const char *const op_name[] = {"sum", "prod", "max", "min", "avg"};

/* ---- communicators */

/* A call that prints nothing. */
#define SILENT(name, ...)                                                                                    \
	static ncclResult_t record_##name(__VA_ARGS__)                                                       \
	{                                                                                                    \
		return ncclSuccess;                                                                          \
	}
SILENT(ncclCommFinalize, ncclComm_t c)
SILENT(ncclCommDestroy, ncclComm_t c)
SILENT(ncclCommAbort, ncclComm_t c)

static ncclResult_t record_ncclGetVersion(int *version)
{
	*version = NCCL_VERSION_CODE;
	return ncclSuccess;
}

static const char *record_ncclGetErrorString(ncclResult_t r)
{
	return "";
}

static const char *record_ncclGetLastError(ncclComm_t c)
{
	return "";
}

static ncclResult_t record_ncclGetUniqueId(ncclUniqueId *id)
{
	memset(id, 0, sizeof *id);
	return ncclSuccess;
}

static ncclResult_t record_ncclCommInitRankConfig(ncclComm_t *c, int n, ncclUniqueId id, int rank,
                                                  ncclConfig_t *config)
{
	struct record_handle *h = record_handle_new(record_next(RECORD_COMMUNICATORS));
	record_members_take(h);
	record_say("ncclCommInitRankConfig communicator %d, member %d of ranks (", h->number, rank);
	for (int k = 0; k < h->members; k++)
		record_more("%s%d", k ? " " : "", h->member[k]);
	record_more(")%s\n", config->CTAPolicy == NCCL_CTA_POLICY_ZERO ? ", without CTAs" : "");
	*c = (ncclComm_t)h;
	return ncclSuccess;
}

static ncclResult_t record_ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *error)
{
	*error = ncclSuccess;
	return ncclSuccess;
}

static ncclResult_t record_ncclGroupStart(void)
{
	record_say("ncclGroupStart\n");
	return ncclSuccess;
}

static ncclResult_t record_ncclGroupEnd(void)
{
	record_say("ncclGroupEnd\n");
	return ncclSuccess;
}

/* ---- communications */

static void say_call(const char *call, size_t count, ncclDataType_t t, ncclComm_t c, cudaStream_t s)
{
	record_say("%s of %zu %s, communicator %d on stream %d", call, count, type_name[t], record_number(c),
	           record_number(s));
}

static int rank_of(ncclComm_t c, int member)
{
	const struct record_handle *h = (const struct record_handle *)c;
	return h->member[member];
}

/* After say_call's part, s and the rest of the line. */
#define say(call, count, t, c, s, ...) (say_call(call, count, t, c, s), record_more(__VA_ARGS__), ncclSuccess)

static ncclResult_t record_ncclAllGather(const void *in, void *out, size_t count, ncclDataType_t t,
                                         ncclComm_t c, cudaStream_t s)
{
	return say("ncclAllGather", count, t, c, s, "\n");
}

static ncclResult_t record_ncclAllReduce(const void *in, void *out, size_t count, ncclDataType_t t,
                                         ncclRedOp_t op, ncclComm_t c, cudaStream_t s)
{
	return say("ncclAllReduce", count, t, c, s, ", %s\n", op_name[op]);
}

static ncclResult_t record_ncclReduceScatter(const void *in, void *out, size_t count, ncclDataType_t t,
                                             ncclRedOp_t op, ncclComm_t c, cudaStream_t s)
{
	return say("ncclReduceScatter", count, t, c, s, ", %s\n", op_name[op]);
}

static ncclResult_t record_ncclBroadcast(const void *in, void *out, size_t count, ncclDataType_t t, int root,
                                         ncclComm_t c, cudaStream_t s)
{
	return say("ncclBroadcast", count, t, c, s, ", root rank %d\n", rank_of(c, root));
}

static ncclResult_t record_ncclReduce(const void *in, void *out, size_t count, ncclDataType_t t,
                                      ncclRedOp_t op, int root, ncclComm_t c, cudaStream_t s)
{
	return say("ncclReduce", count, t, c, s, ", %s, root rank %d\n", op_name[op], rank_of(c, root));
}

static ncclResult_t record_ncclSend(const void *from, size_t count, ncclDataType_t t, int peer, ncclComm_t c,
                                    cudaStream_t s)
{
	return say("ncclSend", count, t, c, s, ", to rank %d\n", rank_of(c, peer));
}

static ncclResult_t record_ncclRecv(void *to, size_t count, ncclDataType_t t, int peer, ncclComm_t c,
                                    cudaStream_t s)
{
	return say("ncclRecv", count, t, c, s, ", from rank %d\n", rank_of(c, peer));
}

/* ---- windows */

SILENT(ncclMemFree, void *at)
SILENT(ncclCommWindowDeregister, ncclComm_t c, ncclWindow_t w)

static ncclResult_t record_ncclMemAlloc(void **at, size_t bytes)
{
	record_say("ncclMemAlloc %zu bytes\n", bytes);
	*at = (void *)record_memory(bytes);
	return ncclSuccess;
}

static ncclResult_t record_ncclCommWindowRegister(ncclComm_t c, void *at, size_t bytes, ncclWindow_t *w,
                                                  int flags)
{
	record_say("ncclCommWindowRegister of %zu bytes, communicator %d%s\n", bytes, record_number(c),
	           flags & NCCL_WIN_COLL_SYMMETRIC ? ", symmetric" : "");
	*w = (ncclWindow_t)c; /* any handle but NULL */
	return ncclSuccess;
}

void record_nccl(struct cuda_api *api)
{
	CUDA_NCCL_CALLS(RECORD_ENTRY)
	CUDA_WINDOW_CALLS(RECORD_ENTRY)
}
