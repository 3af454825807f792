/* ast_nvfuser: builds the nodes that only %HostIrContainer and its sections have.
 *
 * Printed names are split here: `T0_g___bfloat` is T0 in memory g with dtype __bfloat, `ideviceIdx.x9` is
 * axis 9. Old forms of stream operations become the calls that newer versions print. */
#include "parse/ast_build.h"
#include "parse/parse_report.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static struct ast_node *get_nvfuser_node(struct parser *p, ast_id id)
{
	return &p->ast->nodes.at[id];
}

static struct parse_span span_of(struct parser *p, ast_id id)
{
	return (struct parse_span){get_nvfuser_node(p, id)->at, get_nvfuser_node(p, id)->end};
}

static uint32_t intern_name(struct parser *p, const char *s, size_t n)
{
	return names_intern(p->ast->names, s, n);
}

ast_id ast_tensor(struct parser *p, struct parse_span at, struct parse_span head, ast_id ids, ast_id devices)
{
	const char *text = (const char *)p->text + head.at, *end = (const char *)p->text + head.end;
	const char *memory = memchr(text, '_', (size_t)(end - text));
	if (!memory)
		return ast_make(p, AST_TENSOR, at, intern_name(p, text, (size_t)(end - text)), ids, devices,
		                ast_leaf(p, AST_NAME, head, intern_name(p, AST_NO_MEMORY, 1)));
	const char *dtype = memchr(memory + 1, '_', (size_t)(end - memory - 1));
	uint32_t name = intern_name(p, text, (size_t)(memory - text));
	memory++;
	ast_id memory_name =
	    ast_leaf(p, AST_NAME, head, intern_name(p, memory, (size_t)((dtype ? dtype : end) - memory)));
	ast_id dtype_name =
	    dtype ? ast_leaf(p, AST_NAME, head, intern_name(p, dtype + 1, (size_t)(end - dtype - 1))) : 0;
	return ast_make(p, AST_TENSOR, at, name, ids, devices, memory_name, dtype_name);
}

ast_id ast_tensor_of(struct parser *p, ast_id tensor, struct parse_span at, uint32_t dtype)
{
	ast_id memory = ast_child(p->ast, tensor, 2);
	if (get_nvfuser_node(p, tensor)->kind == AST_TENSOR &&
	    get_nvfuser_node(p, ast_child(p->ast, tensor, 3))->kind != AST_NAME) {
		ast_id leaf = ast_leaf(p, AST_NAME, at, dtype);
		get_nvfuser_node(p, memory)->next = leaf;
	}
	return tensor;
}

const unsigned char *ast_axis_number(const unsigned char *c)
{
	while (*c != '.' && !lex_is_digit(*c))
		c++;
	return *c == '.' ? c + 2 : c;
}

ast_id ast_iterdomain(struct parser *p, struct parse_span at, struct parse_span head, ast_id extent,
                      ast_id expanded, struct parse_span close)
{
	const unsigned char *text = p->text + head.at, *end = p->text + head.end,
	                    *digits = ast_axis_number(text);
	int64_t number = 0;
	for (const unsigned char *c = digits; c < end && number <= INT32_MAX; c++)
		number = number * 10 + (*c - '0');
	if (number > INT32_MAX) {
		diag_error_span(p->diag, E_NUMBER_TOO_LARGE, head.at, head.end - head.at,
		                "the number of this axis is too large");
		number = 0;
	}
	ast_id id = ast_list(p, AST_ID, at, extent);
	for (struct parse_span s = {close.at + 1, close.at + 3}; s.end <= close.end; s.at += 2, s.end += 2)
		ast_add(p, id, ast_leaf(p, AST_NAME, s, intern_name(p, (const char *)p->text + s.at, 2)));
	ast_become(p, id, AST_ID, at, intern_name(p, (const char *)text, (size_t)(digits - text)), expanded);
	get_nvfuser_node(p, id)->value.i = number;
	return id;
}

ast_id ast_communication(struct parser *p, struct parse_span at, uint32_t name, int64_t number, ast_id keys)
{
	static const char *const older[][2] = {{"Input", "input"}, {"Output", "output"}};
	for (ast_id key = keys ? get_nvfuser_node(p, keys)->first : 0; key;
	     key = get_nvfuser_node(p, key)->next)
		for (unsigned i = 0; i < 2; i++)
			if (!strcmp(names_text(p->ast->names, get_nvfuser_node(p, key)->name), older[i][0]))
				get_nvfuser_node(p, key)->name = names_intern_z(p->ast->names, older[i][1]);
	ast_id id = keys ? ast_become(p, keys, AST_COMM, at, name, 0) : ast_leaf(p, AST_COMM, at, name);
	get_nvfuser_node(p, id)->value.i = number;
	return id;
}

static ast_id make_call(struct parser *p, struct parse_span at, uint32_t name, ast_id args)
{
	return ast_become(p, args, AST_CALL, at, name, 0);
}

ast_id ast_share(struct parser *p, struct parse_span at, ast_id args)
{
	uint32_t name = names_intern_z(p->ast->names, "ShareMemHandles");
	return ast_make(p, AST_DO, at, 0, make_call(p, at, name, args));
}

ast_id ast_old_call(struct parser *p, struct parse_span at, uint32_t name, ast_id operand)
{
	return ast_make(p, AST_DO, at, 0, make_call(p, at, name, ast_list(p, AST_LIST, at, operand)));
}

