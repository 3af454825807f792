/* sema_stmt: reads programs and statements of the concise surface. */
#include "ir/edit.h"
#include "ir/number.h"
#include "ir/number_counter.h"
#include "parse/sema_internal.h"
#include "parse/shape.h"
#include <string.h>

static void define_handle(struct sema *s, ast_id stmt, ast_id result)
{
	const struct ast_node *r = ast_at(s->a, result);
	if (r->next || r->first) {
		diag_error(
		    s->d, E_STREAM_RESULT, r->at,
		    "get_current_stream gives one stream, which has no type: `s = get_current_stream()`");
		return;
	}
	handle_id h = ir_handle_add(s->m, r->name);
	op_id op = ir_op_new(s->m, OP_GET_CURRENT_STREAM, ast_at(s->a, stmt)->at,
	                     &(struct ir_use){ROLE_HANDLE, h}, 1);
	ir_append(s->m, s->region, op);
	sema_define_scalar(s, r->name, SCOPE_HANDLE, h, r->at);
}

static bool is_call_of(const struct sema *s, ast_id e, const char *name)
{
	return ast_at(s->a, e)->kind == AST_CALL && !(ast_at(s->a, e)->flags & AST_EXTERN) &&
	       !strcmp(ast_text(s->a, e), name);
}

/* Returns the name that `as` gives; 0: none, or an error was reported. */
static name_id as_name(struct sema *s, ast_id as)
{
	name_id name = as && ast_at(s->a, as)->kind == AST_NAME ? sema_name(s, as) : 0;
	op_id old = name ? sema_find_statement(s, name) : 0;
	if (!old)
		return name;
	const struct ast_node *n = ast_at(s->a, as);
	diag_error_span(s->d, E_DEFINED_TWICE, n->at, n->end - n->at, "statement '%s' is named twice",
	                ast_text(s->a, as));
	diag_note(s->d, s->m->op.at[old].at, "the first is here");
	return 0;
}

/* After an error, defines the result if its type is known; otherwise its uses are not reported. */
static void define_broken(struct sema *s, const struct sema_result *r)
{
	if (!r->name || sema_find_tensor(s, r->name))
		return;
	if (!r->type) {
		sema_break_tensor(s, r->name);
		return;
	}
	value_id v = ir_value_new(s->m, r->type, r->name, r->at);
	sema_define_tensor(s, r->name, v, r->at);
}

static void analyze_definition(struct sema *s, ast_id stmt)
{
	const struct ast_node *n = ast_at(s->a, stmt);
	ast_id list = ast_child(s->a, stmt, 0), expr = ast_child(s->a, stmt, 1),
	       as = ast_child(s->a, stmt, 2);
	struct sema_result result[IR_MAX_RESULTS];
	unsigned count = 0;
	bool ok = true;
	if (is_call_of(s, expr, "get_current_stream")) {
		define_handle(s, stmt, ast_at(s->a, list)->first);
		return;
	}
	ast_each (s->a, r, list) {
		const struct ast_node *x = ast_at(s->a, r);
		if (count == IR_MAX_RESULTS) {
			diag_error(s->d, E_STATEMENT_LIMIT, x->at, "a statement has at most %d results",
			           IR_MAX_RESULTS);
			return;
		}
		bool output = n->flags & AST_OUTPUT || sema_is_exported(s, x->name);
		result[count] = (struct sema_result){.name = x->name, .at = x->at, .output = output};
		if (x->first) {
			result[count].type = sema_type(s, x->first, output);
			result[count].in_global = sema_type_is_global(s, x->first);
			ok &= result[count].type != 0;
		}
		if (output && s->depth > 1) {
			diag_error(s->d, E_TOP_ONLY, x->at,
			           "an output is defined at the top of the program, not in a block");
			diag_note(s->d, DIAG_NOWHERE, "allocate it before the block and write into it there");
			ok = false;
		}
		count++;
	}
	/* outputs exported by name come in the order of the export statements */
	for (unsigned k = 0; k < count; k++)
		result[k].output = result[k].output && n->flags & AST_OUTPUT;
	value_id values[IR_MAX_RESULTS];
	name_id named = as_name(s, as);
	op_id op = ok ? sema_call(s, expr, result, count, named, n->at, values) : 0;
	if (!op)
		sema_break_statement(s, named);
	for (unsigned k = 0; k < count; k++) {
		if (!op)
			define_broken(s, &result[k]);
		else if (sema_is_exported(s, result[k].name))
			s->m->value.at[values[k]].flags |= VALUE_OUTPUT;
	}
}

