/* file: see file.h. */
#include "base/file.h"
#include "base/arena.h"
#include "base/str.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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

/* Sets path and side of a file to write; opens nothing. */
static void resolve_paths(struct file_writer *w, const char *path)
{
	struct stat is;
	struct buf side = {0};
	char *real = NULL;
	*w = (struct file_writer){0};
	/* /dev/shm is an ordinary file system */
	bool device = !strncmp(path, "/dev/", 5) && strncmp(path, "/dev/shm/", 9) != 0;
	bool open_already = device || !strncmp(path, "/proc/", 6);
	if (lstat(path, &is) == 0 && S_ISLNK(is.st_mode) && !open_already)
		real = realpath(path,
		                NULL); /* NULL: the link's target does not exist, so it is written directly */
	bool direct = open_already || (stat(path, &is) == 0 ? !S_ISREG(is.st_mode) : lstat(path, &is) == 0);
	w->path = mem_strdup(real ? real : path);
	if (!direct) {
		buf_printf(&side, "%s.%ld.tmp", w->path, (long)getpid());
		w->side = side.at;
	}
	free(real);
}

bool file_begin(struct file_writer *w, const char *path)
{
	resolve_paths(w, path);
	int fd = open(w->side ? w->side : w->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
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
	resolve_paths(&w, path);
	bool ok = stat(path, &is) < 0 || !S_ISDIR(is.st_mode);
	errno = EISDIR;
	if (ok && w.side) {
		int fd = open(w.side, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
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
