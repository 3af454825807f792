/* chakra_groups: see chakra_groups.h. */
#include "import/chakra_groups.h"
#include "ir/ir.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns the value of a key in an object [at, end); NULL: it does not have the key. */
static const char *value_of(const char *at, const char *end, const char *key)
{
	size_t n = strlen(key);
	for (; at + n + 2 < end; at++) {
		if (*at != '"' || strncmp(at + 1, key, n) || (at[n + 1] != '"' && at[n + 1] != '\\'))
			continue;
		const char *p = at + n + 1;
		while (p < end && strchr("\\\" \t:", *p))
			p++;
		return p;
	}
	return NULL;
}

/* Returns the text or number at p, up to its quote, comma or bracket. */
static const char *read_name(struct arena *a, const char *p, const char *end)
{
	size_t n = 0;
	while (p + n < end && !strchr("\\\",]}", p[n]))
		n++;
	return arena_strndup(a, p, n);
}

static bool read_number(const char **p, const char *end, int64_t most, int64_t *out)
{
	char *stop;
	errno = 0;
	long long v = strtoll(*p, &stop, 10);
	if (stop == *p || stop > end || errno || v < 0 || v > most)
		return false;
	*p = stop;
	*out = v;
	return true;
}

static bool read_ranks(struct chakra *t, const char *p, const char *end, struct chakra_group *g)
{
	bool *seen = mem_zalloc(IR_MAX_DEVICES), ok = true;
	g->member = t->members.n;
	for (p++; p < end && *p != ']' && ok;) {
		int64_t rank;
		while (p < end && strchr(", ", *p))
			p++;
		ok = read_number(&p, end, IR_MAX_DEVICES - 1, &rank) && !seen[rank];
		if (!ok)
			break;
		seen[rank] = true;
		vec_push(&t->members, rank);
	}
	free(seen);
	g->member_n = t->members.n - g->member;
	return ok;
}

static bool read_object(struct diag *d, struct chakra *t, const struct chakra_node *n, const char *from,
                        const char *to)
{
	static const char *const sizes[] = {"group_size", "pg_size"};
	const char *name = value_of(from, to, "pg_name"), *ranks = value_of(from, to, "ranks");
	struct chakra_group g = {.size = 0};
	if (!name)
		return true;
	g.name = read_name(t->arena, name, to);
	if (ranks && *ranks == '[' && !read_ranks(t, ranks, to, &g))
		return chakra_refuse(d, E_TRACE_GROUP, t, n, "inputs.values",
		                     "ranks of the group '%s' are no list of numbers, each once", g.name);
	for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		const char *size = value_of(from, to, sizes[k]);
		if (size && !g.size && !read_number(&size, to, IR_MAX_DEVICES, &g.size))
			return chakra_refuse(d, E_TRACE_GROUP, t, n, "inputs.values",
			                     "the size of the group '%s' is no number up to %d", g.name,
			                     IR_MAX_DEVICES);
	}
	if (g.member_n)
		g.size = g.member_n;
	if (g.size && !chakra_has_group(t, g.name))
		vec_push(&t->group, g);
	return true;
}

bool chakra_groups(struct diag *d, struct chakra *t, const struct chakra_node *n)
{
	for (const char *at = n->in.values; (at = strchr(at, '{'));) {
		const char *end = strchr(at, '}');
		if (!end)
			return chakra_refuse(d, E_TRACE_GROUP, t, n, "inputs.values",
			                     "the list of groups does not end");
		if (!read_object(d, t, n, at, end))
			return false;
		at = end;
	}
	return true;
}

const char *chakra_group_name(const struct chakra_node *n)
{
	return n->group ? n->group : "world";
}

bool chakra_group_add(struct diag *d, struct chakra *t, const char *text)
{
	const char *colon = strrchr(text, ':'), *number = colon ? colon + 1 : NULL;
	struct chakra_group g = {0};
	if (!colon || colon == text ||
	    !read_number(&number, number + strlen(number), IR_MAX_DEVICES, &g.size) || *number || !g.size) {
		diag_error(d, E_OPTION_VALUE, DIAG_NOWHERE,
		           "--group=%s: a group is NAME:N, with 1 to %d members", text, IR_MAX_DEVICES);
		return false;
	}
	g.name = arena_strndup(t->arena, text, (size_t)(colon - text));
	if (!chakra_has_group(t, g.name))
		vec_push(&t->group, g);
	return true;
}

/* Returns true if the size of a group is not needed: its collectives have times, and their results have the sizes of
 * the operands, or are in the trace. */
static bool needs_no_size(const struct chakra *t, const char *name)
{
	for (uint32_t k = 0; k < t->node.n; k++) {
		const struct chakra_node *n = &t->node.at[k];
		bool resizes = n->collective == 2 || n->collective == 3 || n->collective == 4 ||
		               n->collective == 7 || n->collective == 8; /* CHAKRA_COLLECTIVES */
		if (n->kind == CHAKRA_COMM_COLL && !strcmp(chakra_group_name(n), name) &&
		    (!n->time || (resizes && !n->out.values)))
			return false;
	}
	return true;
}

void chakra_groups_assume(struct diag *d, struct chakra *t)
{
	for (uint32_t k = 0; k < t->node.n; k++) {
		const struct chakra_node *n = &t->node.at[k];
		const char *name = chakra_group_name(n);
		if (!chakra_is_in_flight(n) || chakra_has_group(t, name))
			continue;
		if (!needs_no_size(t, name))
			return; /* chakra_build reports it */
		diag_warning(d, W_TRACE_PARTS, DIAG_NOWHERE,
		             "'%s': the size of the group '%s' is not in the trace, so it is taken as 2",
		             t->file, name);
		diag_note(d, DIAG_NOWHERE, "`hirc import --group=%s:N` states it", name);
		vec_push(&t->group, ((struct chakra_group){.name = name, .size = 2}));
	}
}
