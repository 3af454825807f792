/* mock: libraries with the entry points of NVIDIA's, which execute on the host.
 *
 *     libcuda.so.1        device.c memory.c block.c vmm.c ipc.c copy.c value.c stream.c event.c graph.c
 * module.c, and what all share: mock.c libnvrtc.so.13      nvrtc.c    the source compiled by cc; the cubin is
 * a shared object libcublasLt.so.13   blas.c blas_check.c blas_matmul.c libnccl.so.2        comm.c
 * comm_call.c comm_run.c flow.c pipe.c    ranks are threads or processes of one host libmocknvtx.so.1 nvtx.c
 * a tool for NVTX_INJECTION64_PATH: ranges go to the log
 *
 * Environment, read at the first call:
 *
 *     HIRC_MOCK_DEVICES=N      GPUs (1), of which CUDA_VISIBLE_DEVICES shows as many as it lists
 *     HIRC_MOCK_MEMORY=BYTES   of each (4 GiB)
 *     HIRC_MOCK_VERSION=N      of CUDA that the driver is of (that of the headers, as CUDA_VERSION)
 *     HIRC_MOCK_SHARED_GPU=1   communicators may have two ranks on one GPU
 *     HIRC_MOCK_APART=1        no GPU can reach the memory of another one
 *     HIRC_MOCK_NO_IPC=1       no memory can be opened by other processes
 *     HIRC_MOCK_DELAY_US=N     each item of half of the streams waits for 0 to N us before it runs (0)
 *     HIRC_MOCK_SEED=N         of these times
 *     HIRC_MOCK_QUEUES=N       all streams share N queues, which are in order; 0: each has its own (0)
 *     HIRC_MOCK_WORK_US=N      each kernel and product takes N us more (0)
 *     HIRC_MOCK_NCCL_US=N      each collective or group does (0)
 *     HIRC_MOCK_LOG=FILE       a line a call is appended
 *     HIRC_MOCK_SOURCES=DIR    NVRTC writes each source to a file in that folder
 *     HIRC_MOCK_IDLE=1         NVRTC compiles a kernel that does nothing in place of each source
 *     HIRC_MOCK_FAIL=CALL      all calls of that name fail; CALL:3 the third one; several with commas.
 *                              kernel:2 is the second kernel that runs: it does an illegal access.
 *                              nccl:2 is the second collective or group that runs: it never ends, and
 *                              ncclCommGetAsyncError shows an error
 *
 * What no correct caller does (a handle that was destroyed or never made, memory outside of every allocation)
 * ends the process with a message. */
#ifndef HIRC_MOCK_H
#define HIRC_MOCK_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mock_settings {
	int devices;
	size_t memory; /* bytes of a device */
	int version;   /* of CUDA, as CUDA_VERSION */
	bool shared_gpu, apart, no_ipc, idle;
	unsigned delay_us; /* at most */
	unsigned work_us, nccl_us;
	uint64_t seed;
	unsigned queues;     /* of all streams; 0: each has its own */
	const char *sources; /* the folder that they go to; NULL: none */
};
const struct mock_settings *mock_settings(void);

/* ---- calls */

/* Logs a call; the arguments as printf takes them, format NULL: none. Whether it is to fail. */
bool mock_enter(const char *call, const char *format, ...);
/* Whether this call of that name, or item of that kind, is to fail. */
bool mock_fails(const char *name);
void mock_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void mock_abort(const char *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* At the head of every entry point. */
#define MOCK_ENTER(failure, ...)                                                                             \
	do {                                                                                                 \
		if (mock_enter(__func__, __VA_ARGS__))                                                       \
			return (failure);                                                                    \
	} while (0)

/* ---- handles */

enum mock_kind {
	MOCK_CONTEXT,
	MOCK_STREAM,
	MOCK_EVENT,
	MOCK_MODULE,
	MOCK_FUNCTION,
	MOCK_GRAPH,
	MOCK_OTHER,
	MOCK_KINDS
};

/* The first member of what a handle points to. Never freed, so that no address is used twice. */
struct mock_object {
	enum mock_kind kind;
	bool alive;
	unsigned number;          /* of its kind in this process, from 1 on: what logs say */
	struct mock_object *next; /* of its bucket */
};

void mock_object_add(struct mock_object *o, enum mock_kind kind);
void mock_object_end(const char *call, enum mock_kind kind, void *handle);
/* What the handle points to; aborts where that is no living object of the kind. */
void *mock_object_get(const char *call, enum mock_kind kind, void *handle);
unsigned mock_object_number(const char *call, enum mock_kind kind, void *handle);
/* How many are alive. */
unsigned mock_object_count(enum mock_kind kind);

/* ---- what the other libraries need of the driver */

/* Of the thread's context; -1: it has none. */
int mock_device_current(void);
/* What a stream does when it comes to it. A stream that is captured does not: a graph keeps the work, and
 * does it each time that it is launched. */
struct mock_work {
	void (*run)(void *data, uint64_t number);
	void (*free)(void *data);      /* when it is done for the last time */
	uint64_t (*issue)(void *data); /* at the call or launch: the number that run gets; NULL: 0 */
	void *data;
};
void mock_stream_push(CUstream s, struct mock_work work); /* s is alive */
bool mock_stream_is_captured(CUstream s);
/* Aborts unless bytes from at on lie in one allocation of a device, or pinned. */
void mock_memory_check(const char *call, const void *at, size_t bytes);

/* A point in the work of a stream, which others wait for. One reference is the maker's. */
struct mock_mark;
struct mock_mark *mock_mark_new(void);
void mock_mark_release(struct mock_mark *m);
void mock_stream_signal(CUstream s, struct mock_mark *m); /* when the stream has come here */
void mock_stream_wait(CUstream s, struct mock_mark *m);
bool mock_mark_is_over(struct mock_mark *m);
void mock_mark_wait(struct mock_mark *m); /* the calling thread */

#endif
