/* value: streams that write a number to memory, and streams that wait for one. Other processes may have
 * mapped that memory. A waiting stream sleeps. A write by a stream wakes it at once; a write by a copy or
 * kernel is seen within POLL_MS. */
#include "driver.h"
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 1 };

struct value {
	_Atomic uint32_t *at;
	uint32_t value;
	unsigned flags;
};

static bool has_come(uint32_t seen, const struct value *v)
{
	return v->flags == CU_STREAM_WAIT_VALUE_EQ ? seen == v->value : (int32_t)(seen - v->value) >= 0;
}

/* If the context has an error, nothing waits. */
static void await(void *data, uint64_t number)
{
	const struct value *v = data;
	const struct timespec most = {.tv_nsec = POLL_MS * 1000000};
	(void)number;
	for (uint32_t seen; !has_come(seen = atomic_load_explicit(v->at, memory_order_acquire), v);) {
		if (driver_is_broken())
			return;
		syscall(SYS_futex, v->at, FUTEX_WAIT, seen, &most, NULL, 0);
	}
}

static void write_value(void *data, uint64_t number)
{
	const struct value *v = data;
	(void)number;
	atomic_store_explicit(v->at, v->value, memory_order_release);
	syscall(SYS_futex, v->at, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static CUresult push(const char *call, CUstream s, CUdeviceptr at, uint32_t value, unsigned flags,
                     void (*run)(void *, uint64_t))
{
	if (at % sizeof value)
		return CUDA_ERROR_INVALID_VALUE;
	mock_memory_check(call, (void *)at, sizeof value);
	struct value *v = malloc(sizeof *v);
	if (!v)
		mock_abort(call, "the host has no memory");
	*v = (struct value){(_Atomic uint32_t *)at, value, flags};
	mock_stream_push(s, (struct mock_work){run, free, NULL, v});
	return CUDA_SUCCESS;
}

CUresult cuStreamWaitValue32(CUstream s, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_VALUE, "stream %u value %u flags %u", STREAM_NUMBER(s), value, flags);
	if (mock_settings()->flushes)
		flags &= ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH;
	if (flags != CU_STREAM_WAIT_VALUE_GEQ && flags != CU_STREAM_WAIT_VALUE_EQ)
		return CUDA_ERROR_NOT_SUPPORTED;
	return push(__func__, s, at, value, flags, await);
}

CUresult cuStreamWriteValue32(CUstream s, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_VALUE, "stream %u value %u flags %u", STREAM_NUMBER(s), value, flags);
	if (flags != CU_STREAM_WRITE_VALUE_DEFAULT)
		return CUDA_ERROR_NOT_SUPPORTED;
	return push(__func__, s, at, value, flags, write_value);
}