/* Finds the buffers that a statement writes. */
static bool write_targets(struct sema *s, ast_id list, struct sema_result *result, unsigned *count)
{
	*count = 0;
	ast_each (s->a, target, list) {
		const struct ast_node *x = ast_at(s->a, target);
		struct ir_use use;
		if (*count == IR_MAX_RESULTS) {
			diag_error(s->d, E_STATEMENT_LIMIT, x->at, "a statement has at most %d results",
			           IR_MAX_RESULTS);
			return false;
		}
		uint32_t errors = diag_error_count(s->d);
		if (!sema_operand(s, target, &use)) {
			if (x->kind == AST_NAME && diag_error_count(s->d) > errors)
				diag_note(s->d, DIAG_NOWHERE,
				          "`<-` writes into a buffer, `=` defines a tensor");
			return false;
		}
		value_id root = use.role == ROLE_READ ? ir_root(s->m, use.id) : 0;
		if (!root || !ir_is_bound(s->m, root)) {
			diag_error_span(s->d, E_WRITE_TARGET, x->at, x->end - x->at,
			                "'%.*s' is not a buffer: only an input, an allocate or a view of one "
			                "can be written",
			                (int)(x->end - x->at), s->a->source->text + x->at);
			if (root)
				diag_note(s->d, s->m->value.at[root].at,
				          root == use.id ? "it is a value, which is defined here"
				                         : "it is a view of a value, which is defined here");
			return false;
		}
		result[(*count)++] = (struct sema_result){.bound = use.id, .at = x->at};
	}
	return true;
}

static void analyze_write(struct sema *s, ast_id stmt)
{
	ast_id list = ast_child(s->a, stmt, 0), expr = ast_child(s->a, stmt, 1);
	struct sema_result result[IR_MAX_RESULTS];
	unsigned count;
	name_id named = as_name(s, ast_child(s->a, stmt, 2));
	if (!write_targets(s, list, result, &count) ||
	    !sema_call(s, expr, result, count, named, ast_at(s->a, stmt)->at, NULL))
		sema_break_statement(s, named);
}

static void analyze_action(struct sema *s, ast_id stmt)
{
	const struct ast_node *n = ast_at(s->a, stmt);
	name_id named = as_name(s, ast_child(s->a, stmt, 1));
	if (!sema_call(s, n->first, NULL, 0, named, n->at, NULL))
		sema_break_statement(s, named);
}

static void block_in(struct sema *s, op_id owner, ast_id block, region_id *region)
{
	region_id outer = s->region;
	s->region = region ? *region : ir_region_new(s->m, owner);
	sema_block(s, block);
	s->region = outer;
}

static void analyze_loop(struct sema *s, ast_id stmt)
{
	const struct ast_node *n = ast_at(s->a, stmt);
	ast_id start = ast_child(s->a, stmt, 0), stop = ast_child(s->a, stmt, 1),
	       body = ast_child(s->a, stmt, 2), kind = ast_child(s->a, stmt, 3);
	expr_id from = sema_expr(s, start), to = sema_expr(s, stop);
	if (!from || !to || sema_too_deep(s, stmt))
		return;
	bool stream = kind && ast_at(s->a, kind)->kind == AST_NAME;
	if (stream && strcmp(ast_text(s->a, kind), "stream")) {
		diag_error(s->d, E_LOOP_KIND, ast_at(s->a, kind)->at,
		           "a loop is parallel(stream) or serial, not parallel(%s)", ast_text(s->a, kind));
		return;
	}
	struct ir_use use[] = {{ROLE_SCALAR, ir_scalar_expr(s->m, from)},
	                       {ROLE_SCALAR, ir_scalar_expr(s->m, to)}};
	op_id op = ir_op_new(s->m, OP_FOR, n->at, use, 2);
	s->m->op.at[op].flags |= stream ? OP_STREAM_LOOP : 0;
	ir_append(s->m, s->region, op);
	int32_t number = sema_numbered(s, n->name, 'i');
	index_id index = ir_index_add(s->m, number >= 0 ? 0 : n->name);
	s->m->index.at[index].number = number;
	region_id r = ir_region_new(s->m, op);
	s->m->region.at[r].index = index;
	sema_scope_push(s);
	sema_define_scalar(s, n->name, SCOPE_INDEX, index, sema_name_at(s, stmt));
	block_in(s, op, body, &r);
	sema_scope_pop(s);
}

