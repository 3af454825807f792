/* data: reads the inputs of a program, and writes its outputs to files.
 *
 * A source is opened once, before the ranks start. Then each rank reads its own block from it, in any
 * layout. */
#ifndef HIRC_EXEC_DATA_H
#define HIRC_EXEC_DATA_H
#include "exec/data_path.h"
#include "exec/generate.h"
#include "exec/npy.h"
#include "plan/data_map.h"

/* An option `--input X=x.npy` or `--output Y=y.npy`. */
struct data_file {
	const char *name, *path;
	bool used;
};

struct data_source {
	bool from_file;
	struct generate generate;
	struct npy file;
};

/* Opens the sources of all inputs of a program. Returns NULL after reporting to d. files: these replace
 * the files that the program names, and may be in any folder. */
struct data_source *data_sources_open(const struct module *m, struct diag *d, const struct data_paths *paths,
                                      struct data_file *file, unsigned files);
void data_sources_close(struct data_source *s, unsigned n);

/* Fills this rank's block. Returns false with the reason in `why`. */
bool data_fill(const struct data_source *s, enum dtype t, const struct data_map *map, void *memory,
               struct buf *why);

/* Reads an input as a whole tensor, row-major, with the precision of its dtype: floats into f, integers
 * and bool into i; the other may be NULL. The parts of a pending reduction are the last dimension. */
bool data_whole(const struct data_source *s, enum dtype t, int64_t count, double *f, int64_t *i,
                struct buf *why);

/* Writes the name of a value for messages to text, and returns text. The name is cut after 60 bytes; a
 * nameless value is TN. */
enum { DATA_NAME_BYTES = 128 };
const char *data_name(const struct module *m, value_id v, char *text);
/* Returns true if the text of an option names the value, either by its whole name or as TN. */
bool data_is_named(const struct module *m, value_id v, const char *text);
/* Lists the names of the inputs, or of the outputs, in a note. */
void data_note_names(const struct module *m, struct diag *d, bool outputs);

#endif
