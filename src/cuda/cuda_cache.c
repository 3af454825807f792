/* cuda_cache: see cuda_cache.h.
 *
 * A file is a line `hirc kernel 1 <bytes> <hash of the cubin>` and the cubin. */
#include "cuda/cuda_cache.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- keys */

/* Two hashes: FNV-1a, and a variant with another start value, another factor and a rotation. */
static struct cuda_cache_key hash_part(struct cuda_cache_key h, const void *at, size_t n)
{
	h.a = hash_bytes(h.a, at, n);
	for (const unsigned char *p = at, *end = p + n; p < end; p++)
		h.b = ((h.b << 5 | h.b >> 59) ^ *p) * 0x9e3779b97f4a7c15;
	return h;
}

static struct cuda_cache_key hash_start(void)
{
	return (struct cuda_cache_key){HASH_START, 0x84222325cbf29ce4};
}

struct cuda_cache_key cuda_cache_key(const char *source, size_t options, const char *const *option, int major,
                                     int minor)
{
	int version[] = {major, minor};
	struct cuda_cache_key h = hash_part(hash_start(), source, strlen(source) + 1); /* with the NUL */
	for (size_t k = 0; k < options; k++)
		h = hash_part(h, option[k], strlen(option[k]) + 1);
	return hash_part(h, version, sizeof version);
}

/* ---- the folder */

static bool make_folder(char *path)
{
	for (char *p = path + 1;; p++) {
		if (*p && *p != '/')
			continue;
		char end = *p;
		*p = 0;
		bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
		*p = end;
		if (!ok || !end)
			return ok;
	}
}

/* Returns true if no other user can replace files of a folder. Of the folder above the cache, root may be the
 * owner; where the sticky bit is set, as in /tmp, all may write, but not rename files of others. */
static bool is_protected(const char *path, bool above, struct buf *why)
{
	struct stat is;
	if (stat(path, &is) < 0)
		return false;
	if (is.st_uid != geteuid() && !(above && is.st_uid == 0)) {
		buf_printf(why, "another user owns '%s'", path);
		return false;
	}
	if (is.st_mode & (S_IWGRP | S_IWOTH) && !(above && is.st_mode & S_ISVTX)) {
		buf_printf(why, "other users may write '%s' (`chmod go-w` it)", path);
		return false;
	}
	return true;
}

bool cuda_cache_folder(struct buf *out, struct buf *why)
{
	static const char *const part[] = {"", "/hirc", "/kernels"};
	const char *said = getenv("HIRC_CACHE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	struct buf path = {0};
	if (said && !strcmp(said, "off"))
		return false;
	if (cache && cache[0] == '/')
		buf_puts(&path, cache);
	else if (home && home[0] == '/')
		buf_printf(&path, "%s/.cache", home);
	else
		return false;
	bool ok = true;
	for (size_t k = 0; k < sizeof part / sizeof *part && ok; k++) {
		buf_puts(&path, part[k]);
		ok = make_folder(path.at) && is_protected(path.at, k == 0, why);
	}
	/* other users may not read the kernels either */
	ok = ok && chmod(path.at, 0700) == 0;
	if (ok)
		buf_puts(out, path.at);
	buf_free(&path);
	return ok;
}

void cuda_cache_warn(const struct rt_job *job)
{
	struct buf folder = {0}, why = {0};
	if (job->rank == 0 && !cuda_cache_folder(&folder, &why) && why.n)
		fprintf(stderr,
		        "hirc: warning: %s: each process compiles its kernels again (XDG_CACHE_HOME names "
		        "another folder)\n",
		        why.at);
	buf_free(&folder);
	buf_free(&why);
}

/* ---- files */

/* Finds the path of a cubin. Returns false if there is no folder. */
static bool find_path(struct cuda_cache_key h, struct buf *out)
{
	struct buf why = {0};
	bool ok = cuda_cache_folder(out, &why);
	buf_free(&why);
	buf_printf(out, "/%016llx%016llx.cubin", (unsigned long long)h.a, (unsigned long long)h.b);
	return ok;
}

static struct buf header(const void *cubin, size_t bytes)
{
	struct buf b = {0};
	struct cuda_cache_key h = hash_part(hash_start(), cubin, bytes);
	buf_printf(&b, "hirc kernel 1 %zu %016llx%016llx\n", bytes, (unsigned long long)h.a,
	           (unsigned long long)h.b);
	return b;
}

static bool read_file(const char *path, struct cuda_cubin *out)
{
	FILE *f = fopen(path, "rb");
	char line[96];
	size_t bytes = 0;
	struct stat is;
	if (!f)
		return false;
	bool ok = fgets(line, sizeof line, f) && sscanf(line, "hirc kernel 1 %zu ", &bytes) == 1 &&
	          fstat(fileno(f), &is) == 0 && is.st_uid == geteuid() &&
	          (uint64_t)is.st_size == strlen(line) + bytes;
	void *at = ok ? mem_alloc(bytes + 1) : NULL;
	ok = ok && fread(at, 1, bytes, f) == bytes;
	if (ok) {
		struct buf want = header(at, bytes);
		ok = !strcmp(want.at, line);
		buf_free(&want);
	}
	fclose(f);
	if (ok)
		*out = (struct cuda_cubin){at, bytes};
	else
		free(at);
	return ok;
}

bool cuda_cache_read(struct cuda_cache_key key, struct cuda_cubin *out)
{
	struct buf path = {0};
	bool ok = find_path(key, &path) && read_file(path.at, out);
	buf_free(&path);
	return ok;
}

void cuda_cache_write(struct cuda_cache_key key, struct cuda_cubin cubin)
{
	struct buf path = {0};
	if (find_path(key, &path)) {
		struct buf head = header(cubin.at, cubin.bytes);
		file_replace(path.at, (struct file_part[]){{head.at, head.n}, {cubin.at, cubin.bytes}}, 2);
		buf_free(&head);
	}
	buf_free(&path);
}
