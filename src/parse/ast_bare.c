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
	ast_id node; /* where it is printed first */
	unsigned long number;
	bool made, read;
};

struct bare_lists {
	struct parser *p;
	VEC(struct bare_tensor) tensor;
	VEC(uint32_t) of; /* by name: the tensor's place in the list + 1; 0: none yet */
};

static struct bare_tensor *find_tensor(struct bare_lists *x, ast_id node)
{
	const struct ast_node *n = ast_at(x->p->ast, node);
	while (x->of.n <= n->name)
		vec_push(&x->of, 0);
	if (!x->of.at[n->name]) {
		vec_push(&x->tensor,
		         (struct bare_tensor){.node = node,
		                              .number = strtoul(ast_text(x->p->ast, node) + 1, NULL, 10)});
		x->of.at[n->name] = x->tensor.n;
	}
	return &x->tensor.at[x->of.at[n->name] - 1];
}

static int compare_numbers(const void *a, const void *b)
{
	const unsigned long x = ((const struct bare_tensor *)a)->number,
	                    y = ((const struct bare_tensor *)b)->number;
	return (x > y) - (x < y);
}

/* Notes the tensors that a statement makes or reads. */
static void note_tensors(struct bare_lists *x, ast_id node, bool made)
{
	const struct ast *a = x->p->ast;
	if (ast_at(a, node)->kind == AST_TENSOR) {
		struct bare_tensor *t = find_tensor(x, node);
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
	if (x.tensor.n)
		qsort(x.tensor.at, x.tensor.n, sizeof *x.tensor.at, compare_numbers);
	ast_id inputs = list_tensors(&x, title, false), outputs = list_tensors(&x, title, true);
	vec_free(&x.tensor);
	vec_free(&x.of);
	diag_warning(
	    p->diag, W_PRINTED_LISTS, title.at,
	    "this fusion has no `Inputs:` and `Outputs:`: tensors that no line makes are its inputs, "
	    "and those that no line reads are its outputs");
	return ast_container(p, at, inputs, outputs, block);
}
