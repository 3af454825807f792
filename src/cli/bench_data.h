/* bench_data: makes the inputs of collectives, and their expected results.
 *
 * Element i of member r's input is an integer, periodic in i. It is so small that every reduction over all
 * members is exact in the element type. */
#ifndef HIRC_CLI_BENCH_DATA_H
#define HIRC_CLI_BENCH_DATA_H
#include "rt/convert.h"

enum { BENCH_REDUCED = -1 /* source: the reduction of all members' inputs */ };

struct bench_data {
	size_t size;    /* bytes of an element */
	int64_t period; /* elements */
	int members;
	char *table; /* one period for each member, then one of their reduction; owned */
};

void bench_data_make(enum dtype t, enum reduce_op op, int members, struct bench_data *out);
void bench_data_free(struct bench_data *d);

/* Fills `at` with n elements of member `source`'s input, from index `first` on. */
void bench_data_fill(const struct bench_data *d, int source, int64_t first, int64_t n, void *at);
/* Counts the elements among n that differ from the expected ones in any bit. */
int64_t bench_data_wrong(const struct bench_data *d, int source, int64_t first, int64_t n, const void *at);

#endif
