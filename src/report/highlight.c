/* highlight: finds the kind of each word in the word lists of lexer and operations. It needs no tree, so
 * dumps, and programs with errors, have colours, too. */
#include "report/highlight.h"
#include "base/dtype.h"
#include "base/word.h"
#include "draw/svg.h"
#include "ir/ir.h"
#include "parse/lex.h"
#include <ctype.h>

struct line {
	struct buf *out;
	const char *text;
	uint32_t n, mark, mark_end;
	bool nvfuser;
};

static void put_piece(const struct line *l, uint32_t from, uint32_t to, const char *class, bool marked)
{
	if (from >= to)
		return;
	buf_puts(l->out, marked ? "<mark>" : "");
	if (class)
		buf_printf(l->out, "<span class=\"%s\">", class);
	svg_put_text(l->out, l->text + from, to - from);
	buf_puts(l->out, class ? "</span>" : "");
	buf_puts(l->out, marked ? "</mark>" : "");
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Puts the parts before, inside and after the mark. */
static void put_marked(const struct line *l, uint32_t from, uint32_t to, const char *class)
{
	uint32_t begin = least(to, l->mark > from ? l->mark : from);
	uint32_t end = least(to, l->mark_end > begin ? l->mark_end : begin);
	put_piece(l, from, begin, class, false);
	put_piece(l, begin, end, class, true);
	put_piece(l, end, to, class, false);
}

static const char *class_of(const struct line *l, uint32_t at, uint32_t end)
{
	char text[64];
	enum dtype dtype;
	if (end - at >= sizeof text)
		return NULL;
	memcpy(text, l->text + at, end - at);
	text[end - at] = '\0';
	for (uint32_t k = 1; k < (uint32_t)(l->nvfuser ? WORD_LAST_BODY : WORD_FIRST_BODY); k++)
		if (lex_words[k].text && !strcmp(lex_words[k].text, text))
			return "tk";
	if (dtype_parse(text, &dtype))
		return "tt";
	return op_by_hir(text) || (l->nvfuser && op_by_nvfuser(text)) ? "tf" : NULL;
}

static uint32_t quoted_end(const struct line *l, uint32_t at)
{
	char quote = l->text[at];
	for (at++; at < l->n && l->text[at] != quote; at++)
		at += l->text[at] == '\\' && at + 1 < l->n;
	return at < l->n ? at + 1 : l->n;
}

void highlight_put(struct buf *out, const char *text, uint32_t n, bool nvfuser, uint32_t mark,
                   uint32_t mark_end)
{
	const struct line l = {out, text, n, mark, mark_end, nvfuser};
	uint32_t plain = 0; /* start of the text without a class */
	for (uint32_t at = 0; at < n;) {
		char c = text[at];
		uint32_t end = at + 1;
		const char *class = NULL;
		if (c == '#' || (nvfuser && c == '/' && end < n && text[end] == '/')) {
			end = n;
			class = "tc";
		} else if (c == '"' || c == '`') {
			end = quoted_end(&l, at);
			class = c == '"' ? "ts" : NULL;
		} else if (word_has(c)) {
			while (end < n && word_has(text[end]))
				end++;
			class = isdigit((unsigned char)c) ? "tn" : class_of(&l, at, end);
		}
		if (class) {
			put_marked(&l, plain, at, NULL);
			put_marked(&l, at, end, class);
			plain = end;
		}
		at = end;
	}
	put_marked(&l, plain, n, NULL);
}
