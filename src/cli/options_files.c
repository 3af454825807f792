/* options_files: refuses a command line that would overwrite one of its own files.
 *
 *     hirc compile foo.hir -o foo.hir               the program
 *     hirc sim foo.hir --json=foo --trace=foo       the file of the other option
 *
 * It also refuses a file name whose suffix contradicts the file's type: `--svg=foo.png`. */
#include "base/file.h"
#include "cli/options.h"
#include "cli/rank_files.h"
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the name of the file in a value; in `NAME=FILE` it comes after the first `=`. */
static const char *file_of(const struct option *o, const char *text)
{
	const char *equals = o->value && !strncmp(o->value, "NAME=", 5) ? strchr(text, '=') : NULL;
	return equals ? equals + 1 : text;
}

/* Returns true if given options j and k may name the same file, since the later one replaces the earlier. */
static bool one_option(const struct command_line *c, uint32_t j, uint32_t k)
{
	return j == k || (c->given.at[j] == c->given.at[k] && c->given.at[j]->kind != OPTION_CALL);
}

/* Does the work of options_replaces. k: the given option that names the path; c->given.n: none. */
static bool replaces(const struct command_line *c, const char *path, uint32_t k, struct buf *out)
{
	for (uint32_t i = 0; i < c->file.n; i++) {
		const char *name = c->has_ranks ? rank_files_name(c->file.at[i]) : NULL;
		name = name ? name : c->file.at[i];
		if (file_same(path, name)) {
			buf_printf(out, "'%s', which is read", name);
			return true;
		}
	}
	for (uint32_t j = 0; j < c->given.n; j++) {
		const struct option *o = c->given.at[j];
		if (o->file == FILE_NONE || (k < c->given.n && one_option(c, j, k)) ||
		    !file_same(path, file_of(o, c->given_text.at[j])))
			continue;
		buf_puts(out, "the file that ");
		option_put_name(o, out);
		buf_puts(out, o->file == FILE_READ ? " reads" : " writes");
		return true;
	}
	return false;
}

bool options_replaces(const struct command_line *c, const char *path, struct buf *out)
{
	return replaces(c, path, c->given.n, out);
}

bool options_spare_files(const struct command_line *c, struct buf *out)
{
	struct buf other = {0};
	bool ok = true;
	for (uint32_t k = 0; k < c->given.n && ok; k++) {
		const struct option *o = c->given.at[k];
		const char *path = file_of(o, c->given_text.at[k]);
		ok = o->file != FILE_WRITTEN || !strcmp(path, "-") || !replaces(c, path, k, &other);
		if (ok)
			continue;
		option_put_name(o, out);
		buf_printf(out, ": '%s' would replace %s: give it another name", path, other.at);
	}
	buf_free(&other);
	return ok;
}

/* ---- types */

const char *options_file_type(const char *path)
{
	static const char *const known[] = {"bin", "bmp",  "csv",  "dot", "gif",         "h5",  "hdf5",
	                                    "hir", "html", "jpeg", "jpg", "json",        "md",  "npy",
	                                    "npz", "pdf",  "png",  "pt",  "safetensors", "svg", "tiff",
	                                    "tsv", "txt",  "webp", "xml", "yaml"};
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
	for (unsigned k = 0; dot && k < sizeof known / sizeof *known; k++)
		if (!strcasecmp(dot + 1, known[k]))
			return known[k];
	return NULL;
}

bool options_check_types(const struct command_line *c, struct buf *out)
{
	for (uint32_t k = 0; k < c->given.n; k++) {
		const struct option *o = c->given.at[k];
		const char *dot = o->file == FILE_WRITTEN && o->value ? strrchr(o->value, '.') : NULL;
		const char *path = file_of(o, c->given_text.at[k]), *type = options_file_type(path);
		if (!dot || !type || !strcmp(type, dot + 1))
			continue;
		option_put_name(o, out);
		buf_printf(out, " writes %s files, and '%s' is named as another type: name it '%.*s%s'", dot,
		           path, (int)(strlen(path) - strlen(type) - 1), path, dot);
		return false;
	}
	return true;
}

/* ---- standard input */

bool options_read_input(struct command_line *c)
{
	struct stat is;
	if (fstat(STDIN_FILENO, &is) ||
	    !(S_ISFIFO(is.st_mode) || S_ISREG(is.st_mode) || S_ISSOCK(is.st_mode)))
		return false;
	vec_push(&c->file, "-");
	return true;
}
