/* predict: the time of a compiled program, by the simulator, for passes that try changes. */
#ifndef HIRC_CLI_PREDICT_H
#define HIRC_CLI_PREDICT_H
#include "pass/pipeline.h"

/* On as many streams as `hirc run` has by default. False after reporting statements without a time. */
bool predict(struct module *m, const struct cluster *c, struct diag *d, struct prediction *out);

#endif
