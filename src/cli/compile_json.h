/* compile_json: the output of `hirc compile --json`: a row for each program, with remarks and size. */
#ifndef HIRC_CLI_COMPILE_JSON_H
#define HIRC_CLI_COMPILE_JSON_H
#include "base/diag.h"
#include "base/status.h"
#include "base/table.h"
#include "ir/ir.h"

struct compile_json {
	struct diag *d;
	struct buf messages;   /* messages of d, as members of an array */
	struct table programs; /* a row for each program */
	struct table remarks;  /* of the present program */
	struct source *source; /* of the present program; borrowed; set before it is compiled */
};

/* Starts copying messages of d; compile_json_close ends it. */
void compile_json_open(struct compile_json *j, struct diag *d);
/* Adds a remark about the present program; a callback for struct pipeline_options. */
void compile_json_remark(void *json, const char *pass, uint32_t at, const char *text);
/* Ends the present program. m: NULL if it did not compile; stats: add its size. */
void compile_json_add(struct compile_json *j, const struct module *m, bool stats);
/* Prints the object. Returns the status of the command. */
enum status compile_json_close(struct compile_json *j, enum status status);

/* Puts the output of --list-passes. */
void compile_json_passes(struct buf *out);
/* Returns the number of statements, as --stats counts them. */
uint32_t compile_json_statements(const struct module *m);

#endif
