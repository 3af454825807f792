/* complete_files: names of files and folders, for `hirc complete`.
 *
 *     examples/ag       examples/ag_matmul.hir
 *     ex                examples/                                                              */
#include "base/vec.h"
#include "cli/complete_line.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct listing {
	VEC(char *) file, folder; /* owned */
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Puts the folder of a path, up to the last `/`; `~/` is the home folder. */
static void put_folder(const char *path, size_t n, struct buf *out)
{
	const char *home = getenv("HOME");
	if (n >= 2 && !memcmp(path, "~/", 2) && home) {
		buf_puts(out, home);
		path++;
		n--;
	}
	if (!n)
		buf_puts(out, ".");
	buf_putn(out, path, n);
}

static bool has_suffix(const char *name, const char *suffixes)
{
	const char *dot = strrchr(name, '.');
	for (const char *s = suffixes; dot && *s; s += strcspn(s, "|"), s += *s == '|') {
		size_t n = strcspn(s, "|");
		if (strlen(dot + 1) == n && !memcmp(dot + 1, s, n))
			return true;
	}
	return !*suffixes;
}

/* Lists a folder. start: the path up to its last `/`, n bytes. */
static void read_folder(const char *start, size_t n, struct listing *out)
{
	struct buf folder = {0};
	put_folder(start, n, &folder);
	DIR *d = opendir(folder.at);
	for (struct dirent *e; d && (e = readdir(d));) {
		struct buf path = {0}, name = {0};
		struct stat is;
		buf_printf(&path, "%s/%s", folder.at, e->d_name);
		bool is_folder = stat(path.at, &is) == 0 && S_ISDIR(is.st_mode);
		buf_printf(&name, "%.*s%s%s", (int)n, start, e->d_name, is_folder ? "/" : "");
		if (e->d_name[0] == '.' && start[n] != '.')
			buf_free(&name);
		else if (is_folder)
			vec_push(&out->folder, name.at);
		else
			vec_push(&out->file, name.at);
		buf_free(&path);
	}
	if (d)
		closedir(d);
	buf_free(&folder);
	if (out->file.n)
		qsort(out->file.at, out->file.n, sizeof *out->file.at, compare_names);
	if (out->folder.n)
		qsort(out->folder.at, out->folder.n, sizeof *out->folder.at, compare_names);
}

static void offer_files(struct complete *x, const struct listing *l, const char *suffixes)
{
	for (uint32_t k = 0; k < l->file.n; k++)
		if (has_suffix(l->file.at[k], suffixes))
			complete_offer(x, l->file.at[k], strlen(l->file.at[k]), NULL);
}

void complete_offer_files(struct complete *x, const char *suffixes)
{
	struct listing l = {0};
	const char *path = x->word + x->fixed, *slash = strrchr(path, '/');
	unsigned before = x->n;
	read_folder(path, slash ? (size_t)(slash + 1 - path) : 0, &l);
	if (suffixes)
		offer_files(x, &l, suffixes);
	for (uint32_t k = 0; k < l.folder.n; k++)
		complete_offer(x, l.folder.at[k], strlen(l.folder.at[k]), NULL);
	if (suffixes && x->n == before)
		offer_files(x, &l, "");
	for (uint32_t k = 0; k < l.file.n; k++)
		free(l.file.at[k]);
	for (uint32_t k = 0; k < l.folder.n; k++)
		free(l.folder.at[k]);
	vec_free(&l.file);
	vec_free(&l.folder);
}
