/* golden_place: the folder that a test runs in, and the names that its commands are given.
 *
 *     bin/hirc     the program under test, first in PATH
 *     work/        where commands run
 *     NAME         %b: the program alone, under the name of the test
 *     temporary    %t: not made */
#ifndef HIRC_GOLDEN_GOLDEN_PLACE_H
#define HIRC_GOLDEN_GOLDEN_PLACE_H
#include "golden/golden_output.h"
#include "golden/test.h"

struct golden_place {
	char *folder, *test, *beside; /* absolute: itself, the test's file, and the folder of that */
	char *root, *shared;          /* %root, %shared */
	struct buf work;              /* where commands run */
	struct buf path;              /* PATH=…, the environment's entry */
};

/* %root is `root`, or if NULL the nearest folder above the test that has a .git, else the test's own; %shared
 * is $HIRC_SHARED, or `shared` beside the root. False: errno says why. */
bool golden_place_name(struct golden_place *p, const char *test, const char *root);
/* Makes the folder; false after reporting. */
bool golden_place_make(struct golden_place *p, struct diag *d, const struct golden_test *t, const char *hirc);
/* The command with its names. */
void golden_place_put_command(const struct golden_place *p, struct golden_line command, struct buf *out);
/* Output without the names of folders. */
void golden_place_put_output(const struct golden_place *p, const struct buf *text, struct buf *out);
/* Removes the folder and all in it. */
void golden_place_free(struct golden_place *p);

#endif
