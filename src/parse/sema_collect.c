/* sema_collect: looks through a container before its statements are read.
 *
 * The layout of a tensor depends on other places: the size= of its ALLOCATE, the axes that a HirAliasSelect
 * names, and whether it is returned. Whether a transfer is issued at its first print depends on where it is
 * printed again. */
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <string.h>

struct nv_tensor *nv_find_tensor(struct nv_reader *r, name_id name)
{
	uint32_t at = name < r->tensor_of.n ? r->tensor_of.at[name] : 0;
	if (r->in_unit) {
		const struct nv_unit *u = &r->unit.at[r->in_unit - 1];
		for (uint32_t k = u->first; k < u->first + u->n; k++)
			if (r->tensor.at[k].name == name)
				return &r->tensor.at[k];
		return NULL;
	}
	if (!at)
		at = name < r->local_of.n ? r->local_of.at[name] : 0;
	return at ? &r->tensor.at[at - 1] : NULL;
}

const struct domain *nv_find_domain(struct nv_reader *r, ast_id operand)
{
	const struct module *m = r->s->m;
	const struct nv_tensor *t =
	    nv_is(r, operand, AST_TENSOR) ? nv_find_tensor(r, ast_at(r->s->a, operand)->name) : NULL;
	return t ? ir_domain(m, m->type.at[t->type].domain) : NULL;
}

ast_id nv_key(struct nv_reader *r, ast_id call, const char *key)
{
	ast_each (r->s->a, child, call)
		if (ast_at(r->s->a, child)->kind == AST_KEY && !strcmp(ast_text(r->s->a, child), key))
			return ast_at(r->s->a, child)->first;
	return 0;
}

/* Returns the words for the first difference of two prints of a tensor; NULL: there is none. */
static const char *find_difference(const struct ast *a, ast_id x, ast_id y)
{
	static const char *const axes = "other axes";
	const struct ast_node *m = ast_at(a, x), *n = ast_at(a, y);
	if (m->end - m->at == n->end - n->at &&
	    !memcmp(a->source->text + m->at, a->source->text + n->at, m->end - m->at))
		return NULL;
	if (ast_at(a, ast_child(a, x, 2))->name != ast_at(a, ast_child(a, y, 2))->name)
		return "another memory";
	if (ast_at(a, ast_child(a, x, 3))->name != ast_at(a, ast_child(a, y, 3))->name)
		return "another dtype";
	ast_id i = ast_at(a, m->first)->first, k = ast_at(a, n->first)->first;
	while (i && k && ast_at(a, i)->name == ast_at(a, k)->name &&
	       ast_at(a, i)->value.i == ast_at(a, k)->value.i) {
		const struct ast_node *e = ast_at(a, ast_at(a, i)->first),
		                      *f = ast_at(a, ast_at(a, k)->first);
		if (e->kind == AST_INT && f->kind == AST_INT && e->value.i != f->value.i)
			return axes;
		i = ast_at(a, i)->next;
		k = ast_at(a, k)->next;
	}
	return i || k ? axes : NULL;
}

/* Returns a TENSOR with the axes that a node prints. */
static ast_id printed_tensor(struct ast *a, ast_id node)
{
	const struct ast_node *n = ast_at(a, node);
	return n->kind == AST_TENSOR && n->flags & AST_AGAIN ? shape_tensor(a, (ast_id)n->value.i) : node;
}

/* Makes the last tensor the one found by its name. */
static void put_by_name(struct nv_reader *r, name_id name)
{
	while (r->tensor_of.n <= name)
		vec_push(&r->tensor_of, 0);
	r->tensor_of.at[name] = r->tensor.n;
}

static struct nv_tensor *add_tensor(struct nv_reader *r, name_id name, ast_id node)
{
	vec_push(&r->tensor,
	         (struct nv_tensor){
	             .name = name, .node = node, .unit = r->in_unit, .reduce = REDUCE_SUM, .inout = -1});
	if (r->in_unit)
		r->unit.at[r->in_unit - 1].n++;
	else
		put_by_name(r, name);
	return &r->tensor.at[r->tensor.n - 1];
}

/* Returns the node where a new tensor is printed first. The node must not be one that shape_expand reuses. */
static ast_id first_print(struct nv_reader *r, ast_id node)
{
	struct ast *a = r->s->a;
	const struct ast_node *n = ast_at(a, node);
	if (r->late)
		return n->flags & AST_AGAIN ? (ast_id)n->value.i : r->late;
	ast_id first = ast_at(a, printed_tensor(a, node))->first;
	a->nodes.at[node].first = first;
	return node;
}

/* Returns true if two prints of devices differ in nothing but blanks. */
static bool same_devices(const struct ast *a, ast_id x, ast_id y)
{
	const char *i = a->source->text + ast_at(a, x)->at, *i_end = a->source->text + ast_at(a, x)->end;
	const char *k = a->source->text + ast_at(a, y)->at, *k_end = a->source->text + ast_at(a, y)->end;
	for (;; i++, k++) {
		while (i < i_end && *i == ' ')
			i++;
		while (k < k_end && *k == ' ')
			k++;
		if (i == i_end || k == k_end)
			return i == i_end && k == k_end;
		if (*i != *k)
			return false;
	}
}

