/* record: begin and end, handles, and the lines of statements; record_*.c are the calls. */
#include "cuda/record.h"
#include "base/vec.h"
#include "cuda/cuda.h"
#include "cuda/record_calls.h"
#include <stdlib.h>
#include <string.h>

enum {
	ALIGNMENT = 256,  /* of memory that is pretended, bytes */
	MEMORY = 1 << 30, /* where it begins */
};

struct cuda_record {
	struct buf *out;
	const struct cuda *device;
	struct cuda_api api;
	struct rt_origin at; /* of the last line */
	VEC(struct record_handle *) made;
	int count[RECORD_COUNTS];
	CUdeviceptr next; /* where memory is pretended to be */
	VEC(int) members; /* of the communicator that is made next */
};

/* The libraries' calls have no argument that could be it. */
static _Thread_local struct cuda_record *record;

void *record_handle_new(int number)
{
	struct record_handle *h = mem_zalloc(sizeof *h);
	h->number = number;
	vec_push(&record->made, h);
	return h;
}

void record_members_take(struct record_handle *h)
{
	uint32_t n = record->members.n;
	h->member = mem_alloc((n + 1) * sizeof *h->member);
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

CUdeviceptr record_memory(size_t bytes)
{
	CUdeviceptr at = record->next;
	record->next += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	return at;
}

/* Names the statement, where it is another than that of the last call. */
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

struct cuda_record *cuda_record_begin(const struct cuda *c, struct buf *out)
{
	record = mem_zalloc(sizeof *record);
	record->out = out;
	record->device = c;
	record->at.iteration = -1;
	record->next = MEMORY;
	record_driver(&record->api);
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
	for (uint32_t k = 0; k < r->made.n; k++) {
		free(r->made.at[k]->member);
		free(r->made.at[k]);
	}
	vec_free(&r->made);
	vec_free(&r->members);
	free(r);
	record = NULL;
}
