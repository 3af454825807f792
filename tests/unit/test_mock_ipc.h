/* test_mock_ipc: two processes, each with its own mock driver, and pipes between them. */
#ifndef HIRC_TEST_MOCK_IPC_H
#define HIRC_TEST_MOCK_IPC_H
#include "test_mock.h"
#include <signal.h>

/* The other process; process 0: this is the child. */
struct other {
	pid_t process;
	int in, out;
};

/* Call it before either process calls the driver. */
static inline struct other other_begin(void)
{
	int down[2], up[2];
	struct other o = {0};
	CHECK(pipe(down) == 0 && pipe(up) == 0);
	fflush(stdout);
	o.process = fork();
	CHECK(o.process >= 0);
	bool child = o.process == 0;
	o.in = child ? down[0] : up[0];
	o.out = child ? up[1] : down[1];
	close(child ? down[1] : up[1]);
	close(child ? up[0] : down[0]);
	return o;
}

static inline void other_send(const struct other *o, const void *at, size_t bytes)
{
	CHECK_EQ(write(o->out, at, bytes), (ssize_t)bytes);
}

static inline void other_receive(const struct other *o, void *at, size_t bytes)
{
	if (read(o->in, at, bytes) != (ssize_t)bytes) { /* the other process has failed, and prints the
		                                           reason */
		fflush(stdout);
		_exit(1);
	}
}

/* Ends the child; the parent checks its exit status. */
static inline void other_end(const struct other *o)
{
	int status = 0;
	if (!o->process) {
		fflush(stdout);
		_exit(check_result());
	}
	CHECK(waitpid(o->process, &status, 0) == o->process);
	CHECK_EQ(status, 0);
}

/* Returns memory that the parent has allocated, as mapped in the child. */
static inline void *other_share(const struct other *o, size_t bytes)
{
	CUipcMemHandle handle;
	CUdeviceptr at;
	if (o->process) {
		CHECK_EQ(api.cuMemAlloc(&at, bytes), CUDA_SUCCESS);
		CHECK_EQ(api.cuIpcGetMemHandle(&handle, at), CUDA_SUCCESS);
		other_send(o, &handle, sizeof handle);
	} else {
		other_receive(o, &handle, sizeof handle);
		CHECK_EQ(api.cuIpcOpenMemHandle(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
		         CUDA_SUCCESS);
	}
	return (void *)at;
}

#endif
