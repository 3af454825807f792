/* golden_report: prints results as text, TAP, JUnit or JSON. */
#ifndef HIRC_GOLDEN_GOLDEN_REPORT_H
#define HIRC_GOLDEN_GOLDEN_REPORT_H
#include "base/table.h"
#include "golden/golden_run.h"

struct golden_counts {
	uint32_t n[4]; /* by enum golden_outcome */
	int64_t ns;    /* of all tests together */
};

/* Puts `FAILED: path`, the reason, and the difference; with colours for a terminal. */
void golden_put_result(struct buf *out, const char *path, const struct golden_result *r, bool color);
/* Puts `ok 3 - path`, or `not ok` with the reason in a block of YAML. */
void golden_put_tap(struct buf *out, uint32_t number, const char *path, const struct golden_result *r);
/* Puts a <testcase>. */
void golden_put_junit_case(struct buf *out, const char *path, const struct golden_result *r);
/* Puts the file around the cases. */
void golden_put_junit(struct buf *out, const struct buf *cases, const struct golden_counts *c);
/* JSON: a table of tests; a row of it; the object around it. */
struct table golden_table_open(void);
void golden_add_row(struct table *t, const char *path, const struct golden_result *r);
void golden_put_json(struct buf *out, struct table *t, const struct golden_counts *c);
void golden_count(struct golden_counts *c, const struct golden_result *r);
/* Puts ctest's line: `98% tests passed, 1 tests failed out of 50`, counting only tests that ran. */
void golden_put_closing(struct buf *out, const struct golden_counts *c);

#endif
