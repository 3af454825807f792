/* chakra_cycles: see chakra_cycles.h.
 *
 * A dependency is in a cycle if both its nodes are in one strongly connected component. Tarjan's algorithm finds
 * the components, here without recursion since a trace may be one long chain. */
#include "import/chakra_cycles.h"
#include <inttypes.h>

struct search {
	const struct chakra *t;
	uint32_t *number;    /* by node: from 1, in the order of the visits; 0: not visited */
	uint32_t *low;       /* by node: the least number that its part of the search reaches */
	uint32_t *component; /* by node: from 1; 0: not finished */
	uint32_t *next;      /* by node: the next of its dependencies to follow */
	uint32_t *path, path_n;
	uint32_t *open, open_n; /* visited nodes without a component */
	uint32_t numbers, components;
};

static void enter_node(struct search *s, uint32_t k)
{
	s->number[k] = s->low[k] = ++s->numbers;
	s->path[s->path_n++] = k;
	s->open[s->open_n++] = k;
}

/* Ends the visit of the last node of the path. */
static void leave_node(struct search *s)
{
	uint32_t k = s->path[--s->path_n], member;
	if (s->low[k] == s->number[k]) {
		s->components++;
		do {
			member = s->open[--s->open_n];
			s->component[member] = s->components;
		} while (member != k);
	}
	if (s->path_n) {
		uint32_t user = s->path[s->path_n - 1];
		if (s->low[k] < s->low[user])
			s->low[user] = s->low[k];
	}
}

static void visit(struct search *s, uint32_t first)
{
	enter_node(s, first);
	while (s->path_n) {
		uint32_t k = s->path[s->path_n - 1];
		const struct chakra_node *n = &s->t->node.at[k];
		if (s->next[k] == n->dep_n) {
			leave_node(s);
			continue;
		}
		uint64_t needed = s->t->deps.at[n->dep + s->next[k]++];
		if (needed == CHAKRA_NO_NODE)
			continue;
		if (!s->number[needed])
			enter_node(s, (uint32_t)needed);
		else if (!s->component[needed] && s->number[needed] < s->low[k])
			s->low[k] = s->number[needed];
	}
}

static void warn_dropped(struct diag *d, const struct chakra *t, uint32_t unknown, uint32_t cyclic)
{
	if (unknown && cyclic)
		diag_warning(d, W_TRACE_PARTS, DIAG_NOWHERE,
		             "'%s': dropped %" PRIu32 " control dependencies: %" PRIu32
		             " on nodes that are not in the trace, %" PRIu32 " in cycles",
		             t->file, unknown + cyclic, unknown, cyclic);
	else if (unknown || cyclic)
		diag_warning(d, W_TRACE_PARTS, DIAG_NOWHERE,
		             "'%s': dropped %" PRIu32 " control dependenc%s %s", t->file, unknown + cyclic,
		             unknown + cyclic == 1 ? "y" : "ies",
		             unknown ? "on nodes that are not in the trace" : "in cycles");
}

void chakra_cycles_drop(struct diag *d, struct chakra *t)
{
	struct arena *a = arena_new();
	uint32_t n = t->node.n, unknown = 0, cyclic = 0;
	struct search s = {.t = t,
	                   .number = arena_new_array(a, uint32_t, n),
	                   .low = arena_new_array(a, uint32_t, n),
	                   .component = arena_new_array(a, uint32_t, n),
	                   .next = arena_new_array(a, uint32_t, n),
	                   .path = arena_new_array(a, uint32_t, n),
	                   .open = arena_new_array(a, uint32_t, n)};
	for (uint32_t k = 0; k < n; k++)
		if (!s.number[k])
			visit(&s, k);
	for (uint32_t k = 0; k < n; k++) {
		struct chakra_node *x = &t->node.at[k];
		uint32_t kept = x->data_n;
		for (uint32_t i = x->data_n; i < x->dep_n; i++) {
			uint64_t needed = t->deps.at[x->dep + i];
			if (needed == CHAKRA_NO_NODE)
				unknown++;
			else if (s.component[needed] == s.component[k])
				cyclic++;
			else
				t->deps.at[x->dep + kept++] = needed;
		}
		x->dep_n = kept;
	}
	arena_free(a);
	warn_dropped(d, t, unknown, cyclic);
}
