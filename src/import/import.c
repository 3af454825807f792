/* import: see import.h. */
#include "import/import.h"
#include "import/chakra.h"
#include "import/chakra_build.h"
#include "import/chakra_groups.h"
#include "import/chakra_kinds.h"
#include "import/import_build.h"
#include "import/import_graph.h"

bool import_knows_bytes(const char *data, size_t n)
{
	return chakra_is(data, n);
}

bool import_knows(const struct source *s)
{
	return graph_is(s) || chakra_is(s->text, s->size);
}

static struct module *read_trace(struct diag *d, struct source *s, const char *const *group, uint32_t group_n)
{
	struct chakra t;
	struct module *m = NULL;
	if (!chakra_read(d, s, &t))
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
	return m;
}

struct module *import_read(struct diag *d, struct source *s)
{
	return import_read_groups(d, s, NULL, 0);
}