/* Notes the devices of a tensor that is printed again: they may be missing at its first print. */
static void note_devices(struct nv_reader *r, struct nv_tensor *t, ast_id node)
{
	struct ast *a = r->s->a;
	ast_id first = ast_child(a, shape_tensor(a, t->node), 1),
	       devices = ast_child(a, printed_tensor(a, node), 1);
	if (t->formal || !nv_is(r, devices, AST_DEVICES))
		return;
	if (!nv_is(r, first, AST_DEVICES))
		first = t->devices = t->devices ? t->devices : devices;
	if (same_devices(a, first, devices))
		return;
	diag_error(r->s->d, E_PRINTED_TYPE, ast_at(a, node)->at,
	           "%s is printed with another DeviceMesh than before", ast_text(a, node));
	diag_note(r->s->d, ast_at(a, first)->at, "it is printed with this one first");
}

static struct nv_tensor *note_tensor(struct nv_reader *r, ast_id node)
{
	struct sema *s = r->s;
	name_id name = ast_at(s->a, node)->name;
	struct nv_tensor *t = nv_find_tensor(r, name);
	if (!t)
		return add_tensor(r, name, first_print(r, node));
	const struct ast_node *n = ast_at(s->a, node);
	bool again = n->flags & AST_AGAIN && n->value.i == t->node;
	const char *differs = t->formal || again ? NULL
	                                         : find_difference(s->a, shape_tensor(s->a, t->node),
	                                                           printed_tensor(s->a, node));
	if (differs) {
		diag_error(s->d, E_PRINTED_TYPE, ast_at(s->a, node)->at, "%s is printed with %s than before",
		           ast_text(s->a, node), differs);
		diag_note(s->d, ast_at(s->a, t->node)->at, "it is printed first here");
	}
	if (!again)
		note_devices(r, t, node);
	return t;
}

/* Notes the tensors of an AST_REPEAT. Returns false if one may have other axes than in an earlier print. */
static bool note_repeat(struct nv_reader *r, ast_id repeat)
{
	struct shape_tensor x[SHAPE_MAX_HOLES];
	unsigned n = shape_tensors(r->s->a, repeat, x);
	for (unsigned k = 0; k < n; k++) {
		const struct nv_tensor *t = nv_find_tensor(r, x[k].name);
		if (!t && x[k].of == repeat)
			add_tensor(r, x[k].name, repeat);
		else if (!t || t->node != x[k].of)
			return false;
	}
	return true;
}

static void note_statement(struct nv_reader *r, ast_id node, bool stands)
{
	vec_push(&r->statement, (struct nv_statement){
	                            .number = ast_at(r->s->a, node)->value.i, .node = node, .count = stands});
}

bool nv_is_select(struct nv_reader *r, ast_id call)
{
	const char *name = ast_text(r->s->a, call);
	return ast_at(r->s->a, call)->kind == AST_CALL && !(ast_at(r->s->a, call)->flags & AST_EXTERN) &&
	       (!strcmp(name, "HirAliasSelect") ||
	        (!strcmp(name, "select") && nv_is(r, nv_key(r, call, "axis"), AST_ID)));
}

/* Notes the reduction that is pending in its result, if that has partial axes. */
static void note_reduction(struct nv_reader *r, ast_id target, ast_id call)
{
	ast_id op = nv_key(r, call, "op");
	enum reduce_op reduce;
	if (!op || r->has_facts || !nv_reduce_op(ast_text(r->s->a, op), &reduce))
		return;
	struct nv_tensor *t = note_tensor(r, target);
	t->reduce = (uint8_t)reduce;
	name_id name = ast_at(r->s->a, target)->name;
	if (t->formal && name < r->tensor_of.n &&
	    r->tensor_of.at[name]) /* its type is that of the tensor posted for it */
		r->tensor.at[r->tensor_of.at[name] - 1].reduce = (uint8_t)reduce;
}

/* Notes the axis of HirAliasSelect( T0, axis = iS1{8}, index = i ). */
static void note_select(struct nv_reader *r, ast_id call)
{
	struct ast *a = r->s->a;
	ast_id from = ast_at(a, call)->first, axis = nv_key(r, call, "axis");
	if (!from || ast_at(a, from)->kind != AST_TENSOR || !axis || ast_at(a, axis)->kind != AST_ID)
		return;
	struct nv_tensor *t = note_tensor(r, from);
	vec_push(&r->named, (struct nv_named){.number = (int32_t)ast_at(a, axis)->value.i, .next = t->named});
	t->named = r->named.n;
}

