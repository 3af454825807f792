/* exec_records: keeps the work that a rank submits ready. Private to src/exec.
 *
 * Each task, collective and message of the plan has a record: the structure for the engine, in which all
 * fields that do not depend on registers are set. A record whose registers never change is complete
 * after its first use. The others need a slot and an offset, and a comparison with the bounds of the
 * buffer. */
#ifndef HIRC_EXEC_EXEC_RECORDS_H
#define HIRC_EXEC_EXEC_RECORDS_H
#include "exec/exec.h"
#include "exec/exec_marks.h"
#include "rt/device.h"
#include "rt/queue.h"

/* The registers and extents that determine a view. */
struct view_record {
	const struct plan_view *v;
	const struct plan_buffer *buffer;
	const int64_t *slot, *offset; /* registers */
	bool sized;                   /* extents never change: they are set once, and the fields below hold */
	bool nowhere;                 /* the view has no elements or no memory */
	int64_t span;                 /* elements from its first to its last */
	int64_t bytes;                /* bytes of an element */
	int64_t elements;             /* elements of the buffer */
};

struct task_record {
	struct rt_task task;
	const struct plan_task *t;
	bool complete;
	struct view_record out, in[RT_VIEWS];
	uint64_t *contents;     /* counters of writes to its results */
	uint64_t *read;         /* counter of the packed operand; NULL: none */
	struct rt_unit *newest; /* UNIT: the newest of a ring of records; the next one is the oldest */
};

struct collective_record {
	struct rt_collective c;
	bool fixed, complete;
	struct view_record in, out, late[2];
	uint64_t *contents[2]; /* counters of writes to its possible results */
	int64_t *list[4];      /* counts and offsets, also of sends; NULL: none */
};

struct message_record {
	struct rt_p2p p;
	bool fixed, complete;
	struct view_record data;
	uint64_t *contents; /* counters of writes to its possible results */
};

struct exec_mover;

/* The tickets of one Communication that no wait has taken, oldest first. */
struct ticket_queue {
	struct rt_ticket *at; /* a ring of cap entries, a power of two */
	uint32_t first, n, cap;
};

struct exec {
	const struct plan *p;
	struct rt_job *job;
	struct rt_device *device;
	struct rt_transport *transport; /* NULL: one rank, no data to move */
	struct rt_engine *engine;
	int64_t *reg;
	char *memory;   /* all buffers, except those of a separate heap */
	char *heap;     /* symmetric buffers; NULL: they are at the beginning of memory */
	char **slot;    /* by slot: its address */
	bool *uploaded; /* by buffer: its staging memory has what was uploaded last */
	void **staging; /* by buffer: the host's copy if the device has memory of its own; NULL: none yet */
	bool *touched;  /* by slot: the run uses it */
	bool *packs;    /* by pack: a product that may use it has been issued */
	struct task_record *task, *step;
	struct collective_record *collective;
	struct message_record *message;
	unsigned able;                /* bit set of the movers that device and library have */
	VEC(struct exec_mover) mover; /* by instruction of a collective; none: nobody has asked for movers */
	struct rt_pack *pack;
	uint64_t *contents;        /* counts of writes to buffers that have packs; [0]: all other buffers */
	int *team;                 /* by plan team: the transport's id */
	uint32_t *label;           /* by op_id */
	struct exec_marks *marks;  /* NULL: none */
	bool reversed;             /* see exec_set_reversed */
	uint32_t statements;       /* largest op_id + 1 */
	struct rt_stream **handle; /* by handle_id */
	struct rt_stream *current;
	struct rt_stream
	    *beside; /* stream on which a Communication packs, until it starts; NULL: `current` */
	struct rt_stream **packing; /* by op_id: its stream for packing; NULL: no statement has one */
	struct ticket_queue *queue;
	void **graph; /* rt_engine_graphs graphs of a run; NULL: none were made */
	uint64_t replays;
	struct rt_counter *counted;   /* by RT_COUNTERS: the data that a replay moves */
	struct exec_ranges *ranges;   /* NULL: none */
	struct exec_faults *faults;   /* NULL: none */
	struct exec_written *written; /* NULL: writes are not recorded */
	bool follows;                 /* this is the first run, so `written` records */
	struct exec_stats stats;
	int64_t issued_us; /* see exec_issued_us */
	enum status status;
};

/* Returns the address of a place of the plan, given in bytes from the start of the memory. */
static inline char *exec_at(const struct exec *e, int64_t place)
{
	if (!e->heap)
		return e->memory + place;
	return place < e->p->heap ? e->heap + place : e->memory + (place - e->p->heap);
}

/* Makes all records. Memory and teams must exist. */
void exec_records_make(struct exec *e);
void exec_records_free(struct exec *e);

/* Completes a record for this run of its statement. Returns false if an index is undefined or leads out
 * of a buffer. */
bool exec_task_build(struct exec *e, struct task_record *r);
bool exec_collective_build(struct exec *e, uint32_t collective);
bool exec_message_build(struct exec *e, uint32_t message);

#endif
