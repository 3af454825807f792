/* diagnostics: the meaning of each numbered error and warning (diagnostics.def).
 *
 *     diagnostic_info[E_AXIS_UNKNOWN].number is "E0203" */
#ifndef HIRC_BASE_DIAGNOSTICS_H
#define HIRC_BASE_DIAGNOSTICS_H

enum diagnostic {
#define DIAGNOSTIC(number, name, title, text, command, example, was, fix) name,
#define DIAGNOSTIC_WITHOUT(number, name, title, text, reason, fix) name,
#include "base/diagnostics.def"
#undef DIAGNOSTIC
#undef DIAGNOSTIC_WITHOUT
	DIAGNOSTIC_COUNT
};

struct diagnostic_info {
	const char *number;  /* "E0203" */
	const char *name;    /* of the enum */
	const char *title;   /* a line */
	const char *text;    /* sentences */
	const char *reason;  /* why there is no example; NULL: there is one */
	const char *command; /* NULL without an example */
	const char *example; /* likewise; "" where the command needs no file */
	const char *was;     /* stands once in command or example; NULL: fix is a sentence */
	const char *fix;     /* instead of was, or a sentence */
};
extern const struct diagnostic_info diagnostic_info[DIAGNOSTIC_COUNT];

#endif
