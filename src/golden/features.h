/* features: the features that `# REQUIRES:` may name, and tests for them.
 *
 *     mpi blas cuda …    a word of the line `features:` of `hirc --version`; mpi also needs mpirun
 *     shared             %shared is a folder
 *     NAME               given by --feature=NAME, or by --feature=NAME=COMMAND if the command exits with 0
 *     !NAME              the feature is not available */
#ifndef HIRC_GOLDEN_FEATURES_H
#define HIRC_GOLDEN_FEATURES_H
#include "base/str.h"
#include "base/vec.h"
#include "golden/test.h"
#include <stdbool.h>

struct golden_feature {
	const char *name; /* a text of n bytes */
	size_t n;
	const char *command; /* NULL: it is available */
	signed char there;   /* it is available; -1: not known yet */
};

struct golden_features {
	VEC(struct golden_feature) stated;
	struct buf built;   /* the features of hirc, with a blank before and after each; empty: not read
	                       yet */
	const char *hirc;   /* the program */
	char **environment; /* for commands; not owned */
};

/* Adds `NAME` or `NAME=COMMAND`; the text must outlive f. */
void golden_feature_state(struct golden_features *f, const char *text);
/* Returns true if a test's REQUIRES are met; otherwise puts the reason into `why`, one line. shared: the
 * folder of %shared. */
bool golden_features_met(struct golden_features *f, const struct golden_test *t, const char *shared,
                         struct buf *why);
void golden_features_free(struct golden_features *f);

#endif
