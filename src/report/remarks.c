/* remarks: the remarks of passes and simulator on statements, then the result of the check. */
#include "base/diag.h"
#include "report/html.h"
#include "report/parts.h"

static void put_remark(struct report *r, uint32_t number, const struct report_remark *x, struct buf *out)
{
	buf_printf(out, "<tr id=\"R%u\"><td>", number);
	report_put_line(r, x->at, out);
	buf_puts(out, "</td><td><code>");
	html_put(out, x->pass);
	buf_puts(out, "</code></td><td class=\"text\">");
	html_put(out, x->text);
	buf_puts(out, "</td></tr>\n");
}

void report_remarks(struct report *r, struct buf *out)
{
	uint32_t n = r->remark.n < REPORT_MOST_REMARKS ? r->remark.n : REPORT_MOST_REMARKS;
	if (!n) {
		html_note(out, "No pass had anything to say.");
		return;
	}
	buf_puts(out, "<div class=\"box\"><table class=\"list\"><thead><tr><th>Where</th><th>Who</th>"
	              "<th>What</th></tr></thead><tbody>\n");
	for (uint32_t k = 0; k < n; k++)
		put_remark(r, k + 1, &r->remark.at[k], out);
	buf_puts(out, "</tbody></table></div>\n");
	if (n < r->remark.n) {
		buf_printf(out, "<p class=\"note\">%u more: <code>", r->remark.n - n);
		html_put(out, report_command(r, "compile", "--remarks"));
		buf_puts(out, "</code> prints them.</p>\n");
	}
}

static void put_messages(struct report *r, struct buf *out)
{
	if (!r->message.n)
		return;
	buf_puts(
	    out,
	    "<div class=\"box\"><table class=\"list\"><thead><tr><th>Where</th><th>What</th></tr></thead>"
	    "<tbody>\n");
	for (uint32_t k = 0; k < r->message.n; k++) {
		const struct report_message *x = &r->message.at[k];
		buf_puts(out, "<tr><td>");
		report_put_line(r, x->at, out);
		buf_printf(out, "</td><td class=\"text\"><span class=\"%s\">%s", x->error ? "bad" : "note",
		           x->error    ? "error"
		           : x->number ? "warning"
		                       : "note");
		if (x->number)
			buf_printf(out, " [%s]", x->number);
		buf_puts(out, "</span>: ");
		html_put(out, x->text);
		buf_puts(out, "</td></tr>\n");
	}
	buf_puts(out, "</tbody></table></div>\n");
}

static const char *ending(int64_t n, const char *one, const char *several)
{
	return n == 1 ? one : several;
}

void report_verdict(struct report *r, struct buf *out)
{
	const struct check_result *x = &r->check_result;
	if (!r->checked)
		return;
	switch (r->check_status) {
	case CHECK_CLEAN:
		buf_puts(out, "<p><b class=\"good\">In order.</b> ");
		buf_printf(out,
		           "%lld rank%s, %lld access%s, %lld Communication%s: proven to be ordered, matched, "
		           "alive%s, whatever the speed of streams and ranks.</p>\n",
		           (long long)x->ranks, ending(x->ranks, "", "s"), (long long)x->accesses,
		           ending(x->accesses, "", "es"), (long long)x->communications,
		           ending(x->communications, "", "s"),
		           x->unproved ? "" : ", with each sum complete and each element where it is needed");
		break;
	case CHECK_WRONG:
		buf_puts(out, "<p><b class=\"bad\">Not in order.</b></p>\n");
		break;
	case CHECK_UNKNOWN:
		buf_puts(out, "<p><b>Not known.</b> ");
		html_put(out, x->what);
		buf_puts(out, ".</p>\n");
		break;
	case CHECK_TOO_LONG:
		html_note(out, "The program is too long to be checked; fewer ranks or iterations can be.");
		break;
	}
	put_messages(r, out);
}
