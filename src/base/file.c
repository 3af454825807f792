/* file: see file.h. */
#include "base/file.h"
#include "base/arena.h"
#include "base/str.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Frees the writer, removes its temporary file if `remove`, and keeps errno. */
static void discard_writer(struct file_writer *w, bool remove)
{
	int error = errno;
	if (remove && w->side)
		unlink(w->side);
	free(w->side);
	free(w->path);
	*w = (struct file_writer){0};
	errno = error;
}

/* Returns true if a link was planted: it stands in a folder where everybody may make files, such as /tmp, and
 * belongs neither to this user nor to the folder's owner. Linux has the same rule (protected_symlinks). */
static bool is_planted(const char *folder, const struct stat *link)
{
	struct stat is;
	mode_t shared = S_ISVTX | S_IWOTH;
	return stat(folder, &is) == 0 && (is.st_mode & shared) == shared && link->st_uid != geteuid() &&
	       link->st_uid != is.st_uid;
}

/* Replaces the path of a link by its target, which need not exist. Returns false with errno. */
static bool follow_links(char **path)
{
	enum { MOST_LINKS = 40 /* as Linux follows */ };
	struct stat is;
	for (int n = 0; lstat(*path, &is) == 0 && S_ISLNK(is.st_mode); n++) {
		char target[PATH_MAX];
		char *slash = strrchr(*path, '/');
		struct buf folder = {0};
		buf_putn(&folder, *path, slash ? (size_t)(slash + 1 - *path) : 0);
		ssize_t bytes = readlink(*path, target, sizeof target);
		bool planted = is_planted(folder.n ? folder.at : ".", &is);
		if (n == MOST_LINKS || planted || bytes < 0 || bytes == sizeof target) {
			buf_free(&folder);
			errno = planted ? EACCES : bytes < 0 ? errno : n == MOST_LINKS ? ELOOP : ENAMETOOLONG;
			return false;
		}
		if (*target == '/')
			folder.n = 0;
		buf_putn(&folder, target, (size_t)bytes);
		free(*path);
		*path = folder.at;
	}
	return true;
}

/* Puts the name of a temporary file beside a path, which nobody can guess. */
static bool name_side(const char *path, struct buf *out)
{
	enum { DIGITS = 10 };
	uint64_t number;
	if (getrandom(&number, sizeof number, 0) != sizeof number)
		return false;
	buf_printf(out, "%s.%0*llx.tmp", path, DIGITS, (unsigned long long)(number >> (64 - 4 * DIGITS)));
	return true;
}

/* Sets path and side of a file to write; opens nothing. False: errno says why, and there is nothing to free. */
static bool resolve_paths(struct file_writer *w, const char *path)
{
	struct stat is;
	struct buf side = {0};
	/* /dev/shm is an ordinary file system */
	bool device = !strncmp(path, "/dev/", 5) && strncmp(path, "/dev/shm/", 9) != 0;
	bool open_already = device || !strncmp(path, "/proc/", 6);
	*w = (struct file_writer){.path = mem_strdup(path)};
	bool ok = open_already || follow_links(&w->path);
	bool direct = open_already || (ok && stat(w->path, &is) == 0 && !S_ISREG(is.st_mode));
	if (ok && !direct) {
		ok = name_side(w->path, &side);
		w->side = side.at;
	}
	if (!ok)
		discard_writer(w, false);
	return ok;
}

/* Opens the file, or the temporary one, which must be new: a file or a link of that name is an error. */
static int open_file(const struct file_writer *w)
{
	int create = w->side ? O_EXCL | O_NOFOLLOW : O_TRUNC;
	return open(w->side ? w->side : w->path, O_WRONLY | O_CREAT | O_CLOEXEC | create, 0666);
}

bool file_begin(struct file_writer *w, const char *path)
{
	if (!resolve_paths(w, path))
		return false;
	int fd = open_file(w);
	if (fd < 0) {
		discard_writer(w, false);
		return false;
	}
	w->to = fdopen(fd, "w");
	if (w->to)
		return true;
	close(fd);
	discard_writer(w, true);
	return false;
}

bool file_end(struct file_writer *w, bool ok)
{
	if (!w->to)
		return true;
	bool wanted = ok;
	errno = 0;
	if (fflush(w->to) != 0 || ferror(w->to)) /* fflush writes the rest again, so errno is right */
		ok = false, errno = errno ? errno : EIO;
	int error = errno;
	if (fclose(w->to) != 0 && ok)
		ok = false, error = errno;
	if (ok && w->side && rename(w->side, w->path) < 0)
		ok = false, error = errno;
	errno = error;
	discard_writer(w, !ok);
	return ok || !wanted;
}

bool file_replace(const char *path, const struct file_part *part, unsigned n)
{
	struct file_writer w;
	bool ok = true;
	if (!file_begin(&w, path))
		return false;
	errno = 0;
	for (unsigned i = 0; i < n && ok; i++)
		ok = part[i].n == 0 || fwrite(part[i].at, 1, part[i].n, w.to) == part[i].n;
	int error = errno;
	if (!ok) {
		file_end(&w, false);
		errno = error ? error : EIO;
		return false;
	}
	return file_end(&w, true);
}

bool file_try_replace(const char *path)
{
	struct file_writer w;
	struct stat is;
	if (!resolve_paths(&w, path))
		return false;
	bool ok = stat(path, &is) < 0 || !S_ISDIR(is.st_mode);
	errno = EISDIR;
	if (ok && w.side) {
		int fd = open_file(&w);
		ok = fd >= 0;
		if (ok)
			close(fd);
		discard_writer(&w, ok);
	} else {
		ok = ok && access(path, W_OK) == 0;
		discard_writer(&w, false);
	}
	return ok;
}

bool file_same(const char *a, const char *b)
{
	struct stat x, y;
	bool x_is = stat(a, &x) == 0, y_is = stat(b, &y) == 0;
	if (!x_is || !y_is)
		return !x_is && !y_is && !strcmp(a, b);
	return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
