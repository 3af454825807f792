/* mutate: changes a text so that mostly it remains a program.
 *
 * A text is a list of lines of tokens: words, numbers, strings, signs. A change copies, drops, swaps or moves
 * lines (a line that opens a block together with the block), or replaces a token by another of its class: a
 * name by a name, a number by a number. One change in sixteen is libFuzzer's own, of bytes. */
#include "base/arena.h"
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>

enum class { WORD, NUMBER, SIGN, PLACE };

struct token {
	size_t at, n;
	enum class class;
};

struct text {
	const char *at;
	size_t n;
	struct token *token;
	size_t tokens;
	size_t *line; /* where lines begin, and the end */
	size_t lines;
};

static uint64_t draw(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	uint64_t z = *state;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static size_t below(uint64_t *state, size_t n)
{
	return n ? (size_t)(draw(state) % n) : 0;
}

/* ---- reading */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t token_end(const struct text *t, size_t at, enum class *class)
{
	size_t end = at + 1;
	char c = t->at[at];
	*class = SIGN;
	if (is_word(c)) {
		*class = c >= '0' && c <= '9' ? NUMBER : WORD;
		while (end < t->n && is_word(t->at[end]))
			end++;
	} else if (c == '@' && end < t->n && is_word(t->at[end])) { /* @x, @stream(3) */
		*class = PLACE;
		while (end < t->n && is_word(t->at[end]))
			end++;
		if (end < t->n && t->at[end] == '(') {
			const char *close = memchr(t->at + end, ')', t->n - end);
			end =
			    close && close - t->at - (ptrdiff_t)end < 12 ? (size_t)(close - t->at) + 1 : end;
		}
	}
	return end;
}

static struct text read_text(const uint8_t *data, size_t n)
{
	struct text t = {.at = (const char *)data, .n = n};
	t.token = mem_alloc(sizeof *t.token * (n + 1));
	t.line = mem_alloc(sizeof *t.line * (n + 2));
	t.line[t.lines++] = 0;
	for (size_t k = 0; k < n; k++)
		if (data[k] == '\n' && k + 1 < n)
			t.line[t.lines++] = k + 1;
	t.line[t.lines] = n;
	for (size_t k = 0; k < n;) {
		enum class class;
		size_t end = token_end(&t, k, &class);
		if (t.at[k] != ' ' && t.at[k] != '\n')
			t.token[t.tokens++] = (struct token){k, end - k, class};
		k = end;
	}
	return t;
}

static void free_text(struct text *t)
{
	free(t->token);
	free(t->line);
}

/* Returns the line after the block that line k opens; k + 1 if it opens none. */
static size_t block_end(const struct text *t, size_t k)
{
	int depth = 0;
	for (size_t end = k; end < t->lines; end++) {
		for (size_t at = t->line[end]; at < t->line[end + 1]; at++)
			depth += (t->at[at] == '{') - (t->at[at] == '}');
		if (depth <= 0)
			return end + 1;
	}
	return k + 1;
}

/* ---- writing */

/* Replaces `drop` bytes at `at` by `text`. */
static void splice(struct buf *out, const struct text *t, size_t at, size_t drop, const char *text, size_t n)
{
	buf_putn(out, t->at, at);
	buf_putn(out, text, n);
	buf_putn(out, t->at + at + drop, t->n - at - drop);
}

static const char *const words[] = {
#define OP(id, hir, nvfuser, ...) hir, nvfuser,
#include "ir/ops.def"
#undef OP
#define KEYWORD(token, text, lead) text,
#define BODY_WORD(token, text, lead) text,
#define CONTEXT_WORD(token, text, lead) text,
#include "base/keywords.def"
#define DTYPE(id, hir, nvfuser, ...) #hir, nvfuser,
#include "base/dtypes.def"
#undef DTYPE
    "axis",         "shape",      "dims",       "root",       "peer",    "group",    "k",
    "index",        "size",       "rank",       "axis_index", "ceilDiv", "floorDiv", "min",
    "max",          "streams",    "device",     "np",         "random",  "iota",     "zeros",
    "full",         "file",       "keepdims",   "start",      "stop",    "true",     "false",
    "stream_index", "DeviceMesh", "istreamIdx", "ideviceIdx", "iS",      "rS",       "bS"};
static const char *const places[] = {"@stream(2)", "@stream(3)", "@serial(2)", "@block(2)", "@x",
                                     "@a0",        "@a1",        "@dp",        "@tp",       "@stream(0)"};
static const char *const signs[] = {"(", ")", "[", "]", "{", "}", ",", "=",  "<-", "+", "-",
                                    "*", "/", "%", "<", ">", ":", "@", "\"", "\n", "#", "`"};
static const char *const numbers[] = {
    "0", "1", "2", "3", "4", "7", "8", "12", "64", "65536", "2147483647", "9223372036854775807", "1.5"};
#define ANY_OF(list) list[below(r, sizeof list / sizeof *list)]

static const struct token *other_of(const struct text *t, enum class class, uint64_t *r)
{
	for (unsigned k = 0; k < 16; k++) {
		const struct token *x = &t->token[below(r, t->tokens)];
		if (x->class == class)
			return x;
	}
	return NULL;
}

static void change_token(struct buf *out, const struct text *t, uint64_t *r)
{
	const struct token *x = &t->token[below(r, t->tokens)];
	const struct token *other = below(r, 3) ? other_of(t, x->class, r) : NULL;
	char number[24];
	const char *text = number;
	snprintf(number, sizeof number, "%llu",
	         strtoull(t->at + x->at, NULL, 10) * (1 + below(r, 2)) + below(r, 4) - (below(r, 2)));
	if (other)
		splice(out, t, x->at, x->n, t->at + other->at, other->n);
	else {
		if (x->class != NUMBER || below(r, 2))
			text = x->class == WORD     ? ANY_OF(words)
			       : x->class == PLACE  ? ANY_OF(places)
			       : x->class == NUMBER ? ANY_OF(numbers)
			                            : ANY_OF(signs);
		splice(out, t, x->at, x->n, text, strlen(text));
	}
}

static void add_token(struct buf *out, const struct text *t, uint64_t *r)
{
	const struct token *x = &t->token[below(r, t->tokens)], *other = &t->token[below(r, t->tokens)];
	if ((x->class == NUMBER || x->class == PLACE) && below(r, 2)) {
		const char *place = ANY_OF(places);
		splice(out, t, x->at + x->n, 0, place, strlen(place));
	} else if (below(r, 2)) {
		splice(out, t, x->at, 0, t->at + other->at, other->n);
	} else {
		splice(out, t, x->at, x->n, "", 0);
	}
}

/* Puts lines from..to of `from` before line k of t, and drops `drop` lines of t. */
static void put_lines(struct buf *out, const struct text *t, size_t k, size_t drop, const struct text *from,
                      size_t first, size_t end)
{
	buf_putn(out, t->at, t->line[k]);
	if (out->n && out->at[out->n - 1] != '\n')
		buf_putc(out, '\n');
	buf_putn(out, from->at + from->line[first], from->line[end] - from->line[first]);
	if (out->n && out->at[out->n - 1] != '\n')
		buf_putc(out, '\n');
	buf_putn(out, t->at + t->line[k + drop], t->n - t->line[k + drop]);
}

static void change_lines(struct buf *out, const struct text *t, uint64_t *r)
{
	size_t k = below(r, t->lines), end = block_end(t, k), at = below(r, t->lines + 1);
	switch (below(r, 4)) {
	case 0:
		splice(out, t, t->line[k], t->line[end] - t->line[k], "", 0);
		break;
	case 1: /* only the line: the block that it opened remains open */
		splice(out, t, t->line[k], t->line[k + 1] - t->line[k], "", 0);
		break;
	case 2:
		put_lines(out, t, at, 0, t, k, end);
		break;
	default: /* one replaces another */
		at = at < t->lines ? at : 0;
		put_lines(out, t, at, block_end(t, at) - at, t, k, end);
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *at, size_t n, size_t room, unsigned seed)
{
	uint64_t state = seed, *r = &state;
	if (LLVMFuzzerMutate && (!n || below(r, 16) == 0))
		return LLVMFuzzerMutate(at, n, room);
	for (size_t left = 1 + below(r, 3); left && n; left--) {
		struct text t = read_text(at, n);
		struct buf out = {0};
		size_t kind = below(r, 8);
		if (!t.tokens || kind < 2)
			change_lines(&out, &t, r);
		else if (kind < 6)
			change_token(&out, &t, r);
		else
			add_token(&out, &t, r);
		free_text(&t);
		n = out.n < room ? out.n : room;
		memcpy(at, out.at, n);
		buf_free(&out);
	}
	return n;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t an, const uint8_t *b, size_t bn, uint8_t *out,
                                 size_t room, unsigned seed)
{
	uint64_t state = seed, *r = &state;
	struct text to = read_text(a, an), from = read_text(b, bn);
	struct buf made = {0};
	size_t first = below(r, from.lines);
	put_lines(&made, &to, below(r, to.lines + 1), 0, &from, first, block_end(&from, first));
	size_t n = made.n < room ? made.n : room;
	memcpy(out, made.at, n);
	free_text(&to);
	free_text(&from);
	buf_free(&made);
	return n;
}
