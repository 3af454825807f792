/* driver: what the files of the mock libcuda.so.1 share. */
#ifndef HIRC_MOCK_DRIVER_H
#define HIRC_MOCK_DRIVER_H
#include "mock.h"

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

#define DRIVER_ENTER(failure, ...)                                                                           \
	do {                                                                                                 \
		MOCK_ENTER(failure, __VA_ARGS__);                                                            \
		CUresult state = driver_state();                                                             \
		if (state != CUDA_SUCCESS)                                                                   \
			return state;                                                                        \
	} while (0)

/* Number of a handle, for logs; aborts if it is none. */
#define STREAM_NUMBER(s) mock_object_number(__func__, MOCK_STREAM, (s))
#define EVENT_NUMBER(e) mock_object_number(__func__, MOCK_EVENT, (e))

CUcontext stream_context(CUstream s);
/* Until the streams of all contexts of a device are empty. */
void streams_wait(int device);
/* Until the stream has done what it has. */
void stream_wait_idle(CUstream s);

enum memory_kind { MEMORY_PAGEABLE, MEMORY_DEVICE, MEMORY_PINNED };
/* Of bytes from at on; where they begin in an allocation and do not end in it: aborts. */
enum memory_kind memory_kind(const char *call, const void *at, size_t bytes);
unsigned memory_count(void); /* allocations */

#endif
