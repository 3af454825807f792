/* explain: each statement's work, time and waits, and the reasons for exposed communication.
 *
 *     struct explanation x;
 *     explain_devices(&x, &timeline, &events, cost);      or explain_recorded
 *     explain_print(&x, &o, &out);
 *     explain_close(&x);
 *
 * A row is a statement of the compiled program that computes or communicates, on all its streams and in all
 * its iterations. Statements that only name a stream, take memory or wait have no row, since they take no
 * time. Each class of equal ranks has its own rows. Times are ns. */
#ifndef HIRC_EXPLAIN_EXPLAIN_H
#define HIRC_EXPLAIN_EXPLAIN_H
#include "cost/choice.h"
#include "sim/events.h"
#include "sim/sim.h"
#include "sim/timeline.h"

/* Reasons why nothing hides the time in which a device is idle. The other statement is in {}. */
#define EXPLAIN_WHYS(X)                                                                                      \
	X(LATE, "late", "other ranks come to it later")                                                      \
	X(QUEUE, "queue", "{} is behind it on the same communicator, and is needed")                         \
	X(BUSY, "busy", "its communicator was busy with {}")                                                 \
	X(STREAM, "stream", "it was behind {} in its stream, which it does not need")                        \
	X(LAUNCH, "launch", "the host had not issued it before")                                             \
	X(ORDER, "order", "{} does not need it and could have begun, but comes after a statement that does") \
	X(NEEDED, "needed", "{} needs it at once, and no other work is left")                                \
	X(REST, "rest",                                                                                      \
	  "no work is left to hide it: all later statements need it, or data that is not there yet")         \
	X(LAST, "last", "no work follows that could hide it")                                                \
	X(UNKNOWN, "unknown", "there is too much to look at")

enum explain_why {
#define EXPLAIN_ENUM(id, word, text) EXPLAIN_##id,
	EXPLAIN_WHYS(EXPLAIN_ENUM)
#undef EXPLAIN_ENUM
	    EXPLAIN_WHY_COUNT
};
extern const char *const explain_why_word[EXPLAIN_WHY_COUNT];
/* Returns the text of a reason, with the statement as `line 12, linear`. */
const char *explain_why_text(struct timeline *t, enum explain_why why, op_id other, struct arena *a);

struct explain_row {
	op_id op;
	bool communicates;
	bool waits;             /* in recorded programs: it only holds the host up */
	bool memory;            /* moving its bytes takes most of its time */
	uint32_t count;         /* executions */
	uint32_t lane, lanes;   /* the first lane, and the number of lanes */
	double flops;           /* of all executions; set for products, see cost_op_work */
	int64_t bytes;          /* of all executions: read and written; for communication as `hirc sim`
	                           counts them */
	int64_t time, alone;    /* of all executions: simulated, and if nothing else ran */
	int64_t begin, first;   /* begin and time of the first execution */
	int64_t idle;           /* idle time of its stream before it */
	int64_t after_time;     /* the longest part of that for one statement: */
	op_id after;            /* that statement; 0: the host had not issued this one */
	const char *after_lane; /* its lane; "": on other ranks */
	int64_t exposed, exposed_first; /* time in which the device is idle for it; in its first execution */
	int64_t why[EXPLAIN_WHY_COUNT]; /* exposed time by reason */
	int64_t longest[EXPLAIN_WHY_COUNT]; /* by reason: the longest single time, caused by: */
	op_id other[EXPLAIN_WHY_COUNT];     /* by reason: that statement; 0: none */
};

/* Parts of the chain of statements that makes up the step. */
enum explain_part {
	EXPLAIN_COMPUTE,
	EXPLAIN_MEMORY,
	EXPLAIN_BANDWIDTH,
	EXPLAIN_LATENCY,
	EXPLAIN_HOST,
	EXPLAIN_PARTS
};
extern const char *const explain_part_word[EXPLAIN_PARTS];

struct explain_class {
	const struct timeline_class *c;
	VEC(struct explain_row) row; /* in the order of the program */
	int64_t communication;       /* time of all rows that communicate */
	int64_t contention;          /* extra time that rows take because others run beside them */
	int64_t chain[EXPLAIN_PARTS];
};

struct explain_collective {
	op_id op;
	struct cost_choice choice;
};

struct explanation {
	struct arena *arena;
	struct timeline *t;
	const struct cost *cost;
	VEC(struct explain_class) class;           /* as in the timeline */
	VEC(struct explain_collective) collective; /* in the order of the program */
};

/* The timeline and the events must outlive the explanation. */
void explain_devices(struct explanation *x, struct timeline *t, const struct sim_events *e,
                     const struct cost *cost);
/* s: the simulation of each class of the timeline. */
void explain_recorded(struct explanation *x, struct timeline *t, const struct sim *s,
                      const struct cost *cost);
void explain_close(struct explanation *x);

/* Returns the class of a rank. rank -1: the class that ends last. UINT32_MAX: the rank takes no part. */
uint32_t explain_class_of(const struct explanation *x, int64_t rank);
/* Returns the reason for most of a row's exposed time. */
enum explain_why explain_main_why(const struct explain_row *r);

/* An option that was tried, and the time of the program with it. */
struct explain_advice {
	const char *option; /* "--pipeline=p2p" */
	int64_t time, exposed;
};
typedef VEC(struct explain_advice) explain_advices;

struct explain_output {
	int64_t rank; /* -1: a rank of the class that ends last */
	int64_t top;  /* number of rows and collectives; 0: all */
	const explain_advices *advice;
	const char *tried;    /* options that were tried, a line an axis; with advice */
	const char *unlooked; /* the reason why no advice was searched; NULL: it was */
};
/* explain_print.c: text of at most 120 columns. explain_data.c: all classes, all rows. */
void explain_print(struct explanation *x, const struct explain_output *o, struct buf *out);
void explain_json(struct explanation *x, const struct explain_output *o, struct buf *out);
void explain_csv(struct explanation *x, struct buf *out);

#endif
