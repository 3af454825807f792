/* data_path: see data_path.h.
 *
 * The path is made absolute, and `..` is removed from its text. The part below an allowed folder is then
 * opened relative to that folder, and links out of it are not followed: by openat2, or folder by folder
 * on kernels that lack it. */
#include "exec/data_path.h"
#include "base/arena.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK };

/* Removes `.`, `..` and double slashes. path must be absolute; the result is absolute and has no slash
 * at its end. */
static void normalise(const char *path, struct buf *out)
{
	buf_puts(out, "");
	while (*path) {
		size_t n = strcspn(path, "/");
		if (n == 2 && !memcmp(path, "..", 2)) {
			while (out->n && out->at[--out->n] != '/')
				;
			out->at[out->n] = '\0';
		} else if (n && !(n == 1 && *path == '.')) {
			buf_putc(out, '/');
			buf_putn(out, path, n);
		}
		path += n + (path[n] == '/');
	}
}

/* Returns the path of a file relative to a folder; NULL if the file is not below the folder. */
static const char *below(const char *folder, const char *file)
{
	size_t n = strlen(folder);
	if (n && folder[n - 1] == '/')
		n--;
	return !strncmp(file, folder, n) && file[n] == '/' && file[n + 1] ? file + n + 1 : NULL;
}

static int open_step_by_step(int folder, const char *rest)
{
	int at = dup(folder);
	while (at >= 0) {
		char *name = mem_strdup(rest);
		size_t n = strcspn(rest, "/");
		bool last = !rest[n];
		name[n] = '\0';
		int next = openat(at, name,
		                  last ? FLAGS | O_NOFOLLOW : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int error = errno;
		free(name);
		close(at);
		errno = error;
		if (next < 0 || last)
			return next;
		at = next;
		rest += n + 1;
	}
	return -1;
}

static int open_below(const char *root, const char *rest)
{
	const struct open_how how = {.flags = FLAGS, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -1;
	int fd = (int)syscall(SYS_openat2, folder, rest, &how, sizeof how);
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = open_step_by_step(folder, rest);
	int error = errno;
	close(folder);
	errno = error;
	return fd;
}

/* Returns the folder of the program, absolute and without links; the caller frees it. NULL: errno is
 * set. */
static char *folder_of(const char *program)
{
	const char *slash = program && strcmp(program, "-") != 0 ? strrchr(program, '/') : NULL;
	if (!slash)
		return realpath(".", NULL);
	char *folder = mem_strdup(program);
	folder[slash == program ? 1 : slash - program] = '\0';
	char *real = realpath(folder, NULL);
	free(folder);
	return real;
}

/* Opens the normalised path below a folder. Returns -2 if it does not exist or cannot be reached. */
static int try_folder(const char *root, const char *path, bool *outside)
{
	const char *rest = below(root, path);
	int fd = rest ? open_below(root, rest) : -2;
	*outside |= fd == -1 && (errno == EXDEV || errno == ELOOP);
	return fd == -1 && (errno == EXDEV || errno == ELOOP) ? -2 : fd;
}

static int try_allowed(const struct data_paths *p, const char *path, bool *outside)
{
	int fd = -2;
	for (unsigned k = 0; fd == -2 && k < p->allowed_n; k++) {
		char *root = realpath(p->allowed[k], NULL);
		if (root)
			fd = try_folder(root, path, outside);
		int error = errno;
		free(root);
		errno = error;
	}
	return fd;
}

int data_path_open(const struct data_paths *p, const char *name, struct buf *why, bool *refused)
{
	struct buf absolute = {0}, path = {0};
	char *home = folder_of(p->program);
	bool outside = false;
	int fd = -2, error;
	*refused = false;
	if (!home)
		fd = -1;
	if (*name != '/')
		buf_printf(&absolute, "%s/", home ? home : "");
	buf_puts(&absolute, name);
	normalise(absolute.at, &path);
	if (home)
		fd = try_folder(home, path.at, &outside);
	if (fd == -2)
		fd = try_allowed(p, path.at, &outside);
	if (fd == -2 && outside) { /* the link may lead to another allowed folder */
		char *real = realpath(path.at, NULL);
		fd = real ? try_allowed(p, real, &outside) : -2;
		free(real);
	}
	error = errno;
	if (fd == -2) {
		*refused = true;
		buf_printf(why, "'%s': %s the program's folder", name,
		           outside ? "a link leads out of" : "this is not below");
	} else if (fd < 0) {
		buf_printf(why, "'%s': cannot be opened: %s", name, strerror(error));
	}
	free(home);
	buf_free(&absolute);
	buf_free(&path);
	return fd < 0 ? -1 : fd;
}
