/* explain: each statement's work, time and waits, and the reasons for exposed communication.
 *
 *     struct explanation x;
 *     explain_devices(&x, &timeline, &events, cost);      or explain_recorded
 *     explain_print(&x, &o, &out);
 *     explain_close(&x);
 *
 * A row is a statement of the compiled program that computes or communicates, on all its streams and in all
 * its iterations; statements that only name a stream, take memory or wait have none, as they take no time.
 * Rows are of a class of ranks that do alike. Times are ns. */
#ifndef HIRC_EXPLAIN_EXPLAIN_H
#define HIRC_EXPLAIN_EXPLAIN_H
#include "cost/choice.h"
#include "sim/events.h"
#include "sim/sim.h"
#include "sim/timeline.h"

/* Reasons why nothing hides the time that a device stands still. The other statement is in {}. */
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
	X(LAST, "last", "no work is left to hide it: it ends the program")                                   \
	X(UNKNOWN, "unknown", "there is too much to look at")

enum explain_why {
#define EXPLAIN_ENUM(id, word, text) EXPLAIN_##id,
	EXPLAIN_WHYS(EXPLAIN_ENUM)
#undef EXPLAIN_ENUM
	    EXPLAIN_WHY_COUNT
};
extern const char *const explain_why_word[EXPLAIN_WHY_COUNT];
/* Its text, with the statement as `line 12, linear`. */
const char *explain_why_text(struct timeline *t, enum explain_why why, op_id other, struct arena *a);

struct explain_row {
	op_id op;
	bool communicates;
	bool waits;             /* of recorded programs: it only holds the host up */
	bool memory;            /* moving its bytes takes most of its time */
	uint32_t count;         /* executions */
	uint32_t lane, lanes;   /* the first one of the class, how many differ */
	double flops;           /* of all executions; of products, see cost_op_work */
	int64_t bytes;          /* of all: read and written; of communication as `hirc sim` counts them */
	int64_t time, alone;    /* of all: as it was, and with nothing beside it */
	int64_t begin, first;   /* begin and time of the first one */
	int64_t idle;           /* that its stream stood still before it */
	int64_t after_time;     /* of that the longest for one statement: */
	op_id after;            /* 0: the host had not issued it */
	const char *after_lane; /* where that was; "": of other ranks */
	int64_t exposed,
	    exposed_first; /* that the device stands still for it; of that in its first execution */
	int64_t why[EXPLAIN_WHY_COUNT];     /* exposed, by reasons */
	int64_t longest[EXPLAIN_WHY_COUNT]; /* of these, at once, which is by: */
	op_id other[EXPLAIN_WHY_COUNT];     /* the statement that the longest of a reason is by; 0: none */
};

/* Parts of the chain of statements that the step consists of. */
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
	int64_t communication;       /* of all rows that communicate */
	int64_t contention;          /* that rows take longer than with nothing beside them */
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
	VEC(struct explain_class) class;           /* those of the timeline */
	VEC(struct explain_collective) collective; /* in the order of the program */
};

/* Both outlive the explanation. */
void explain_devices(struct explanation *x, struct timeline *t, const struct sim_events *e,
                     const struct cost *cost);
void explain_recorded(struct explanation *x, struct timeline *t, const struct sim *s,
                      const struct cost *cost);
void explain_close(struct explanation *x);

/* The class of a rank; -1: the one that ends last. UINT32_MAX: the rank takes no part. */
uint32_t explain_class_of(const struct explanation *x, int64_t rank);
/* The reason that most of a row's exposed time has. */
enum explain_why explain_main_why(const struct explain_row *r);

/* An option that was tried, and the program's time with it. */
struct explain_advice {
	const char *option; /* "--pipeline=p2p" */
	int64_t time, exposed;
};
typedef VEC(struct explain_advice) explain_advices;

struct explain_output {
	int64_t rank; /* -1: of the class that ends last */
	int64_t top;  /* rows and collectives; 0: all */
	const explain_advices *advice;
	const char *unlooked; /* why no advice was looked for; NULL: it was */
};
/* explain_print.c: for people, at most 120 columns. explain_data.c: all classes, all rows. */
void explain_print(struct explanation *x, const struct explain_output *o, struct buf *out);
void explain_json(struct explanation *x, const struct explain_output *o, struct buf *out);
void explain_csv(struct explanation *x, struct buf *out);

#endif
