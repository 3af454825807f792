/* fuzz_drawn: fuzz_pipeline for well-typed programs that the bytes draw (drawn.c). HIRC_FUZZ_SHOW prints
 * them. */
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct buf text = {0};
	fuzz_draw(data, n, &text);
	if (getenv("HIRC_FUZZ_SHOW"))
		fputs(text.at, stdout), fflush(stdout);
	fuzz_pipeline((const uint8_t *)text.at, text.n);
	buf_free(&text);
	return 0;
}
