/* again: text that repeats is read once.
 *
 *     v7: f32[t@x, 16] = add(v5, v6)       NAME : TYPE_AGAIN = …, for the eight tokens of the type
 *     v8: f32[t@x, 16] = mul(v6, v7)
 *
 * Programs write a few types over and over. A dump of the nvFuser surface prints a tensor with all its
 * axes wherever it is used, and new tensors with axes of few extents:
 *
 *     T9_g_float[ideviceIdx.x27{2}, iS28{4}] (DeviceMesh{0 1})      TENSOR [ ID_AGAIN , ID_AGAIN ] MESH_AGAIN
 *
 * Where the text of an earlier one stands, the lexer gives one token, and the node shares the children of
 * the earlier node. What is remembered holds no line end, since lines are counted elsewhere. */
#include "base/hash.h"
#include "hir_parser.h"
#include "parse/ast_build.h"
#include <string.h>

/* ---- remembering */

/* Whether the text of a node stands at c. */
static bool stands_at(const struct parser *p, ast_id id, const unsigned char *c)
{
	uint32_t length = ast_length(p->ast, id);
	return length <= (size_t)(p->limit - c) && !memcmp(p->text + ast_at(p->ast, id)->at, c, length);
}

static bool is_one_line(const struct parser *p, ast_id id)
{
	return !memchr(p->text + ast_at(p->ast, id)->at, '\n', ast_length(p->ast, id));
}

/* The slot of the text from c to the end character. */
static ast_id *slot_of(ast_id *table, const unsigned char *c, unsigned char end)
{
	uint64_t hash = 0;
	for (; *c && *c != end && *c != '\n'; c++)
		if (*c != ' ')
			hash = hash_number(hash, *c);
	return &table[hash % AGAIN_SLOTS];
}

/* ---- types: in a definition, where they end at `=` */

/* Whether only blanks are between c and a `=`. */
static bool ends_at_assign(const unsigned char *c)
{
	while (*c == ' ')
		c++;
	return c[0] == '=' && c[1] != '=';
}

ast_id again_keep_type(struct parser *p, ast_id id)
{
	if (p->again.on && is_one_line(p, id))
		*slot_of(p->again.type, p->text + ast_at(p->ast, id)->at, '=') = id;
	return id;
}

ast_id again_find_type(struct parser *p, const unsigned char *c)
{
	ast_id id = *slot_of(p->again.type, c, '=');
	return id && stands_at(p, id, c) && ends_at_assign(c + ast_length(p->ast, id)) ? id : 0;
}

/* ---- tensors of the nvFuser surface, by name */

ast_id again_keep_tensor(struct parser *p, ast_id id)
{
	uint32_t name = ast_at(p->ast, id)->name;
	if (!p->again.on || !is_one_line(p, id))
		return id;
	while (p->again.tensor.n <= name)
		vec_push(&p->again.tensor, 0);
	p->again.tensor.at[name] = id;
	return id;
}

/* c is behind a tensor without a mesh: does none follow? */
static bool has_mesh(const unsigned char *c)
{
	while (*c == ' ' || *c == '\t' || *c == '\r' || *c == '\n')
		c++;
	return *c == '(';
}

ast_id again_find_tensor(struct parser *p, const unsigned char *c)
{
	const unsigned char *end = c;
	while (*end != '_')
		end++;
	uint32_t name = names_find(p->ast->names, (const char *)c, (size_t)(end - c));
	ast_id id = name < p->again.tensor.n ? p->again.tensor.at[name] : 0;
	if (!id || !stands_at(p, id, c))
		return 0;
	end = c + ast_length(p->ast, id);
	return end[-1] == ')' || !has_mesh(end) ? id : 0;
}

/* ---- meshes and axes of tensors */

ast_id again_keep_mesh(struct parser *p, ast_id id)
{
	if (p->again.on && is_one_line(p, id))
		*slot_of(p->again.mesh, p->text + ast_at(p->ast, id)->at, ')') = id;
	return id;
}

ast_id again_find_mesh(struct parser *p, const unsigned char *c)
{
	ast_id id = *slot_of(p->again.mesh, c, ')');
	return id && stands_at(p, id, c) && c[ast_length(p->ast, id)] == ')' ? id : 0;
}

/* Bytes of iS8 in iS8{4}. */
static uint32_t head_length(const struct parser *p, ast_id id)
{
	return (uint32_t)strlen(ast_text(p->ast, id));
}

ast_id again_keep_id(struct parser *p, ast_id id)
{
	if (p->again.on && is_one_line(p, id))
		*slot_of(p->again.id, p->text + ast_at(p->ast, id)->at + head_length(p, id), '}') = id;
	return id;
}

ast_id again_find_id(struct parser *p, const unsigned char *c, uint32_t *length)
{
	ast_id id = *slot_of(p->again.id, c, '}');
	if (!id)
		return 0;
	uint32_t head = head_length(p, id), n = ast_length(p->ast, id) - head;
	if (n > (size_t)(p->limit - c) || memcmp(p->text + ast_at(p->ast, id)->at + head, c, n) ||
	    c[n] == 'r' || c[n] == '_') /* perhaps `}rf` or `}_p` */
		return 0;
	*length = n;
	return id;
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

ast_id ast_mesh_again(struct parser *p, struct parse_span at, int64_t of)
{
	uint32_t end = at.end - 1;
	return ast_again(p, (struct parse_span){end - ast_length(p->ast, (ast_id)of), end}, of);
}
