/* exec: runs a plan on this rank.
 *
 *     exec_open       memory (poisoned), streams, teams, labels
 *     exec_run        walks the instructions and waits until all is done; may be called again
 *     exec_close
 *
 * The host thread issues work to streams and goes on; rt/queue.h describes how the streams run it. */
#ifndef HIRC_EXEC_EXEC_H
#define HIRC_EXEC_EXEC_H
#include "base/mover.h"
#include "base/table.h"
#include "base/transport_kind.h"
#include "plan/plan.h"
#include "rt/job.h"

struct exec;
struct rt_adversary;
struct exec_fault;
struct exec_mark;
struct rt_tracer;
struct cuda_calls;

struct exec_options {
	enum transport_kind transport;
	const char *device;                   /* "cpu", "cuda" */
	const char *engine;                   /* "auto", "inline", "lanes", "issue", "adversary" */
	const struct rt_adversary *adversary; /* for the engine adversary */
	const struct exec_mark *marks; /* for the engine adversary: mark_n marks; they must outlive the run */
	unsigned mark_n;
	bool tf32;             /* device cuda: products of f32 may round their operands to tf32 */
	bool time_products;    /* device cuda: use the fastest of cuBLASLt's algorithms, see cuda/open.h */
	bool exact_reductions; /* transport nccl: reduce floats as all other transports do, see cuda/open.h */
	/* transport cuda-ipc, as in struct cuda_p2p; p2p_asked: the user gave options of it. */
	bool p2p_put, p2p_by_kernel, p2p_asked;
	enum mover mover; /* device cuda: who moves the data of collectives, see base/mover.h */
	bool
	    sync; /* device cuda: wait for each task, so that an error names its statement; no graphs are made */
	bool ranges; /* make ranges even if no tool has started this process, see exec_ranges.h */
	const struct cuda_calls *calls; /* device cuda: receiver of its calls, see cuda/open.h; NULL: a GPU */
	const struct exec_fault *fault; /* fault_n faults, see exec_faults.h; they are not part of a graph */
	uint32_t faults;
	bool follow_writes; /* record written elements, for exec_written */
};

/* Counts of a rank's work, for --stats. */
struct exec_stats {
	int64_t instructions; /* number executed in the last run */
	int64_t tasks, collectives, messages;
	int64_t view_copies, view_bytes; /* tasks that copy a view, and the bytes that they write */
	/* counted by the transport; collectives are counted by kind: */
	int64_t bytes_sent, bytes_received, sends, receives, copies;
	struct {
		int64_t operations, bytes_sent;
	} kind[COLLECTIVE_COUNT];
	int64_t bytes_planned; /* size of the allocated memory */
	int64_t bytes_peak;    /* end of the used part of it */
};

/* Collective: all ranks of the job call it. On failure it has printed a message and the job has failed. */
enum status exec_open(struct rt_job *job, const struct plan *p, const struct plan_labels *labels,
                      const struct exec_options *o, struct exec **out);
/* Returns the first slot of a buffer, for the host to write before a run and read after it. The address
 * never changes. If the device has memory of its own, exec_upload sends the written data, and
 * exec_download fetches the data to read. Returns NULL after reporting. */
void *exec_memory(struct exec *e, uint32_t buffer);
enum status exec_upload(struct exec *e, uint32_t buffer);
/* Uploads what was uploaded before; false: the host does not have it any more, and must write it. */
bool exec_upload_again(struct exec *e, uint32_t buffer, enum status *status);
enum status exec_download(struct exec *e, uint32_t buffer);
/* Poisons all values, as before the first run. No rank may be running or using another rank's memory. */
enum status exec_poison(struct exec *e);
/* For the engine adversary: sets if the next runs swap the roles of the marks. Statements marked to be
 * held are awaited, and the awaited ones are held. Nothing is poisoned then. */
void exec_set_reversed(struct exec *e, bool reversed);
/* Executes the program once. */
enum status exec_run(struct exec *e);
/* With follow_writes, after the first run. exec_written returns one bit for each element of an output's
 * buffer that the run wrote, the lowest bit of a word first; NULL if the buffer is no output or
 * follow_writes was not set. Before it, call exec_exchange_written on all ranks; it exchanges the writes
 * to symmetric memory. */
enum status exec_exchange_written(struct exec *e);
const uint64_t *exec_written(const struct exec *e, uint32_t buffer);
/* Returns the time (rt_clock_us) when the host had issued the last run and began to wait. */
int64_t exec_issued_us(const struct exec *e);
/* Returns true if runs may differ in their bits: this rank and others reduce floats, and the transport
 * does not guarantee an order. */
bool exec_reorders(const struct exec *e);
/* After a run: makes a graph of a run, or several that take turns; all later runs replay them. exec_can_replay must
 * hold for the device, the transport and the plan. Collective if ranks make graphs together; then the answer is the same
 * on all. *statement: the statement that prevents it; 0: the device or transport does. */
bool exec_can_replay(const struct exec *e, op_id *statement);
enum status exec_capture(struct exec *e);
/* Before the first run: sets the receiver of trace events. Runs are then not made into graphs. */
enum status exec_trace(struct exec *e, struct rt_tracer *t);
void exec_stats(struct exec *e, struct exec_stats *out);
/* Puts the movers of all collectives, with the reasons, as a table. Returns false if nobody has asked for movers. */
bool exec_put_movers(const struct exec *e, enum table_format format, struct buf *out);
void exec_close(struct exec *e); /* NULL is allowed */

#endif
