/* parts: the sections of a report, one file each. */
#ifndef HIRC_REPORT_PARTS_H
#define HIRC_REPORT_PARTS_H
#include "report/report.h"

enum {
	REPORT_MOST_LINES = 2000, /* lines of the source, of all files together */
	REPORT_MOST_ROWS = 400,   /* lines of the changes of one pass */
	REPORT_ALL_ROWS = 1600,   /* lines of the changes of all passes */
	REPORT_MOST_PICTURES = 16,
	REPORT_PICTURE = 96 << 10,            /* bytes of a picture */
	REPORT_TIMELINE = 4 * REPORT_PICTURE, /* bytes of a timeline, which is the point of the page */
	REPORT_MOST_REMARKS = 200,
	REPORT_MOST_HELD = 12,
};

void report_summary(struct report *r, struct buf *out);
void report_source(struct report *r, struct buf *out);
void report_passes(struct report *r, struct buf *out);
void report_result(struct report *r, struct buf *out);
void report_layouts(struct report *r, struct buf *out);
/* Puts nothing for a program without loops. */
void report_steps(struct report *r, struct buf *out);
void report_timelines(struct report *r, struct buf *out);
void report_memory(struct report *r, struct buf *out);
void report_remarks(struct report *r, struct buf *out);
void report_verdict(struct report *r, struct buf *out);

/* Returns the number of passes that changed the program. */
uint32_t report_passes_that_changed(const struct report *r);
/* Sets r->has_source and r->part. */
void report_find_source(struct report *r);
/* Puts the line of an offset as a link; of several files also the file. Puts nothing for DIAG_NOWHERE. */
void report_put_line(struct report *r, uint32_t at, struct buf *out);
/* Puts a finished picture, or, if it has more than `most` bytes, the command that makes it. Frees the
 * picture. */
void report_put_picture(struct buf *picture, size_t most, const char *command, struct buf *out);
/* Returns `hirc NAME OPTION… FILE MORE`, a command for the reader to type: `compile`, `sim` or `show` of this
 * program. Valid as long as the report. */
const char *report_command(const struct report *r, const char *name, const char *more);
/* Returns the class of ranks with the most exposed communication; NULL: there is none. */
const struct timeline_class *report_most_exposed(const struct timeline *t);

#endif
