/* sema_type: reads types with their placements, and schedule blocks. */
#include "ir/layout.h"
#include "parse/other_names.h"
#include "parse/sema_internal.h"
#include "parse/vocabulary.h"
#include <string.h>

static bool mesh_axis(struct sema *s, ast_id node, name_id name, mesh_id mesh, unsigned *out)
{
	const char *text = names_text(s->m->names, name);
	uint32_t at = ast_at(s->a, node)->at, length = ast_at(s->a, node)->end - at;
	int k = mesh ? mesh_find_axis(&s->m->mesh.at[mesh], name) : -1;
	if (k >= 0) {
		*out = (unsigned)k;
		return true;
	}
	if (!mesh) {
		diag_error_span(s->d, E_MESH_NEEDED, at, length, "'%s' needs a mesh", text);
		diag_note(s->d, DIAG_NOWHERE, "write `program NAME on MESH` or `on MESH` after the type");
		return false;
	}
	struct suggest g = suggest_start(text);
	diag_error_span(s->d, E_AXIS_UNKNOWN, at, length, "unknown mesh axis '%s'", text);
	for (unsigned a = 0; a < s->m->mesh.at[mesh].rank; a++)
		suggest_try(&g, names_text(s->m->names, s->m->mesh.at[mesh].axis_name[a]));
	suggest_try(&g, "stream");
	if (!other_name_note(s->d, OTHER_PLACE, text))
		diag_suggest(s->d, &g);
	diag_note(s->d, s->m->mesh.at[mesh].at, "mesh '%s' is declared here",
	          names_text(s->m->names, s->m->mesh.at[mesh].name));
	return false;
}

static const struct {
	const char *text;
	enum sugar_kind kind;
} kinds[] = {
    {"stream", SUGAR_STREAM}, {"serial", SUGAR_SERIAL}, {"swizzle1d", SUGAR_SWIZZLE}, {"block", SUGAR_BLOCK}};

const char *vocabulary_placement(unsigned k)
{
	return k < sizeof kinds / sizeof *kinds ? kinds[k].text : NULL;
}

static bool read_placement(struct sema *s, ast_id node, mesh_id mesh, struct sugar_place *out)
{
	const struct ast_node *n = ast_at(s->a, node);
	const char *text = ast_text(s->a, node);
	unsigned axis;
	*out = (struct sugar_place){.kind = SUGAR_MESH};
	if (n->flags & AST_BARE) {
		for (unsigned k = 0; k < 4; k++)
			if (!strcmp(kinds[k].text, text) &&
			    (!mesh || mesh_find_axis(&s->m->mesh.at[mesh], n->name) < 0)) {
				diag_error_span(s->d, E_PLACEMENT_ARGUMENT, n->at, n->end - n->at,
				                "@%s needs an argument", text);
				diag_note(s->d, DIAG_NOWHERE,
				          k == 2 ? "write `@%s(x)` with a mesh axis" : "write `@%s(2)`",
				          text);
				return false;
			}
		if (!mesh_axis(s, node, n->name, mesh, &axis))
			return false;
		out->mesh_axis = (uint8_t)axis;
		return true;
	}
	for (unsigned k = 0; k < 4; k++) {
		if (strcmp(kinds[k].text, text))
			continue;
		out->kind = (uint8_t)kinds[k].kind;
		const struct ast_node *arg = ast_at(s->a, n->first);
		if (out->kind == SUGAR_SWIZZLE) {
			if (arg->kind != AST_NAME) {
				diag_error(s->d, E_PLACEMENT_ARGUMENT, arg->at,
				           "swizzle1d takes a mesh axis");
				return false;
			}
			if (!mesh_axis(s, n->first, arg->name, mesh, &axis))
				return false;
			out->mesh_axis = (uint8_t)axis;
			return true;
		}
		if (out->kind == SUGAR_BLOCK && arg->kind == AST_NAME && mesh &&
		    mesh_find_axis(&s->m->mesh.at[mesh], arg->name) >= 0) {
			unsigned a = (unsigned)mesh_find_axis(&s->m->mesh.at[mesh], arg->name);
			out->factor = expr_const(s->m, s->m->mesh.at[mesh].size[a]);
			return true;
		}
		int64_t factor;
		if (!sema_const(s, n->first, &factor))
			return false;
		if (factor < 1) {
			diag_error(s->d, E_PLACEMENT_ARGUMENT, arg->at,
			           "@%s needs a number of at least 1, not %lld", text, (long long)factor);
			return false;
		}
		out->factor = expr_const(s->m, factor);
		return true;
	}
	struct suggest g = suggest_start(text);
	diag_error_span(s->d, E_PLACEMENT_UNKNOWN, n->at, n->end - n->at, "unknown placement '%s'", text);
	for (unsigned k = 0; k < 4; k++)
		suggest_try(&g, kinds[k].text);
	if (!other_name_note(s->d, OTHER_PLACE, text))
		diag_suggest(s->d, &g);
	return false;
}

