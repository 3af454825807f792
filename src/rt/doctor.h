/* doctor: finds the abilities of this machine for ranks on its cores. Prints nothing. */
#ifndef HIRC_RT_DOCTOR_H
#define HIRC_RT_DOCTOR_H
#include "base/finding.h"

/* Examines cores, memory, their limits, and settings that make them slower. */
void rt_doctor_machine(struct findings *f);
/* Examines BLAS and its kernels, oneDNN, and MPI. */
void rt_doctor_libraries(struct findings *f);
/* Tests if a launcher can start 2 ranks of `argv`, which ends with NULL and succeeds if the ranks can
 * reach each other. Takes at most `seconds`. */
void rt_doctor_launcher(struct findings *f, char *const *argv, int seconds);

#endif
