/* comm: what the files of the mock libnccl.so.2 share. */
#ifndef HIRC_MOCK_COMM_H
#define HIRC_MOCK_COMM_H
#include "mock.h"
#include "pipe.h"
#include <nccl.h>
#include <pthread.h>

struct ncclComm {
	struct mock_object object;
	struct segment *segment;
	int n, rank, device;
	atomic_bool is_aborted;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	uint64_t issued, done; /* launches; they run in order of issue */
	ncclResult_t error;    /* what ncclCommGetAsyncError shows */
	bool is_finished;
};

enum comm_kind {
	COMM_ALLGATHER,
	COMM_ALLREDUCE,
	COMM_REDUCE_SCATTER,
	COMM_BROADCAST,
	COMM_REDUCE,
	COMM_SEND,
	COMM_RECEIVE,
};

/* A call, as it was made. */
struct comm_call {
	enum comm_kind kind;
	struct ncclComm *comm;
	CUstream stream;
	const char *in;
	char *out;
	size_t count;
	ncclDataType_t type;
	ncclRedOp_t reduction;
	int root; /* or the peer */
};

/* Calls of one communicator that go together. */
struct comm_launch {
	struct ncclComm *comm;
	int n;
	struct comm_call call[];
};
/* As a stream's work. number: of the communicator's launches, from 0 on. */
uint64_t comm_issue(void *launch);
void comm_run(void *launch, uint64_t number);

size_t comm_type_bytes(ncclDataType_t t); /* 0: unknown */

/* Sets what ncclGetLastError of this thread says. */
ncclResult_t comm_fail(ncclResult_t r, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