static bool read_tensor_axis(struct sema *s, ast_id node, mesh_id mesh, struct sugar_axis *out)
{
	*out = (struct sugar_axis){.extent = sema_extent(s, ast_child(s->a, node, 0))};
	if (!out->extent)
		return false;
	bool ok = true;
	for (ast_id p = ast_at(s->a, ast_at(s->a, node)->first)->next; p; p = ast_at(s->a, p)->next) {
		if (out->place_n == SUGAR_MAX_PLACES) {
			diag_error(s->d, E_AXES_LIMIT, ast_at(s->a, p)->at,
			           "an axis has at most %d placements", SUGAR_MAX_PLACES);
			return false;
		}
		ok &= read_placement(s, p, mesh, &out->place[out->place_n]);
		out->place_n++;
	}
	return ok;
}

static bool partial(struct sema *s, ast_id node, mesh_id mesh, struct sugar *g)
{
	const struct ast_node *n = ast_at(s->a, node);
	enum reduce_op op = REDUCE_SUM;
	if (n->name && *ast_text(s->a, node) && !reduce_op_parse(ast_text(s->a, node), &op)) {
		diag_error_span(s->d, E_REDUCTION_UNKNOWN, n->at, n->end - n->at, "unknown reduction '%s'",
		                ast_text(s->a, node));
		diag_note(s->d, DIAG_NOWHERE, "a partial is pending with sum, prod, min, max or avg");
		return false;
	}
	ast_each (s->a, child, node) {
		unsigned a;
		if (!mesh_axis(s, child, ast_at(s->a, child)->name, mesh, &a))
			return false;
		if (g->axis_n == IR_MAX_LOGICAL) {
			diag_error(s->d, E_AXES_LIMIT, ast_at(s->a, child)->at,
			           "a tensor has at most %d axes, hidden ones included", IR_MAX_LOGICAL);
			return false;
		}
		g->axis[g->axis_n++] = (struct sugar_axis){
		    .extent = expr_const(s->m, s->m->mesh.at[mesh].size[a]),
		    .kind = AXIS_PARTIAL,
		    .reduce = (uint8_t)op,
		    .rf = 1,
		    .place_n = 1,
		    .place = {{.kind = SUGAR_MESH, .mesh_axis = (uint8_t)a}},
		};
	}
	return true;
}

static bool read_reduce_axes(struct sema *s, ast_id node, mesh_id mesh, bool partial, struct sugar *g)
{
	ast_each (s->a, child, node) {
		if (g->axis_n == IR_MAX_LOGICAL) {
			diag_error(s->d, E_AXES_LIMIT, ast_at(s->a, child)->at,
			           "a tensor has at most %d axes, hidden ones included", IR_MAX_LOGICAL);
			return false;
		}
		if (!read_tensor_axis(s, child, mesh, &g->axis[g->axis_n]))
			return false;
		bool rf = ast_at(s->a, child)->flags & AST_BARE;
		g->axis[g->axis_n].kind = AXIS_REDUCE;
		g->axis[g->axis_n].rf = rf != partial;
		g->axis_n++;
	}
	return true;
}

static bool read_mesh(struct sema *s, ast_id type, mesh_id *mesh)
{
	ast_each (s->a, child, type) {
		const struct ast_node *n = ast_at(s->a, child);
		if (n->kind != AST_ON)
			continue;
		if (!strcmp(ast_text(s->a, child), "none")) {
			*mesh = 0;
			continue;
		}
		*mesh = sema_find_mesh(s, n->name);
		if (*mesh)
			continue;
		sema_unknown_mesh(s, n->name, n->at, n->end - n->at);
		return false;
	}
	return true;
}

static const char *const memories[] = {
    [MEMORY_GLOBAL] = "global", [MEMORY_LOCAL] = "local", [MEMORY_SYMMETRIC] = "symmetric"};

