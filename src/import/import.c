/* import: see import.h. */
#include "import/import.h"
#include "base/source.h"
#include "import/chakra.h"
#include "import/chakra_build.h"
#include "import/chakra_groups.h"
#include "import/chakra_kinds.h"
#include "import/gunzip.h"
#include "import/import_build.h"
#include "import/import_graph.h"
#include "import/kineto.h"

bool import_knows_bytes(const char *data, size_t n)
{
	return chakra_is(data, n);
}

bool import_knows(const struct source *s)
{
	return graph_is(s) || chakra_is(s->text, s->size) || kineto_is(s->text, s->size);
}

/* Reads a trace of either format, compressed or not. */
static bool read_nodes(struct diag *d, const struct source *s, struct chakra *out)
{
	struct buf unpacked = {0};
	bool packed = gunzip_is(s->text, s->size);
	if (packed && !gunzip_source(d, s, &unpacked)) {
		buf_free(&unpacked);
		return false;
	}
	if (packed)
		buf_putc(&unpacked, '\0');
	const char *text = packed ? unpacked.at : s->text;
	size_t n = packed ? unpacked.n - 1 : s->size;
	bool ok = !packed || kineto_is(text, n) || chakra_is(text, n);
	if (!ok)
		diag_error(d, E_COMPRESSED, DIAG_NOWHERE,
		           "'%s' holds no execution trace when it is decompressed", s->name);
	else if (kineto_is(text, n))
		ok = kineto_read(d, s->name, text, n, out);
	else
		ok = chakra_read(d, s->name, text, n, out);
	buf_free(&unpacked);
	return ok;
}

static struct module *read_trace(struct diag *d, struct source *s, const char *const *group, uint32_t group_n)
{
	struct chakra t;
	struct module *m = NULL;
	if (!read_nodes(d, s, &t))
		return NULL;
	bool ok = true;
	for (uint32_t k = 0; k < group_n && ok; k++)
		ok = chakra_group_add(d, &t, group[k]);
	chakra_kinds_find(&t);
	if (ok)
		chakra_groups_assume(d, &t);
	if (ok && chakra_order(d, &t))
		m = chakra_build(d, &t);
	if (m)
		m->source = s;
	source_release(s, s->size);
	chakra_free(&t);
	return m;
}

struct module *import_read_groups(struct diag *d, struct source *s, const char *const *group,
                                  uint32_t group_n)
{
	struct graph g;
	if (!graph_is(s))
		return read_trace(d, s, group, group_n);
	if (group_n) {
		diag_error(d, E_OPTION_VALUE, DIAG_NOWHERE,
		           "--group is for execution traces: '%s' states its groups", s->name);
		return NULL;
	}
	if (!graph_read(d, s, &g))
		return NULL;
	struct module *m = graph_build(d, &g);
	graph_free(&g);
	source_release(s, s->size);
	return m;
}

struct module *import_read(struct diag *d, struct source *s)
{
	return import_read_groups(d, s, NULL, 0);
}
