/* doctor: the abilities of this machine for ranks on its cores. Nothing is printed. */
#ifndef HIRC_RT_DOCTOR_H
#define HIRC_RT_DOCTOR_H
#include "base/finding.h"

/* Cores, memory, limits of both, and settings that make them slower. */
void rt_doctor_machine(struct findings *f);
/* BLAS and its kernels, oneDNN, MPI. */
void rt_doctor_libraries(struct findings *f);
/* Finds out if a launcher starts 2 ranks of `argv`, which ends with NULL and succeeds where they reach each
 * other; takes no longer than `seconds`. */
void rt_doctor_launcher(struct findings *f, char *const *argv, int seconds);

#endif
