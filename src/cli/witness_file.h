/* witness_file: files of witnesses, which `hirc check --witness` writes and `hirc run --replay` reads.
 *
 *     {"hirc_witness": 1, "program": "9f…", "ranks": 2, "streams": 4, "kind": "race", "queue": 0, "events": [
 *       {"role": "hold", "rank": 0, "statement": 7, "indices": [1], "text": "relu", "where": "f:9:5"},
 *       {"role": "until", "rank": 0, "statement": 9, "indices": [1], "text": "neg", "where": "f:12:5"}]} */
#ifndef HIRC_CLI_WITNESS_FILE_H
#define HIRC_CLI_WITNESS_FILE_H
#include "base/diag.h"
#include "check/witness.h"

enum { WITNESS_VERSION = 1, WITNESS_MAX_EVENTS = 4096 };

struct witness_file {
	struct witness witness;
	uint64_t program; /* witness_program of the compiled program */
	int64_t ranks, streams;
};

/* Returns a hash of a compiled program, with the values of its parameters. Numbers nameless values. */
uint64_t witness_program(struct module *m);
/* Writes a witness. False after a message. */
bool witness_write(struct diag *d, const char *path, const struct witness_file *w);
/* Reads a witness, which the caller frees with witness_free. False after a message. */
bool witness_read(struct diag *d, const char *path, struct witness_file *out);

#endif