ast_id ast_old_get(struct parser *p, struct parse_span at, uint32_t name, ast_id handle)
{
	ast_id targets = ast_list(p, AST_LIST, span_of(p, handle), handle);
	return ast_make(p, AST_DEF, at, 0, targets, make_call(p, at, name, ast_list(p, AST_LIST, at, 0)));
}

/* Refuses tensors without axes in a list of inputs or outputs, and scalars among outputs. */
static void check_list(struct parser *p, ast_id list, bool outputs)
{
	for (ast_id item = get_nvfuser_node(p, list)->first; item; item = get_nvfuser_node(p, item)->next) {
		const struct ast_node *n = get_nvfuser_node(p, item);
		const char *name = names_text(p->ast->names, n->name);
		if (n->kind != AST_NAME)
			continue;
		if (name[0] == 'T' && isdigit((unsigned char)name[1]))
			diag_error_span(p->diag, E_OPERAND_TENSOR, n->at, n->end - n->at,
			                "a tensor is listed with its axes, as in T0_g_float[iS0{8}]");
		else if (outputs)
			diag_error_span(p->diag, E_OPERAND_TENSOR, n->at, n->end - n->at,
			                "an output is a tensor, and '%s' is a number: take it out", name);
	}
}

ast_id ast_container(struct parser *p, struct parse_span at, ast_id inputs, ast_id outputs, ast_id block)
{
	if (!inputs)
		inputs = ast_list(p, AST_LIST, at, 0);
	if (!outputs)
		outputs = ast_list(p, AST_LIST, at, 0);
	if (!block)
		block = ast_list(p, AST_BLOCK, at, 0);
	ast_add_units(p, block);
	check_list(p, inputs, false);
	check_list(p, outputs, true);
	return ast_make(p, AST_CONTAINER, at, 0, inputs, outputs, block);
}

ast_id ast_fusion(struct parser *p, struct parse_span at, struct parse_span title_at, uint32_t title,
                  ast_id inputs, ast_id outputs, ast_id block)
{
	if (strcmp(names_text(p->ast->names, title), "Outputs") != 0)
		diag_error_span(p->diag, E_UNEXPECTED, title_at.at, title_at.end - title_at.at,
		                "after the inputs of a fusion stand its Outputs:");
	return ast_container(p, at, inputs, outputs, block);
}

ast_id ast_grouped(struct parser *p, ast_id statements, struct parse_span name_at, uint32_t name,
                   ast_id reductions, ast_id key)
{
	if (strcmp(names_text(p->ast->names, name), "GroupedReductionOp") != 0)
		diag_error_span(p->diag, E_UNEXPECTED, name_at.at, name_at.end - name_at.at,
		                "only a GroupedReductionOp has statements in its parentheses");
	for (ast_id next, x = get_nvfuser_node(p, reductions)->first; x; x = next) {
		next = get_nvfuser_node(p, x)->next;
		get_nvfuser_node(p, x)->next = 0;
		if (!next)
			ast_add(p, ast_child(p->ast, x, 1), key);
		ast_add(p, statements, x);
	}
	return statements;
}

ast_id ast_section(struct parser *p, struct parse_span at, const char *name, ast_id lines)
{
	return ast_become(p, lines, AST_SECTION, at, names_intern_z(p->ast->names, name), 0);
}

void ast_hirc_version(struct parser *p, struct parse_span at, int64_t version)
{
	if (version == PARSE_HIRC_VERSION)
		return;
	diag_error_span(p->diag, E_SECTION_VERSION, at.at, at.end - at.at,
	                "the section is of version %" PRId64 "; this hirc reads version %d", version,
	                PARSE_HIRC_VERSION);
	p->cursor = p->limit; /* the meaning of the rest is unknown */
}

ast_id ast_transform(struct parser *p, ast_id lines, ast_id line)
{
	if (!get_nvfuser_node(p, lines)->first) {
		struct parse_span at = span_of(p, line);
		diag_error_span(p->diag, E_PRINTED_ALONE, at.at, at.end - at.at,
		                "this line belongs to a tensor, but none is before it");
		return lines;
	}
	ast_add(p, get_nvfuser_node(p, lines)->value.last, line);
	if (get_nvfuser_node(p, lines)->height < get_nvfuser_node(p, line)->height + 2)
		get_nvfuser_node(p, lines)->height = (uint16_t)(get_nvfuser_node(p, line)->height + 2);
	return lines;
}

ast_id ast_swizzle(struct parser *p, struct parse_span at, ast_id out, ast_id swizzle)
{
	const struct ast_node *c = get_nvfuser_node(p, swizzle);
	ast_id in = c->first, key = in ? get_nvfuser_node(p, in)->next : 0;
	bool is_swizzle =
	    strcmp(names_text(p->ast->names, c->name), "Swizzle1D") == 0 && key &&
	    get_nvfuser_node(p, in)->kind == AST_ID && get_nvfuser_node(p, key)->kind == AST_KEY &&
	    !get_nvfuser_node(p, key)->next &&
	    strcmp(names_text(p->ast->names, get_nvfuser_node(p, key)->name), "parallelType") == 0;
	uint32_t name = names_intern_z(p->ast->names, "swizzle1d");
	if (!is_swizzle) {
		diag_error_span(p->diag, E_PRINTED_TRANSFORM, c->at, c->end - c->at,
		                "expected Swizzle1D(axis, parallelType=…)");
		return ast_make(p, AST_XF_LINE, at, name, out);
	}
	ast_id type = get_nvfuser_node(p, key)->first;
	get_nvfuser_node(p, in)->next = 0;
	return ast_make(p, AST_XF_LINE, at, name, out, in, type);
}
