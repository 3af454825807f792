/* bench_collective: the kinds of collectives, teams, and the start of the ranks. */
#include "cli/bench_collective.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Returns true if a name is the key without regard to `_`, or the name of its program in nccl-tests: all_reduce_perf. */
static bool same_name(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += *a == '_';
		b += *b == '_';
		if (*a != *b)
			return !*b && !strcmp(a, "perf");
		if (!*a)
			return true;
	}
}

bool bench_collective_find(const char *name, enum collective *out)
{
	for (enum collective k = 0; k < COLLECTIVE_COUNT; k++)
		if (same_name(name, collective_key(k))) {
			*out = k;
			return true;
		}
	return false;
}

bool bench_collective_in_place(enum collective k)
{
	return k == COLLECTIVE_ALLREDUCE || k == COLLECTIVE_ALLGATHER || k == COLLECTIVE_REDUCE_SCATTER ||
	       k == COLLECTIVE_BROADCAST;
}

bool bench_teams_parse(const char *text, struct bench_collectives *out)
{
	while (isspace((unsigned char)*text))
		text++;
	while (*text == '(') {
		struct bench_team team = {0};
		char *end;
		for (text++; *text && *text != ')'; text = end) {
			long rank = strtol(text, &end, 10);
			if (end == text || rank < 0 || rank >= RT_MAX_RANKS)
				break;
			vec_push(&team.rank, (int)rank);
			while (isspace((unsigned char)*end) || *end == ',')
				end++;
		}
		vec_push(&out->team, team);
		if (*text != ')' || !team.rank.n)
			return false;
		for (text++; isspace((unsigned char)*text);)
			text++;
	}
	return !*text && out->team.n;
}

void bench_collectives_free(struct bench_collectives *c)
{
	for (uint32_t k = 0; k < c->team.n; k++)
		vec_free(&c->team.at[k].rank);
	vec_free(&c->team);
}

enum status bench_collectives(struct bench_collectives *c)
{
	struct bench *b = c->b;
	int64_t np = b->compile.np > 0 ? b->compile.np : 2;
	if (np > RT_SHM_MAX_RANKS) {
		fprintf(stderr,
		        "hirc bench: error: %lld ranks are more than can be started here (limit %d)\n",
		        (long long)np, RT_SHM_MAX_RANKS);
		return STATUS_USAGE;
	}
	b->launch.np = b->launch.kind == RT_BOOT_MPI ? 0 : (int)np;
	return bench_transports_beside(c);
}
