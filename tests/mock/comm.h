/* comm: declarations that the files of the mock libnccl.so.2 share. */
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
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t changed;
	uint64_t issued, done; /* numbers of launches, which run in the order of issue */
	ncclResult_t error;    /* result of ncclCommGetAsyncError */
	bool is_finished;
	const char *window; /* memory in which data have the same place on all members; NULL: none */
	size_t window_bytes;
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

/* A call with its arguments. */
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

/* Calls of one communicator that run together. */
struct comm_launch {
	struct ncclComm *comm;
	int n;
	struct comm_call call[];
};
/* Functions of struct mock_work. number: of the communicator's launches, from 0. */
uint64_t comm_issue(void *launch);
void comm_run(void *launch, uint64_t number);

size_t comm_type_bytes(ncclDataType_t t); /* 0: unknown */

/* Sets the text of ncclGetLastError for this thread. */
ncclResult_t comm_fail(ncclResult_t r, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
