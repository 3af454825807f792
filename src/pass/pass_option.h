/* pass_option: the options of passes (pass_options.def): their rows, defaults and values.
 *
 *     pass_option_set(d, PASS_ALLOCATE, "hoist=1", 7, option) sets option[PASS_ALLOCATE_HOIST] */
#ifndef HIRC_PASS_PASS_OPTION_H
#define HIRC_PASS_PASS_OPTION_H
#include "base/str.h"
#include "pass/pass.h"

struct pass_option_info {
	enum pass_id pass;
	const char *name;
	const char *const *words; /* the values, with NULL at the end; NULL: a number */
	int64_t first, most;      /* the default and the largest number; 0 with words */
	const char *help;         /* one line */
};
extern const struct pass_option_info pass_option_info[PASS_OPTION_COUNT];

/* Sets the options of a pass to their defaults. */
void pass_option_defaults(enum pass_id pass, int64_t *option);
/* Sets one option of a pass from a text of n bytes, `hoist=1`. Reports; false then. */
bool pass_option_set(struct diag *d, enum pass_id pass, const char *text, size_t n, int64_t *option);
/* Appends the values of an option: `yes|no`, `0|1`, or `32`, the default of a number. */
void pass_option_put_values(enum pass_option option, struct buf *out);
/* Appends the meaning of an option and its largest number. */
void pass_option_put_help(enum pass_option option, struct buf *out);

#endif
