/* fuzz: see fuzz.h. */
#include "fuzz.h"
#include "base/source_read.h"
#include "import/import.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned long reached[FUZZ_STAGES];

static void print_reached(void)
{
	static const char *const name[FUZZ_STAGES] = {"inputs", "parsed", "passed", "checked", "planned"};
	for (unsigned k = 0; k < FUZZ_STAGES; k++)
		fprintf(stderr, "%s %lu%s", name[k], reached[k], k + 1 < FUZZ_STAGES ? ", " : "\n");
}

void fuzz_reached(enum fuzz_stage stage)
{
	if (!reached[FUZZ_INPUTS] && getenv("HIRC_FUZZ_STATS"))
		atexit(print_reached);
	reached[stage]++;
}

struct diag *fuzz_diag(void)
{
	static FILE *nowhere;
	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	return diag_new(nowhere, DIAG_TEXT, 0);
}

struct source *fuzz_source(struct diag *d, const uint8_t *data, size_t n)
{
	struct source *s = NULL;
	char path[40];
	int file = memfd_create("fuzz", MFD_CLOEXEC);
	if (file < 0 || write(file, data, n) != (ssize_t)n)
		fuzz_fail("memfd", "");
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	if (source_read_bytes(d, path, import_knows_bytes, &s) != STATUS_OK)
		s = NULL;
	close(file);
	return s;
}

_Noreturn void fuzz_fail(const char *what, const char *text)
{
	fprintf(stderr, "hirc has a bug: %s\n%s\n", what, text ? text : "");
	abort();
}
