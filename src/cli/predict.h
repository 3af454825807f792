/* predict: simulates the time of a compiled program, for passes that try changes. */
#ifndef HIRC_CLI_PREDICT_H
#define HIRC_CLI_PREDICT_H
#include "pass/pipeline.h"

/* Predicts, with the default streams of `hirc run`. False after reporting statements without a time. */
bool predict(struct module *m, const struct cluster *c, struct diag *d, struct prediction *out);

#endif
