/* environment: see environment.h. */
#include "rt/environment.h"
#include <stdint.h>
#include <stdlib.h>

static const struct launcher {
	const char *size, *rank;
} launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMIX_SIZE", "PMIX_RANK"},
    {"PMI_SIZE", "PMI_RANK"},
    {"FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
    {"SLURM_NTASKS", "SLURM_PROCID"},
};

static bool is_set(const char *name)
{
	const char *s = getenv(name);
	return s && *s;
}

static int read_environment_number(const char *name)
{
	if (!is_set(name))
		return -1;
	const char *s = getenv(name);
	char *end;
	long n = strtol(s, &end, 10);
	return *end == 0 && n >= 0 && n <= INT32_MAX ? (int)n : -1;
}

/* Returns the launcher that started us; NULL if none has set both numbers. */
static const struct launcher *launcher(void)
{
	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
		if (is_set(launchers[i].rank) && is_set(launchers[i].size))
			return &launchers[i];
	return NULL;
}

int rt_env_size(void)
{
	const struct launcher *l = launcher();
	return l ? read_environment_number(l->size) : -1;
}

int rt_env_rank(void)
{
	const struct launcher *l = launcher();
	return read_environment_number(l ? l->rank : "PMIX_RANK");
}

bool rt_env_launched(void)
{
	return launcher() || is_set("PMIX_RANK");
}

bool rt_env_check(struct buf *out)
{
	static const struct launcher rank_alone = {.rank = "PMIX_RANK"};
	const struct launcher *l = launcher() ? launcher() : &rank_alone;
	const char *names[] = {l->rank, l->size, "PMIX_RANK"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i] && is_set(names[i]) && read_environment_number(names[i]) < 0) {
			buf_printf(
			    out,
			    "%s=%s in the environment is no number: a launcher sets it; unset it if none "
			    "has started hirc",
			    names[i], getenv(names[i]));
			return false;
		}
	if (l->size && read_environment_number(l->rank) >= read_environment_number(l->size)) {
		buf_printf(
		    out,
		    "the environment has %s=%d and %s=%d: ranks count from 0 to the size less 1; unset "
		    "both if no launcher has started hirc",
		    l->rank, read_environment_number(l->rank), l->size, read_environment_number(l->size));
		return false;
	}
	if (is_set("PMIX_RANK") && read_environment_number("PMIX_RANK") != read_environment_number(l->rank)) {
		buf_printf(out,
		           "the environment speaks of two ranks, %s=%d and PMIX_RANK=%d: one of them is of "
		           "another job; unset it before this one is launched",
		           l->rank, read_environment_number(l->rank), read_environment_number("PMIX_RANK"));
		return false;
	}
	return true;
}

struct rt_env_said rt_env_read(void)
{
	const struct launcher *l = launcher();
	return (struct rt_env_said){.size = rt_env_size(),
	                            .rank = rt_env_rank(),
	                            .size_name = l ? l->size : NULL,
	                            .rank_name = l ? l->rank : "PMIX_RANK"};
}

bool rt_env_agrees(const struct rt_env_said *said, int size, int rank, struct buf *out)
{
	if ((said->rank < 0 || said->rank == rank) && (said->size < 0 || said->size == size))
		return true;
	if (size == 1 && said->size > 1)
		buf_printf(
		    out,
		    "the launcher has started %d ranks (%s), but MPI knows of this one alone: their launcher "
		    "is not of the MPI that hirc was built with, or does not support it; "
		    "take its mpirun, `srun --mpi=pmix` or `flux run -o pmi=pmix`; for a single process in "
		    "a shell that a launcher has started, --bootstrap=fork",
		    said->size, said->size_name);
	else if (said->size < 0)
		buf_printf(
		    out,
		    "the environment says rank %d (PMIX_RANK), but MPI rank %d of %d: the variable is of "
		    "another job, or the launcher does not support this MPI",
		    said->rank, rank, size);
	else
		buf_printf(
		    out,
		    "the environment says rank %d of %d (%s, %s), but MPI rank %d of %d: the variables "
		    "are of another job; unset them before this one is launched",
		    said->rank, said->size, said->rank_name, said->size_name, rank, size);
	return false;
}
