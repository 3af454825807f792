/* fuzz_concise: the surface that people write. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	fuzz_front(data, n);
	return 0;
}
