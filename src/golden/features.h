/* features: the features that `# REQUIRES:` may name, and tests for them.
 *
 *     mpi blas cuda …    a word of the line `features:` of `hirc --version`; mpi: and mpirun is found
 *     shared             the folder of %shared
 *     NAME               stated by --feature=NAME, or by NAME=COMMAND if the command ends with 0
 *     !NAME              the contrary of each */
#ifndef HIRC_GOLDEN_FEATURES_H
#define HIRC_GOLDEN_FEATURES_H
#include "base/str.h"
#include "base/vec.h"
#include "golden/test.h"
#include <stdbool.h>

struct golden_feature {
	const char *name; /* n bytes */
	size_t n;
	const char *command; /* NULL: it is there */
	signed char there;   /* -1: not known yet */
};

struct golden_features {
	VEC(struct golden_feature) stated;
	struct buf built;   /* the features of hirc, a blank before and after each; empty: not asked yet */
	const char *hirc;   /* the program */
	char **environment; /* of commands; not owned */
};

/* `NAME` or `NAME=COMMAND`, which must outlive f. */
void golden_feature_state(struct golden_features *f, const char *text);
/* Returns true if a test's REQUIRES are met; else the reason is put into `why`, one line. shared: the
 * folder. */
bool golden_features_met(struct golden_features *f, const struct golden_test *t, const char *shared,
                         struct buf *why);
void golden_features_free(struct golden_features *f);

#endif
