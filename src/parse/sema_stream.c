/* sema_stream: reads the streams of a listing.
 *
 *     Stream 0x55d0c8a1f0e0 = GetCurrentStream()      main = get_current_stream()
 *     GetCurrentStream into Stream 0                  likewise: a plain number, in old listings
 *     SetCurrentStream(Stream i5)                     set_stream(i5)
 *     Synchronize(Stream 0x55d0c8a1f0e0)              synchronize(main) */
#include "parse/nvfuser.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the key of a handle among scalar names: "0x1"; in old dumps also "1". */
static name_id handle_key(struct nv_reader *r, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
	return names_intern_z(r->s->m->names, text);
}

static void bind_handle(struct nv_reader *r, name_id key, handle_id h, uint32_t at)
{
	struct sema *s = r->s;
	const struct scope_entry *old = sema_find_scalar(s, key);
	if (old && old->depth == s->depth)
		s->entry.at[old - s->entry.at].id = h; /* nvFuser takes the handle again */
	else
		sema_define_scalar(s, key, SCOPE_HANDLE, h, at);
}

void nv_get_current_stream(struct nv_reader *r, ast_id stmt, ast_id target)
{
	struct sema *s = r->s;
	const char *text = ast_text(s->a, target);
	bool hexadecimal = text[0] == '0' && text[1] == 'x';
	uint64_t value = strtoull(text, NULL, hexadecimal ? 16 : 10);
	const struct nv_fact *given = nv_find_fact(r->handle_name.at, r->handle_name.n, value);
	name_id key = handle_key(r, value);
	bool again = sema_find_scalar(s, key) != NULL;
	handle_id h = ir_handle_add(s->m, given && !again ? given->name : 0);
	if (value > 0 && value <= INT32_MAX / 2 && !again)
		s->m->handle.at[h].number = (int32_t)value;
	bind_handle(r, key, h, ast_at(s->a, target)->at);
	if (!hexadecimal)
		bind_handle(r, ast_at(s->a, target)->name, h, ast_at(s->a, target)->at);
	nv_append(r, ir_op_new(s->m, OP_GET_CURRENT_STREAM, ast_at(s->a, stmt)->at,
	                       &(struct ir_use){ROLE_HANDLE, h}, 1));
}

static bool find_stream(struct nv_reader *r, ast_id stream, struct ir_use *out)
{
	struct sema *s = r->s;
	ast_id e = nv_is(r, stream, AST_STREAM) ? ast_at(s->a, stream)->first : 0;
	const struct ast_node *n = ast_at(s->a, e ? e : stream);
	const struct scope_entry *x = NULL;
	if (!e)
		return nv_refuse(r, E_STREAM_EXPECTED, stream,
		                 "a stream is expected here, as in `Stream i3` or `Stream 0x1`");
	if (n->kind == AST_HANDLE)
		x = sema_find_scalar(s, handle_key(r, strtoull(ast_text(s->a, e), NULL, 16)));
	if (n->kind == AST_INT && n->value.i >= 0) {
		char text[24];
		snprintf(text, sizeof text, "%lld", (long long)n->value.i);
		uint32_t name = names_find(s->m->names, text, strlen(text));
		x = name ? sema_find_scalar(s, name) : NULL;
	}
	if (x && x->kind == SCOPE_HANDLE) {
		*out = (struct ir_use){ROLE_HANDLE, x->id};
		return true;
	}
	if (n->kind == AST_HANDLE)
		return nv_refuse(r, E_STREAM_EXPECTED, e, "no GetCurrentStream defines this stream");
	*out = (struct ir_use){ROLE_SCALAR, nv_scalar(r, e)};
	return out->id != 0;
}

void nv_stream_call(struct nv_reader *r, ast_id call, enum op_kind kind)
{
	struct ir_use use;
	ast_id stream = ast_at(r->s->a, call)->first;
	if (!stream || ast_at(r->s->a, stream)->next)
		nv_refuse(r, E_OPERAND_COUNT, call, "this takes one stream");
	else if (find_stream(r, stream, &use))
		nv_append(r, ir_op_new(r->s->m, kind, ast_at(r->s->a, call)->at, &use, 1));
}
