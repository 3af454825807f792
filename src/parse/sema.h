/* sema: from AST to IR.
 *
 * Resolves names, types, layouts and effects; reports what does not hold. Both surfaces give the
 * same IR. */
#ifndef HIRC_PARSE_SEMA_H
#define HIRC_PARSE_SEMA_H
#include "ir/ir.h"
#include "parse/ast.h"

struct sema_define { /* one -D name=text */
	const char *name, *text;
	bool used;      /* set when a program had the name */
	char meant[64]; /* else the nearest name of a program; empty: none is near */
};

struct sema_options {
	struct sema_define *define;
	unsigned define_n;
	int64_t np; /* --np or the launcher's size; 0: the file's default */
};

/* Takes over the AST's names. NULL when an error was reported. */
struct module *sema_build(struct diag *d, struct ast *a, const struct sema_options *options);
/* The same for who shows a program while it is written: errors or not, what could be read of it. With errors
 * it is only for looking at its declarations and values. */
struct module *sema_build_partial(struct diag *d, struct ast *a, const struct sema_options *options);

#endif
