/* fuzz_dump: nvFuser's surface. An input without a container gets one. */
#include "base/arena.h"
#include "fuzz.h"
#include <stdlib.h>

static const char HEAD[] = "%HostIrContainer { () -> () :\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (memmem(data, n, HEAD, 16)) {
		fuzz_front(data, n);
		return 0;
	}
	struct buf text = {0};
	buf_puts(&text, HEAD);
	buf_putn(&text, (const char *)data, n);
	fuzz_front((const uint8_t *)text.at, text.n);
	buf_free(&text);
	return 0;
}
