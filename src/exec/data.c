/* data: opens and reads the sources of inputs. */
#include "exec/data.h"
#include "base/checked.h"
#include "rt/rows.h"
#include <stdlib.h>
#include <string.h>

enum { SHOWN_BYTES = 60 };

const char *data_name(const struct module *m, value_id v, char *text)
{
	const struct value *x = &m->value.at[v];
	const char *name = names_text(m->names, x->name);
	size_t n = strlen(name), cut = SHOWN_BYTES;
	while (cut > 0 &&
	       ((unsigned char)name[cut < n ? cut : n] & 0xc0) == 0x80) /* do not cut inside a character */
		cut--;
	if (!x->name)
		snprintf(text, DATA_NAME_BYTES, "T%d", x->number);
	else
		snprintf(text, DATA_NAME_BYTES, "%.*s%s", (int)cut, name, n > cut ? "…" : "");
	return text;
}

bool data_is_named(const struct module *m, value_id v, const char *text)
{
	const struct value *x = &m->value.at[v];
	char number[24];
	snprintf(number, sizeof number, "T%d", x->number);
	return !strcmp(x->name ? names_text(m->names, x->name) : number, text);
}

/* ---- opening */

static void from_program(const struct module *m, unsigned input, struct data_source *s, const char **path)
{
	const struct input *x = &m->input.at[input];
	const char *init = names_text(m->names, x->init);
	const struct attr *a = attrs_find(m, x->init_args, "seed");
	char number[24];
	const char *name = names_text(m->names, m->value.at[x->value].name);
	snprintf(number, sizeof number, "input %u", input);
	s->generate.kind = GENERATE_RANDOM;
	s->generate.seed = a && a->kind == ATTR_INT ? (uint64_t)a->u.i : generate_seed(*name ? name : number);
	a = attrs_find(m, x->init_args, "scale");
	s->generate.f = !a ? 1 : a->kind == ATTR_FLOAT ? a->u.f : (double)a->u.i;
	if (!strcmp(init, "iota"))
		s->generate.kind = GENERATE_IOTA;
	else if (!strcmp(init, "zeros"))
		s->generate.kind = GENERATE_ZEROS;
	a = attrs_find(m, x->init_args, "value");
	if (!strcmp(init, "full") && a) {
		s->generate.kind = GENERATE_FULL;
		s->generate.f = a->kind == ATTR_FLOAT ? a->u.f : (double)a->u.i;
		s->generate.i = a->kind == ATTR_FLOAT ? (int64_t)a->u.f : a->u.i;
	}
	a = attrs_find(m, x->init_args, "path");
	if (!strcmp(init, "file") && a)
		*path = names_text(m->names, a->u.name);
}

/* Opens a file. paths: for a file that the program names; NULL: the user names it. */
static bool open_file(const struct module *m, struct diag *d, unsigned input, const char *path,
                      const struct data_paths *paths, struct data_source *s)
{
	value_id v = m->input.at[input].value;
	struct data_map map;
	struct buf why = {0};
	int64_t n[IR_MAX_LOGICAL + 1];
	bool refused = false, ok = data_map_make(m, m->value.at[v].type, 0, &map);
	if (ok && paths) {
		int fd = data_path_open(paths, path, &why, &refused);
		ok = fd >= 0 && npy_open_file(fd, path, &s->file, &why);
	} else if (ok) {
		ok = npy_open(path, &s->file, &why);
	}
	s->from_file = ok;
	if (ok) {
		memcpy(n, map.extent, sizeof map.extent);
		int nd = (int)map.rank;
		if (map.parts > 1)
			n[nd++] = map.parts;
		ok = npy_fits(&s->file, value_type(m, v)->dtype, nd, n, &why);
	}
	if (!ok) {
		char name[DATA_NAME_BYTES];
		diag_error(d, E_INPUT_DATA, m->value.at[v].at, "input '%s': %s", data_name(m, v, name),
		           why.at ? why.at : "its extents have no value");
		if (refused)
			diag_note(
			    d, DIAG_NOWHERE,
			    "--allow-path=DIR lets programs read below another folder, --input NAME=FILE "
			    "names any file");
	}
	data_map_free(&map);
	buf_free(&why);
	return ok;
}

void data_note_names(const struct module *m, struct diag *d, bool outputs)
{
	enum { MOST = 16 };
	const uint32_t n = outputs ? m->output.n : m->input.n;
	char name[DATA_NAME_BYTES];
	struct buf text = {0};
	for (uint32_t i = 0; i < n && i < MOST; i++)
		buf_printf(&text, "%s'%s'", i ? ", " : "",
		           data_name(m, outputs ? m->output.at[i] : m->input.at[i].value, name));
	if (n)
		diag_note(d, DIAG_NOWHERE, "its %s: %s%s", outputs ? "outputs" : "inputs", text.at,
		          n > MOST ? ", …" : "");
	buf_free(&text);
}

