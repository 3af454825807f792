/* differ_pairs: the pairs of values, statements, indices and params of two programs. */
#ifndef HIRC_ANALYSIS_DIFFER_PAIRS_H
#define HIRC_ANALYSIS_DIFFER_PAIRS_H
#include "ir/ir.h"

/* For each id of one side, the id of the other side, or 0. */
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
	} answer[EXPR_CACHE]; /* by a hash of both ids; a new answer replaces an old one */
};

void pairs_init(struct differ *d);
void pairs_free(struct differ *d);
/* Returns true if a and b are a pair. Makes them one if neither has a partner yet. */
bool pairs_meet(struct pairs *p, uint32_t a, uint32_t b);

bool same_expr(struct differ *d, expr_id a, expr_id b);
bool same_mesh(const struct differ *d, mesh_id a, mesh_id b);
bool same_team(const struct differ *d, team_id a, team_id b);
/* Returns the first key whose value differs or that only one of the two has; NULL if there is none. */
const char *other_attribute(struct differ *d, attrs_id a, attrs_id b);

/* Returns the difference between two types, in words; NULL if they are the same. */
const char *other_type(struct differ *d, type_id a, type_id b);

#endif
