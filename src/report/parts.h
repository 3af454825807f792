/* parts: the sections of a report, a file each. */
#ifndef HIRC_REPORT_PARTS_H
#define HIRC_REPORT_PARTS_H
#include "report/report.h"

enum {
	REPORT_MOST_LINES = 2000, /* of the source */
	REPORT_MOST_ROWS = 400,   /* of the changes of a pass */
	REPORT_ALL_ROWS = 1600,   /* of the changes of all passes */
	REPORT_MOST_PICTURES = 16,
	REPORT_PICTURE = 96 << 10,            /* bytes that a picture may take */
	REPORT_TIMELINE = 4 * REPORT_PICTURE, /* and one of a timeline, which is the point of the page */
	REPORT_MOST_REMARKS = 200,
	REPORT_MOST_HELD = 12,
};

void report_summary(struct report *r, struct buf *out);
void report_source(struct report *r, struct buf *out);
void report_passes(struct report *r, struct buf *out);
void report_result(struct report *r, struct buf *out);
void report_layouts(struct report *r, struct buf *out);
/* Nothing for a program without loops. */
void report_steps(struct report *r, struct buf *out);
void report_timelines(struct report *r, struct buf *out);
void report_memory(struct report *r, struct buf *out);
void report_remarks(struct report *r, struct buf *out);
void report_verdict(struct report *r, struct buf *out);

/* Finds r->has_source and r->nvfuser. */
void report_find_source(struct report *r);
/* The line of an offset as a link; nothing for one that is nowhere. */
void report_put_line(struct report *r, uint32_t line, struct buf *out);
uint32_t report_line_of(const struct report *r, uint32_t at); /* 0: none */
/* A finished picture, or the command that makes it where it takes more bytes than `most`. Frees it. */
void report_put_picture(struct buf *picture, size_t most, const char *command, struct buf *out);
/* `hirc NAME OPTION… FILE MORE`, for people to type: `compile`, `sim` or `show` of the program as it is here.
 * It lasts as long as the report. */
const char *report_command(const struct report *r, const char *name, const char *more);
/* The class of ranks that is exposed most; NULL: there is none. */
const struct timeline_class *report_most_exposed(const struct timeline *t);

#endif
