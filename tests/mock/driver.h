/* driver: what the files of the mock libcuda.so.1 share. */
#ifndef HIRC_MOCK_DRIVER_H
#define HIRC_MOCK_DRIVER_H
#include "mock.h"
#include <pthread.h>

struct CUctx_st {
	struct mock_object object;
	int device;
	unsigned users; /* that retained it */
};

/* The thread's context, NULL: none. */
CUcontext driver_context(void);
/* What every call but the first few returns early: an error that a kernel made, or no context. */
CUresult driver_state(void);
void driver_break(CUresult error); /* from now on driver_state is this */
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

/* Number of a handle, for logs; aborts if it is none. */
#define STREAM_NUMBER(s) mock_object_number(__func__, MOCK_STREAM, (s))
#define EVENT_NUMBER(e) mock_object_number(__func__, MOCK_EVENT, (e))

struct stream_item;
struct CUstream_st {
	struct mock_object object;
	CUcontext context;
	CUgraph graph;            /* that takes what it is given; NULL: none. graph.c's, as lane */
	int lane;                 /* of the graph */
	struct CUstream_st *next; /* of all that were ever made */
	struct queue *queue;      /* its own, or shared with other streams */
	unsigned pending;         /* items, with the one that runs; under the queue's lock */
	uint64_t random;
	bool is_late; /* its items are delayed */
};

struct mock_mark {
	unsigned references;
	bool is_over;
	int64_t at;          /* when it has come to be: ns of the device's clock */
	pthread_cond_t over; /* it has come to be */
	CUgraph graph;       /* in which it was captured; NULL: in none */
	unsigned index;      /* of the graph's marks */
};

/* A stream that is no handle: of a graph. stream_end: it goes when it has done what it has. */
CUstream stream_make(CUcontext context, uint64_t seed);
void stream_end(CUstream s);
/* Past any capture. free may be NULL. */
void stream_enqueue(CUstream s, void (*run)(void *, uint64_t), void *data, void (*free)(void *),
                    uint64_t number);
/* Until the streams of all contexts of a device are empty. */
void streams_wait(int device);
/* Until the stream has done what it has. */
void stream_wait_idle(CUstream s);

/* If the stream is captured, the graph takes what is given, and these are true. */
bool graph_takes_work(CUstream s, const struct mock_work *work);
bool graph_takes_signal(CUstream s, struct mock_mark *m);
/* May begin to capture s, whose wait for a captured mark that is. An error: the capture is broken. */
bool graph_takes_wait(CUstream s, struct mock_mark *m, CUresult *error);
/* An error for calls that a thread may not do while it captures. */
CUresult graph_forbids(void);
/* An error for calls about a stream that is captured. */
CUresult graph_forbids_stream(CUstream s);
CUresult mark_wait_in_stream(CUstream s, struct mock_mark *m);

enum memory_kind {
	MEMORY_PAGEABLE,
	MEMORY_DEVICE, /* this process has made it */
	MEMORY_OPENED, /* of a device, made by another process */
	MEMORY_MAPPED, /* of a device: addresses of vmm.c's */
	MEMORY_PINNED,
};
/* Of bytes from at on; where they begin in an allocation and do not end in it: aborts. */
enum memory_kind memory_kind(const char *call, const void *at, size_t bytes);
unsigned memory_count(void); /* allocations of this process */
unsigned memory_count_opened(void);

struct block_id;
/* Of the device's allocation that begins at `at`. False: there is none. */
bool memory_id(CUdeviceptr at, struct block_id *out);
/* As cuIpcOpenMemHandle: the same address each time. False: there is no such memory any more. */
bool memory_open(const struct block_id *id, CUdeviceptr *out);
bool memory_close(CUdeviceptr at); /* false: that is nothing that was opened */
/* Of what a device has; false: there is not so much left. */
bool memory_take(int device, size_t bytes);
void memory_give_back(int device, size_t bytes);
/* Addresses that may be used, and those of them that one lies in, which may not any more. */
void memory_map_add(char *at, size_t bytes);
void memory_map_end(const char *at);
/* Handles, maps and reservations that are left. */
unsigned vmm_left(void);

#endif