const char *vocabulary_memory(unsigned k)
{
	return k < sizeof memories / sizeof *memories ? memories[k] : NULL;
}

bool sema_type_is_global(const struct sema *s, ast_id type)
{
	ast_each (s->a, child, type)
		if (ast_at(s->a, child)->kind == AST_MEMORY &&
		    !strcmp(ast_text(s->a, child), memories[MEMORY_GLOBAL]))
			return true;
	return false;
}

static bool read_memory(struct sema *s, ast_id word, enum memory *out)
{
	const struct ast_node *n = ast_at(s->a, word);
	struct suggest g = suggest_start(ast_text(s->a, word));
	for (unsigned k = 0; k < 3; k++) {
		if (!strcmp(memories[k], g.word)) {
			*out = (enum memory)k;
			return true;
		}
		suggest_try(&g, memories[k]);
	}
	diag_error_span(s->d, E_MEMORY_UNKNOWN, n->at, n->end - n->at,
	                "a tensor is in global, local or symmetric memory, not '%s'", g.word);
	if (!other_name_note(s->d, OTHER_PLACE, g.word))
		diag_suggest(s->d, &g);
	return false;
}

static void note_dtypes(struct diag *d)
{
	struct buf names = {0};
	for (unsigned t = 0; t < DTYPE_COUNT; t++)
		buf_printf(&names, " %s", dtype_name(t));
	diag_note(d, DIAG_NOWHERE, "the dtypes are%s", names.at);
	buf_free(&names);
}

static type_id read_type(struct sema *s, ast_id type, bool io)
{
	const struct ast_node *n = ast_at(s->a, type);
	struct sugar g = {.rank = 0};
	enum dtype dtype;
	mesh_id mesh = s->mesh;
	enum memory memory = MEMORY_GLOBAL;
	bool ok = true, is_partial = false;
	if (!dtype_parse(ast_text(s->a, type), &dtype)) {
		struct suggest w = suggest_start(ast_text(s->a, type));
		diag_error_span(s->d, E_DTYPE_UNKNOWN, n->at, (uint32_t)strlen(ast_text(s->a, type)),
		                "unknown dtype '%s'", ast_text(s->a, type));
		for (unsigned t = 0; t < DTYPE_COUNT; t++)
			suggest_try(&w, dtype_name(t));
		if (other_name_note(s->d, OTHER_DTYPE, w.word))
			;
		else if (w.best)
			diag_suggest(s->d, &w);
		else
			note_dtypes(s->d);
		ok = false;
	}
	if (!read_mesh(s, type, &mesh))
		return 0;
	ast_each (s->a, child, n->first) {
		if (g.axis_n == IR_MAX_LOGICAL) {
			diag_error(s->d, E_AXES_LIMIT, ast_at(s->a, child)->at,
			           "a tensor has at most %d axes", IR_MAX_LOGICAL);
			return 0;
		}
		ok &= read_tensor_axis(s, child, mesh, &g.axis[g.axis_n++]);
	}
	g.rank = g.axis_n;
	for (ast_id child = ast_at(s->a, n->first)->next; child && ok; child = ast_at(s->a, child)->next)
		if (ast_at(s->a, child)->kind == AST_PARTIAL) {
			ok = partial(s, child, mesh, &g);
			is_partial = true;
		}
	for (ast_id child = ast_at(s->a, n->first)->next; child && ok; child = ast_at(s->a, child)->next) {
		uint8_t kind = ast_at(s->a, child)->kind;
		if (kind == AST_REDUCE)
			ok = read_reduce_axes(s, child, mesh, is_partial, &g);
		if (kind == AST_MEMORY)
			ok = read_memory(s, child, &memory);
	}
	if (!ok)
		return 0;
	domain_id d;
	unsigned offending;
	const char *error = sugar_expand(s->m, &g, mesh, io, &d, &offending);
	if (error) {
		ast_id at = offending < g.rank ? ast_child(s->a, n->first, offending) : type;
		diag_error_span(s->d, E_PLACEMENT_INVALID, ast_at(s->a, at)->at,
		                ast_at(s->a, at)->end - ast_at(s->a, at)->at, "%s", error);
		return 0;
	}
	return type_make(s->m, dtype, memory, mesh, d);
}

