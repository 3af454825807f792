/* events: the lists of a rank's events according to walk and plan, in one form.
 *
 *     for i in 0..2 parallel(stream)         iteration 0 of the loop
 *       set_stream(i)                        —
 *       Y <- relu(T)                         work, iteration 0, stream 0
 *       Z <- allreduce(Y) as c               meeting 0 of allreduce, iteration 0, stream 0, team (0 1)
 *       wait(c)                              wait for meeting 0 of allreduce
 *                                            iteration 1 of the loop …
 *
 * The rules of this form:
 *   - An event has its statement, the iteration of the innermost loop (-1: no loop) and the number of the
 *     current stream. A change of the stream is no event; the next event shows it.
 *   - Views, buffers and the ends of buffers are no events. A buffer that begins with zeros is work.
 *   - Work is an event if by its type the rank has elements of a result in that iteration. The plan may have
 *     no task for it (`optional`) if the rank has no element, but memory for a full block, whose padding is
 *     copied; and if the writer of a buffer decides which block the buffer is. The tasks of a statement,
 *     or of a unit, are one event. A task without elements is no event. The plan has nothing for an extern.
 *   - A collective is an event on the ranks of its team.
 *     It includes the tasks that pack and unpack, the messages of a collective_permute, the exchanges of a
 *     dispatch or combine, and the wait of a Communication that is not asynchronous.
 *   - A symmetric view, and the end of one, is a fence of its team, if the team has more than one member.
 *   - A wait names an instance of a Communication. It is an event if the rank takes part in that instance.
 *   - If the plan waits directly after it issues an asynchronous Communication, to unpack it (`settled`),
 *     the program's wait for that instance is no event.
 *   - A wait for nothing ends the rank, as in the executor.
 *   - A rank in no mesh and no team does nothing.
 *   - If the plan refuses the rank, nothing is compared; if a check fails, only the events before it are. */
#ifndef TESTS_EVENTS_H
#define TESTS_EVENTS_H
#include "events/here.h"
#include "plan/plan_accept.h"
#include "walk/walk.h"

enum event_kind {
	EVENT_ITERATION,
	EVENT_WORK,
	EVENT_MEET,
	EVENT_FENCE,
	EVENT_MESSAGE,
	EVENT_GROUP,
	EVENT_END_GROUP,
	EVENT_WAIT,
	EVENT_MISSING,
	EVENT_JOIN,
	EVENT_KINDS
};
extern const char *const event_name[EVENT_KINDS];

struct event {
	uint8_t kind;  /* enum event_kind */
	bool optional; /* in the walk's list: the plan may have no task for it */
	op_id op;
	op_id of;          /* MESSAGE: the send or recv; WAIT, MISSING: the statement that it waits for */
	uint32_t nth;      /* MEET, MESSAGE, END_GROUP: number of the issue, from 0; WAIT: that of the awaited
	                      one */
	uint32_t team;     /* in the plan's list, MEET: number of the communicator */
	int64_t stream;    /* number of the current stream */
	int64_t iteration; /* of the innermost loop; -1: none */
	int64_t peer[2];   /* MESSAGE: device; MEET: root, or devices of a permute; JOIN: stream;
	                      otherwise -1 */
	struct here part[2]; /* by type: of a MESSAGE's buffer, or of parts that a MEET moves as a whole */
	uint32_t n;          /* MEET, FENCE: members of the team */
	const uint32_t *device;
};

struct events {
	VEC(struct event) at;
	VEC(struct event) settled; /* the plan's waits directly after the start of the Communication */
	uint32_t skipped;          /* number of optional events of the walk that the plan does not have */
	bool complete;             /* the list reaches the end of the program */
	bool refused;              /* there is no plan */
	bool idle;                 /* in the plan's list: the rank is in no mesh and no team */
	struct buf why;            /* the reason why the list is incomplete */
};

enum { EVENTS_MOST = 1 << 14 }; /* events of a rank; later ones are not compared */

void events_of_walk(struct walk_program *p, int64_t rank, int64_t streams, struct events *out);
/* Makes the list of the plan. Reports a refusal to d. *plan: NULL, or to be freed after the events, which use
 * its teams. */
void events_of_plan(const struct module *m, struct diag *d, int64_t rank, int64_t ranks,
                    const struct plan_target *target, struct events *out, struct plan **plan);
void events_free(struct events *e);

struct event event_new(enum event_kind kind, op_id op);
/* Appends the event as text: `meeting: allreduce (line 7), iteration 1, stream 0, …`. */
void event_put(const struct module *m, const struct event *e, struct buf *out);
/* Appends the first difference of the lists and returns true. Returns false if there is none; then the plan's
 * events get the parts of the walk's. */
bool events_differ(const struct module *m, struct events *walk, struct events *plan, struct buf *out);

#endif
