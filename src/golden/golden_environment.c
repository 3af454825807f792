/* golden_environment: see golden_environment.h. */
#include "golden/golden_environment.h"
#include "base/arena.h"
#include "base/vec.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const gone[] = {"HIRC_FLAGS=", "HIRC_DUMP=", "HIRC_DEBUG=", "PATH="};
static const char *const set[] = {
    "NO_COLOR=1",
    "LC_ALL=C.UTF-8",
    "OMPI_ALLOW_RUN_AS_ROOT=1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    "OMPI_MCA_rmaps_base_oversubscribe=1",
    "OMPI_MCA_mpi_yield_when_idle=1",
    "OMPI_MCA_btl_base_warn_component_unused=0",
    "OPENBLAS_NUM_THREADS=1",
};

static bool keeps(const char *entry)
{
	for (unsigned i = 0; i < sizeof gone / sizeof *gone; i++)
		if (!strncmp(entry, gone[i], strlen(gone[i])))
			return false;
	for (unsigned i = 0; i < sizeof set / sizeof *set; i++)
		if (!strncmp(entry, set[i], strcspn(set[i], "=") + 1))
			return false;
	return true;
}

char **golden_environment_make(void)
{
	VEC(char *) e = {0};
	const char *path = getenv("PATH");
	char *entry = mem_alloc(strlen(path ? path : "") + sizeof "PATH=");
	strcpy(entry, "PATH=");
	strcat(entry, path ? path : "");
	vec_push(&e, entry);
	for (char **at = environ; *at; at++)
		if (keeps(*at))
			vec_push(&e, mem_strdup(*at));
	for (unsigned i = 0; i < sizeof set / sizeof *set; i++)
		vec_push(&e, mem_strdup(set[i]));
	vec_push(&e, NULL);
	return e.at;
}

void golden_environment_free(char **e)
{
	for (char **at = e; at && *at; at++)
		free(*at);
	free(e);
}