void nv_collect_node(struct nv_reader *r, ast_id id)
{
	struct ast *a = r->s->a;
	const struct ast_node *n = ast_at(a, id);
	switch (n->kind) {
	case AST_TENSOR:
		note_tensor(r, id);
		return;
	case AST_DEF: {
		ast_id target = ast_at(a, n->first)->first, call = ast_child(a, id, 1);
		if (target && ast_at(a, target)->kind == AST_TENSOR && call &&
		    ast_at(a, call)->kind == AST_CALL && !strcmp(ast_text(a, call), "ALLOCATE")) {
			struct nv_tensor *t = note_tensor(r, target);
			if (!t->size)
				t->size = nv_key(r, call, "size");
		} else if (target && ast_at(a, target)->kind == AST_TENSOR && nv_is(r, call, AST_CALL) &&
		           !strcmp(ast_text(a, call), "reduction")) {
			note_reduction(r, target, call);
		}
		break;
	}
	case AST_CALL:
		if (nv_is_select(r, id))
			note_select(r, id);
		else if (nv_post_kind(r, id) != OP_NONE)
			vec_push(&r->post, id);
		break;
	case AST_DO:
		if (n->first && ast_at(a, n->first)->kind == AST_COMM)
			note_statement(r, n->first, true);
		break;
	case AST_COMM:
	case AST_COMM_REF:
		note_statement(r, id, false);
		break;
	case AST_REPEAT:
		if (!note_repeat(r, id)) {
			r->late = id;
			nv_collect_node(r, shape_expand(a, id));
			r->late = 0;
		} else if (!r->has_facts) {
			ast_id def = shape_peek(a, id);
			if (ast_at(a, def)->kind == AST_DEF)
				nv_permute_collect(r, ast_child(a, def, 0), ast_child(a, def, 1));
			nv_buffer_collect(r, def);
		}
		return;
	default:
		break;
	}
	ast_each (a, child, id)
		nv_collect_node(r, child);
	if (ast_at(a, id)->kind == AST_DEF) {
		nv_attention_collect(r, ast_child(a, id, 0), ast_child(a, id, 1));
		nv_permute_collect(r, ast_child(a, id, 0), ast_child(a, id, 1));
	}
	nv_buffer_collect(r, id);
}

static int compare_statements(const void *a, const void *b)
{
	const struct nv_statement *x = a, *y = b;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static void merge_statements(struct nv_reader *r)
{
	uint32_t n = 0;
	if (r->statement.n)
		qsort(r->statement.at, r->statement.n, sizeof *r->statement.at, compare_statements);
	for (uint32_t i = 0; i < r->statement.n; i++) {
		if (n && r->statement.at[n - 1].number == r->statement.at[i].number)
			r->statement.at[n - 1].count += r->statement.at[i].count;
		else
			r->statement.at[n++] = r->statement.at[i];
	}
	r->statement.n = n;
}

struct nv_statement *nv_find_statement(struct nv_reader *r, int64_t number)
{
	uint32_t low = 0, high = r->statement.n;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (r->statement.at[mid].number == number)
			return &r->statement.at[mid];
		if (r->statement.at[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

void nv_collect_blocks(struct nv_reader *r, ast_id section)
{
	struct ast *a = r->s->a;
	ast_each (a, block, section) {
		ast_id tensor = ast_at(a, block)->kind == AST_TRANSFORMS ? ast_at(a, block)->first : 0;
		struct nv_tensor *t = tensor ? nv_find_tensor(r, ast_at(a, tensor)->name) : NULL;
		if (!t) /* the dump of a whole fusion may print more tensors */
			continue;
		if (t->block)
			diag_error(r->s->d, E_DEFINED_TWICE, ast_at(a, tensor)->at,
			           "%s has two TransformPrinter blocks", ast_text(a, tensor));
		t->block = block;
	}
}

void nv_collect(struct nv_reader *r, ast_id container)
{
	struct ast *a = r->s->a;
	for (unsigned side = 0; side < 2; side++)
		ast_each (a, tensor, ast_child(a, container, side)) {
			if (ast_at(a, tensor)->kind != AST_TENSOR)
				continue;
			struct nv_tensor *t = note_tensor(r, tensor);
			uint8_t *flag = side ? &t->output : &t->input;
			if (*flag && side)
				diag_warning(r->s->d, W_PRINTED_TWICE, ast_at(a, tensor)->at,
				             "output %s is listed twice; the program has it once",
				             ast_text(a, tensor));
			else if (*flag)
				diag_error(r->s->d, E_DEFINED_TWICE, ast_at(a, tensor)->at,
				           "%s is listed twice", ast_text(a, tensor));
			*flag = 1;
		}
	ast_each (a, stmt, ast_child(a, container, 2)) /* units come after the statements */
		if (ast_at(a, stmt)->kind == AST_UNIT)
			nv_collect_unit(r, stmt);
		else
			nv_collect_node(r, stmt);
	merge_statements(r);
	ast_each (a, section, container)
		if (ast_at(a, section)->kind == AST_SECTION &&
		    !strcmp(ast_text(a, section), "TransformPrinter"))
			nv_collect_blocks(r, section);
}
