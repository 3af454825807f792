/* block: see block.h. */
#include "block.h"
#include "mock.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

enum { ALIGNMENT = 256, PAGE = 4096 };

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

static size_t filler(size_t bytes)
{
	return round_up(bytes, PAGE) - round_up(bytes, ALIGNMENT);
}

static bool map(int file, size_t bytes, struct block *out)
{
	size_t all = round_up(bytes, PAGE);
	char *from = mmap(NULL, all + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (from == MAP_FAILED)
		return false;
	if (mmap(from, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
		munmap(from, all + PAGE);
		return false;
	}
	out->at = from + filler(bytes);
	out->bytes = bytes;
	ASAN_POISON_MEMORY_REGION(from, filler(bytes));
	ASAN_POISON_MEMORY_REGION(out->at + bytes, (size_t)(from + all - (out->at + bytes)));
	return true;
}

bool block_new(size_t bytes, struct block *out)
{
	int file = memfd_create("hirc-mock-gpu", MFD_CLOEXEC);
	bool done = file >= 0 && ftruncate(file, (off_t)round_up(bytes, PAGE)) == 0 && map(file, bytes, out);
	if (done)
		out->file = file;
	else if (file >= 0)
		close(file);
	return done;
}

struct block_id block_id(const struct block *b)
{
	struct stat s;
	if (fstat(b->file, &s) != 0)
		mock_abort("block", "a file in memory is gone");
	return (struct block_id){getpid(), b->file, s.st_ino, b->bytes};
}

bool block_open(const struct block_id *id, struct block *out)
{
	char path[64];
	struct stat s;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)id->process, (int)id->file);
	int file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return false;
	bool done = fstat(file, &s) == 0 && s.st_ino == id->inode &&
	            (uint64_t)s.st_size == round_up(id->bytes, PAGE) && map(file, id->bytes, out);
	close(file);
	if (done)
		out->file = -1;
	return done;
}

void block_free(struct block *b)
{
	char *from = b->at - filler(b->bytes);
	size_t all = round_up(b->bytes, PAGE);
	ASAN_UNPOISON_MEMORY_REGION(from, all);
	munmap(from, all + PAGE);
	if (b->file >= 0)
		close(b->file);
}
