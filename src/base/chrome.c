/* chrome: see chrome.h. */
#include "base/chrome.h"
#include "base/json_put.h"

/* Puts nanoseconds as microseconds. */
static void put_us(struct buf *out, const char *name, int64_t ns)
{
	buf_printf(out, ", \"%s\": %lld.%03lld", name, (long long)(ns / 1000), (long long)(ns % 1000));
}

void chrome_put_span(struct buf *out, const struct chrome_span *s)
{
	buf_puts(out, ",\n{\"ph\": \"X\", \"name\": ");
	json_put_string(out, s->name);
	buf_printf(out, ", \"cat\": \"%s\", \"pid\": %d, \"tid\": %u", s->category, s->pid, s->tid);
	put_us(out, "ts", s->begin);
	put_us(out, "dur", s->end - s->begin);
	buf_puts(out, ", \"args\": {\"where\": ");
	json_put_string(out, s->where);
	if (s->iteration >= 0)
		buf_printf(out, ", \"iteration\": %lld", (long long)s->iteration);
	buf_puts(out, "}}");
}

void chrome_put_arrow(struct buf *out, const char *phase, uint64_t id, int pid, unsigned tid, int64_t at)
{
	buf_printf(out,
	           ",\n{\"ph\": \"%s\", \"name\": \"wait\", \"cat\": \"wait\", \"id\": \"%d.%llu\", \"pid\": "
	           "%d, \"tid\": %u",
	           phase, pid, (unsigned long long)id, pid, tid);
	put_us(out, "ts", at);
	buf_puts(out, *phase == 'f' ? ", \"bp\": \"e\"}" : "}");
}

void chrome_put_name(struct buf *out, const char *what, int pid, unsigned tid, const char *text)
{
	buf_printf(
	    out, ",\n{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %d, \"tid\": %u, \"args\": {\"name\": ", what,
	    pid, tid);
	json_put_string(out, text);
	buf_puts(out, "}}");
}

void chrome_put_counter(struct buf *out, const char *name, const char *unit, int pid, int64_t at,
                        int64_t value)
{
	buf_printf(out, ",\n{\"ph\": \"C\", \"name\": \"%s\", \"pid\": %d", name, pid);
	put_us(out, "ts", at);
	buf_printf(out, ", \"args\": {\"%s\": %lld}}", unit, (long long)value);
}
