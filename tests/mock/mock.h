/* mock: libraries with the entry points of NVIDIA's, which run on the host.
 *
 *     all                 mock.c
 *     libcuda.so.1        device.c memory.c block.c vmm.c ipc.c copy.c value.c stream.c event.c graph.c
 *                         module.c
 *     libnvrtc.so.13      nvrtc.c    cc compiles the source; the cubin is a shared object
 *     libcublasLt.so.13   blas.c blas_check.c blas_matmul.c
 *     libnccl.so.2        comm.c comm_call.c comm_run.c flow.c pipe.c    ranks are threads or processes
 *     libmocknvtx.so.1    nvtx.c     a tool for NVTX_INJECTION64_PATH: ranges go to the log
 *
 * Environment, read at the first call, with defaults in parentheses:
 *
 *     HIRC_MOCK_DEVICES=N      number of GPUs (1); CUDA_VISIBLE_DEVICES shows as many as it lists
 *     HIRC_MOCK_MEMORY=BYTES   memory of each GPU (4 GiB)
 *     HIRC_MOCK_VERSION=N      version of CUDA of the driver, as CUDA_VERSION (that of the headers)
 *     HIRC_MOCK_SHARED_GPU=1   communicators may have two ranks on one GPU
 *     HIRC_MOCK_APART=1        no GPU can reach the memory of another one
 *     HIRC_MOCK_NO_IPC=1       no memory can be opened by other processes
 *     HIRC_MOCK_NO_WINDOWS=1   NCCL has no windows, as where GPUs do not reach each other's memory
 *     HIRC_MOCK_NCCL_VERSION=N version of NCCL, as NCCL_VERSION_CODE (that of the headers)
 *     HIRC_MOCK_FLUSHES=1      streams that wait for a value may flush the writes of others
 *     HIRC_MOCK_DELAY_US=N     each item of half of the streams waits for 0 to N us before it runs (0)
 *     HIRC_MOCK_SEED=N         seed of these times
 *     HIRC_MOCK_QUEUES=N       all streams share N queues, each in order; 0: each stream has its own (0)
 *     HIRC_MOCK_WORK_US=N      each kernel and product takes N us more (0)
 *     HIRC_MOCK_ANSWERS=N,M,…  the heuristic of products has so many answers, which take N, M, … us more (0)
 *     HIRC_MOCK_NCCL_US=N      each collective or group takes N us more (0)
 *     HIRC_MOCK_LOG=FILE       one line for each call is appended
 *     HIRC_MOCK_SOURCES=DIR    NVRTC writes each source to a file in that folder
 *     HIRC_MOCK_IDLE=1         products compute nothing, and NVRTC compiles an empty kernel in place of each
 *                              source
 *     HIRC_MOCK_FAIL=CALL      all calls of that name fail; CALL:3: the third one; several with commas.
 *                              kernel:2: the second kernel that runs makes an illegal access.
 *                              nccl:2: the second collective or group that runs never ends, and
 *                              ncclCommGetAsyncError shows an error
 *
 * A call that no correct program makes (with a handle that was destroyed or never made, or with memory
 * outside of every allocation) ends the process with a message. */
#ifndef HIRC_MOCK_H
#define HIRC_MOCK_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOCK_MOST_ANSWERS = 8 };

struct mock_settings {
	int devices;
	size_t memory; /* bytes of a device */
	int version;   /* version of CUDA, as CUDA_VERSION */
	bool shared_gpu, apart, no_ipc, flushes, no_windows, idle;
	int nccl_version;  /* as NCCL_VERSION_CODE; 0: that of the headers */
	unsigned delay_us; /* longest delay */
	unsigned work_us, nccl_us;
	int answers; /* of the heuristic, at least 1 */
	unsigned answer_us[MOCK_MOST_ANSWERS];
	uint64_t seed;
	unsigned queues;     /* number for all streams; 0: each has its own */
	const char *sources; /* folder for sources; NULL: none */
};
const struct mock_settings *mock_settings(void);

/* ---- calls */

/* Logs a call. The arguments are those of printf; format NULL: none. Returns true if the call must fail. */
bool mock_enter(const char *call, const char *format, ...);
/* Returns true if this call of that name, or item of that kind, must fail. */
bool mock_fails(const char *name);
void mock_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void mock_abort(const char *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The head of every entry point. */
#define MOCK_ENTER(failure, ...)                                                                             \
	do {                                                                                                 \
		if (mock_enter(__func__, __VA_ARGS__))                                                       \
			return (failure);                                                                    \
	} while (0)

/* ---- handles */

/* Bytes of shared memory of a block: without cuFuncSetAttribute, and the most with it. */
enum { MOCK_SHARED = 48 << 10, MOCK_MOST_SHARED = 227 << 10 };

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

/* The first member of each object behind a handle. Never freed, so that no address is used twice. */
struct mock_object {
	enum mock_kind kind;
	bool alive;
	unsigned number;          /* number among objects of its kind in this process, from 1, for logs */
	struct mock_object *next; /* the next object in its bucket */
};

void mock_object_add(struct mock_object *o, enum mock_kind kind);
void mock_object_end(const char *call, enum mock_kind kind, void *handle);
/* Returns the object of a handle; aborts if there is no object of that kind. */
void *mock_object_get(const char *call, enum mock_kind kind, void *handle);
unsigned mock_object_number(const char *call, enum mock_kind kind, void *handle);
/* Returns how many exist. */
unsigned mock_object_count(enum mock_kind kind);

/* ---- what the other libraries need of the driver */

/* Returns the device of the thread's context; -1: it has none. */
int mock_device_current(void);
/* Work of a stream. A captured stream does not do it; a graph keeps it, and does it at each launch. */
struct mock_work {
	void (*run)(void *data, uint64_t number);
	void (*free)(void *data);      /* called after the work is done for the last time */
	uint64_t (*issue)(void *data); /* called at the call or launch; returns the number for `run`; NULL:
	                                  0 */
	void *data;
};
void mock_stream_push(CUstream s, struct mock_work work); /* s must exist */
bool mock_stream_is_captured(CUstream s);
/* Aborts unless all bytes from `at` on are in one allocation of a device, or are pinned. */
void mock_memory_check(const char *call, const void *at, size_t bytes);

/* A point in the work of a stream, for which others can wait. The maker holds one reference. */
struct mock_mark;
struct mock_mark *mock_mark_new(void);
void mock_mark_release(struct mock_mark *m);
void mock_stream_signal(CUstream s, struct mock_mark *m); /* called when the stream reaches this point */
void mock_stream_wait(CUstream s, struct mock_mark *m);
bool mock_mark_is_over(struct mock_mark *m);
void mock_mark_wait(struct mock_mark *m); /* blocks the calling thread */

#endif
