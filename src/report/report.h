/* report: a program on one page of HTML: its source, the changes of each pass, layouts, steps, timelines,
 * memory, remarks and the result of the check.
 *
 *     struct report r;
 *     report_open(&r);
 *     options.after = report_after, options.after_to = &r;       … of struct pipeline_options
 *     options.remark = report_remark, options.remark_to = &r;
 *     … fill in the fields marked below, before and after compiling …
 *     report_put(&r, &out);
 *     report_close(&r);
 *
 * The page needs nothing but itself: no script, no file, no network. The same program makes the same bytes.
 */
#ifndef HIRC_REPORT_REPORT_H
#define HIRC_REPORT_REPORT_H
#include "check/check.h"
#include "report/report_rows.h"
#include "sim/timeline.h"

struct report_remark {
	const char *pass, *text;
	uint32_t at; /* of the source; DIAG_NOWHERE */
};

struct report_message { /* of errors found */
	bool error;
	const char *number; /* "E0601"; NULL: a note */
	const char *text;
	uint32_t line; /* of the source; 0: none */
};

struct report {
	struct arena *arena;

	/* by report_after and report_remark */
	struct buf text; /* the program after the last pass */
	bool read;       /* text is there */
	struct buf passes;
	VEC(const char *) same; /* passes that changed nothing */
	unsigned changed;       /* other passes */
	uint32_t rows;          /* of all of them, that are shown */
	VEC(struct report_remark) remark;

	/* filled in before the program is compiled; texts outlive the report */
	const char *title;         /* NULL: the program's name */
	const char *command;       /* that makes the page again, as a shell reads it */
	const char *program_words; /* ` OPTION… FILE`, after `hirc compile` or another command */
	const char *times_words;   /* ` OPTION…` of `hirc sim` and `hirc show` besides; "": none */
	const char *version;       /* of hirc */

	/* filled in then */
	struct module *m;           /* compiled */
	struct module *laid_out;    /* as its layouts are known first; NULL: m has them */
	struct timeline *predicted; /* NULL: it could not be simulated, `unpredicted` says why */
	const char *unpredicted;
	struct timeline *measured; /* NULL: not */
	const char *measured_by;
	bool checked; /* check_status and check_result are there */
	enum check_status check_status;
	struct check_result check_result;
	VEC(struct report_message) message; /* of the check */

	/* by report_put */
	bool has_source; /* the source is text */
	bool nvfuser;    /* of the nvFuser surface */
};

void report_open(struct report *r);
void report_close(struct report *r);
/* struct pipeline_options describes these. */
bool report_after(void *report, struct module *m, const char *pass);
void report_remark(void *report, const char *pass, uint32_t at, const char *text);
/* A sink of messages: they are kept (diag_set_sink). */
void report_message(void *report, const struct diag_message *message);
void report_put(struct report *r, struct buf *out);

#endif
