/* Two texts side by side: lines that are alike except for numbers of nameless things, and lines shown beside
 * each other. */
#include "check.h"
#include "report/report_rows.h"

/* Prints rows as text: `=` alike, `!` not, and the lines of both. */
static void show(const char *before, const char *after, struct buf *out)
{
	struct buf a = {0}, b = {0};
	struct rows r;
	buf_puts(&a, before);
	buf_puts(&b, after);
	rows_open(&r, &a, &b);
	for (uint32_t k = 0; k < r.pair.n; k++) {
		buf_putc(out, r.pair.at[k].alike ? '=' : '!');
		for (unsigned side = 0; side < 2; side++) {
			uint32_t line = r.pair.at[k].line[side];
			buf_putc(out, side ? '|' : ' ');
			if (line != ROWS_NONE)
				buf_putn(out, r.text[side].at[line].at, r.text[side].at[line].n);
		}
		buf_putc(out, '\n');
	}
	buf_printf(out, "-%u +%u\n", r.removed, r.added);
	rows_close(&r);
	buf_free(&a);
	buf_free(&b);
}

static void compare(const char *before, const char *after, const char *expected)
{
	struct buf out = {0};
	show(before, after, &out);
	CHECK_STR(out.at, expected);
	buf_free(&out);
}

int main(void)
{
	compare("", "", "-0 +0\n");
	compare("a", "a\n", "= a|a\n-0 +0\n");
	/* another number for the same thing throughout, and a name that only looks like a number */
	compare("T1 = relu(X)\nT2 = neg(T1)\nXT1\n", "T4 = relu(X)\nT5 = neg(T4)\nXT1\n",
	        "= T1 = relu(X)|T4 = relu(X)\n= T2 = neg(T1)|T5 = neg(T4)\n= XT1|XT1\n-0 +0\n");
	compare("XT1\n", "XT2\n", "! XT1|XT2\n-1 +1\n");
	compare("T1x\n", "T2x\n", "! T1x|T2x\n-1 +1\n");
	/* an operand that became another one; two operands that became one */
	compare("T1: a\nT2: b\nY: add(T1, T1)\n", "T1: a\nT2: b\nY: add(T1, T2)\n",
	        "= T1: a|T1: a\n= T2: b|T2: b\n! Y: add(T1, T1)|Y: add(T1, T2)\n-1 +1\n");
	compare("T1: a\nT2: b\nY: add(T1, T2)\n", "T1: a\nT2: b\nY: add(T1, T1)\n",
	        "= T1: a|T1: a\n= T2: b|T2: b\n! Y: add(T1, T2)|Y: add(T1, T1)\n-1 +1\n");
	compare("T1: a\nT1 T1\n", "T5: a\nT5 T6\n", "= T1: a|T5: a\n! T1 T1|T5 T6\n-1 +1\n");
	compare("T5: a\nT5 T6\n", "T1: a\nT1 T1\n", "= T5: a|T1: a\n! T5 T6|T1 T1\n-1 +1\n");
	compare("T1 T1\n", "T5 T6\n", "! T1 T1|T5 T6\n-1 +1\n");
	/* a line that is not alike does not pair its numbers */
	compare("T1 T1\nT1: a\n", "T5 T6\nT7: a\n", "! T1 T1|T5 T6\n= T1: a|T7: a\n-1 +1\n");
	/* statements in another order are not a renumbering */
	compare("T1: a\nT2: b\nneg(T2)\nneg(T1)\n", "T1: a\nT2: b\nneg(T1)\nneg(T2)\n",
	        "= T1: a|T1: a\n= T2: b|T2: b\n! neg(T2)|neg(T1)\n! neg(T1)|neg(T2)\n-2 +2\n");
	/* lines that make the same tensor, or are equal at another depth, are beside each other */
	compare(
	    "  G: f32 = set(X)\n  wait\n", "  new\n  loop {\n    wait\n  G: f32 = allocate()\n",
	    "!   G: f32 = set(X)|  new\n! |  loop {\n!   wait|    wait\n! |  G: f32 = allocate()\n-2 +4\n");
	compare("  G: f32 = set(X)\n", "  new\n  G: f32 = allocate()\n",
	        "! |  new\n!   G: f32 = set(X)|  G: f32 = allocate()\n-1 +2\n");
	/* too large for a number */
	compare("T99999999999\n", "T99999999998\n", "! T99999999999|T99999999998\n-1 +1\n");
	return check_result();
}