type_id sema_type(struct sema *s, ast_id type, bool io)
{
	const struct ast_node *n = ast_at(s->a, type);
	bool again = n->flags & AST_AGAIN;
	ast_id of = again ? (ast_id)n->value.i : type;
	struct type_cache *c = &s->type_cache[(of * 2 + io) % (sizeof s->type_cache / sizeof *s->type_cache)];
	if (c->node == of && c->io == io)
		return c->type;
	if (again)
		diag_set_moved(s->d, ast_at(s->a, of)->at, ast_at(s->a, of)->end, n->at);
	type_id t = read_type(s, type, io);
	diag_set_moved(s->d, 0, 0, 0);
	if (t)
		*c = (struct type_cache){.node = of, .type = t, .io = io};
	return t;
}

/* ---- schedule blocks */

struct schedule {
	struct sema *s;
	struct domain_builder b;
	mesh_id mesh;
	bool io, allocated;
};

static bool read_loop_position(struct schedule *c, ast_id node, uint8_t *out)
{
	int64_t k;
	if (!node || !sema_const(c->s, node, &k))
		return false;
	if (k < 0 || k >= c->b.loop_n) {
		diag_error(c->s->d, E_SCHEDULE_INVALID, ast_at(c->s->a, node)->at,
		           "loop position %lld: there are %u loop axes here", (long long)k, c->b.loop_n);
		return false;
	}
	*out = (uint8_t)k;
	return true;
}

static bool positions(struct schedule *c, ast_id tuple, uint8_t *out, unsigned *n)
{
	*n = 0;
	if (!tuple ||
	    (ast_at(c->s->a, tuple)->kind != AST_TUPLE && ast_at(c->s->a, tuple)->kind != AST_PAREN))
		return false;
	ast_each (c->s->a, child, tuple) {
		int64_t k;
		if (*n == IR_MAX_AXES || !sema_const(c->s, child, &k) || k < 0 || k >= IR_MAX_AXES)
			return false;
		out[(*n)++] = (uint8_t)k;
	}
	return true;
}

static const char *parallelize_position(struct schedule *c, uint8_t pos, ast_id kind)
{
	const char *text = kind ? ast_text(c->s->a, kind) : "";
	unsigned axis;
	if (!strcmp(text, "stream"))
		return domain_parallelize(c->s->m, &c->b, pos, PLACE_STREAM, NULL, 0);
	if (!strcmp(text, "serial"))
		return domain_parallelize(c->s->m, &c->b, pos, PLACE_SERIAL, NULL, 0);
	if (!kind || ast_at(c->s->a, kind)->kind != AST_NAME)
		return "parallelize is written `parallelize 0 stream`, `parallelize 0 serial` or "
		       "`parallelize 0 x` with a mesh axis";
	if (!mesh_axis(c->s, kind, sema_name(c->s, kind), c->mesh, &axis))
		return "";
	return domain_parallelize(c->s->m, &c->b, pos, PLACE_MESH, &c->s->m->mesh.at[c->mesh], axis);
}

/* Primitives listed before "reorder" begin with a loop position. */
static const char *const primitives[] = {"split",   "merge",      "swizzle1d", "parallelize",
                                         "reorder", "allocation", "contiguity"};
enum { PRIMITIVES = sizeof primitives / sizeof *primitives };

const char *vocabulary_primitive(unsigned k)
{
	return k < PRIMITIVES ? primitives[k] : NULL;
}

