/* record: begin and end of a recording, handles, and the lines of statements. The calls are in record_*.c. */
#include "cuda/record.h"
#include "base/vec.h"
#include "cuda/cuda.h"
#include "cuda/record_calls.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ALIGNMENT = 256,  /* bytes; of simulated memory */
	MEMORY = 1 << 30, /* where simulated memory begins, */
	RANK_SHIFT = 48,  /* for rank 0; the rank is in the upper bits, so that an address tells its rank */
};

struct cuda_record {
	struct buf *out;
	const struct cuda *device;
	struct cuda_api api;
	struct rt_origin at;             /* the statement of the last line */
	struct arena *made;              /* for handles */
	VEC(struct record_block) memory; /* of this rank, or opened */
	int count[RECORD_COUNTS];
	CUdeviceptr next; /* address of the next simulated allocation */
	VEC(int) members; /* of the communicator that is made next */
	char owner[32];
};

/* The libraries' calls have no argument that could hold it. */
static _Thread_local struct cuda_record *record;

static int own_rank(void)
{
	return record->device->base.job->rank;
}

void *record_handle_new(int number)
{
	struct record_handle *h = arena_new_object(record->made, struct record_handle);
	h->number = number;
	h->rank = own_rank();
	return h;
}

const char *record_owner(const void *handle)
{
	const struct record_handle *h = handle;
	if (!h || h->rank == own_rank())
		return "";
	snprintf(record->owner, sizeof record->owner, " of rank %d", h->rank);
	return record->owner;
}

void record_event(struct record_handle *h)
{
	h->number = record_next(RECORD_EVENTS);
	h->rank = own_rank();
}

void record_members_take(struct record_handle *h)
{
	uint32_t n = record->members.n;
	h->member = arena_new_array(record->made, int, n + 1);
	if (n)
		memcpy(h->member, record->members.at, n * sizeof *h->member);
	h->members = (int)n;
}

int record_number(const void *handle)
{
	return handle ? ((const struct record_handle *)handle)->number : -1;
}

int record_next(enum record_count what)
{
	return record->count[what]++;
}

CUdeviceptr record_addresses(size_t bytes)
{
	CUdeviceptr at = record->next;
	record->next += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	return at;
}

CUdeviceptr record_memory(size_t bytes)
{
	CUdeviceptr at = record_addresses(bytes);
	vec_push(&record->memory,
	         (struct record_block){
	             .at = at, .bytes = bytes, .rank = own_rank(), .number = record_next(RECORD_MEMORY)});
	return at;
}

const struct record_block *record_find(CUdeviceptr at)
{
	for (uint32_t k = record->memory.n; k-- > 0;) {
		const struct record_block *b = &record->memory.at[k];
		if (at >= b->at && at - b->at < b->bytes)
			return b;
	}
	return NULL;
}

void record_open(const struct record_block *b)
{
	vec_push(&record->memory, *b);
}

int record_other_rank(CUdeviceptr at)
{
	int rank = (int)(at >> RANK_SHIFT);
	return rank == own_rank() ? -1 : rank;
}

/* Writes the statement, if it is not that of the last call. */
static void say_statement(void)
{
	struct rt_origin at = record->device->at;
	const struct rt_job *job = record->device->base.job;
	if (at.label == record->at.label && at.iteration == record->at.iteration)
		return;
	record->at = at;
	if (!at.label)
		return;
	buf_puts(record->out, "# ");
	rt_board_label(job->board, job->rank, at.label, record->out);
	if (at.iteration >= 0)
		buf_printf(record->out, " iteration %lld", (long long)at.iteration);
	buf_putc(record->out, '\n');
}

void record_say(const char *format, ...)
{
	va_list args;
	say_statement();
	va_start(args, format);
	buf_vprintf(record->out, format, args);
	va_end(args);
}

void record_more(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vprintf(record->out, format, args);
	va_end(args);
}

struct cuda_record *cuda_record_begin(const struct cuda *c, const struct cuda_calls *calls)
{
	record = mem_zalloc(sizeof *record);
	record->out = calls->out;
	record->made = calls->handles;
	record->device = c;
	record->at.iteration = -1;
	record->next = MEMORY + ((CUdeviceptr)own_rank() << RANK_SHIFT);
	record_driver(&record->api);
	record_heap(&record->api);
	record_nvrtc(&record->api);
	record_blas(&record->api);
	record_nccl(&record->api);
	return record;
}

const struct cuda_api *cuda_record_api(const struct cuda_record *r)
{
	return &r->api;
}

void cuda_record_members(struct cuda_record *r, const int *rank, int n)
{
	r->members.n = 0;
	for (int k = 0; k < n; k++)
		vec_push(&r->members, rank[k]);
}

void cuda_record_end(struct cuda_record *r)
{
	vec_free(&r->memory);
	vec_free(&r->members);
	free(r);
	record = NULL;
}
