/* bootstrap: chooses a bootstrap and starts the ranks. */
#include "rt/bootstrap_shared.h"
#include "rt/environment.h"
#include <string.h>

enum rt_boot_kind rt_boot_choose(enum rt_boot_kind kind)
{
	if (kind != RT_BOOT_AUTO)
		return kind;
	return rt_env_launched() ? RT_BOOT_MPI : RT_BOOT_FORK;
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
	} else {
		struct buf text = {0};
		bool sound = rt_env_check(&text);
		if (!sound)
			rt_job_error(&none, "%s", text.at);
		buf_free(&text);
		if (!sound)
			return STATUS_USAGE;
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
		             rt_env_launched() ? "a launcher has started it" : "MPI was asked for");
		return STATUS_ABSENT;
#endif
	}
}
