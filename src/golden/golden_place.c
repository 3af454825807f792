/* golden_place: see golden_place.h. */
#include "golden/golden_place.h"
#include "base/word.h"
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Returns the folder of a file; the caller owns it. */
static char *folder_of(const char *path)
{
	char *folder = mem_strdup(path);
	char *slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	return folder;
}

/* Returns the nearest folder with a .git, from this one upwards; NULL: none. */
static char *find_root(const char *beside)
{
	for (char *at = mem_strdup(beside);;) {
		struct buf git = {0};
		buf_printf(&git, "%s/.git", at);
		bool found = access(git.at, F_OK) == 0, last = !strcmp(at, "/");
		buf_free(&git);
		if (found && !last)
			return at;
		char *above = folder_of(at);
		free(at);
		if (last) {
			free(above);
			return NULL;
		}
		at = above;
	}
}

bool golden_place_name(struct golden_place *p, const char *test, const char *root)
{
	const char *shared = getenv("HIRC_SHARED");
	struct buf beside_root = {0};
	p->test = realpath(test, NULL);
	if (!p->test)
		return false;
	p->beside = folder_of(p->test);
	p->root = root ? realpath(root, NULL) : find_root(p->beside);
	if (!p->root && root)
		return false;
	if (!p->root)
		p->root = mem_strdup(p->beside);
	if (!shared || !*shared) {
		char *above = folder_of(p->root);
		buf_printf(&beside_root, "%s/shared", strcmp(above, "/") ? above : "");
		free(above);
	}
	p->shared = realpath(beside_root.at ? beside_root.at : shared, NULL);
	if (!p->shared)
		p->shared = mem_strdup(beside_root.at ? beside_root.at : shared);
	buf_free(&beside_root);
	return true;
}

static bool make_folder(struct golden_place *p)
{
	const char *temporary = getenv("TMPDIR");
	struct buf name = {0};
	buf_printf(&name, "%s/hirc-test-XXXXXX", temporary && *temporary ? temporary : "/tmp");
	bool made = mkdtemp(name.at) != NULL;
	p->folder = made ? realpath(name.at, NULL) : NULL;
	buf_free(&name);
	return p->folder != NULL;
}

/* Writes a file that needs no protection against other processes or a crash. base/file.h would wait for the
 * disk. */
static bool write_file(const char *path, const struct buf *text)
{
	FILE *f = fopen(path, "wxe");
	if (!f)
		return false;
	bool ok = fwrite(text->at ? text->at : "", 1, text->n, f) == text->n;
	return fclose(f) == 0 && ok;
}

static bool fill_folder(struct golden_place *p, const struct golden_test *t, const char *hirc)
{
	struct buf path = {0}, body = {0};
	const char *environment = getenv("PATH");
	buf_printf(&p->work, "%s/work", p->folder);
	buf_printf(&p->path, "PATH=%s/bin%s%s", p->folder, environment ? ":" : "",
	           environment ? environment : "");
	buf_printf(&path, "%s/bin", p->folder);
	bool ok = mkdir(p->work.at, 0777) == 0 && mkdir(path.at, 0777) == 0;
	buf_puts(&path, "/hirc");
	ok = ok && symlink(hirc, path.at) == 0;
	path.n = 0;
	buf_printf(&path, "%s/%s", p->folder, name_of(p->test));
	golden_test_put_body(t, &body);
	ok = ok && write_file(path.at, &body);
	int error = errno;
	buf_free(&path);
	buf_free(&body);
	errno = error;
	return ok;
}

bool golden_place_make(struct golden_place *p, struct diag *d, const struct golden_test *t, const char *hirc)
{
	if (make_folder(p) && fill_folder(p, t, hirc))
		return true;
	diag_error(d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot make a folder for '%s': %s", t->source->name,
	           strerror(errno));
	diag_note(d, DIAG_NOWHERE, "TMPDIR names the folder for temporary folders");
	return false;
}

/* ---- names in commands */

/* Puts the text for the word after a `%`, and returns the length of the word; 0: it is unknown, and nothing
 * is put. */
static uint32_t put_name(const struct golden_place *p, const char *at, uint32_t n, struct buf *out)
{
	uint32_t length = 0;
	while (length < n && word_has(at[length]))
		length++;
	if (length == 1 && *at == 's')
		buf_puts(out, p->test);
	else if (length == 1 && *at == 'S')
		buf_puts(out, p->beside);
	else if (length == 1 && *at == 'b')
		buf_printf(out, "%s/%s", p->folder, name_of(p->test));
	else if (length == 1 && *at == 't')
		buf_printf(out, "%s/temporary", p->folder);
	else if (length == 4 && !memcmp(at, "root", 4))
		buf_puts(out, p->root);
	else if (length == 6 && !memcmp(at, "shared", 6))
		buf_puts(out, p->shared);
	else
		return 0;
	return length;
}

void golden_place_put_command(const struct golden_place *p, struct golden_line command, struct buf *out)
{
	for (uint32_t i = 0; i < command.n; i++) {
		uint32_t n =
		    command.at[i] == '%' ? put_name(p, command.at + i + 1, command.n - i - 1, out) : 0;
		if (!n)
			buf_putc(out, command.at[i]);
		i += n;
	}
}

void golden_place_put_output(const struct golden_place *p, const struct buf *text, struct buf *out)
{
	const char *folder[] = {p->folder, p->beside, p->shared, p->root};
	struct golden_cut cut[5] = {{.instead = "%t"}};
	unsigned n = 1;
	buf_printf(&cut[0].from, "%s/temporary", p->folder);
	for (unsigned i = 0; i < sizeof folder / sizeof *folder; i++) {
		if (!strcmp(folder[i], "/"))
			continue;
		cut[n].instead = "";
		buf_printf(&cut[n++].from, "%s/", folder[i]);
	}
	golden_put_cut(text, cut, n, out);
	for (unsigned i = 0; i < n; i++)
		buf_free(&cut[i].from);
}

/* ---- its end */

static int remove_one(const char *path, const struct stat *is, int what, struct FTW *where)
{
	(void)is;
	(void)where;
	if (what == FTW_DNR) /* the test has made it unreadable */
		chmod(path, 0700);
	remove(path);
	return 0;
}

void golden_place_free(struct golden_place *p)
{
	if (p->folder)
		nftw(p->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(p->folder);
	free(p->test);
	free(p->beside);
	free(p->root);
	free(p->shared);
	buf_free(&p->work);
	buf_free(&p->path);
	*p = (struct golden_place){0};
}
