/* exec: runs a plan on this rank.
 *
 *     exec_open       memory (poisoned), streams, teams, labels
 *     exec_run        walks the instructions and waits until all is done; may be called again
 *     exec_close
 *
 * The host thread issues work to streams and goes on; rt/queue.h describes how the streams run it. */
#ifndef HIRC_EXEC_EXEC_H
#define HIRC_EXEC_EXEC_H
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
	const struct rt_adversary *adversary; /* of that engine */
	const struct exec_mark *marks;        /* of that engine: mark_n of them; they outlive the run */
	unsigned mark_n;
	bool tf32;             /* of cuda: products of f32 may round their operands to tf32 */
	bool exact_reductions; /* of nccl: floats as all other transports reduce them, see cuda/open.h */
	/* of cuda-ipc, as in struct cuda_p2p; p2p_asked: its options were given */
	bool p2p_put, p2p_by_kernel, p2p_asked;
	bool ranges; /* for tools, also where none has started this process: see exec_ranges.h */
	const struct cuda_calls *calls; /* of cuda: where its calls go, see cuda/open.h; NULL: to a GPU */
	const struct exec_fault *fault; /* faults of them, see exec_faults.h; they are not part of a graph */
	uint32_t faults;
	bool follow_writes; /* for exec_written */
};

/* Counts of the work of a rank, for --stats. */
struct exec_stats {
	int64_t instructions; /* walked by the last run */
	int64_t tasks, collectives, messages;
	/* counted in the transport, collectives by kind: */
	int64_t bytes_sent, bytes_received, sends, receives, copies;
	struct {
		int64_t operations, bytes_sent;
	} kind[COLLECTIVE_COUNT];
	int64_t bytes_planned; /* of memory allocated */
	int64_t bytes_peak;    /* of it, up to the end of the used part */
};

/* Collective: all ranks of the job call it. On failure a message was printed and the job has failed. */
enum status exec_open(struct rt_job *job, const struct plan *p, const struct plan_labels *labels,
                      const struct exec_options *o, struct exec **out);
/* A buffer's first slot for the host to write before a run and to read after one: always at the same place.
 * If the device has memory of its own, exec_upload sends these writes, and exec_download fetches the data to
 * read. NULL after reporting. */
void *exec_memory(struct exec *e, uint32_t buffer);
enum status exec_upload(struct exec *e, uint32_t buffer);
enum status exec_download(struct exec *e, uint32_t buffer);
/* Forgets all values, as before the first run. No rank runs, or uses another's memory. */
enum status exec_poison(struct exec *e);
/* Sets, for the engine adversary, if the next runs swap the marks: statements marked to be held back are
 * awaited, and the other way round; nothing is poisoned then. */
void exec_set_reversed(struct exec *e, bool reversed);
/* One execution of the program. */
enum status exec_run(struct exec *e);
/* With follow_writes, after the first run: which elements of an output's buffer the run wrote, a bit each,
 * the lowest of a word first; NULL: it is no output's, or follow_writes was not set. Collective before that:
 * the writes of ranks to each other's symmetric memory. */
enum status exec_exchange_written(struct exec *e);
const uint64_t *exec_written(const struct exec *e, uint32_t buffer);
/* Returns the time when the host had issued all of the last run, before it waited: rt_clock_us. */
int64_t exec_issued_us(const struct exec *e);
/* Returns true if runs may give other bits: this rank and others reduce floats in an order that the transport
 * does not promise to keep. */
bool exec_reorders(const struct exec *e);
/* After a run: makes a graph of a run, which all later ones replay, if exec_can_replay holds for the device,
 * the transport and the plan. *statement: the statement that prevents it, 0: the device or the transport. */
bool exec_can_replay(const struct exec *e, op_id *statement);
enum status exec_capture(struct exec *e);
/* Before the first run: sets who is told of the work. There are no graphs then. */
enum status exec_trace(struct exec *e, struct rt_tracer *t);
void exec_stats(struct exec *e, struct exec_stats *out);
void exec_close(struct exec *e); /* NULL is allowed */

#endif
