/* import: see import.h. */
#include "import/import.h"
#include "import/build.h"
#include "import/graph.h"

bool import_knows(const struct source *s)
{
	return graph_is(s);
}

struct module *import_read(struct diag *d, struct source *s)
{
	struct graph g;
	if (!graph_read(d, s, &g))
		return NULL;
	struct module *m = graph_build(d, &g);
	graph_free(&g);
	return m;
}
