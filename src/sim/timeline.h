/* timeline: the times of events on the lanes of ranks. All outputs of a simulation are made from it.
 *
 *     rank 0      host   ████  ██████   ██████      spans of lanes; a wait is a span from the end of compute
 *                 g0        ███████ ████████        to the end of the awaited comm
 *                 memory ▁▃▅▅▇▅▃▁
 *
 * Ranks that do the same at the same times are one class. Times are ns from the start of the step. */
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
	int64_t busy; /* ns, without waits */
};

enum timeline_kind { TIMELINE_WORK, TIMELINE_COLLECTIVE, TIMELINE_MESSAGE, TIMELINE_WAIT };

struct timeline_span {
	int64_t begin, end;
	int64_t bytes;     /* bytes of communication */
	int64_t exposed;   /* exposed communication, ns: all waits for it; set by timeline_finish */
	int64_t iteration; /* of the innermost loop; -1: none */
	op_id op;
	uint32_t lane;
	uint32_t comm; /* of a wait: the span of the awaited comm; TIMELINE_NONE */
	uint32_t task; /* task of the class's unit; in recorded programs, the node; TIMELINE_NONE: neither,
	                  for example a wait */
	uint8_t kind;  /* enum timeline_kind */
};

struct timeline_level { /* memory from this moment on */
	int64_t at, bytes;
};
struct timeline_tensor { /* memory that is live for a part of the step */
	value_id value;  /* 0: memory of a running statement */
	int64_t bytes;
	bool resident; /* live all the time: no change takes it */
};
struct timeline_change { /* a tensor becomes live, or is freed */
	int64_t at;
	uint32_t tensor;
	bool frees;
};
struct timeline_held {  /* memory that is live at the peak */
	value_id value; /* 0: memory of a running statement */
	op_id op;       /* the statement that makes the value; 0: an input */
	int64_t bytes;
	uint32_t count; /* values of the same name and size */
};
struct timeline_step { /* a part of the critical path: the chain of events without gaps that ends with the
	                  step */
	op_id op;
	int64_t time;
	uint32_t count; /* executions */
};

struct timeline_peer { /* a message, or both messages of a collective_permute */
	uint32_t task; /* of its span */
	op_id op;
	int64_t to, from; /* ranks; -1: none */
	int64_t tag;      /* messages of two ranks with one tag meet */
};

struct timeline_ranks { /* ranks first … last */
	uint32_t first, last;
};

struct timeline_class {
	const char *name; /* "rank 0", "ranks 0-7" */
	VEC(struct timeline_ranks) ranks;
	uint32_t count; /* number of ranks */
	uint32_t unit;  /* the unit that stands for it in the simulation's events; 0 if there are none */
	VEC(struct timeline_lane) lane;
	VEC(struct timeline_span) span; /* by begin */
	VEC(struct timeline_level) memory;
	VEC(struct timeline_tensor) tensor;
	VEC(struct timeline_change) change; /* in their order */
	VEC(struct timeline_peer) peer;     /* by task; set for outputs that need them, see sim_peers.h */
	VEC(struct timeline_held) held;     /* the largest first */
	VEC(struct timeline_step) critical; /* by statement, in the order of the chain */
	int64_t end, work, exposed;
	int64_t live;          /* the most live bytes at any moment */
	int64_t peak;          /* bytes that a run reserves; without a plan, the live bytes */
	const char *unplanned; /* the reason why peak has no plan; NULL: it has one, or the program was
	                          recorded */
	int64_t host;          /* ns that the host needs to issue all statements; 0 in recorded programs */
};

struct timeline_remark {
	op_id op;
	const char *text;
};

struct timeline {
	struct module *m;
	struct arena *arena; /* for texts */
	VEC(struct timeline_class) class;
	VEC(struct timeline_remark) remark;
	const char **label, **where; /* by op; made when first needed */
	const char *machine;         /* NULL: not known */
	bool recorded;               /* statements are shown by name; the host computes */
	int64_t ranks;               /* 0: not known */
	int64_t runtime, limit /* runtime: ns. limit: memory in bytes; 0: none */;
	struct sched_bound bound; /* may be above the runtime if the program has races */
	const char *binding;      /* the machine that sets the bound; NULL: measured, with neither bound
	                             nor memory */
};

void timeline_open(struct timeline *t, struct module *m);
void timeline_close(struct timeline *t);
/* Computes the totals of the spans: exposed, busy. */
void timeline_finish(struct timeline *t);
/* A statement as text; where it stands, "f.hir:7" or "". */
/* Returns the class of ranks that ends last; 0 if there is none. */
uint32_t timeline_last_class(const struct timeline *t);
const char *timeline_label(struct timeline *t, op_id op);
const char *timeline_where(struct timeline *t, op_id op);
/* Returns "X", or the statement that makes the value. */
const char *timeline_held_name(struct timeline *t, const struct timeline_held *h);

/* All executions of one statement on one lane. */
struct timeline_row {
	op_id op;
	uint32_t lane, count;
	int64_t bytes, time, exposed, first; /* first: when the first execution began */
};
typedef VEC(struct timeline_row) timeline_rows;
/* Lists the communication of a class by its first begin. */
void timeline_communication(const struct timeline *t, const struct timeline_class *c, timeline_rows *out);

/* sim_print.c: prints text. held: number of lines about values live at the peak. */
struct timeline_print {
	int64_t held, classes;
};
void timeline_print(struct timeline *t, const struct timeline_print *o, struct buf *out);
/* sim_json.c: writes the object that a command prints with --json, see man/hirc-sim.1. */
void timeline_json(struct timeline *t, const char *command, struct buf *out);
/* sim_trace.c: writes Chrome's trace format, as `hirc run --trace` does; pid = class, tid = lane. */
void timeline_trace(struct timeline *t, struct buf *out);
/* sim_chakra.c: writes an execution trace of a rank of a class, whose peers were found. Returns false after reporting a
 * statement that such a trace cannot hold. */
bool timeline_chakra(struct timeline *t, uint32_t class, int64_t rank, struct diag *d, struct buf *out);
/* sim_svg.c: draws a picture. */
void timeline_svg(struct timeline *t, struct buf *out);

/* Returns a part of a time in percent; 0 if the time is 0. */
static inline double timeline_percent(int64_t part, int64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

#endif
