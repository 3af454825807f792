/* again: reuses printed tensors and meshes whose text was read before.
 *
 *     T9_g_float[ideviceIdx.x27{2}, iS28{4}] (DeviceMesh{0 1})      TENSOR_AGAIN, or … MESH_AGAIN
 *
 * A dump of the nvFuser surface prints a tensor with all its axes wherever it is used. Where the text of an
 * earlier tensor repeats, the lexer returns one token, and the new node shares the children of the earlier
 * node. The kept text has no line end, since another file counts lines. For repeated statements see
 * shape.c. */
#include "base/hash.h"
#include "hir_parser.h"
#include "parse/ast_build.h"
#include "parse/shape.h"
#include <string.h>

/* ---- remembering */

/* Returns true if `length` bytes of a node's text stand at c. */
static bool stands_at(const struct parser *p, ast_id id, uint32_t length, const unsigned char *c)
{
	return length <= (size_t)(p->limit - c) && !memcmp(p->text + ast_at(p->ast, id)->at, c, length);
}

static bool is_one_line(const struct parser *p, ast_id id)
{
	return !memchr(p->text + ast_at(p->ast, id)->at, '\n', ast_length(p->ast, id));
}

/* ---- tensors of the nvFuser surface, by name */

static void keep_known(struct parser *p, struct ast_known x)
{
	struct ast *a = p->ast;
	if (!a->known.n)
		vec_push(&a->known, (struct ast_known){0});
	while (p->again.tensor.n <= x.name)
		vec_push(&p->again.tensor, 0);
	p->again.tensor.at[x.name] = a->known.n;
	vec_push(&a->known, x);
}

ast_id again_keep_tensor(struct parser *p, ast_id id)
{
	if (p->ast->shapes && is_one_line(p, id))
		keep_known(p, (struct ast_known){id, ast_length(p->ast, id), ast_at(p->ast, id)->name});
	return id;
}

void again_keep_repeat(struct parser *p, ast_id statement, uint32_t name, uint32_t length)
{
	keep_known(p, (struct ast_known){statement, length, name});
}

/* Returns true if a mesh follows at c, after a tensor. */
static bool has_mesh(const unsigned char *c)
{
	while (*c == ' ' || *c == '\t' || *c == '\r' || *c == '\n')
		c++;
	return *c == '(';
}

uint32_t again_find_name(const struct parser *p, const unsigned char *c, const unsigned char *end)
{
	uint32_t name = names_find(p->ast->names, (const char *)c, (size_t)(end - c));
	return name < p->again.tensor.n ? p->again.tensor.at[name] : 0;
}

uint32_t again_find_tensor(struct parser *p, const unsigned char *c)
{
	if (*c != 'T')
		return 0;
	const unsigned char *end = c + 1;
	while (lex_is_digit(*end))
		end++;
	if (*end != '_')
		return 0;
	uint32_t known = again_find_name(p, c, end);
	if (!known || !stands_at(p, p->ast->known.at[known].of, again_length(p, known), c))
		return 0;
	end = c + again_length(p, known);
	return end[-1] == ')' || !has_mesh(end) ? known : 0;
}

/* ---- meshes */

/* Returns the slot for the devices from c to the closing parenthesis. */
static ast_id *find_mesh_slot(struct parser *p, const unsigned char *c)
{
	uint64_t hash = 0;
	for (; *c && *c != ')' && *c != '\n'; c++)
		if (*c != ' ')
			hash = hash_number(hash, *c);
	return &p->again.mesh[hash % AGAIN_SLOTS];
}

ast_id again_keep_mesh(struct parser *p, ast_id id)
{
	if (p->ast->shapes && is_one_line(p, id))
		*find_mesh_slot(p, p->text + ast_at(p->ast, id)->at) = id;
	return id;
}

ast_id again_find_mesh(struct parser *p, const unsigned char *c)
{
	ast_id id = *find_mesh_slot(p, c);
	return id && stands_at(p, id, ast_length(p->ast, id), c) && c[ast_length(p->ast, id)] == ')' ? id : 0;
}

/* ---- nodes */

ast_id ast_again(struct parser *p, struct parse_span at, int64_t of)
{
	struct ast_node n = *ast_at(p->ast, (ast_id)of);
	ast_id id = ast_leaf(p, (enum ast_kind)n.kind, at, n.name);
	struct ast_node *copy = &p->ast->nodes.at[id];
	copy->flags = n.flags | AST_AGAIN;
	copy->height = n.height;
	copy->first = n.first;
	copy->value.i = of;
	return id;
}

ast_id ast_tensor_again(struct parser *p, struct parse_span at, int64_t known)
{
	ast_id of = p->ast->known.at[known].of, id = ast_again(p, at, shape_tensor(p->ast, of));
	p->ast->nodes.at[id].value.i = of;
	return id;
}

ast_id ast_mesh_again(struct parser *p, struct parse_span at, int64_t of)
{
	uint32_t end = at.end - 1;
	return ast_again(p, (struct parse_span){end - ast_length(p->ast, (ast_id)of), end}, of);
}
