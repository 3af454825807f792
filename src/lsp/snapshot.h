/* snapshot: one state of a text, with its syntax tree, program, names and messages. */
#ifndef HIRC_LSP_SNAPSHOT_H
#define HIRC_LSP_SNAPSHOT_H
#include "base/diag.h"
#include "lsp/symbols.h"
#include "parse/sema.h"

struct snapshot_message {
	uint8_t severity;    /* enum diag_severity; a note belongs to the message before it */
	uint32_t at, length; /* offset; DIAG_NOWHERE: it has no place */
	char *text;          /* in the arena */
	const char *number;  /* "E0203"; NULL: a note */
};

struct snapshot {
	struct arena *arena;
	struct source *source;
	struct ast *ast;        /* the module owns its names */
	struct module *module;  /* the part that could be read; after errors, use it only to look at */
	struct module *settled; /* made by settle_layouts; NULL: not made, or … */
	bool unsettled;         /* … it has errors */
	struct symbols symbols;
	bool has_errors;
	bool checked; /* the messages include those of check */
	bool broken;  /* there are syntax errors: the tree lacks statements */
	VEC(struct snapshot_message) message;
	VEC(value_id) value; /* by symbol: the value of a tensor; 0: none */
};

/* Reads a text. Never returns NULL. name: its name in messages. */
struct snapshot *snapshot_new(const char *name, const char *text, uint32_t size,
                              const struct sema_options *options);
void snapshot_free(struct snapshot *x);
/* A sink for diag_set_sink. to: the snapshot that gets the message. */
void snapshot_keep(void *to, const struct diag_message *m);

#endif
