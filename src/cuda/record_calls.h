/* record_calls: the shared parts of the functions that replace the libraries; for record*.c only.
 *
 * The function for a call is static and named after it, record_cuMemAlloc, with the call's parameters; a file
 * puts those of its library into a struct cuda_api. Which call needs one is listed in api.h. */
#ifndef HIRC_CUDA_RECORD_CALLS_H
#define HIRC_CUDA_RECORD_CALLS_H
#include "cuda/api.h"
#include <stdint.h>

/* Parameters are the libraries'; a line says some of them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { RECORD_TITLE_BYTES = 160 };

/* The object that stands for a library's, behind its handle. */
struct record_handle {
	int number;                     /* that lines name it by; of matrices: their cudaDataType */
	int rank;                       /* whose it is; of events: who recorded it last */
	int64_t rows, columns, leading; /* of matrices; leading: elements from one column to the next */
	int32_t batch;                  /* of matrices: how many there are */
	int32_t transpose_a, transpose_b, epilogue; /* of products */
	int *member, members;                       /* of communicators: their ranks */
	char title[RECORD_TITLE_BYTES];             /* of kernels: the first line of their source */
};

/* An allocation, of this rank or another one. */
struct record_block {
	CUdeviceptr at; /* the same to all ranks */
	size_t bytes;
	int rank, number;
};

/* A new handle of this rank, in the arena of the recording. */
void *record_handle_new(int number);
/* ` of rank 1`, or nothing if the handle is of this rank; until the next call. */
const char *record_owner(const void *handle);
/* An event is recorded: it is another one from now on. */
void record_event(struct record_handle *h);
/* The ranks of cuda_record_members are those of a communicator. */
void record_members_take(struct record_handle *h);
/* Returns the number of a handle; NULL is stream 0 of the libraries: -1. */
int record_number(const void *handle);

/* Kinds of objects that are numbered by themselves, from 0. */
enum record_count { RECORD_STREAMS, RECORD_EVENTS, RECORD_COMMUNICATORS, RECORD_MEMORY, RECORD_COUNTS };
int record_next(enum record_count what);

/* Addresses of so many bytes, at which nothing is; where memory is pretended to be. */
CUdeviceptr record_addresses(size_t bytes);
CUdeviceptr record_memory(size_t bytes);
/* Finds the block that was allocated or opened there; it stays where it is until the next of either. NULL:
 * nothing. */
const struct record_block *record_find(CUdeviceptr at);
/* Memory of another rank can be found from now on. */
void record_open(const struct record_block *b);
/* Returns the other rank whose memory that is; -1: the memory is of this rank. */
int record_other_rank(CUdeviceptr at);

/* Begins a line, after that of its statement if that is another than the last line's; the rest of a line. */
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
