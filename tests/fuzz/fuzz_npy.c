/* fuzz_npy: an array file is refused, or all of its elements can be read. */
#include "exec/npy.h"
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void use(const struct npy *f, size_t n)
{
	struct buf why = {0};
	unsigned char part[256];
	int64_t most = (int64_t)sizeof part / f->size;
	if (f->nd < 0 || f->nd > NPY_MAX_DIMS || f->count < 0 || f->size < 1 ||
	    f->start + f->count * f->size > (int64_t)n)
		fuzz_fail("an array that is not in the file", f->descr);
	for (int64_t first = 0; first < f->count; first += most) {
		int64_t count = f->count - first < most ? f->count - first : most;
		if (!npy_read(f, first, count, part, &why))
			fuzz_fail("an element that cannot be read", why.at);
	}
	for (unsigned t = 0; t < DTYPE_COUNT; t++)
		if (npy_fits(f, t, f->nd, f->n, &why) && f->size != (int)dtype_bytes(t))
			fuzz_fail("elements of another size", f->descr);
	npy_fits(f, DTYPE_F32, 1, (const int64_t[]){3}, &why);
	buf_free(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct npy f;
	struct buf why = {0};
	char path[40];
	int file = memfd_create("fuzz", MFD_CLOEXEC);
	if (file < 0 || write(file, data, n) != (ssize_t)n)
		fuzz_fail("memfd", "");
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	fuzz_reached(FUZZ_INPUTS);
	if (npy_open(path, &f, &why)) {
		fuzz_reached(FUZZ_PARSED);
		use(&f, n);
		npy_close(&f);
	} else if (!why.n) {
		fuzz_fail("refused without a reason", "");
	}
	close(file);
	buf_free(&why);
	return 0;
}
