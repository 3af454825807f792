/* cons: hash tables of ids, for tables whose equal entries are one.
 *
 * A table knows only hashes and ids; the owner compares candidates:
 *
 *     struct cons_probe p;
 *     for (uint32_t id = cons_first(t, hash, &p); id; id = cons_next(t, &p))
 *             if (same(id)) return id;
 *     … push the new entry as id …
 *     cons_insert(t, hash, id);                                             */
#ifndef HIRC_IR_CONS_H
#define HIRC_IR_CONS_H
#include <stddef.h>
#include <stdint.h>

struct cons_table {
	uint32_t *id;   /* 0: free */
	uint32_t *hash; /* of the entry */
	uint32_t cap, n;
};

struct cons { /* of a module */
	struct cons_table expr, domain, type, scalar, attrs, team;
};

struct cons_probe {
	uint32_t hash, at;
};

uint32_t cons_first(const struct cons_table *t, uint32_t hash, struct cons_probe *p);
uint32_t cons_next(const struct cons_table *t, struct cons_probe *p);
void cons_insert(struct cons_table *t, uint32_t hash, uint32_t id);
void cons_table_copy(struct cons_table *to, const struct cons_table *t);
void cons_table_free(struct cons_table *t);

/* Multiply and shift over words, with a final mix; chain by passing the former result. */
uint32_t cons_hash(uint32_t hash, const void *bytes, size_t n);

#endif
