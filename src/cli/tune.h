/* tune: the shared parts of the files of `hirc tune`.
 *
 *     cmd_tune.c         the command line, and one thing after the other
 *     tune_axes.c        the axes: chunk counts of the source, options of the compiler, streams
 *     tune_transform.c   the transformations of collectives that apply to a program
 *     tune_candidate.c   a program with its choices: compiled, and predicted by the simulator
 *     tune_search.c      which candidates are looked at
 *     tune_measure.c     running the best of them
 *     tune_print.c       tables, CSV, JSON
 *     tune_text.c        choices as words, as a command line and in the source; progress
 *
 * A candidate is a value for each axis; value 0 is the one of the source and the command line. */
#ifndef HIRC_CLI_TUNE_H
#define HIRC_CLI_TUNE_H
#include "cli/cli_progress.h"
#include "cli/run.h"
#include "parse/ast.h"

enum {
	TUNE_VERSION = 1,   /* of the output of --csv and --json */
	TUNE_MAX_AXES = 24, /* const and options together */
	TUNE_MAX_VALUES = 64,
	TUNE_ALL = 1 << 30, /* of --measure */
	TUNE_NOISE = 2,     /* percent by which candidates differ that count as equally fast */
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
	const char *name;                   /* of the const, or the axis */
	const char *value[TUNE_MAX_VALUES]; /* 0: NULL, the present value */
	uint32_t n;                         /* values */
};

enum tune_state {
	TUNE_GOOD,
	TUNE_SAME,    /* does the same as another candidate */
	TUNE_REFUSED, /* does not compile, or did not run to its end */
};

struct tune_candidate {
	uint8_t choice[TUNE_MAX_AXES]; /* a value of each axis */
	uint8_t state;                 /* enum tune_state */
	uint32_t same;                 /* SAME: as which */
	uint64_t hash;                 /* of the compiled program */
	uint64_t program;              /* of its text alone; 0: it does not compile */
	int64_t streams;               /* more than these it does not use */
	const char *reason;            /* REFUSED: why; GOOD: why nothing is predicted */
	int64_t predicted;             /* ns; -1: not */
	double measured;               /* ns, the median of the faster pass; -1: not */
	double spread;                 /* ns: half of its samples are within so much of each other */
	int64_t samples;               /* of that */
};

struct tune {
	/* the command line */
	struct compile_options compile; /* -D of axes left out */
	struct rank_options ranks;
	const char *path, *search, *output;
	const char *measure_text;     /* of --measure */
	int64_t measure, limit, rows; /* candidates that are run, found to differ, printed */
	bool check, csv, json;
	struct command_line *line;
	struct diag *d;

	struct arena *arena; /* of texts */
	struct source *source;
	struct ast *ast; /* NULL: of a recorded graph */
	const struct cluster *cluster;
	struct tune_axis axis[TUNE_MAX_AXES];
	uint32_t axis_n;
	bool transforms; /* --transform is to be varied, where there is something for it */
	VEC(struct tune_candidate)
	candidate;                /* in the order in which they were looked at; the first is the
	                             program as it stands */
	VEC(const char *) remark; /* why a const that looks like an axis is none */
	uint32_t chosen;
	struct progress progress;
};

/* ---- tune_axes.c */

extern const char *const tune_axis_name[TUNE_KINDS]; /* as --search has them */
/* False after reporting: exit 2. Takes lists of values out of the -D of t->compile. */
bool tune_axes_find(struct tune *t);
/* Adds --transform, for a program that is right; then false after reporting that there is no axis. */
bool tune_axes_end(struct tune *t);

/* ---- tune_transform.c */

/* Sets for each of compile_transform if it applies to the program as it stands. */
void tune_transforms_find(struct tune *t, bool *possible);

/* ---- tune_candidate.c */

/* The options of a candidate; free them with tune_options_free. False: refused, reported to d. */
bool tune_options_make(struct tune *t, const struct tune_candidate *c, struct diag *d,
                       struct compile_options *out, int64_t *streams);
void tune_options_free(struct tune *t, struct compile_options *o);
/* Hashes the program that these options make; 0: it does not compile, which is reported to d. */
uint64_t tune_program_hash(struct tune *t, struct compile_options *o, struct diag *d);
/* Compiles and predicts: sets all fields but choice, same and the measured ones. */
void tune_candidate_evaluate(struct tune *t, struct tune_candidate *c);
/* Sets hash for a number of streams, by program and streams. */
void tune_candidate_hash(struct tune_candidate *c, int64_t streams);
/* Messages that are kept: the first line of the report is the reason. */
struct tune_messages {
	struct diag *d;
	FILE *f;
	char *text;
	size_t n;
};
void tune_messages_open(struct tune *t, struct tune_messages *x);
/* The first error without its place; NULL: there is none. */
const char *tune_messages_close(struct tune *t, struct tune_messages *x);

/* ---- tune_search.c */

/* Fills t->candidate. */
void tune_search(struct tune *t);
/* Indices of the good candidates, by predicted time; those without one come last. */
typedef VEC(uint32_t) tune_order;
void tune_order_make(const struct tune *t, tune_order *out);

/* ---- tune_measure.c */

enum status tune_measure(struct tune *t);

/* ---- tune_text.c */

/* `s=4 pipeline=p2p`; the first candidate: `as it stands`. */
const char *tune_bucket_mode(const char *overlap);
void tune_put_choices(const struct tune *t, const struct tune_candidate *c, struct buf *out);
/* ` --np=2 -D t=96 --pipeline=p2p`: the options for hirc run. consts: also those that the source has. */
void tune_put_options(struct tune *t, const struct tune_candidate *c, bool consts, struct buf *out);
/* Puts the options of a candidate beyond those that were given: `-D s=4 --pipeline=p2p`. */
void tune_put_changes(const struct tune *t, const struct tune_candidate *c, struct buf *out);
/* The source with the consts of a candidate, or the program of a recorded graph, under a comment with the
 * command line. */
void tune_put_program(struct tune *t, const struct tune_candidate *c, const char *path, struct buf *out);

/* ---- tune_print.c */

void tune_print(struct tune *t, struct buf *out);
/* --remarks: why a const is not an axis, why candidates are refused. */
void tune_print_remarks(const struct tune *t, struct buf *out);
void tune_print_csv(struct tune *t, struct buf *out);
void tune_print_json(struct tune *t, struct buf *out);

#endif
