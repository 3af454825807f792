/* differ_pairs: the things of one program that stand for those of the other. */
#ifndef HIRC_ANALYSIS_DIFFER_PAIRS_H
#define HIRC_ANALYSIS_DIFFER_PAIRS_H
#include "ir/ir.h"

/* By id of each side, the id of the other; 0: in no pair yet. */
struct pairs {
	uint32_t *of[2]; /* owned */
};

enum { EXPR_CACHE = 1 << 10 };

struct differ {
	struct module *m[2];
	struct pairs value, op, index, handle, param;
	struct expr_answer {
		expr_id a, b; /* a 0: none */
		bool same;
	} answer[EXPR_CACHE]; /* by a hash of both; later ones take the place of former ones */
};

void pairs_init(struct differ *d);
void pairs_free(struct differ *d);
/* Returns true if a and b are a pair; they become one if neither is in one. */
bool pairs_meet(struct pairs *p, uint32_t a, uint32_t b);

bool same_expr(struct differ *d, expr_id a, expr_id b);
bool same_mesh(const struct differ *d, mesh_id a, mesh_id b);
bool same_team(const struct differ *d, team_id a, team_id b);
/* Returns a key that has another value or is in one of the two alone; NULL: there is none. */
const char *other_attribute(struct differ *d, attrs_id a, attrs_id b);

/* Returns the difference of two types, as words; NULL: there is none. */
const char *other_type(struct differ *d, type_id a, type_id b);

#endif