/* Returns NULL, a reason, or "" if the error was reported. */
static const char *primitive(struct schedule *c, ast_id call)
{
	struct sema *s = c->s;
	const char *name = ast_text(s->a, call);
	ast_id first = ast_child(s->a, call, 0), second = ast_child(s->a, call, 1),
	       third = ast_child(s->a, call, 2);
	uint8_t list[IR_MAX_AXES], pos;
	unsigned n, axis;
	if (!strcmp(name, "reorder"))
		return positions(c, first, list, &n)
		           ? domain_reorder(&c->b, list, n)
		           : "reorder takes a list of loop positions: reorder (1, 0, 2)";
	if (!strcmp(name, "allocation")) {
		bool unstreamed = first && ast_at(s->a, first)->kind == AST_NAME &&
		                  !strcmp(ast_text(s->a, first), "unstreamed");
		ast_id list_node = unstreamed ? second : first;
		c->allocated = true;
		if (unstreamed && !list_node) {
			domain_allocate_default(&c->b, true);
			return NULL;
		}
		return positions(c, list_node, list, &n)
		           ? domain_allocate(&c->b, unstreamed, list, n)
		           : "allocation takes a list of loop positions: allocation (1, 0)";
	}
	if (!strcmp(name, "contiguity")) {
		if (!c->allocated) {
			domain_allocate_default(&c->b, c->io);
			c->allocated = true;
		}
		n = 0;
		for (ast_id f = first ? ast_at(s->a, first)->first : 0; f; f = ast_at(s->a, f)->next) {
			const char *t = ast_text(s->a, f);
			if (n == c->b.alloc_n || (strcmp(t, "t") && strcmp(t, "f") && strcmp(t, "n")))
				return "contiguity takes t, f or n for each allocated axis";
			c->b.contiguous[n++] = *t != 'f';
		}
		return n == c->b.alloc_n ? NULL : "contiguity takes t, f or n for each allocated axis";
	}
	unsigned which = 0;
	while (which < 4 && strcmp(primitives[which], name))
		which++;
	if (which == 4) {
		struct suggest g = suggest_start(name);
		diag_error(s->d, E_PRIMITIVE_UNKNOWN, ast_at(s->a, call)->at,
		           "unknown scheduling primitive '%s'", name);
		for (unsigned k = 0; k < PRIMITIVES; k++)
			suggest_try(&g, primitives[k]);
		diag_suggest(s->d, &g);
		return "";
	}
	static const unsigned takes[] = {3, 1, 2, 2};
	if (ast_child(s->a, call, takes[which]))
		return "this primitive has too many arguments";
	if (!read_loop_position(c, first, &pos))
		return "";
	switch (which) {
	case 0: {
		int64_t factor;
		const char *half = second ? ast_text(s->a, second) : "";
		if (strcmp(half, "inner") && strcmp(half, "outer"))
			return "split is written `split 0 outer 4` or `split 0 inner 4`";
		if (!third)
			return "split is written `split 0 outer 4` or `split 0 inner 4`";
		if (!sema_const(s, third, &factor))
			return "";
		return domain_split(s->m, &c->b, pos, expr_const(s->m, factor), !strcmp(half, "inner"));
	}
	case 1:
		return domain_merge(s->m, &c->b, pos);
	case 2:
		if (!second || ast_at(s->a, second)->kind != AST_NAME)
			return "swizzle1d is written `swizzle1d 0 x` with a mesh axis";
		if (!mesh_axis(s, second, sema_name(s, second), c->mesh, &axis))
			return "";
		return domain_swizzle1d(s->m, &c->b, pos, &s->m->mesh.at[c->mesh], axis);
	default:
		return parallelize_position(c, pos, second);
	}
}

void sema_schedule(struct sema *s, ast_id schedule)
{
	const struct ast_node *n = ast_at(s->a, schedule);
	value_id v = sema_find_tensor(s, n->name);
	uint32_t at = sema_name_at(s, schedule);
	if (!v) {
		sema_unknown_tensor(s, n->name, at);
		return;
	}
	struct value *x = &s->m->value.at[v];
	for (uint32_t u = x->first_use; u; u = s->m->operand.at[u].next_use)
		if (s->m->operand.at[u].role != ROLE_DEF) {
			diag_error(s->d, E_SCHEDULE_LATE, at,
			           "schedule '%s' stands after a use of the tensor",
			           ast_text(s->a, schedule));
			diag_note(s->d, s->m->op.at[s->m->operand.at[u].op].at, "it is used here");
			return;
		}
	type_id before = s->last_value == v ? s->last_stated : x->type;
	struct type t = s->m->type.at[before];
	struct schedule c = {
	    .s = s, .mesh = t.mesh, .io = x->flags & (VALUE_INPUT | VALUE_OUTPUT | VALUE_INOUT)};
	domain_edit(&c.b, &s->m->domain.at[t.domain]);
	ast_each (s->a, call, schedule) {
		const char *error = primitive(&c, call);
		if (error && *error)
			diag_error_span(s->d, E_SCHEDULE_INVALID, ast_at(s->a, call)->at,
			                ast_at(s->a, call)->end - ast_at(s->a, call)->at, "%s", error);
		if (error)
			return;
	}
	if (!c.allocated)
		domain_allocate_default(&c.b, c.io);
	type_id after = type_with_domain(s->m, before, domain_finish(s->m, &c.b));
	x = &s->m->value.at[v];
	x->type = x->def ? infer_reduce_axes(s->m, x->def, after) : after;
	s->m->value.at[v].flags &= ~(uint32_t)VALUE_OPEN;
}
