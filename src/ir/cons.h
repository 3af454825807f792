/* cons: the hash tables of a module, for its tables whose equal entries are one. */
#ifndef HIRC_IR_CONS_H
#define HIRC_IR_CONS_H
#include "base/hash.h"

struct cons {
	struct hash_table expr, domain, type, scalar, attrs, team;
};

#endif
