/* chakra: the nodes of a Chakra execution trace (see chakra.proto), with the fields that an import needs.
 *
 * A number that is 0 counts as absent, since the format does not distinguish the two. */
#ifndef HIRC_IMPORT_CHAKRA_H
#define HIRC_IMPORT_CHAKRA_H
#include "base/arena.h"
#include "base/chakra_types.h"
#include "base/diag.h"
#include "base/vec.h"

struct chakra_values { /* lists as Python prints them; NULL: absent */
	const char *values, *shapes, *types;
};

struct chakra_node {
	uint64_t id;
	size_t at;             /* offset of its message in the file; 0: it is none of a message */
	const char *name;      /* without characters that a name must not have */
	enum chakra_kind kind; /* not CHAKRA_INVALID */
	int64_t time;          /* ns, from duration_ns, else duration_micros; 0: not recorded */
	uint32_t dep, dep_n;   /* its dependences, in `deps`; positions once the trace is in order */
	uint32_t data_n;       /* number of data_deps, which come first */
	int collective;        /* comm_type; -1: absent */
	int64_t comm_size;     /* bytes; this and the fields below: -1: absent */
	int64_t tensor_size;   /* bytes */
	int64_t operations;    /* num_ops */
	int64_t from, to, tag; /* comm_src, comm_dst, comm_tag */
	int on_host;           /* is_cpu_op */
	const char *group;     /* pg_name; otherwise involved_dim, as dims_101; NULL: absent */
	const char *schema;    /* op_schema; NULL: absent */
	struct chakra_values in, out;
};

/* Returns true if a node communicates while later work runs: a collective, or a message of a group. */
static inline bool chakra_is_in_flight(const struct chakra_node *n)
{
	bool message = n->kind == CHAKRA_COMM_SEND || n->kind == CHAKRA_COMM_RECV;
	return n->kind == CHAKRA_COMM_COLL || (message && n->group);
}

struct chakra_group {
	const char *name;
	int64_t size;
	uint32_t member, member_n; /* in `members`; 0 of them: not listed */
};

struct chakra {
	const char *file; /* name of the file, for messages */
	struct arena *arena;
	bool contended;  /* its times contain the contention of communication and work */
	bool on_devices; /* some nodes compute on a device; those of the host then take no time */
	VEC(struct chakra_node) node; /* in file order; after chakra_order, each after those it needs */
	VEC(uint64_t) deps;
	VEC(struct chakra_group) group;
	VEC(int64_t) members;
};

/* Returns true if bytes may begin a trace, compressed or not. Returns false for text. */
bool chakra_is(const char *data, size_t n);
/* Reads a trace that is not compressed. Reports errors to d with offset, node and field; returns false after one.
 * name: of the file. */
bool chakra_read(struct diag *d, const char *name, const char *data, size_t n, struct chakra *out);
/* Orders the nodes so that each comes after those that it needs, by id where there is a choice. Turns deps
 * into positions. */
bool chakra_order(struct diag *d, struct chakra *t);
void chakra_free(struct chakra *t);

/* Reports `'f.et', byte 12, node 3 (mm): field: message`; returns false. */
bool chakra_refuse(struct diag *d, enum diagnostic code, const struct chakra *t, const struct chakra_node *n,
                   const char *field, const char *format, ...) __attribute__((format(printf, 6, 7)));
bool chakra_has_group(const struct chakra *t, const char *name);

#endif
