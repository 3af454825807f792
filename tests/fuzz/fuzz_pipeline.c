/* fuzz_pipeline: programs from the parser to the plan. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	fuzz_pipeline(data, n);
	return 0;
}
