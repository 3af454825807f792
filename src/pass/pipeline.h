/* pipeline: which passes run in which order, and the dumps in between.
 *
 *     source → propagate-shardings → decompose-reshardings → fuse-allgathers → stream-loops
 *            → lower-collectives → allocate → assign-streams → host IR
 *
 * `--passes=a,b{opt=v}` names others; --fuse-pointwise adds that pass before allocate. */
#ifndef HIRC_PASS_PIPELINE_H
#define HIRC_PASS_PIPELINE_H
#include "base/status.h"
#include "pass/pass.h"

enum { PIPELINE_MAX = 64 };

struct pipeline_pass {
	enum pass_id pass;
	int64_t option[PASS_MAX_OPTIONS];
};
struct pipeline {
	unsigned n;
	struct pipeline_pass at[PIPELINE_MAX];
};

/* The passes of a text like `a,b{opt=v;other=w}`; NULL: the default ones. Reports to d; false then. */
bool pipeline_parse(struct diag *d, const char *text, struct pipeline *out);
/* Adds a pass right before another, unless it runs already. Reports when the other does not run; false then.
 */
bool pipeline_add_before(struct diag *d, struct pipeline *p, enum pass_id pass, enum pass_id before);
void pipeline_remove(struct pipeline *p, enum pass_id pass);
/* Sets an option, as in `name{opt=v}`, of every run of a pass. Reports; false then. */
bool pipeline_set(struct diag *d, struct pipeline *p, enum pass_id pass, const char *option);
/* Names, one line of help and the options of all passes. */
void pipeline_list(struct buf *out);

/* Time, memory and exposed communication of a compiled program. */
struct prediction {
	int64_t time, peak; /* ns; bytes of the rank that has most */
	int64_t *exposed;   /* by statement: ns that the rank that is exposed most stands still for it */
	op_id op_n;
	bool runs; /* ranks can carry it out */
};

struct pipeline_options {
	const char *print_before; /* a pass, or `all`: to standard error; NULL: none */
	const char *print_after;  /* a pass, `all` or `changed`: to standard error; NULL: none */
	const char *stop_after;   /* a pass, or `parse` for none at all; NULL: run all */
	const char *dump_dir;     /* a folder for numbered files, made when it is not there; NULL: none */
	const char *timing;       /* `text` or `json`, to standard error; NULL: none */
	bool concise;             /* the surface of the dumps; else nvFuser's */
	bool verify_each, remarks;
	const struct cluster *cluster; /* the cluster for times, for passes that need them */
	/* Called after each pass and before the first (pass NULL); false: it reported a bug. NULL: none. */
	bool (*after)(void *to, struct module *m, const char *pass);
	void *after_to;
	/* Called for each remark in place of printing it; at: an offset of the source or DIAG_NOWHERE. NULL:
	 * to standard error. */
	void (*remark)(void *to, const char *pass, uint32_t at, const char *text);
	void *remark_to;
	/* For passes that try changes. Reports statements without a time; false then. NULL: nothing is
	 * predicted. */
	bool (*predict)(struct module *m, const struct cluster *c, struct diag *d, struct prediction *out);
};

/* Returns true if print_before, print_after and stop_after name passes of the pipeline; reports it where not.
 */
bool pipeline_options_check(struct diag *d, const struct pipeline *p, const struct pipeline_options *o);
/* STATUS_OK; STATUS_DIAGNOSTICS: reported; STATUS_INTERNAL: a pass broke the program, reported. */
enum status pipeline_run(struct module *m, struct diag *d, const struct pipeline *p,
                         const struct pipeline_options *o);

#endif