struct data_source *data_sources_open(const struct module *m, struct diag *d, const struct data_paths *paths,
                                      struct data_file *file, unsigned files)
{
	struct data_source *s = mem_zalloc(sizeof *s * (m->input.n + 1));
	bool ok = true;
	for (uint32_t i = 0; i < m->input.n; i++) {
		const char *path = NULL;
		const struct data_paths *within = paths;
		from_program(m, i, &s[i], &path);
		for (unsigned k = 0; k < files; k++)
			if (data_is_named(m, m->input.at[i].value, file[k].name))
				path = file[k].path, file[k].used = true, within = NULL;
		ok &= !path || open_file(m, d, i, path, within, &s[i]);
	}
	for (unsigned k = 0; k < files; k++) {
		if (file[k].used)
			continue;
		struct suggest g = suggest_start(file[k].name);
		diag_error(d, E_FILE_OF_NOTHING, DIAG_NOWHERE, "--input: the program has no input '%s'",
		           file[k].name);
		for (uint32_t i = 0; i < m->input.n; i++)
			if (m->value.at[m->input.at[i].value].name)
				suggest_try(&g, names_text(m->names, m->value.at[m->input.at[i].value].name));
		diag_suggest(d, &g);
		data_note_names(m, d, false);
		ok = false;
	}
	if (ok)
		return s;
	data_sources_close(s, m->input.n);
	return NULL;
}

void data_sources_close(struct data_source *s, unsigned n)
{
	for (unsigned i = 0; s && i < n; i++)
		if (s[i].from_file)
			npy_close(&s[i].file);
	free(s);
}

/* ---- reading */

/* A part of a file in memory, so that scattered elements need few reads. */
enum { WINDOW_BYTES = 1 << 18 };

struct reader {
	const struct npy *file;
	char *window;
	int64_t first, count; /* the elements in the window */
	struct buf *why;
};

/* Returns a pointer to consecutive elements and lowers *count to their number; NULL: `why` has the
 * reason. */
static const char *peek(struct reader *r, int64_t first, int64_t *count)
{
	if (first < r->first || first >= r->first + r->count) {
		int64_t room = WINDOW_BYTES / r->file->size, left = r->file->count - first;
		r->count = left < room ? left : room;
		r->first = first;
		if (!r->window)
			r->window = mem_alloc(WINDOW_BYTES);
		if (!npy_read(r->file, first, r->count, r->window, r->why))
			return NULL;
	}
	int64_t have = r->first + r->count - first;
	*count = *count < have ? *count : have;
	return r->window + (first - r->first) * r->file->size;
}

static bool fill_from_file(const struct data_source *s, enum dtype t, const struct data_map *map,
                           char *memory, struct buf *why)
{
	struct reader r = {.file = &s->file, .why = why};
	struct data_cursor c = {0};
	struct data_batch b;
	size_t bytes = dtype_bytes(t);
	bool ok = true;
	while (ok && data_map_next(map, &c, DATA_BATCH, &b)) {
		for (unsigned k = 0; k < b.n && ok;) {
			int64_t run = 1; /* length of the run that is consecutive in file and memory */
			while (k + run < b.n && b.linear[k + run] == b.linear[k] + run &&
			       b.offset[k + run] == b.offset[k] + run && map->parts == 1)
				run++;
			const char *from = peek(&r, b.linear[k] * map->parts + map->part, &run);
			ok = from != NULL;
			if (ok)
				memcpy(memory + b.offset[k] * (int64_t)bytes, from, (size_t)run * bytes);
			k += (unsigned)run;
		}
	}
	free(r.window);
	return ok;
}

bool data_fill(const struct data_source *s, enum dtype t, const struct data_map *map, void *memory,
               struct buf *why)
{
	struct data_cursor c = {0};
	struct data_batch b;
	if (s->from_file)
		return fill_from_file(s, t, map, memory, why);
	while (data_map_next(map, &c, DATA_BATCH, &b)) {
		for (unsigned k = 0; k < b.n && map->parts > 1; k++)
			b.linear[k] = b.linear[k] * map->parts + map->part;
		generate_elements(&s->generate, t, b.linear, b.offset, b.n, memory);
	}
	return true;
}

bool data_whole(const struct data_source *s, enum dtype t, int64_t count, double *f, int64_t *i,
                struct buf *why)
{
	char stored[DATA_BATCH * 8];
	bool is_float = dtype_is_float(t);
	for (int64_t first = 0; first < count;) {
		unsigned n = count - first < DATA_BATCH ? (unsigned)(count - first) : DATA_BATCH;
		int64_t linear[DATA_BATCH], offset[DATA_BATCH];
		if (s->from_file) {
			if (!npy_read(&s->file, first, n, stored, why))
				return false;
		} else {
			for (unsigned k = 0; k < n; k++)
				linear[k] = first + k, offset[k] = k;
			generate_elements(&s->generate, t, linear, offset, n, stored);
		}
		if (is_float && f)
			rt_row_load_f64(t, stored, 1, f + first, n);
		if (!is_float && i)
			rt_row_load_i64(t, stored, 1, i + first, n);
		first += n;
	}
	return true;
}
