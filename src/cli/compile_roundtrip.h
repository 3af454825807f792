/* compile_roundtrip: hirc compile --verify-roundtrip: a program prints and parses to itself after each pass. */
#ifndef HIRC_CLI_COMPILE_ROUNDTRIP_H
#define HIRC_CLI_COMPILE_ROUNDTRIP_H
#include "base/diag.h"
#include "ir/ir.h"

/* Prints a program in one surface, parses that, and compares both programs in both surfaces. np: the number of ranks that
 * was asked for; 0: none. Returns false after reporting a difference. */
bool compile_roundtrip(struct diag *d, struct module *m, bool nvfuser, int64_t np);

#endif
