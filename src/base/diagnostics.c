/* diagnostics: the meaning of each numbered error and warning. */
#include "base/diagnostics.h"
#include <stddef.h>

const struct diagnostic_info diagnostic_info[DIAGNOSTIC_COUNT] = {
#define DIAGNOSTIC(number, name, title, text, command, example, was, fix)                                    \
	[name] = {#number, #name, title, text, NULL, command, example, was, fix},
#define DIAGNOSTIC_WITHOUT(number, name, title, text, reason, fix)                                           \
	[name] = {#number, #name, title, text, reason, NULL, NULL, NULL, fix},
#include "base/diagnostics.def"
#undef DIAGNOSTIC
#undef DIAGNOSTIC_WITHOUT
};
