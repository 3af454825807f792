/* print_attr: prints names and attributes in nvFuser's surface. */
#include "ir/expr.h"
#include "ir/print_nvfuser.h"
#include "ir/spelling.h"
#include <string.h>

static void put_expr(struct nvfuser *p, expr_id e)
{
	expr_print_nvfuser(p->m, e, p->out);
}

void nvfuser_name(struct nvfuser *p, name_id name)
{
	/* keywords in a statement's body; elsewhere they are plain names */
	static const char *const words[] = {
	    "FOR", "IF", "ELSE", "Manual", "Stream", "StartCoalescing", "EndCoalescing", "Deallocate"};
	const char *text = names_text(p->m->names, name);
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(words[i], text)) {
			buf_printf(p->out, "`%s`", text);
			return;
		}
	spelling_put_name(p->out, text);
}

/* Appends a key. Keys need no backquotes, also if they are keywords of the concise surface. */
static void put_attr_key(struct nvfuser *p, name_id key)
{
	const char *text = names_text(p->m->names, key);
	size_t at = p->out->n;
	nvfuser_name(p, key);
	if (p->out->at[at] == '`' && strspn(text, "abcdefghijklmnopqrstuvwxyz") == strlen(text)) {
		p->out->n = at;
		buf_puts(p->out, text);
	}
	buf_putc(p->out, '=');
}

void nvfuser_attr(struct nvfuser *p, const struct attr *a)
{
	put_attr_key(p, a->key);
	nvfuser_attr_value(p, a);
}

void nvfuser_attr_value(struct nvfuser *p, const struct attr *a)
{
	switch ((enum attr_kind)a->kind) {
	case ATTR_INT:
		buf_puti(p->out, a->u.i);
		return;
	case ATTR_FLOAT:
		spelling_put_double(p->out, a->u.f);
		return;
	case ATTR_NAME:
		nvfuser_name(p, a->u.name);
		return;
	case ATTR_STRING:
		spelling_put_string(p->out, names_text(p->m->names, a->u.name));
		return;
	case ATTR_EXPR:
		put_expr(p, a->u.expr);
		return;
	case ATTR_INTS:
	case ATTR_EXPRS:
		break;
	}
	bool ints = a->kind == ATTR_INTS;
	buf_putc(p->out, ints ? '(' : '[');
	for (uint32_t i = 0; i < a->n; i++) {
		buf_puts(p->out, i ? ", " : "");
		if (ints)
			buf_puti(p->out, a->u.ints[i]);
		else
			put_expr(p, a->u.exprs[i]);
	}
	buf_putc(p->out, ints ? ')' : ']');
}
