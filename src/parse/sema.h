/* sema: makes IR from an AST.
 *
 * It resolves names, types, layouts and effects, and reports errors in them. Both surfaces give the same
 * IR. */
#ifndef HIRC_PARSE_SEMA_H
#define HIRC_PARSE_SEMA_H
#include "ir/ir.h"
#include "parse/ast.h"

struct sema_define { /* one -D name=text */
	const char *name, *text;
	bool used;      /* set if the program has that name */
	char meant[64]; /* the nearest name of the program otherwise; empty: none is near */
};

/* --paired-axes: how parallel axes of a listing are read that can be read in several ways (enum printed_way) */
enum sema_paired {
	PAIRED_BY_PROGRAM,
	PAIRED_HALVES,
	PAIRED_OWN,
	PAIRED_TWICE,
	PAIRED_FIRST, /* as all numbers of the listing tell (ir/printed_cover.h) */
	PAIRED_SECOND,
};

struct sema_options {
	struct sema_define *define;
	unsigned define_n;
	int64_t np; /* from --np or the launcher; 0: use the file's default */
	enum sema_paired paired;
	uint32_t other_way; /* index + 1 of a tensor that is read in another way, with those alike; 0: none */
};

/* Takes ownership of the AST's names. Returns NULL after reporting an error. */
struct module *sema_build(struct diag *d, struct ast *a, const struct sema_options *options);
/* The same for an editor: returns the part of the program that could be read, with errors or without. After
 * errors use it only to look at declarations and values. */
struct module *sema_build_partial(struct diag *d, struct ast *a, const struct sema_options *options);
/* Parses a file of a source of several, and reads it into a module that holds no program now (ir/ir_files.h). m:
 * NULL: a new one. Returns the module, with errors or without. */
struct module *sema_build_file(struct diag *d, struct source *source, uint32_t file, struct module *m,
                               const struct sema_options *options);

#endif
