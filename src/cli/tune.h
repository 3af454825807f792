/* tune: the shared parts of the files of `hirc tune`.
 *
 *     cmd_tune.c         the command line, and the order of the steps
 *     tune_axes.c        the axes: chunk counts of the source, options of the compiler, streams
 *     tune_transform.c   the transformations of collectives that apply to a program
 *     tune_candidate.c   compiles a program with its choices, and predicts its time
 *     tune_search.c      chooses the candidates to try
 *     tune_measure.c     runs the best candidates
 *     tune_print.c       tables, CSV, JSON
 *     tune_text.c        choices as words, as a command line and in the source
 *
 * A candidate is a value for each axis; value 0 is the value in the source or on the command line. */
#ifndef HIRC_CLI_TUNE_H
#define HIRC_CLI_TUNE_H
#include "cli/cli_progress.h"
#include "cli/run.h"
#include "parse/ast.h"

enum {
	TUNE_VERSION = 1,   /* of the output of --csv and --json */
	TUNE_MAX_AXES = 24, /* consts and options together */
	TUNE_MAX_VALUES = 64,
	TUNE_ALL = 1 << 30, /* --measure=all */
	TUNE_NOISE = 2,     /* percent; candidates that differ by less count as equally fast */
};

enum tune_axis_kind {
	TUNE_CHUNKS,
	TUNE_PIPELINE,
	TUNE_OFFSET_STREAMS,
	TUNE_ZERO_COPY,
	TUNE_FUSE,
	TUNE_OVERLAP,
	TUNE_STREAMS,
	TUNE_TRANSFORM,
	TUNE_KINDS
};

struct tune_axis {
	uint8_t kind;                       /* enum tune_axis_kind */
	const char *name;                   /* name of the const or of the axis */
	const char *value[TUNE_MAX_VALUES]; /* value[0] is NULL: the present value */
	uint32_t n;                         /* number of values */
};

enum tune_state {
	TUNE_GOOD,
	TUNE_SAME,    /* does the same as another candidate */
	TUNE_REFUSED, /* does not compile, or did not finish its run */
};

struct tune_candidate {
	uint8_t choice[TUNE_MAX_AXES]; /* by axis: the index of its value */
	uint8_t state;                 /* enum tune_state */
	uint32_t same;                 /* SAME: the other candidate */
	uint64_t hash;                 /* of the compiled program */
	uint64_t program;              /* hash of the compiled text alone; 0: it does not compile */
	int64_t streams;               /* most streams that the program uses */
	const char *reason;            /* REFUSED: why; GOOD: why there is no prediction */
	int64_t predicted;             /* ns; -1: not predicted */
	double measured;               /* ns, the median of the faster pass; -1: not measured */
	double spread;                 /* ns, the range of the middle half of its samples */
	int64_t samples;               /* number of its samples */
};

struct tune {
	/* the command line */
	struct compile_options compile; /* without the -D of axes */
	struct rank_options ranks;
	const char *path, *search, *output;
	const char *measure_text;     /* value of --measure */
	int64_t measure, limit, rows; /* most candidates to run, to compile differently, to print */
	bool check, csv, json;
	struct command_line *line;
	struct diag *d;

	struct arena *arena; /* for texts */
	struct source *source;
	struct ast *ast; /* NULL: a graph that is no program of hirc */
	bool recorded;   /* it can only be simulated */
	const struct cluster *cluster;
	struct tune_axis axis[TUNE_MAX_AXES];
	uint32_t axis_n;
	bool transforms; /* --transform is varied, if it applies to the program */
	VEC(struct tune_candidate)
	candidate;                /* in the order of the search; the first is the unchanged
	                             program */
	VEC(const char *) remark; /* why a const that looks like an axis is not one */
	uint32_t chosen;
	struct progress progress;
};

/* ---- tune_axes.c */

extern const char *const tune_axis_name[TUNE_KINDS]; /* as in --search */
/* Finds the axes. Removes lists of values from -D of t->compile. False after reporting; then exit with 2. */
bool tune_axes_find(struct tune *t);
/* Adds the axis --transform, for a program without errors. False after reporting that there is no axis. */
bool tune_axes_end(struct tune *t);

/* ---- tune_transform.c */

/* Finds for each compile_transform if it applies to the unchanged program. */
void tune_transforms_find(struct tune *t, bool *possible);

/* ---- tune_candidate.c */

/* Makes the options of a candidate; free them with tune_options_free. False after reporting to d. */
bool tune_options_make(struct tune *t, const struct tune_candidate *c, struct diag *d,
                       struct compile_options *out, int64_t *streams);
void tune_options_free(struct tune *t, struct compile_options *o);
/* Returns the hash of the program compiled with these options; 0 after reporting that it does not compile. */
uint64_t tune_program_hash(struct tune *t, struct compile_options *o, struct diag *d);
/* Compiles and predicts. Sets all fields except choice, same and the measured ones. */
void tune_candidate_evaluate(struct tune *t, struct tune_candidate *c);
/* Sets the candidate's hash, from its program and the number of streams. */
void tune_candidate_hash(struct tune_candidate *c, int64_t streams);
/* Collected messages; the first error is the reason. */
struct tune_messages {
	struct diag *d;
	FILE *f;
	char *text;
	size_t n;
};
void tune_messages_open(struct tune *t, struct tune_messages *x);
/* Returns the first error without its place; NULL: there is none. */
const char *tune_messages_close(struct tune *t, struct tune_messages *x);

/* ---- tune_search.c */

/* Searches; fills t->candidate. */
void tune_search(struct tune *t);
/* Indices of the good candidates, by predicted time; candidates without one come last. */
typedef VEC(uint32_t) tune_order;
void tune_order_make(const struct tune *t, tune_order *out);

/* ---- tune_measure.c */

enum status tune_measure(struct tune *t);

/* ---- tune_text.c */

/* Each returns the value of an option for a value of the axis `overlap`. */
const char *tune_bucket_mode(const char *overlap);
const char *tune_effort(const char *overlap);
/* Puts `s=4 pipeline=p2p`, or `as it stands` for the first candidate. */
void tune_put_choices(const struct tune *t, const struct tune_candidate *c, struct buf *out);
/* Puts the options for hirc run: ` --np=2 -D t=96 --pipeline=p2p`. consts: with the consts that the source
 * sets. */
void tune_put_options(struct tune *t, const struct tune_candidate *c, bool consts, struct buf *out);
/* Puts the options of a candidate that were not on the command line: `-D s=4 --pipeline=p2p`. */
void tune_put_changes(const struct tune *t, const struct tune_candidate *c, struct buf *out);
/* Puts the source with the consts of a candidate, or the program of a recorded graph, below a comment with
 * the command line. */
void tune_put_program(struct tune *t, const struct tune_candidate *c, const char *path, struct buf *out);

/* ---- tune_print.c */

void tune_print(struct tune *t, struct buf *out);
/* Puts --remarks: why a const is not an axis, and why candidates are refused. */
void tune_print_remarks(const struct tune *t, struct buf *out);
void tune_print_csv(struct tune *t, struct buf *out);
void tune_print_json(struct tune *t, struct buf *out);

#endif
