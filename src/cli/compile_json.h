/* compile_json: what `hirc compile --json` prints: a row for each program, with its remarks and its size. */
#ifndef HIRC_CLI_COMPILE_JSON_H
#define HIRC_CLI_COMPILE_JSON_H
#include "base/diag.h"
#include "base/status.h"
#include "base/table.h"
#include "ir/ir.h"

struct compile_json {
	struct diag *d;
	struct buf messages;   /* of d, as members of an array */
	struct table programs; /* a row for each */
	struct table remarks;  /* of the program that is compiled */
	struct source *source; /* of that program, borrowed; set before it is compiled */
};

/* Messages of d are copied until compile_json_close. */
void compile_json_open(struct compile_json *j, struct diag *d);
/* A remark about the present program, for struct pipeline_options. */
void compile_json_remark(void *json, const char *pass, uint32_t at, const char *text);
/* Ends the present program. m: NULL if it did not compile; stats: add its size. */
void compile_json_add(struct compile_json *j, const struct module *m, bool stats);
/* Prints all. Returns the status of the command. */
enum status compile_json_close(struct compile_json *j, enum status status);

/* --list-passes. */
void compile_json_passes(struct buf *out);
/* Returns the number of statements, as --stats counts them. */
uint32_t compile_json_statements(const struct module *m);

#endif
