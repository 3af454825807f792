/* bench_sweep: the points that `-D m=1K,2K -D s=1,2` names.
 *
 *     m=1024 s=1;  m=1024 s=2;  m=2048 s=1;  m=2048 s=2
 *
 * A comma inside brackets belongs to a value. A number with a unit is a size. */
#include "cli/bench.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_POINTS = 10000 };

/* Returns the length of the value at `at`: up to the next comma or the end. */
static size_t value_length(const char *at)
{
	size_t n = 0;
	for (int depth = 0; at[n] && (at[n] != ',' || depth > 0); n++)
		depth += (at[n] == '(') - (at[n] == ')');
	return n;
}

const char *bench_list_next(const char *at)
{
	at += value_length(at);
	return *at ? at + 1 : NULL;
}

static int64_t count_values(const char *list)
{
	int64_t n = 0;
	for (; list; list = bench_list_next(list))
		n++;
	return n;
}

void bench_list_value(const char *at, struct buf *out)
{
	int64_t size;
	size_t n = value_length(at);
	for (; n && *at == ' '; n--)
		at++;
	while (n && at[n - 1] == ' ')
		n--;
	buf_putn(out, at, n);
	if (!str_parse_size(out->at, &size))
		return;
	out->n = 0;
	buf_printf(out, "%lld", (long long)size);
}

static char *value_text(const char *list, int64_t index)
{
	struct buf b = {0};
	for (; index > 0; index--)
		list = bench_list_next(list);
	bench_list_value(list, &b);
	return b.at;
}

bool bench_sweep_make(const struct compile_options *o, struct diag *d, struct bench_sweep *out)
{
	int64_t points = 1;
	*out = (struct bench_sweep){0};
	for (uint32_t k = 0; k < o->define.n; k++) {
		for (uint32_t before = 0; before < k; before++)
			if (!strcmp(o->define.at[before].name, o->define.at[k].name)) {
				diag_error(d, E_DEFINE_VALUES, DIAG_NOWHERE, "-D gives '%s' values twice",
				           o->define.at[k].name);
				diag_note(d, DIAG_NOWHERE, "a list has all of them: -D %s=%s,%s",
				          o->define.at[k].name, o->define.at[before].text,
				          o->define.at[k].text);
				return false;
			}
		points *= count_values(o->define.at[k].text);
		if (points > MAX_POINTS) {
			diag_error(d, E_DEFINE_VALUES, DIAG_NOWHERE, "-D gives more than %d combinations",
			           MAX_POINTS);
			return false;
		}
	}
	for (int64_t p = 0; p < points; p++) {
		struct bench_point point = {.define_n = o->define.n};
		int64_t rest = p;
		point.define = mem_zalloc(sizeof *point.define * (o->define.n + 1));
		for (uint32_t k = o->define.n; k-- > 0;) {
			int64_t n = count_values(o->define.at[k].text);
			point.define[k].name = o->define.at[k].name;
			point.define[k].text = value_text(o->define.at[k].text, rest % n);
			rest /= n;
		}
		vec_push(&out->point, point);
	}
	return true;
}

void bench_sweep_free(struct bench_sweep *s)
{
	for (uint32_t p = 0; p < s->point.n; p++) {
		for (uint32_t k = 0; k < s->point.at[p].define_n; k++)
			free((char *)s->point.at[p].define[k].text);
		free(s->point.at[p].define);
	}
	vec_free(&s->point);
}
