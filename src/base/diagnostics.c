/* diagnostics: the meaning of each numbered error and warning. */
#include "base/diagnostics.h"
#include "base/examples.h"
#include <stddef.h>

const struct diagnostic_info diagnostic_info[DIAGNOSTIC_COUNT] = {
#define DIAGNOSTIC(number, name, title, text)                                                                \
	[name] = {#number, #name, title, text, &example_##number, NULL, NULL},
#define DIAGNOSTIC_WITHOUT(number, name, title, text, reason, fix)                                           \
	[name] = {#number, #name, title, text, NULL, reason, fix},
#include "base/diagnostics.def"
#undef DIAGNOSTIC
#undef DIAGNOSTIC_WITHOUT
};
