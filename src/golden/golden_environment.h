/* golden_environment: the environment of the commands of tests. */
#ifndef HIRC_GOLDEN_GOLDEN_ENVIRONMENT_H
#define HIRC_GOLDEN_GOLDEN_ENVIRONMENT_H

/* Makes the environment of commands: that of this process without the variables that change output
 * (HIRC_FLAGS, HIRC_DUMP, HIRC_DEBUG), with NO_COLOR, LC_ALL=C.UTF-8, and the variables that let mpirun start
 * more ranks than there are cores. PATH is its first entry, NULL the last. Free it with
 * golden_environment_free. */
char **golden_environment_make(void);
void golden_environment_free(char **e);

#endif
