/* snapshot: one state of a text: syntax tree, program, names and messages. */
#ifndef HIRC_LSP_SNAPSHOT_H
#define HIRC_LSP_SNAPSHOT_H
#include "base/diag.h"
#include "lsp/symbols.h"
#include "parse/sema.h"

struct snapshot_message {
	uint8_t severity;    /* enum diag_severity; a note belongs to the message before it */
	uint32_t at, length; /* DIAG_NOWHERE: at no place */
	char *text;          /* of the arena */
	const char *number;  /* "E0203"; NULL: a note */
};

struct snapshot {
	struct arena *arena;
	struct source *source;
	struct ast *ast;        /* its names are the module's */
	struct module *module;  /* the readable part; with errors only for looking */
	struct module *settled; /* by settle_layouts; NULL: not asked for, or … */
	bool unsettled;         /* … there is none */
	struct symbols symbols;
	bool has_errors;
	bool checked; /* the findings of check are among the messages */
	bool broken;  /* of these some are of syntax: statements are missing in the tree */
	VEC(struct snapshot_message) message;
	VEC(value_id) value; /* by symbol: the tensor's; 0: none */
};

/* Reads a text. Never NULL. name is its name in messages. */
struct snapshot *snapshot_new(const char *name, const char *text, uint32_t size,
                              const struct sema_options *options);
void snapshot_free(struct snapshot *x);
/* A sink of diag_set_sink: to is the snapshot that gets the message. */
void snapshot_keep(void *to, const struct diag_message *m);

#endif
