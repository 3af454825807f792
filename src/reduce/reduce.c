/* reduce: see reduce.h. */
#include "reduce/reduce.h"
#include "reduce/reduce_parts.h"

enum need { ANY_TEXT, BROKEN_TEXT, TREE };

struct part {
	const char *kind;
	enum need need;
	void (*add)(const struct reduce_view *v, struct reduce_chunks *c);
};

/* Coarse parts come before fine ones, so that the fine ones have less text to try. */
static const struct part parts[] = {
    {"comments", ANY_TEXT, reduce_comments},
    {"statements", TREE, reduce_statements},
    {"statements and their users", TREE, reduce_users},
    {"lines", BROKEN_TEXT, reduce_lines},
    {"blocks", TREE, reduce_blocks},
    {"inputs", TREE, reduce_inputs},
    {"definitions", TREE, reduce_definitions},
    {"operands", TREE, reduce_operands},
    {"annotations", TREE, reduce_annotations},
    {"axes", TREE, reduce_axes},
    {"constants", TREE, reduce_constants},
    {"numbers", ANY_TEXT, reduce_numbers},
    {"brackets", BROKEN_TEXT, reduce_brackets},
    {"words", BROKEN_TEXT, reduce_tokens},
};
static const struct part last_parts[] = {
    {"names", TREE, reduce_names},
    {"spelling", TREE, reduce_spelling},
};

static bool try_part(struct reduce *r, const struct part *p)
{
	struct reduce_view v;
	struct reduce_chunks c = {.arena = arena_new()};
	struct buf text = {0};
	buf_putn(&text, r->text.at, r->text.n);
	reduce_view_make(&v, &text);
	bool fits = p->need == TREE ? v.ast != NULL : p->need == ANY_TEXT || v.broken;
	if (fits && !r->stops(r->to)) {
		r->shows(r->to, p->kind, &r->text);
		p->add(&v, &c);
	}
	bool changed = reduce_search(r, &c);
	reduce_view_free(&v);
	vec_free(&c.edit);
	arena_free(c.arena);
	buf_free(&text);
	return changed;
}

void reduce_run(struct reduce *r)
{
	buf_puts(&r->text, "");
	for (unsigned fine = 0; fine < 2; fine++) {
		bool changed = true;
		r->coarse = !fine;
		while (changed && !r->stops(r->to)) {
			changed = false;
			for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
				if (try_part(r, &parts[i]))
					changed = true;
		}
	}
	for (unsigned i = 0; i < sizeof last_parts / sizeof *last_parts; i++)
		try_part(r, &last_parts[i]);
}

void reduce_free(struct reduce *r)
{
	vec_free(&r->tried);
	hash_table_free(&r->known);
}

uint32_t reduce_count_statements(const struct buf *text)
{
	struct reduce_view v;
	uint32_t n = 0;
	reduce_view_make(&v, text);
	for (uint32_t i = 0; i < v.statement.n; i++)
		n += !v.statement.at[i].frame;
	reduce_view_free(&v);
	return n;
}
