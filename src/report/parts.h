/* parts: the sections of a report, a file each. */
#ifndef HIRC_REPORT_PARTS_H
#define HIRC_REPORT_PARTS_H
#include "report/report.h"

enum {
	REPORT_MOST_LINES = 2000, /* of the source */
	REPORT_MOST_ROWS = 400,   /* of what a pass changed */
	REPORT_ALL_ROWS = 1600,   /* of what all changed */
	REPORT_MOST_PICTURES = 16,
	REPORT_PICTURE = 96 << 10, /* bytes that a picture may take */
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

/* Whether the source is text. */
bool report_has_source(const struct report *r);
/* The line of an offset as a link; nothing for one that is nowhere. */
void report_put_line(struct report *r, uint32_t line, struct buf *out);
uint32_t report_line_of(const struct report *r, uint32_t at); /* 0: none */
/* A finished picture, or the command that makes it where it is too large for a page. Frees it. */
void report_put_picture(struct buf *picture, const char *command, struct buf *out);
/* `hirc show FILE OPTION…`, for people to type. */
const char *report_show_command(const struct report *r, const char *options);

#endif
