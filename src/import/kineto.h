/* kineto: traces of PyTorch's profiler (Kineto), JSON with a list `traceEvents`.
 *
 *     {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10.5, "dur": 70, "args": {…}}
 *
 * Events with a duration become nodes, which the rest of an import treats as those of a Chakra trace: kernels and
 * copies of a device, or, if there are none, the outermost operations of the host's threads. A lane is a stream or a
 * thread. Nodes of a lane keep their order. */
#ifndef HIRC_IMPORT_KINETO_H
#define HIRC_IMPORT_KINETO_H
#include "import/chakra.h"

#define KINETO_NO_LANE UINT32_MAX

struct kineto_event {
	struct chakra_node node; /* without dependencies */
	int64_t begin, end;      /* ns */
	int64_t launch;          /* ns, when the host issued it; without a record, begin */
	uint32_t lane;
	bool communicates;
	int launches; /* an operation of the host that issues this collective or message, as chakra_kinds_of_name
	                 has it; -1: it issues none */
};

struct kineto_sync {          /* one stream waits for another */
	int64_t launch;       /* ns, when the host issued it */
	int64_t record;       /* ns, when it recorded the event that the stream waits for */
	uint32_t lane, other; /* the waiting lane, and the awaited one */
};

struct kineto {
	struct chakra *t;
	VEC(struct kineto_event) event;
	VEC(struct kineto_sync) sync;
	uint32_t lanes;
};

/* Returns true if a text may be such a trace. */
bool kineto_is(const char *text, size_t n);
/* Reads a trace. Reports errors to d; returns false after one. name: of the file. */
bool kineto_read(struct diag *d, const char *name, const char *text, size_t n, struct chakra *out);
/* kineto_order.c: makes nodes of the events, with their dependencies. */
void kineto_order(struct kineto *k);

#endif
