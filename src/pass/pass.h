/* pass: the input of a pass, and the table of passes.
 *
 * A pass is one file with one function, `bool pass_xxx(struct module *m, struct pass_context *cx)`. It
 * returns false after reporting to cx->d; the program may then be half changed. It keeps no state: facts
 * for a later pass are in the program or in cx. Every file opens with a before/after and a contract: the
 * stages that the pass requires, establishes and keeps. */
#ifndef HIRC_PASS_PASS_H
#define HIRC_PASS_PASS_H
#include "cost/cluster.h"
#include "ir/ir.h"
#include "ir/verify.h"

enum pass_id {
#define PASS(id, name, function, requires, establishes, help) PASS_##id,
#include "pass/passes.def"
#undef PASS
	PASS_COUNT
};

/* PASS_ALLOCATE_HOIST is the option `hoist` of allocate. */
enum pass_option {
#define PASS_NUMBER(pass, option, name, first, most, help) PASS_##pass##_##option,
#define PASS_WORD(pass, option, name, help, ...) PASS_##pass##_##option,
#include "pass/pass_options.def"
#undef PASS_NUMBER
#undef PASS_WORD
	PASS_OPTION_COUNT
};

struct pass_context;
struct pipeline;
struct pipeline_options;

struct pass_info {
	const char *name;
	bool (*run)(struct module *m, struct pass_context *cx);
	unsigned requires; /* enum ir_property: must hold before, for the statements that the pass looks at */
	unsigned establishes; /* enum ir_property: hold afterwards */
	const char *help;     /* one line */
};
extern const struct pass_info pass_info[PASS_COUNT];

/* Finds a pass by name; PASS_COUNT: there is none. */
enum pass_id pass_find(const char *name, size_t n);

struct pass_context {
	struct diag *d;
	const struct pass_info *pass;
	int64_t option[PASS_OPTION_COUNT]; /* values of this pass's options; 0 for those of others */
	bool remarks;                      /* set if pass_remark prints */
	const struct cluster *cluster;     /* cluster for the cost model; NULL: not known */
	const struct pipeline *pipeline;   /* the running pipeline; the pass is number `at` */
	unsigned at;
	const struct pipeline_options *options;
	int64_t changes; /* that pass_may_change was asked for */
	VEC(value_id)
	allocated; /* buffers that passes of this run allocated; `allocate` may deallocate only these */
};

/* Prints one line of --remarks on standard error: `PASS: text (foo.hir:12)`. */
void pass_remark(struct pass_context *cx, const struct module *m, uint32_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns true if a pass may make a change that it could as well leave out: the program
 * is right without it. --change-limit=N admits the first N changes of a pipeline and prints each, so that
 * `hirc bisect` finds the one that makes a program wrong. The text is a noun phrase, `the end of A`. */
bool pass_may_change(struct pass_context *cx, const struct module *m, uint32_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Appends the name of a value for remarks: its own, that of the viewed value, or `a linear` for the
 * statement that makes it. */
void pass_put_name(struct module *m, value_id v, struct buf *out);

/* Returns true if a statement is local or a Communication, so that no pass makes communication of it. */
bool pass_is_lowered(struct module *m, op_id op);
/* Returns true if all required properties hold. Otherwise reports the first statement that lacks one,
 * and the pass that establishes the property. */
bool pass_check_requires(struct module *m, struct pass_context *cx);
/* Returns true if the properties that the pass establishes hold. Otherwise reports a bug of the pass. */
bool pass_check_establishes(struct module *m, struct pass_context *cx);

#define PASS(id, name, function, requires, establishes, help)                                                \
	bool function(struct module *m, struct pass_context *cx);
#include "pass/passes.def"
#undef PASS

#endif
