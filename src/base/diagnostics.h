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
	const char *files; /* a.hir; further files begin with a line `==> NAME <==`; "": no file is needed */
	const char *fix;   /* the lines that change, behind `- `, `+ ` or two blanks; or a sentence */
};

struct diagnostic_info {
	const char *number;                       /* "E0203" */
	const char *name;                         /* of the enum */
	const char *title;                        /* a line */
	const char *text;                         /* sentences */
	const struct diagnostic_example *example; /* NULL: there is none, and the next two are there */
	const char *reason;                       /* why there is no example */
	const char *fix;                          /* a sentence */
};
extern const struct diagnostic_info diagnostic_info[DIAGNOSTIC_COUNT];

#endif
