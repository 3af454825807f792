/* record_calls: declarations for the functions that replace those of the libraries; only for record*.c.
 *
 * The function for cuMemAlloc is a static function record_cuMemAlloc with the same parameters. Each file puts
 * the functions of its library into a struct cuda_api. api.h lists the calls that need one. */
#ifndef HIRC_CUDA_RECORD_CALLS_H
#define HIRC_CUDA_RECORD_CALLS_H
#include "cuda/api.h"
#include <stdint.h>

/* Parameters are those of the libraries; a line prints some of them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { RECORD_TITLE_BYTES = 160 };

/* The object behind a handle, in place of the library's. */
struct record_handle {
	int number;                     /* its number in lines; for matrices: their cudaDataType */
	int rank;                       /* its rank; for events: the rank that recorded it last */
	int64_t rows, columns, leading; /* for matrices; leading: elements from one column to the next */
	int32_t batch;                  /* for matrices: number of matrices */
	int32_t transpose_a, transpose_b, epilogue, scales; /* for products */
	int *member, members;                               /* for communicators: their ranks */
	char title[RECORD_TITLE_BYTES];                     /* for kernels: the first line of their source */
};

/* An allocation of this rank or another one. */
struct record_block {
	CUdeviceptr at; /* the same on all ranks */
	size_t bytes;
	int rank, number;
};

/* Makes a handle of this rank, in the arena of the recording. */
void *record_handle_new(int number);
/* Returns ` of rank 1`, or "" if the handle is of this rank. Valid until the next call. */
const char *record_owner(const void *handle);
/* Notes that an event is recorded: it gets a new number. */
void record_event(struct record_handle *h);
/* Gives the ranks of cuda_record_members to a communicator. */
void record_members_take(struct record_handle *h);
/* Returns the number of a handle. NULL, which is stream 0 in the libraries, is -1. */
int record_number(const void *handle);

/* Kinds of objects, each numbered from 0. */
enum record_count { RECORD_STREAMS, RECORD_EVENTS, RECORD_COMMUNICATORS, RECORD_MEMORY, RECORD_COUNTS };
int record_next(enum record_count what);

/* Reserves simulated addresses for this many bytes. There is no memory behind them. */
CUdeviceptr record_addresses(size_t bytes);
CUdeviceptr record_memory(size_t bytes);
/* Finds the block that was allocated or opened at an address; valid until the next block is. NULL: none. */
const struct record_block *record_find(CUdeviceptr at);
/* Makes memory of another rank known, so that record_find finds it. */
void record_open(const struct record_block *b);
/* Returns the other rank that owns an address; -1: this rank does. */
int record_other_rank(CUdeviceptr at);

/* record_say begins a line, after that of its statement if this has changed. record_more continues the
 * line. */
void record_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void record_more(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Put the functions of a library into an api. */
void record_driver(struct cuda_api *api);
void record_heap(struct cuda_api *api);
void record_nvrtc(struct cuda_api *api);
void record_blas(struct cuda_api *api);
void record_nccl(struct cuda_api *api);
#define RECORD_ENTRY(name) api->name = record_##name;

#endif
