/* exec_records: the work that a rank submits, kept ready; for src/exec alone.
 *
 * Each task, collective and message of the plan has a record: the structure that the engine takes, with all
 * that no register changes already in it. A record that depends on no register that changes is complete after
 * its first use. For the others it is enough to look up a slot and an offset, and to compare them with the
 * buffer's bounds. */
#ifndef HIRC_EXEC_EXEC_RECORDS_H
#define HIRC_EXEC_EXEC_RECORDS_H
#include "exec/exec.h"
#include "exec/exec_marks.h"
#include "rt/device.h"
#include "rt/queue.h"

/* The registers and extents by which a view is set. */
struct view_record {
	const struct plan_view *v;
	const struct plan_buffer *buffer;
	const int64_t *slot, *offset; /* registers */
	bool sized;                   /* extents never change: they are set once, and these hold: */
	bool nowhere;                 /* it has no elements, or no memory */
	int64_t span;                 /* from the first element to the last */
	int64_t bytes;                /* of an element */
	int64_t elements;             /* of the buffer */
};

struct task_record {
	struct rt_task task;
	const struct plan_task *t;
	bool complete;
	struct view_record out, in[3];
	uint64_t *contents;     /* of its results */
	uint64_t *read;         /* of the operand that a pack is of; NULL: none */
	struct rt_unit *newest; /* of a UNIT: in a ring; its next is the oldest */
};

struct collective_record {
	struct rt_collective c;
	bool fixed, complete;
	struct view_record in, out, late[2];
	uint64_t *contents[2]; /* of its possible results */
	int64_t *list[4];      /* counts, offsets, of sends too; NULL: none */
};

struct message_record {
	struct rt_p2p p;
	bool fixed, complete;
	struct view_record data;
	uint64_t *contents; /* of its possible results */
};

/* Tickets of one Communication that no wait has taken, oldest first. */
struct ticket_queue {
	struct rt_ticket *at; /* a ring of cap entries, a power of two */
	uint32_t first, n, cap;
};

struct exec {
	const struct plan *p;
	struct rt_job *job;
	struct rt_device *device;
	struct rt_transport *transport; /* NULL: one rank, nothing to move */
	struct rt_engine *engine;
	int64_t *reg;
	char *memory;   /* of all buffers but those of the heap, if that is apart */
	char *heap;     /* of symmetric buffers; NULL: it is the beginning of memory */
	char **slot;    /* by slot: where it is */
	void **staging; /* by buffer: the host's copy, of a device with memory of its own; NULL: none yet */
	bool *touched;  /* by slot: the run uses it */
	bool *packs;    /* by pack: a product that may use it was issued */
	struct task_record *task, *step;
	struct collective_record *collective;
	struct message_record *message;
	struct rt_pack *pack;
	uint64_t *contents;        /* counts of what is written to buffers that packs are of; 0: all others */
	int *team;                 /* by plan team: the transport's id */
	uint32_t *label;           /* by op_id */
	struct exec_marks *marks;  /* NULL: none */
	bool reversed;             /* see exec_set_reversed */
	uint32_t statements;       /* one more than the last op_id */
	struct rt_stream **handle; /* by handle_id */
	struct rt_stream *current;
	struct rt_stream *beside;   /* where a Communication packs, until it starts; NULL: on `current` */
	struct rt_stream **packing; /* by op_id: such streams; NULL: there are none */
	struct ticket_queue *queue;
	void *graph;                  /* of a run; NULL: none was made */
	struct rt_counter *counted;   /* by the data that a replay moves, RT_COUNTERS of them */
	struct exec_ranges *ranges;   /* NULL: none */
	struct exec_faults *faults;   /* NULL: none */
	struct exec_written *written; /* NULL: nobody asks */
	bool follows;                 /* the first run, for `written` */
	struct exec_stats stats;
	int64_t issued_us; /* clock: see exec_issued_us */
	enum status status;
};

/* Returns the address of a place of the plan, in bytes from the start of the memory. */
static inline char *exec_at(const struct exec *e, int64_t place)
{
	if (!e->heap)
		return e->memory + place;
	return place < e->p->heap ? e->heap + place : e->memory + (place - e->p->heap);
}

/* Makes all records, once memory and teams are there. */
void exec_records_make(struct exec *e);
void exec_records_free(struct exec *e);

/* Completes a record for this run of its statement. False: an index is undefined or leads out of a buffer. */
bool exec_task_build(struct exec *e, struct task_record *r);
bool exec_collective_build(struct exec *e, uint32_t collective);
bool exec_message_build(struct exec *e, uint32_t message);

#endif
