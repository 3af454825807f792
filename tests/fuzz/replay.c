/* replay: runs a target on files and on all files of folders, in any build and without a fuzzer.
 *
 *     fuzz_NAME [--mutate=N] [--seed=S] PATH…
 *
 * An input that takes more than a second of processor time, optimised, fails: 3 here, 15 with the address
 * sanitizer. --mutate: each input is also tried in N versions from the target's mutator; the last version is
 * kept as `fuzz.last`, in case the process is ended. */
#include "base/arena.h"
#include "fuzz.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __SANITIZE_ADDRESS__
static const double LIMIT = 15;
#else
static const double LIMIT = 3;
#endif
enum { MOST_BYTES = 1 << 24 };

static size_t flip(uint8_t *at, size_t n, size_t room, unsigned seed)
{
	(void)room;
	for (unsigned k = 0; n && k < 1 + seed % 4; k++, seed = seed * 1103515245 + 12345)
		at[(seed >> 8) % n] = (uint8_t)(seed >> 16);
	return n;
}

#pragma weak LLVMFuzzerCustomMutator

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* independent of other processes */
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void keep(const uint8_t *at, size_t n)
{
	FILE *f = fopen("fuzz.last", "wb");
	if (!f || fwrite(at, 1, n, f) != n || fclose(f) != 0)
		fuzz_fail("cannot write", "fuzz.last");
}

static unsigned long files, slow;

static void run(const char *path, unsigned mutations, unsigned seed)
{
	FILE *f = fopen(path, "rb");
	uint8_t *text = mem_alloc(MOST_BYTES);
	size_t n = f ? fread(text, 1, MOST_BYTES, f) : 0, room = 2 * n + 4096;
	if (!f || n == MOST_BYTES)
		fuzz_fail("cannot read all of", path);
	fclose(f);
	files++;
	for (unsigned k = 0; k <= mutations; k++) {
		uint8_t *copy = mem_alloc(room);
		size_t size = n;
		memcpy(copy, text, n);
		if (k) {
			unsigned r = seed * 2654435761u + k;
			size = LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(copy, n, room, r)
			                               : flip(copy, n, room, r);
			keep(copy, size);
		}
		uint8_t *exact = mem_realloc(copy, size); /* exact size, so that a sanitizer sees its end */
		double start = now();
		LLVMFuzzerTestOneInput(exact, size);
		double took = now() - start;
		if (took > LIMIT) {
			fprintf(stderr, "%s: %.1f s%s\n", path, took, k ? ", of a version of it" : "");
			slow++;
		}
		free(exact);
	}
	free(text);
}

static void walk(const char *path, unsigned mutations, unsigned seed)
{
	DIR *folder = opendir(path);
	if (!folder) {
		run(path, mutations, seed);
		return;
	}
	for (struct dirent *e; (e = readdir(folder));) {
		struct buf inner = {0};
		buf_printf(&inner, "%s/%s", path, e->d_name);
		if (e->d_name[0] != '.')
			walk(inner.at, mutations, seed);
		buf_free(&inner);
	}
	closedir(folder);
}

int main(int argc, char **argv)
{
	unsigned mutations = 0, seed = 1;
	for (int k = 1; k < argc; k++) {
		if (!strncmp(argv[k], "--mutate=", 9))
			mutations = (unsigned)strtoul(argv[k] + 9, NULL, 10);
		else if (!strncmp(argv[k], "--seed=", 7))
			seed = (unsigned)strtoul(argv[k] + 7, NULL, 10);
		else
			walk(argv[k], mutations, seed);
	}
	printf("%lu files, %lu too slow\n", files, slow);
	return slow || !files;
}
