/* stream_order: finds the stream of each statement, and the work that is over when a later statement
 * begins. */
#ifndef HIRC_PASS_STREAM_ORDER_H
#define HIRC_PASS_STREAM_ORDER_H
#include "ir/ir.h"

struct stream_order {
	struct module *m;
	uint32_t n;       /* number of statements when it was made; later ones set no streams */
	bool one;         /* the program sets no stream */
	uint32_t *stream; /* by op_id: the current stream when it runs */
	uint32_t *end;    /* by region_id: the current stream at its end */
	uint32_t *handle; /* by handle_id */
	bool *sets;       /* by region_id: it or an inner block sets a stream */
};

void stream_order_find(struct module *m, struct stream_order *out);
void stream_order_free(struct stream_order *s);

/* Returns true if a statement right after `at` on the current stream follows all work of `use`, on any
 * stream. `at` is in block r. `use` is `at`, or comes before it in r or in an inner block. */
bool stream_order_follows(struct stream_order *s, region_id r, op_id use, op_id at);

#endif
