/* bootstrap: chooses how ranks are started, and what a launcher has said in the environment. */
#include "rt/bootstrap_shared.h"
#include <stdlib.h>
#include <string.h>

/* Size and rank variables of the launchers, the most specific first. */
static const struct {
	const char *size, *rank;
} launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMIX_SIZE", "PMIX_RANK"},
    {"PMI_SIZE", "PMI_RANK"},
    {"SLURM_NTASKS", "SLURM_PROCID"},
};

static int number(const char *name)
{
	const char *s = getenv(name);
	if (!s || !*s)
		return -1;
	char *end;
	long n = strtol(s, &end, 10);
	return *end == 0 && n >= 0 && n <= INT32_MAX ? (int)n : -1;
}

/* The launcher that started us, -1: none. SLURM_NTASKS alone is a batch script, not a task. */
static int launcher(void)
{
	for (int i = 0; i < (int)(sizeof launchers / sizeof *launchers); i++)
		if (number(launchers[i].rank) >= 0 && number(launchers[i].size) >= 0)
			return i;
	return -1;
}

int rt_env_size(void)
{
	int i = launcher();
	return i < 0 ? -1 : number(launchers[i].size);
}

int rt_env_rank(void)
{
	int i = launcher();
	return i < 0 ? -1 : number(launchers[i].rank);
}

enum rt_boot_kind rt_boot_choose(enum rt_boot_kind kind)
{
	if (kind != RT_BOOT_AUTO)
		return kind;
	return launcher() >= 0 || number("PMIX_RANK") >= 0 ? RT_BOOT_MPI : RT_BOOT_FORK;
}

bool rt_boot_parse(const char *name, enum rt_boot_kind *out)
{
	static const char *const names[] = {"auto", "fork", "thread", "mpi"};
	for (int i = 0; i < 4; i++)
		if (strcmp(name, names[i]) == 0) {
			*out = (enum rt_boot_kind)i;
			return true;
		}
	return false;
}

enum status rt_status_worse(enum status a, enum status b)
{
	static const enum status order[] = {STATUS_INTERNAL, STATUS_STUCK, STATUS_WRONG,
	                                    STATUS_ABSENT,   STATUS_USAGE, STATUS_DIAGNOSTICS};
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return a != STATUS_OK ? a : b;
}

enum status rt_launch(const struct rt_launch_options *options, int (*rank_main)(struct rt_job *, void *),
                      void *arg)
{
	struct rt_job none = {.rank = -1};
	struct rt_launch_options o = *options;
	o.kind = rt_boot_choose(o.kind);
	if (o.kind != RT_BOOT_MPI) {
		if (o.np <= 0)
			o.np = 1;
		if (o.np > RT_MAX_RANKS) {
			rt_job_error(&none, "%d ranks are more than the limit of %d", o.np, RT_MAX_RANKS);
			return STATUS_USAGE;
		}
	}
	switch (o.kind) {
	case RT_BOOT_FORK:
		return rt_launch_fork(&o, rank_main, arg);
	case RT_BOOT_THREAD:
		return rt_launch_thread(&o, rank_main, arg);
	default:
#ifdef HIRC_HAVE_MPI
		return rt_launch_mpi(&o, rank_main, arg);
#else
		rt_job_error(&none,
		             "this hirc was built without MPI, but %s; without a launcher, hirc starts "
		             "the ranks itself (--np)",
		             launcher() >= 0 ? "a launcher has started it" : "MPI was asked for");
		return STATUS_ABSENT;
#endif
	}
}
