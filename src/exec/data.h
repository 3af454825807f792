/* data: where the inputs of a program come from, and its outputs as files.
 *
 * A source is opened once, before the ranks start, and then read by all of them: each fills its own
 * block, whatever the layout. */
#ifndef HIRC_EXEC_DATA_H
#define HIRC_EXEC_DATA_H
#include "exec/data_path.h"
#include "exec/generate.h"
#include "exec/npy.h"
#include "plan/data_map.h"

/* `--input X=x.npy`, `--output Y=y.npy`. */
struct data_file {
	const char *name, *path;
	bool used;
};

struct data_source {
	bool from_file;
	struct generate generate;
	struct npy file;
};

/* Sources of all inputs of a program, or NULL after reporting to d. files: override those in the program,
 * and may lie anywhere. */
struct data_source *data_sources_open(const struct module *m, struct diag *d, const struct data_paths *paths,
                                      struct data_file *file, unsigned files);
void data_sources_close(struct data_source *s, unsigned n);

/* Fills this rank's block. False: why has the reason. */
bool data_fill(const struct data_source *s, enum dtype t, const struct data_map *map, void *memory,
               struct buf *why);

/* An input as a whole tensor, row-major, as its dtype holds it: floats into f, integers and bool into i
 * (the other may be NULL). A pending reduction has its parts as a last dimension. */
bool data_whole(const struct data_source *s, enum dtype t, int64_t count, double *f, int64_t *i,
                struct buf *why);

/* Writes the name of a value for messages to text, and returns text: the name, cut after 60 bytes, else
 * TN. */
enum { DATA_NAME_BYTES = 128 };
const char *data_name(const struct module *m, value_id v, char *text);
/* Returns true if an option's text names the value: by its whole name, or as TN. */
bool data_is_named(const struct module *m, value_id v, const char *text);

#endif
