/* find: see find.h. */
#include "golden/find.h"
#include "base/str.h"
#include "golden/test.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_DEEP = 64 }; /* nested folders */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool read_folder(struct diag *d, const char *path, struct golden_paths *names)
{
	DIR *folder = opendir(path);
	if (!folder) {
		diag_error(d, E_FILE_UNREADABLE, DIAG_NOWHERE, "cannot read folder '%s': %s", path,
		           strerror(errno));
		return false;
	}
	for (struct dirent *entry; (entry = readdir(folder));)
		if (entry->d_name[0] != '.')
			vec_push(&names->at, mem_strdup(entry->d_name));
	closedir(folder);
	if (names->at.n)
		qsort(names->at.at, names->at.n, sizeof *names->at.at, by_name);
	return true;
}

static bool walk_folder(struct diag *d, const char *path, unsigned deep, struct golden_paths *out)
{
	struct golden_paths names = {0};
	bool ok = read_folder(d, path, &names);
	size_t n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		n--;
	for (uint32_t i = 0; ok && i < names.at.n; i++) {
		struct buf name = {0};
		struct stat is;
		if (n != 1 || path[0] != '.')
			buf_printf(&name, "%.*s%s", (int)n, path, path[n - 1] == '/' ? "" : "/");
		buf_puts(&name, names.at.at[i]);
		bool there = lstat(name.at, &is) == 0;
		if (there && S_ISDIR(is.st_mode) && deep < MOST_DEEP)
			ok = walk_folder(d, name.at, deep + 1, out);
		else if (there && (S_ISREG(is.st_mode) || S_ISLNK(is.st_mode)) && stat(name.at, &is) == 0 &&
		         S_ISREG(is.st_mode) && golden_test_is(name.at))
			vec_push(&out->at, mem_strdup(name.at));
		buf_free(&name);
	}
	golden_paths_free(&names);
	return ok;
}

bool golden_find(struct diag *d, const char *path, struct golden_paths *out)
{
	struct stat is;
	if (stat(path, &is) != 0) {
		diag_error(d, E_FILE_UNREADABLE, DIAG_NOWHERE, "cannot find '%s': %s", path, strerror(errno));
		return false;
	}
	if (S_ISDIR(is.st_mode))
		return walk_folder(d, path, 0, out);
	vec_push(&out->at, mem_strdup(path));
	return true;
}

void golden_paths_free(struct golden_paths *p)
{
	for (uint32_t i = 0; i < p->at.n; i++)
		free(p->at.at[i]);
	vec_free(&p->at);
}
