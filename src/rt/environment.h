/* environment: size and rank of this process, as a launcher states them in the environment:
 *   OMPI_COMM_WORLD_SIZE  OMPI_COMM_WORLD_RANK   mpirun of Open MPI
 *                         PMIX_RANK              PMIx: mpirun, srun --mpi=pmix, flux run -o pmi=pmix
 *   PMI_SIZE              PMI_RANK               PMI: mpiexec of MPICH, srun --mpi=pmi2, flux run
 *   FLUX_JOB_SIZE         FLUX_TASK_RANK         flux run
 *   SLURM_NTASKS          SLURM_PROCID           srun
 * The first pair that is set counts: launchers start each other, in this order (mpirun's ranks have the
 * variables that srun set for mpirun's daemon). PMIX_SIZE is read where it is set. */
#ifndef HIRC_RT_ENVIRONMENT_H
#define HIRC_RT_ENVIRONMENT_H
#include "base/str.h"

/* Size and rank; -1: none was given, or it is no number. Before and after rt_launch. */
int rt_env_size(void);
int rt_env_rank(void);
/* A launcher has started this process as a rank. SLURM_NTASKS alone is a batch script, not a rank. */
bool rt_env_launched(void);
/* False if the values are no size and rank, or contradict each other; out then says so, with a way out. */
bool rt_env_check(struct buf *out);
/* The launcher's variables before MPI started, which sets some of them itself. */
struct rt_env_said {
	int size, rank;                    /* as of rt_env_size, rt_env_rank */
	const char *size_name, *rank_name; /* of the variables; size_name may be NULL */
};
struct rt_env_said rt_env_read(void);
/* False if MPI's size and rank are not those; out then says so, with a way out. */
bool rt_env_agrees(const struct rt_env_said *said, int size, int rank, struct buf *out);

#endif
