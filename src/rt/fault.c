/* fault: see fault.h. */
#include "rt/fault.h"
#include "rt/device.h"
#include <stdio.h>

void rt_fault_text(enum rt_fault fault, int64_t value, int64_t limit, char *why)
{
#define TEXT(name, number, text) [number] = text,
	static const char *const text[] = {RT_FAULTS(TEXT)};
#undef TEXT
	snprintf(why, RT_WHY_BYTES, text[fault], (long long)value, (long long)limit);
}
