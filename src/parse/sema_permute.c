/* sema_permute: finds which axis of the operand each axis of a permute's result is.
 *
 *     T1_g_float[iS5{4}, iS3{2}, iS4{3}] = Set.Permute( T0_g_float[iS0{2}, iS1{3}, iS2{4}] )     dims=(2, 0, 1)
 *
 * nvFuser numbers the axes of the result in the order of the operand's, and then prints them in their own. A split hides
 * the number of its axis; then the numbers are in a row, and the hidden one stands nowhere in the listing. */
#include "ir/expr.h"
#include "ir/number.h"
#include "parse/nvfuser.h"
#include <string.h>

enum { MOST_TRIED = 8 };

/* The axes of a permute's result. A split takes the number of its axis out of sight: -1. */
struct permuted {
	unsigned n;
	int32_t number[IR_MAX_AXES];
	uint8_t dims[IR_MAX_AXES];
	unsigned found; /* orders that fit */
	uint8_t fitting[IR_MAX_AXES];
};

/* Tries all orders of the axes from k on. nvFuser numbers the axes in the order of the operand's, in a row that begins
 * with `base`. */
static void try_orders(struct nv_reader *r, struct permuted *p, const struct domain *from,
                       const struct domain *to, int32_t base, unsigned k, unsigned taken)
{
	int64_t a, b;
	if (k == p->n) {
		p->found += !p->found || memcmp(p->fitting, p->dims, p->n) != 0;
		memcpy(p->fitting, p->dims, p->n);
		return;
	}
	for (unsigned i = 0; i < p->n; i++) {
		bool hidden = p->number[k] < 0;
		if (taken >> i & 1 ||
		    (hidden ? printed_numbers_has(&r->numbers, base + (int32_t)i)
		            : p->number[k] != base + (int32_t)i) ||
		    (expr_is_const(r->s->m, from->axis[i].extent, &a) &&
		     expr_is_const(r->s->m, to->axis[k].extent, &b) && a != b))
			continue;
		p->dims[k] = (uint8_t)i;
		try_orders(r, p, from, to, base, k + 1, taken | 1u << i);
	}
}

bool nv_permute(struct nv_reader *r, ast_id call, const struct nv_tensor *result)
{
	struct sema *s = r->s;
	struct permuted p = {0};
	if (nv_key(r, call, "dims"))
		return true;
	value_id from = nv_operand(r, ast_at(s->a, call)->first);
	if (!from)
		return false;
	const struct domain *x = value_domain(s->m, from),
	                    *d = ir_domain(s->m, s->m->type.at[result->type].domain);
	p.n = d->rank;
	bool plain = x->rank == d->rank;
	for (unsigned i = 0; i < p.n && plain; i++) {
		p.number[i] = result->number_at + i < r->number.n ? r->number.at[result->number_at + i] : -1;
		p.number[i] = p.number[i] < 0 ? -1 : p.number[i] & ~NUMBER_BROADCAST;
		p.dims[i] = (uint8_t)i;
	}
	bool any_hidden = false;
	int32_t least = INT32_MAX, most = -1;
	for (unsigned i = 0; i < p.n && plain; i++) {
		any_hidden |= p.number[i] < 0;
		least = p.number[i] >= 0 && p.number[i] < least ? p.number[i] : least;
		most = p.number[i] > most ? p.number[i] : most;
	}
	if (plain && !any_hidden) {
		for (unsigned i = 0; i < p.n; i++) {
			p.fitting[i] = 0; /* numbers with gaps are in order, too */
			for (unsigned k = 0; k < p.n; k++)
				p.fitting[i] += p.number[k] < p.number[i];
		}
		p.found = 1;
	} else if (plain && most >= 0 && p.n <= MOST_TRIED) {
		for (int32_t base = most - (int32_t)p.n + 1; base <= least; base++)
			if (base >= 0)
				try_orders(r, &p, x, d, base, 0, 0);
	}
	if (p.found != 1) {
		diag_error(
		    s->d, E_PRINTED_TYPE, ast_at(s->a, call)->at,
		    "the numbers of the result's axes do not tell which axis of the operand each one is");
		diag_note(s->d, DIAG_NOWHERE, "say it with dims=: `Set.Permute( T0…, dims=(1, 0) )`");
		return false;
	}
	ast_id dims = nv_node(r, AST_TUPLE, call, NULL);
	for (unsigned i = 0; i < p.n; i++)
		nv_node_append(r, dims, nv_node_int(r, call, p.fitting[i]));
	nv_node_key(r, call, "dims", dims);
	return true;
}