static void analyze_condition(struct sema *s, ast_id stmt)
{
	ast_id e = ast_child(s->a, stmt, 0), then = ast_child(s->a, stmt, 1),
	       otherwise = ast_child(s->a, stmt, 2);
	expr_id c = sema_expr(s, e);
	if (!c && sema_has_tensor(s, e))
		diag_note(s->d, DIAG_NOWHERE,
		          "a condition is about numbers; `where(X > 0.0, A, B)` chooses elements");
	if (!c || sema_too_deep(s, stmt))
		return;
	op_id op = ir_op_new(s->m, OP_IF, ast_at(s->a, stmt)->at,
	                     &(struct ir_use){ROLE_SCALAR, ir_scalar_expr(s->m, c)}, 1);
	ir_append(s->m, s->region, op);
	block_in(s, op, then, NULL);
	if (otherwise && ast_at(s->a, otherwise)->kind == AST_BLOCK)
		block_in(s, op, otherwise, NULL);
}

/* Reads a block that runs as one kernel. */
static void analyze_unit(struct sema *s, ast_id stmt)
{
	const struct ast_node *n = ast_at(s->a, stmt);
	enum op_kind kind = op_by_hir(ast_text(s->a, stmt));
	if (kind != OP_UNIT && kind != OP_LAUNCH_KERNEL) {
		struct suggest g = suggest_start(ast_text(s->a, stmt));
		diag_error_span(s->d, E_BLOCK_UNKNOWN, n->at, (uint32_t)strlen(g.word),
		                "'%s' begins no block", g.word);
		suggest_try(&g, "unit");
		suggest_try(&g, "launch_kernel");
		diag_suggest(s->d, &g);
		return;
	}
	if (sema_too_deep(s, stmt))
		return;
	op_id op = ir_op_new(s->m, kind, n->at, NULL, 0);
	ir_append(s->m, s->region, op);
	unsigned before = diag_error_count(s->d);
	block_in(s, op, n->first, NULL);
	if (diag_error_count(s->d) == before)
		sema_check_unit(s, op);
}

/* Reads `ids i = i4 []` for a loop index, stream or statement. Returns false if it is for a tensor. */
static bool ids_of_scalar(struct sema *s, name_id name, name_id number)
{
	const char *text = names_text(s->m->names, number);
	const struct scope_entry *x = sema_find_scalar(s, name);
	op_id op = sema_find_statement(s, name);
	int32_t n = sema_numbered(s, number, 'c');
	if (op && n >= 0)
		s->m->op.at[op].number = n;
	else if (x && x->kind == SCOPE_INDEX && sema_numbered(s, number, 'i') >= 0)
		s->m->index.at[x->id].number = sema_numbered(s, number, 'i');
	else if (x && x->kind == SCOPE_HANDLE && !strncmp(text, "main", 4) &&
	         strspn(text + 4, "0123456789") == strlen(text + 4) && strlen(text) < 14)
		s->m->handle.at[x->id].number = text[4] ? atoi(text + 4) : 1;
	else
		return false;
	return true;
}

/* Returns the number 7 or b7 with NUMBER_BROADCAST; INT64_MIN after an error. */
static int64_t axis_number(struct sema *s, ast_id x)
{
	const struct ast_node *n = ast_at(s->a, x);
	if (n->kind == AST_INT)
		return n->value.i > NUMBER_MAX ? -1 : n->value.i;
	int32_t number = sema_numbered(s, n->name, 'b');
	if (number >= 0)
		return number > NUMBER_MAX ? -1 : number | NUMBER_BROADCAST;
	diag_error_span(
	    s->d, E_NUMBER_FORM, n->at, n->end - n->at,
	    "the number of an axis is written 7, or b7 if nvFuser prints the axis as a broadcast");
	return INT64_MIN;
}

