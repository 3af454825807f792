/* pipeline: runs passes in an order, with dumps in between.
 *
 *     source → propagate-shardings → decompose-reshardings → fuse-allgathers → stream-loops
 *            → lower-collectives → allocate → assign-streams → host IR
 *
 * `--passes=a,b{opt=v}` selects other passes; --fuse-pointwise adds that pass before allocate. */
#ifndef HIRC_PASS_PIPELINE_H
#define HIRC_PASS_PIPELINE_H
#include "base/status.h"
#include "pass/pass.h"

enum { PIPELINE_MAX = 64 };

struct pipeline_pass {
	enum pass_id pass;
	int64_t option[PASS_OPTION_COUNT];
};
struct pipeline {
	unsigned n;
	struct pipeline_pass at[PIPELINE_MAX];
};

/* Reads a list of passes such as `a,b{opt=v;other=w}`; NULL: the default pipeline. Returns false after
 * reporting to d. */
bool pipeline_parse(struct diag *d, const char *text, struct pipeline *out);
/* Adds a pass right before another, unless it is in the pipeline already. Returns false after reporting
 * that the other pass is not in it. */
bool pipeline_add_before(struct diag *d, struct pipeline *p, enum pass_id pass, enum pass_id before);
void pipeline_remove(struct pipeline *p, enum pass_id pass);
/* Sets an option, as `name{opt=v}` does, in every run of a pass. Returns false after reporting. */
bool pipeline_set(struct diag *d, struct pipeline *p, enum pass_id pass, const char *option);
/* Lists the names, help lines and options of all passes: as text, or as an array of JSON. */
void pipeline_list(struct buf *out);
void pipeline_list_json(struct buf *out);

/* Time, memory and exposed communication of a compiled program. */
struct prediction {
	int64_t time, peak; /* ns; bytes of the rank with the largest peak */
	int64_t *exposed;   /* by statement: ns for which the most exposed rank stands still because of it */
	op_id op_n;
	bool runs; /* all ranks can execute it */
};

/* A limit of the changes that passes can leave out (pass_may_change); those made are listed. */
struct change_limit {
	bool given;
	int64_t most;
};

struct pipeline_options {
	const char *print_before; /* a pass, or `all`: to standard error; NULL: none */
	const char *print_after;  /* a pass, `all` or `changed`: to standard error; NULL: none */
	const char *stop_after;   /* a pass, or `parse` for none at all; NULL: run all */
	const char *dump_dir;     /* a folder for numbered files, made when it is not there; NULL: none */
	const char *timing;       /* `text` or `json`, to standard error; NULL: none */
	bool concise;             /* the surface of the dumps; else nvFuser's */
	struct change_limit changes;
	bool verify_each, remarks;
	const struct cluster *cluster; /* cluster for passes that need times */
	/* Called before the first pass (pass NULL) and after each one. Returns false after reporting a
	 * bug. NULL: none. */
	bool (*after)(void *to, struct module *m, const char *pass);
	void *after_to;
	/* Called with each remark; at: an offset of the source or DIAG_NOWHERE. NULL: remarks are
	 * printed to standard error. */
	void (*remark)(void *to, const char *pass, uint32_t at, const char *text);
	void *remark_to;
	/* Predicts a program, for passes that try changes. Returns false after reporting statements
	 * without a time. NULL: such passes do nothing. */
	bool (*predict)(struct module *m, const struct cluster *c, struct diag *d, struct prediction *out);
	/* Called by passes that try changes, with the part of their trials that is made, 0 … 1. NULL: none. */
	void (*progress)(void *to, const char *pass, double done);
	void *progress_to;
};

/* Returns true if print_after and stop_after name passes of the pipeline; otherwise reports it. */
bool pipeline_options_check(struct diag *d, const struct pipeline *p, const struct pipeline_options *o);
/* Returns STATUS_OK; STATUS_DIAGNOSTICS after reporting; STATUS_INTERNAL after reporting that a pass
 * broke the program. */
enum status pipeline_run(struct module *m, struct diag *d, const struct pipeline *p,
                         const struct pipeline_options *o);
/* Gives a remark to o->remark, or prints it. o: NULL prints it. */
void pipeline_remark(const struct pipeline_options *o, const struct module *m, const char *pass, uint32_t at,
                     const char *text);

#endif
