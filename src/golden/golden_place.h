/* golden_place: the folder in which a test runs, and the names that its commands can use.
 *
 *     bin/hirc     the program under test, first in PATH
 *     work/        where commands run
 *     NAME         %b: the program without directives, in a file named as the test
 *     temporary    %t: a path that does not exist */
#ifndef HIRC_GOLDEN_GOLDEN_PLACE_H
#define HIRC_GOLDEN_GOLDEN_PLACE_H
#include "golden/golden_output.h"
#include "golden/test.h"

struct golden_place {
	char *folder, *test, *beside; /* absolute: the folder, the test's file, and the folder of that file */
	char *root, *shared;          /* %root, %shared */
	struct buf work;              /* where commands run */
	struct buf path;              /* entry of the environment: PATH=… */
};

/* Sets the names. %root is `root`; if that is NULL, the nearest folder above the test with a .git, otherwise
 * the test's own folder. %shared is $HIRC_SHARED, or `shared` beside the root. Returns false with the reason
 * in errno. */
bool golden_place_name(struct golden_place *p, const char *test, const char *root);
/* Makes the folder. Returns false after reporting. */
bool golden_place_make(struct golden_place *p, struct diag *d, const struct golden_test *t, const char *hirc);
/* Puts a command with its names replaced. */
void golden_place_put_command(const struct golden_place *p, struct golden_line command, struct buf *out);
/* Puts output with the names of folders replaced. */
void golden_place_put_output(const struct golden_place *p, const struct buf *text, struct buf *out);
/* Removes the folder with its contents. */
void golden_place_free(struct golden_place *p);

#endif
