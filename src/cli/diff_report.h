/* diff_report: the first difference of two programs, as `hirc diff` prints it. */
#ifndef HIRC_CLI_DIFF_REPORT_H
#define HIRC_CLI_DIFF_REPORT_H
#include "analysis/differ.h"
#include "base/color.h"
#include "ir/ir.h"

/* Prints to standard output. */
void diff_report(enum color_setting color, struct module *a, struct module *b, const struct difference *x);

#endif
