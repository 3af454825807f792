/* Compares repeated statements with a parse that reads every token: the trees are equal, or both have errors.
 * Programs of both surfaces are drawn from statements that nearly match each other. */
#include "base/source.h"
#include "check.h"
#include "parse/ast.h"
#include "parse/shape.h"
#include <stdio.h>
#include <stdlib.h>

enum { PROGRAMS = 4000, LINES = 16, COMMON = 4 };

static uint64_t state = 1;

static unsigned random_below(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

/* In a line, N is a name, D a number, B one or two blanks, and Z an end of the line. */
static const char *const names[] = {
    "a",   "b",         "v1",     "v10",    "weight_out", "partial", "ex",
    "rf",  "team",      "for",    "name",   "by",         "T3",      "T3_g",
    "iS8", "Set",       "reduce", "`q x`",  "as",         "loop",    "attr",
    "i0",  "StreamIdx", "Inputs", "ca_pos", "extern",     "Wait",    "ShareMemHandles"};
static const char *const ends[] = {" ", "  # comment", ";", " as c1", " {k=1}", " + N"};
static const char *const body_ends[] = {
    "", "", ";", ";", " ;", " // comment", "\n     + N", "\n     * TD_g_float[iSD{4}];"};
static const char *const concise[] = {
    "N: f32[8, 4]B=BaddBZ(N,BN)Z",
    "N:Bf32[8,B4] = N(N, N)Z",
    "N: f32[8@x, D] = N(N, axis=D)Z",
    "N = N + NZ",
    "N = N(N(N), N)Z",
    "N <- set(N)Z",
    "N, N = N(N, N)Z",
    "N(N)Z",
    "wait(N)Z",
    "output N = relu(N)Z",
    "output NZ",
    "N: bf16[8, 4] partial(x) = N(N) {kind=N}Z",
    "N = N(N,\n     N)Z",
    "let N = N + DZ",
    "if N < D {\n N = N(N)\n}",
    "N = extern \"f\"(N)Z",
    "N = -NZ",
    "N = N(N, D.5)Z",
};
static const char *const body[] = {
    "TD_g_float[ideviceIdx.xD{2}, iSD{D}] (DeviceMesh{0 1})\n     = TD_g_float[iSD{4}]\n     + "
    "TD_g_float[iSD{4}]Z",
    "TD_g_float[iSD{4}]\n     = T5_g_float[iS5{4}]\n     + T5_g_float[iS5{4}]Z",
    "TD_l_float[iSD{4}] = ALLOCATE(buffer=TD_l_float[iSD{4}], mem_type=local, size=D)Z",
    "TD_g_float[iSD{4}] = T5_g_float[iS5{4}]Z",
    "TD_g_float[iSD{4}] = N(T5_g_float[iS5{4}], NBN)Z",
    "TD_g_float[iSD{4}]rf = set( T5_g_float[iS5{4}] )Z",
    "Communication D (type=Broadcast, team=(0 1), Input=T5_g_float[iS5{4}], Output=T5_g_float[iS5{4}])Z",
    "N(T5_g_float[iS5{4}])Z",
    "TD_g_float[iSD{4}] = N(D)Z",
    "Wait(Communication D)Z",
    "Wait(Communication D) Z",
    "SetCurrentStream(Stream N)Z",
    "TD_g___bfloat[iSD{( ceilDiv(N, 2) )}] = HirAliasSelect( T5_g_float[iS5{4}], axis = iSD{4}, index = N )Z",
    "FOR N from 0 to D:\n  TD_g_float[iSD{4}] = T5_g_float[iS5{4}]",
    "Deallocate { TD_g_float[iSD{4}] }Z",
};

static void put_line(struct buf *out, const char *line, bool is_body)
{
	for (; *line; line++) {
		if (*line == 'N' && (line[1] < 'a' || line[1] > 'z'))
			buf_puts(
			    out,
			    names[random_below(random_below(20) ? COMMON : sizeof names / sizeof *names)]);
		else if (*line == 'D' && (line[1] < 'a' || line[1] > 'z'))
			buf_puti(out, random_below(20) ? random_below(12) : INT64_C(4000000000));
		else if (*line == 'B' && (line[1] < 'a' || line[1] > 'z'))
			buf_puts(out, random_below(4) ? " " : "  ");
		else if (*line == 'Z' && random_below(8))
			continue;
		else if (*line == 'Z' && is_body)
			put_line(out, body_ends[random_below(sizeof body_ends / sizeof *body_ends)], is_body);
		else if (*line == 'Z')
			put_line(out, ends[random_below(sizeof ends / sizeof *ends)], is_body);
		else
			buf_putc(out, *line);
	}
}

static void put_program(struct buf *out, bool is_body)
{
	const char *const *lines = is_body ? body : concise;
	unsigned kinds = is_body ? sizeof body / sizeof *body : sizeof concise / sizeof *concise;
	unsigned used = 1 + random_below(3), kind[3], n = random_below(LINES);
	for (unsigned k = 0; k < used; k++)
		kind[k] = random_below(kinds);
	buf_puts(out, is_body ? "%HostIrContainer { (T5_g_float[iS5{4}]) -> () :\n" : "program p {\n");
	for (unsigned k = 0; k < n; k++) {
		buf_puts(out, "  ");
		put_line(out, lines[kind[random_below(used)]], is_body);
		buf_puts(out, "\n");
	}
	buf_puts(out, is_body ? "} // %HostIrContainer\n" : "}\n");
	for (unsigned k = 0; is_body && k < n; k++) {
		buf_puts(out, k ? "" : "Hirc 1 :\n");
		put_line(out, "  name TD = N\n", false);
	}
}

static bool same_nodes(const struct ast *a, ast_id x, struct ast *b, ast_id y, bool same_place)
{
	y = shape_expand(b, y);
	ast_id below = y;
	if (ast_at(b, y)->kind == AST_TENSOR && ast_at(b, y)->flags & AST_AGAIN)
		below = shape_tensor(b, (ast_id)ast_at(b, y)->value.i);
	const struct ast_node *m = ast_at(a, x), *n = ast_at(b, y);
	bool has_number =
	    m->kind == AST_INT || m->kind == AST_ID || m->kind == AST_COMM || m->kind == AST_COMM_REF;
	if (m->kind != n->kind || m->flags != (n->flags & ~AST_AGAIN) || m->height != n->height ||
	    strcmp(ast_text(a, x), ast_text(b, y)) || (has_number && m->value.i != n->value.i) ||
	    (m->kind == AST_FLOAT && m->value.f != n->value.f))
		return false;
	if (same_place && (m->at != n->at || m->end != n->end))
		return false;
	bool again = n->flags & AST_AGAIN; /* a copy, since nodes move when more are added below */
	ast_id i = m->first, k = ast_at(b, below)->first;
	for (; i && k; i = ast_at(a, i)->next, k = ast_at(b, k)->next)
		if (!same_nodes(a, i, b, k, same_place && !again))
			return false;
	return !i && !k;
}

/* Returns true if the program had repeated statements. */
static bool compare(const char *text, size_t n)
{
	struct source *s = source_from_text("p.hir", text, (uint32_t)n);
	struct diag *d = diag_new(NULL, DIAG_TEXT, 0);
	struct ast *a = ast_parse(d, s), *b = ast_parse_shared(d, s);
	bool same = same_nodes(a, a->root, b, b->root, true) && a->named.n == b->named.n &&
	            a->exports.n == b->exports.n;
	bool repeated = b->nodes.n < a->nodes.n;
	for (ast_id id = 1; id < b->nodes.n; id++)
		repeated |= ast_at(b, id)->kind == AST_REPEAT;
	if (!same)
		printf("%s", text);
	CHECK(same);
	ast_free(a);
	ast_free(b);
	diag_free(d);
	source_free(s);
	return repeated;
}

/* Every second statement would be a different one if its word were a name. */
static const char *const words[] = {
    "program p {\n  a = f(b)\n  a = for(b)\n}\n",
    "%HostIrContainer { () -> () :\n  T1_g_float[iS1{4}] = f(3)\n  T2_g_float[iS2{4}] = ca_pos(3)\n}\n",
    "%HostIrContainer { () -> () :\n  f(g, 3)\n  ShareMemHandles(g, 3)\n}\n",
    "%HostIrContainer { () -> () :\n  f(a [3])\n  f(T3_g [3])\n}\n",
    "%HostIrContainer { () -> () :\n  f(a{3})\n  f(iS7{3})\n}\n",
    "%HostIrContainer { () -> () :\n  f(k=g : 3)\n  f(k=Inputs : 3)\n}\n",
};

int main(void)
{
	for (unsigned k = 0; k < sizeof words / sizeof *words; k++)
		compare(words[k], strlen(words[k]));
	unsigned repeated[2] = {0};
	for (unsigned k = 0; k < 2 * PROGRAMS; k++) {
		struct buf text = {0};
		put_program(&text, k % 2);
		repeated[k % 2] += compare(text.at, text.n);
		compare(text.at, random_below((unsigned)text.n));
		buf_free(&text);
	}
	CHECK(repeated[0] > PROGRAMS / 10);
	CHECK(repeated[1] > PROGRAMS / 10);
	return check_result();
}
