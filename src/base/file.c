/* file: see file.h. */
#include "base/file.h"
#include "base/str.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int fd, const char *at, size_t n)
{
	while (n) {
		ssize_t k = write(fd, at, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		at += k;
		n -= (size_t)k;
	}
	return true;
}

/* What is written to: false where it is the file itself. */
static bool side_of(const char *path, struct buf *out)
{
	struct stat is, link;
	bool direct = stat(path, &is) == 0 && lstat(path, &link) == 0 && !S_ISREG(link.st_mode);
	if (direct)
		buf_puts(out, path);
	else
		buf_printf(out, "%s.%ld.tmp", path, (long)getpid());
	return !direct;
}

static int open_side(const char *side)
{
	return open(side, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

bool file_replace(const char *path, const struct file_part *part, unsigned n)
{
	struct buf side = {0};
	bool beside = side_of(path, &side);
	int fd = open_side(side.at);
	bool ok = fd >= 0;
	for (unsigned i = 0; i < n && ok; i++)
		ok = write_all(fd, part[i].at, part[i].n);
	int error = errno;
	if (fd >= 0 && close(fd) < 0 && ok)
		ok = false, error = errno;
	if (ok && beside && rename(side.at, path) < 0)
		ok = false, error = errno;
	if (!ok && fd >= 0 && beside)
		unlink(side.at);
	buf_free(&side);
	errno = error;
	return ok;
}

bool file_try_replace(const char *path)
{
	struct buf side = {0};
	struct stat is;
	bool beside = side_of(path, &side);
	bool ok = stat(path, &is) < 0 || !S_ISDIR(is.st_mode);
	errno = EISDIR;
	if (ok && beside) {
		int fd = open_side(side.at);
		ok = fd >= 0;
		if (ok) {
			close(fd);
			unlink(side.at);
		}
	} else if (ok) {
		ok = access(path, W_OK) == 0;
	}
	int error = errno;
	buf_free(&side);
	errno = error;
	return ok;
}
