/* driver: declarations that the files of the mock libcuda.so.1 share. */
#ifndef HIRC_MOCK_DRIVER_H
#define HIRC_MOCK_DRIVER_H
#include "mock.h"
#include <pthread.h>

struct CUctx_st {
	struct mock_object object;
	int device;
	unsigned users; /* number of times that it was retained */
};

/* Returns the context of the thread; NULL: none. */
CUcontext driver_context(void);
/* Returns an error that a kernel has caused, or that there is no context. Every call except a few begins with
 * it. */
CUresult driver_state(void);
void driver_break(CUresult error); /* driver_state returns this from now on */
bool driver_is_broken(void);

#define DRIVER_ENTER(failure, ...)                                                                           \
	do {                                                                                                 \
		MOCK_ENTER(failure, __VA_ARGS__);                                                            \
		CUresult state = driver_state();                                                             \
		if (state != CUDA_SUCCESS)                                                                   \
			return state;                                                                        \
	} while (0)

/* For calls that wait or allocate. */
#define DRIVER_ENTER_ALONE(failure, ...)                                                                     \
	DRIVER_ENTER(failure, __VA_ARGS__);                                                                  \
	do {                                                                                                 \
		CUresult forbidden = graph_forbids();                                                        \
		if (forbidden != CUDA_SUCCESS)                                                               \
			return forbidden;                                                                    \
	} while (0)

/* Returns the number of a handle, for logs; aborts if the handle is invalid. */
#define STREAM_NUMBER(s) mock_object_number(__func__, MOCK_STREAM, (s))
#define EVENT_NUMBER(e) mock_object_number(__func__, MOCK_EVENT, (e))

struct stream_item;
struct CUstream_st {
	struct mock_object object;
	CUcontext context;
	CUgraph graph;            /* the graph that captures the stream; NULL: none. Set by graph.c, as
	                             lane */
	int lane;                 /* of the graph */
	struct CUstream_st *next; /* list of all streams ever made */
	struct queue *queue;      /* its own, or shared with other streams */
	unsigned pending;         /* number of items, with the running one; protected by the queue's lock */
	uint64_t random;
	bool is_late; /* its items are delayed */
};

struct mock_mark {
	unsigned references;
	bool is_over;
	int64_t at;          /* ns of the device's clock when it was reached */
	pthread_cond_t over; /* signals that it was reached */
	CUgraph graph;       /* the graph in which it was captured; NULL: none */
	unsigned index;      /* index into the graph's marks */
};

/* Makes a stream without a handle, for a graph. stream_end: ends it after its work is done. */
CUstream stream_make(CUcontext context, uint64_t seed);
void stream_end(CUstream s);
/* Adds work even if the stream is captured. free may be NULL. */
void stream_enqueue(CUstream s, void (*run)(void *, uint64_t), void *data, void (*free)(void *),
                    uint64_t number);
/* Waits until the streams of all contexts of a device are empty. */
void streams_wait(int device);
/* Waits until the stream has done its work. */
void stream_wait_idle(CUstream s);

/* If the stream is captured, these add the work to the graph and return true. */
bool graph_takes_work(CUstream s, const struct mock_work *work);
bool graph_takes_signal(CUstream s, struct mock_mark *m);
/* Adds a wait of s for a mark. If the mark was captured, this may begin to capture s. An error means that the
 * capture is invalid. */
bool graph_takes_wait(CUstream s, struct mock_mark *m, CUresult *error);
/* Returns an error for calls that a thread must not make while it captures. */
CUresult graph_forbids(void);
/* Returns an error for calls about a stream that is captured. */
CUresult graph_forbids_stream(CUstream s);
CUresult mark_wait_in_stream(CUstream s, struct mock_mark *m);

enum memory_kind {
	MEMORY_PAGEABLE,
	MEMORY_DEVICE, /* allocated by this process */
	MEMORY_OPENED, /* memory of a device, allocated by another process */
	MEMORY_MAPPED, /* memory of a device at addresses of vmm.c */
	MEMORY_PINNED,
};
/* Returns the kind of the memory at `at`. Aborts if the bytes begin in an allocation and do not end in it. */
enum memory_kind memory_kind(const char *call, const void *at, size_t bytes);
unsigned memory_count(void); /* number of allocations of this process */
unsigned memory_count_opened(void);

struct block_id;
/* Finds the id of the device allocation that begins at `at`. Returns false if there is none. */
bool memory_id(CUdeviceptr at, struct block_id *out);
/* Opens memory as cuIpcOpenMemHandle does: the same address each time. Returns false if the memory no longer
 * exists. */
bool memory_open(const struct block_id *id, CUdeviceptr *out);
bool memory_close(CUdeviceptr at); /* false: nothing was opened there */
/* Takes bytes of a device's memory. Returns false if less is left. */
bool memory_take(int device, size_t bytes);
void memory_give_back(int device, size_t bytes);
/* memory_map_add makes addresses usable; memory_map_remove makes the ones around an address unusable. */
void memory_map_add(char *at, size_t bytes);
void memory_map_end(const char *at);
/* Returns the number of handles, maps and reservations that are left. */
unsigned vmm_left(void);

#endif
