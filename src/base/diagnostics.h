/* diagnostics: the meaning of each numbered error and warning (diagnostics.def).
 *
 *     diagnostic_info[E_AXIS_UNKNOWN].number is "E0203" */
#ifndef HIRC_BASE_DIAGNOSTICS_H
#define HIRC_BASE_DIAGNOSTICS_H

enum diagnostic {
#define DIAGNOSTIC(number, name, title, text) name,
#define DIAGNOSTIC_WITHOUT(number, name, title, text, reason, fix) name,
#include "base/diagnostics.def"
#undef DIAGNOSTIC
#undef DIAGNOSTIC_WITHOUT
	DIAGNOSTIC_COUNT
};

/* A test of tests/diag. */
struct diagnostic_example {
	const char *command;
	const char
	    *files;      /* text of a.hir; each further file begins with a line `==> NAME <==`; "": no file */
	const char *fix; /* changed lines, each after `- `, `+ ` or two blanks; or a sentence */
};

struct diagnostic_info {
	const char *number;                       /* "E0203" */
	const char *name;                         /* in the enum: E_AXIS_UNKNOWN */
	const char *title;                        /* one line */
	const char *text;                         /* sentences */
	const struct diagnostic_example *example; /* NULL: there is none, and the next two fields are set */
	const char *reason;                       /* why there is no example */
	const char *fix;                          /* one sentence */
};
extern const struct diagnostic_info diagnostic_info[DIAGNOSTIC_COUNT];

#endif
