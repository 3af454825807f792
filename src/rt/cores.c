/* cores: finds the processors on which the threads of this process may run.
 *
 *     processors 0 1 2 3, of which /sys says that 0 and 2 are one core, 1 and 3 another:
 *     bound to 0 and 2, this process has two processors and one core */
#include "rt/cores.h"
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static bool bound_to(cpu_set_t *set)
{
	return sched_getaffinity(0, sizeof *set, set) == 0;
}

/* Returns the first processor on the same core as a processor. */
static int core_of(int processor)
{
	char path[96];
	int first = processor;
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", processor);
	FILE *f = fopen(path, "r");
	if (f && (fscanf(f, "%d", &first) != 1 || first < 0 || first >= CPU_SETSIZE))
		first = processor;
	if (f)
		fclose(f);
	return first;
}

void rt_cores_bound(cpu_set_t *out)
{
	if (!bound_to(out))
		CPU_ZERO(out);
}

bool rt_cores_suffice(const cpu_set_t *bound, int ranks, int own)
{
	int within = 0;
	for (int r = 0; r < ranks; r++) {
		cpu_set_t both;
		CPU_AND(&both, &bound[r], &bound[own]);
		within += CPU_COUNT(&bound[r]) > 0 && CPU_EQUAL(&both, &bound[r]);
	}
	return within > 0 && within <= CPU_COUNT(&bound[own]);
}

int rt_processors(void)
{
	cpu_set_t set;
	return bound_to(&set) ? CPU_COUNT(&set) : 1;
}

int rt_cores(void)
{
	cpu_set_t set, cores;
	CPU_ZERO(&cores);
	if (!bound_to(&set))
		return 1;
	for (int k = 0; k < CPU_SETSIZE; k++)
		if (CPU_ISSET(k, &set))
			CPU_SET(core_of(k), &cores);
	return CPU_COUNT(&cores);
}

void rt_cores_warn(const struct rt_job *job, int threads)
{
	if (job->rank == 0 && threads > 1 && rt_cores() == 1 &&
	    sysconf(_SC_NPROCESSORS_ONLN) > rt_processors())
		fprintf(stderr,
		        "hirc: warning: the %d threads of a rank share one core, to which it is bound "
		        "(`mpirun --bind-to none` binds none)\n",
		        threads);
}
