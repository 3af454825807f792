/* environment: reads size and rank of this process from the environment, where a launcher sets them:
 *   OMPI_COMM_WORLD_SIZE  OMPI_COMM_WORLD_RANK   mpirun of Open MPI
 *                         PMIX_RANK              PMIx: mpirun, srun --mpi=pmix, flux run -o pmi=pmix
 *   PMI_SIZE              PMI_RANK               PMI: mpiexec of MPICH, srun --mpi=pmi2, flux run
 *   FLUX_JOB_SIZE         FLUX_TASK_RANK         flux run
 *   SLURM_NTASKS          SLURM_PROCID           srun
 * The first pair that is set counts. Launchers start each other in this order: mpirun's ranks also have the
 * variables that srun has set for mpirun's daemon. PMIX_SIZE is read if it is set. */
#ifndef HIRC_RT_ENVIRONMENT_H
#define HIRC_RT_ENVIRONMENT_H
#include "base/str.h"

/* Return size and rank; -1: not set, or no number. They may be called before and after rt_launch. */
int rt_env_size(void);
int rt_env_rank(void);
/* Returns true if a launcher has started this process as a rank. SLURM_NTASKS alone means a batch
 * script. */
bool rt_env_launched(void);
/* Returns false if the values are no size and rank, or contradict each other; out has the message, with
 * a way out. */
bool rt_env_check(struct buf *out);
/* The launcher's variables, saved before MPI starts, since MPI sets some of them itself. */
struct rt_env_said {
	int size, rank;                    /* see rt_env_size, rt_env_rank */
	const char *size_name, *rank_name; /* names of the variables; size_name may be NULL */
};
struct rt_env_said rt_env_read(void);
/* Returns false if MPI's size and rank differ from these; out has the message, with a way out. */
bool rt_env_agrees(const struct rt_env_said *said, int size, int rank, struct buf *out);

#endif