static void analyze_ids(struct sema *s, ast_id stmt)
{
	ast_id name = ast_child(s->a, stmt, 0), number = ast_child(s->a, stmt, 1);
	if (ids_of_scalar(s, sema_name(s, name), sema_name(s, number)))
		return;
	value_id v = sema_find_tensor(s, sema_name(s, name));
	if (!v) {
		sema_unknown_tensor(s, sema_name(s, name), ast_at(s->a, name)->at);
		return;
	}
	int32_t t = sema_numbered(s, sema_name(s, number), 'T');
	if (t < 0) {
		diag_error(s->d, E_NUMBER_FORM, ast_at(s->a, number)->at,
		           "a tensor's number is written TN, as in `ids X = T7 [7 8]`");
		return;
	}
	s->m->value.at[v].number = t;
	int64_t list[IR_MAX_AXES];
	unsigned k = 0;
	for (ast_id x = ast_at(s->a, number)->next; x; x = ast_at(s->a, x)->next, k++) {
		int64_t value = axis_number(s, x);
		if (value == INT64_MIN)
			return;
		if (k < IR_MAX_AXES)
			list[k] = value;
	}
	if (!ir_read_axis_numbers(s->m, v, list, k))
		diag_error(s->d, E_IDS_COUNT, ast_at(s->a, stmt)->at, "'%s' has %u loop axes, not %u",
		           ast_text(s->a, name), value_domain(s->m, v)->loop_n, k);
}

void sema_block(struct sema *s, ast_id block)
{
	sema_scope_push(s);
	ast_each (s->a, child, block) {
		ast_id stmt = shape_expand(s->a, child);
		const struct ast_node *n = ast_at(s->a, stmt);
		switch (n->kind) {
		case AST_INPUT:
			sema_input(s, stmt);
			break;
		case AST_INPUT_PARAM:
			sema_input_param(s, n->first);
			break;
		case AST_DEF:
			analyze_definition(s, stmt);
			break;
		case AST_WRITE:
			analyze_write(s, stmt);
			break;
		case AST_EXPORT:
			sema_export(s, stmt);
			break;
		case AST_DO:
			analyze_action(s, stmt);
			break;
		case AST_LET: {
			expr_id e = sema_expr(s, n->first);
			if (!e)
				sema_note_float(s, n->first);
			sema_define_scalar(s, n->name, e ? SCOPE_LET : SCOPE_BROKEN, e,
			                   sema_name_at(s, stmt));
			break;
		}
		case AST_FOR:
			analyze_loop(s, stmt);
			break;
		case AST_IF:
			analyze_condition(s, stmt);
			break;
		case AST_UNIT:
			analyze_unit(s, stmt);
			break;
		case AST_SCHEDULE:
			sema_schedule(s, stmt);
			break;
		case AST_IDS_DECL:
			analyze_ids(s, stmt);
			break;
		default:
			break;
		}
	}
	sema_scope_pop(s);
}

void sema_program(struct sema *s, ast_id program)
{
	const struct ast_node *n = ast_at(s->a, program);
	ast_id block = ast_child(s->a, program, 0), on = ast_child(s->a, program, 1);
	s->m->name = s->m->name ? s->m->name : n->name; /* of the first file */
	if (on && ast_at(s->a, on)->kind == AST_NAME) {
		s->m->default_mesh = sema_find_mesh(s, sema_name(s, on));
		if (!s->m->default_mesh) {
			sema_unknown_mesh(s, sema_name(s, on), ast_at(s->a, on)->at,
			                  ast_at(s->a, on)->end - ast_at(s->a, on)->at);
			return;
		}
	}
	s->mesh = s->m->default_mesh;
	s->program = block;
	sema_note_exports(s);
	for (uint32_t i = 0; i < s->a->named.n; i++)
		sema_mark_later_statement(s, ast_at(s->a, s->a->named.at[i])->name);
	sema_block(s, block);
	sema_resolve_forward(s);
}
