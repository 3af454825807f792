/* cost_print: prints the statements of a program, each after its time. */
#include "cost/cost.h"
#include "ir/edit.h"
#include "ir/number.h"
#include "ir/print.h"

static void put_region(const struct cost *c, struct module *m, region_id r, unsigned depth, struct buf *out)
{
	region_each (m, o, r) {
		int64_t bytes = cost_op_bytes(c, o);
		buf_printf(out, "%12lld ", (long long)cost_op_time(c, o));
		if (bytes)
			buf_printf(out, "%12lld  ", (long long)bytes);
		else
			buf_pad(out, ' ', 14);
		buf_pad(out, ' ', 2 * depth);
		ir_print_statement_numbered(m, o, out);
		buf_putc(out, '\n');
		buf_drain(out);
		for (region_id x = m->op.at[o].region; x; x = m->region.at[x].sibling) {
			if (x != m->op.at[o].region) {
				buf_pad(out, ' ', 27 + 2 * depth);
				buf_puts(out, "else\n");
			}
			put_region(c, m, x, depth + 1, out);
		}
	}
}

void cost_print(const struct cost *c, struct module *m, struct buf *out)
{
	struct ir_numbers *saved = ir_numbers_save(m);
	ir_number(m);
	buf_printf(out, "# cluster %s, launch %lld ns", cost_cluster(c)->name, (long long)cost_launch(c));
	if (cost_cluster(c)->sharers > 1)
		buf_printf(out, ", %lld ranks share a device", (long long)cost_cluster(c)->sharers);
	buf_putc(out, '\n');
	buf_printf(out, "# %10s %12s\n", "ns", "bytes");
	put_region(c, m, m->body, 0, out);
	ir_numbers_restore(m, saved);
}
