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
 * The page needs no script, no other file and no network. The same program gives the same bytes. */
#ifndef HIRC_REPORT_REPORT_H
#define HIRC_REPORT_REPORT_H
#include "check/check.h"
#include "report/report_rows.h"
#include "sim/timeline.h"

struct report_remark {
	const char *pass, *text;
	uint32_t at; /* offset in the source; DIAG_NOWHERE */
};

struct report_message { /* a message about an error, or a note on it */
	bool error;
	const char *number; /* "E0601"; NULL: a note */
	const char *text;
	uint32_t at; /* offset in the source; DIAG_NOWHERE */
};

struct report_pass {
	const char *name;
	bool changed; /* it changed the program, or one of its files */
};

struct report_part { /* a file of the source */
	const char *name;
	uint32_t at, end; /* offsets of its text */
	uint32_t rows;    /* lines of the files before it */
	bool nvfuser;     /* it has the nvFuser surface */
};

struct report {
	struct arena *arena;

	/* set by report_after and report_remark */
	struct buf text;   /* the program after the last pass */
	const char *file;  /* the file that the passes run on; NULL: on the whole program */
	struct buf passes; /* the changes */
	VEC(struct report_pass) pass;
	uint32_t passed; /* number of passes that have run on text */
	uint32_t rows;   /* number of changed lines shown so far, of all passes */
	VEC(struct report_remark) remark;

	/* set by the caller before the program is compiled; the texts must outlive the report */
	const char *title;         /* NULL: the program's name */
	const char *command;       /* the command that makes the page again, quoted for a shell */
	const char *program_words; /* ` OPTION… FILE`, after `hirc compile` or another command */
	const char *times_words;   /* ` OPTION…` that `hirc sim` and `hirc show` need besides; "": none */
	const char *version;       /* version of hirc */

	/* set by the caller after the program is compiled */
	struct module *m;           /* the compiled program */
	struct module *laid_out;    /* the program when its layouts are first known; NULL: use m */
	struct timeline *predicted; /* NULL: it could not be simulated; `unpredicted` says why */
	const char *unpredicted;
	struct timeline *measured; /* NULL: there is no trace */
	const char *measured_by;
	bool checked; /* check_status and check_result are set */
	enum check_status check_status;
	struct check_result check_result;
	VEC(struct report_message) message; /* messages of the check */

	/* set by report_put */
	bool has_source;          /* the source is text */
	struct report_part *part; /* of the source: its files, or the whole of it */
	uint32_t part_n;
};

void report_open(struct report *r);
void report_close(struct report *r);
/* Callbacks for struct pipeline_options, which describes them. Without a pass, a program or one of its files begins. */
bool report_after(void *report, struct module *m, const char *pass);
void report_remark(void *report, const char *pass, uint32_t at, const char *text);
/* A sink for diag_set_sink: keeps a message. */
void report_message(void *report, const struct diag_message *message);
void report_put(struct report *r, struct buf *out);

#endif
