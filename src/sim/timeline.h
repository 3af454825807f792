/* timeline: the times of events on the lanes of ranks: all output of a simulation is made of it.
 *
 *     rank 0      host   ████  ██████   ██████      spans of lanes; a wait is one from when compute stands
 *                 g0        ███████ ████████        still to the end of the awaited comm
 *                 memory ▁▃▅▅▇▅▃▁
 *
 * Ranks that do alike at the same times are one class. Times are ns from the start of the step. */
#ifndef HIRC_SIM_TIMELINE_H
#define HIRC_SIM_TIMELINE_H
#include "base/vec.h"
#include "ir/ir.h"
#include "sched/sched_bound.h"

#define TIMELINE_NONE UINT32_MAX

enum timeline_lane_kind { LANE_HOST, LANE_STREAM, LANE_COMMUNICATOR, LANE_MESSAGES };

struct timeline_lane {
	const char *name;
	uint8_t kind; /* enum timeline_lane_kind */
	int64_t busy; /* ns; waits left out */
};

enum timeline_kind { TIMELINE_WORK, TIMELINE_COLLECTIVE, TIMELINE_MESSAGE, TIMELINE_WAIT };

struct timeline_span {
	int64_t begin, end;
	int64_t bytes;     /* of communication */
	int64_t exposed;   /* of communication: all waits for it; by timeline_finish */
	int64_t iteration; /* of the innermost loop; -1: none */
	op_id op;
	uint32_t lane;
	uint32_t comm; /* of a wait: the span that it waits for; TIMELINE_NONE */
	uint32_t task; /* of the class's unit; of recorded programs the node; TIMELINE_NONE: of neither, as
	                  waits */
	uint8_t kind;  /* enum timeline_kind */
};

struct timeline_level { /* of memory, from here on */
	int64_t at, bytes;
};
struct timeline_held {  /* at the peak */
	value_id value; /* 0: of a statement while it runs */
	op_id op;       /* that makes it; 0: an input */
	int64_t bytes;
	uint32_t count; /* of the same name and size */
};
struct timeline_step { /* of the chain of events that follow each other at once, ends with the step */
	op_id op;
	int64_t time;
	uint32_t count; /* executions */
};

struct timeline_ranks { /* first … last */
	uint32_t first, last;
};

struct timeline_class {
	const char *name; /* "rank 0", "ranks 0-7" */
	VEC(struct timeline_ranks) ranks;
	uint32_t count; /* ranks */
	uint32_t unit;  /* that stands for it in the simulation's events; 0 where there are none */
	VEC(struct timeline_lane) lane;
	VEC(struct timeline_span) span; /* by begin */
	VEC(struct timeline_level) memory;
	VEC(struct timeline_held) held;     /* largest first */
	VEC(struct timeline_step) critical; /* by statement, in the order of the chain */
	int64_t end, work, exposed;
	int64_t live;          /* bytes, at most */
	int64_t peak;          /* that a run reserves; without a plan the live ones */
	const char *unplanned; /* the reason why peak is without a plan; NULL: it is not, or was recorded */
	int64_t host;          /* that it needs to issue all statements; of recorded programs 0 */
};

struct timeline_remark {
	op_id op;
	const char *text;
};

struct timeline {
	struct module *m;
	struct arena *arena; /* of texts */
	VEC(struct timeline_class) class;
	VEC(struct timeline_remark) remark;
	const char **label, **where; /* by op; made when asked for */
	const char *machine;         /* NULL: not stated */
	bool recorded;               /* statements go by their names; the host computes */
	int64_t ranks;               /* 0: not stated */
	int64_t runtime, limit /* of memory; 0: none */;
	struct sched_bound bound; /* more than the runtime of programs with races */
	const char *binding;      /* cause of the bound; NULL: measured, there is neither it nor memory */
};

void timeline_open(struct timeline *t, struct module *m);
void timeline_close(struct timeline *t);
/* Counts the sums of the spans: exposed, busy. */
void timeline_finish(struct timeline *t);
/* A statement as text; where it stands, "f.hir:7" or "". */
/* The class of ranks that ends last; 0 if there is none. */
uint32_t timeline_last_class(const struct timeline *t);
const char *timeline_label(struct timeline *t, op_id op);
const char *timeline_where(struct timeline *t, op_id op);
/* "X", or the statement that makes it. */
const char *timeline_held_name(struct timeline *t, const struct timeline_held *h);

/* Executions of one statement on one lane. */
struct timeline_row {
	op_id op;
	uint32_t lane, count;
	int64_t bytes, time, exposed, first; /* first: when it began first */
};
typedef VEC(struct timeline_row) timeline_rows;
/* The communication of a class, by first begin. */
void timeline_communication(const struct timeline *t, const struct timeline_class *c, timeline_rows *out);

/* sim_print.c: for people. held: how many lines of values live at the peak. */
struct timeline_print {
	int64_t held, classes;
};
void timeline_print(struct timeline *t, const struct timeline_print *o, struct buf *out);
/* sim_json.c: the object that a command prints with --json, see man/hirc-sim.1. */
void timeline_json(struct timeline *t, const char *command, struct buf *out);
/* sim_trace.c: Chrome's trace format, as `hirc run --trace` writes it; pid = class, tid = lane. */
void timeline_trace(struct timeline *t, struct buf *out);
/* sim_svg.c: a picture. */
void timeline_svg(struct timeline *t, struct buf *out);

/* Returns a part of a time in percent; 0 of no time. */
static inline double timeline_percent(int64_t part, int64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

#endif
