/* cons: the hash tables of a module that intern expressions, types and other equal things. */
#ifndef HIRC_IR_CONS_H
#define HIRC_IR_CONS_H
#include "base/hash.h"

struct cons {
	struct hash_table expr, domain, type, scalar, attrs, team;
};

#endif
