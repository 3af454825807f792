/* ast_bare: a fusion that nvFuser prints without its inputs and outputs.
 *
 *     %kernel {
 *     T1_g_float[iS1{4}]                     →    CONTAINER(LIST(T0), LIST(T1), BLOCK)
 *        = relu(T0_g_float[iS0{4}]);
 *     }
 *
 * nvFuser numbers tensors as they are made, so each list is in the order of the numbers. */
#include "base/vec.h"
#include "parse/ast_build.h"
#include <stdlib.h>

struct bare_tensor {
	ast_id node;
	bool made, read;
};

struct bare_lists {
	struct parser *p;
	VEC(struct bare_tensor) tensor; /* in the order of their numbers */
};

static unsigned long number_of(const struct ast *a, ast_id node)
{
	return strtoul(ast_text(a, node) + 1, NULL, 10);
}

static struct bare_tensor *add_tensor(struct bare_lists *x, ast_id node)
{
	const struct ast *a = x->p->ast;
	unsigned long number = number_of(a, node);
	uint32_t i = x->tensor.n;
	while (i && number_of(a, x->tensor.at[i - 1].node) > number)
		i--;
	if (i && number_of(a, x->tensor.at[i - 1].node) == number)
		return &x->tensor.at[i - 1];
	vec_push(&x->tensor, (struct bare_tensor){.node = node});
	for (uint32_t k = x->tensor.n - 1; k > i; k--)
		x->tensor.at[k] = x->tensor.at[k - 1];
	x->tensor.at[i] = (struct bare_tensor){.node = node};
	return &x->tensor.at[i];
}

/* Notes the tensors that a statement makes or reads. */
static void note_tensors(struct bare_lists *x, ast_id node, bool made)
{
	const struct ast *a = x->p->ast;
	if (ast_at(a, node)->kind == AST_TENSOR) {
		struct bare_tensor *t = add_tensor(x, node);
		t->made |= made;
		t->read |= !made;
		return;
	}
	bool defines = ast_at(a, node)->kind == AST_DEF;
	ast_each (a, child, node)
		note_tensors(x, child, made || (defines && child == ast_at(a, node)->first));
}

/* Returns a list of the tensors that are only read, or only made. */
static ast_id list_tensors(struct bare_lists *x, struct parse_span at, bool made)
{
	struct parser *p = x->p;
	ast_id list = ast_list(p, AST_LIST, at, 0);
	for (uint32_t i = 0; i < x->tensor.n; i++) {
		const struct bare_tensor *t = &x->tensor.at[i];
		if (t->made != made || t->read == made)
			continue;
		const struct ast_node n = *ast_at(p->ast, t->node);
		ast_id copy = ast_leaf(p, AST_TENSOR, (struct parse_span){n.at, n.end}, n.name);
		struct ast_node *c = &p->ast->nodes.at[copy];
		c->flags = n.flags;
		c->height = n.height;
		c->first = n.first;
		c->value = n.value;
		list = ast_add(p, list, copy);
	}
	return list;
}

ast_id ast_bare_fusion(struct parser *p, struct parse_span at, struct parse_span title, ast_id block)
{
	struct bare_lists x = {.p = p};
	note_tensors(&x, block, false);
	ast_id inputs = list_tensors(&x, title, false), outputs = list_tensors(&x, title, true);
	vec_free(&x.tensor);
	diag_warning(
	    p->diag, W_PRINTED_LISTS, title.at,
	    "this fusion has no `Inputs:` and `Outputs:`: tensors that no line makes are its inputs, and "
	    "tensors that no line reads its outputs");
	return ast_container(p, at, inputs, outputs, block);
}
