/* import_graph: reads the records of a `.graph` file.
 *
 *     hircgraph 1
 *     graph NAME
 *     launch_us 1
 *     hw name=… dram_Bps=3.35e12 …
 *     group NAME size=N
 *     coll group=NAME coll=allgather src=table|nccl mb_ms=1:0.24,2:0.41,…
 *     storage ID bytes=N dev=cuda|cpu def=NODE kind=input|temp
 *     node ID NAME TARGET in=ID,… out=dtype[shape];… time_us=T kind=K [ftime_us=T] [st=STORAGE,…] [mut=ID,…]
 *          [group=NAME coll=… inbytes=N] …
 *     end nodes=N storages=N
 *
 * Fields are separated by single spaces; unknown keys and records are skipped. IDs are positions, from 0. */
#ifndef HIRC_IMPORT_IMPORT_GRAPH_H
#define HIRC_IMPORT_IMPORT_GRAPH_H
#include "base/arena.h"
#include "base/diag.h"
#include "base/vec.h"

enum graph_kind {
	GRAPH_INPUT,
	GRAPH_ATTR,
	GRAPH_COMPUTE,
	GRAPH_COMM,
	GRAPH_WAIT,
	GRAPH_VIEW,
	GRAPH_HOST,
	GRAPH_OUTPUT
};
enum { GRAPH_KINDS = GRAPH_OUTPUT + 1 };
extern const char *const graph_kind_name[GRAPH_KINDS];

struct graph_text { /* a part of the source */
	uint32_t at, n;
};

struct graph_point {
	int64_t bytes;
	double time; /* ns; not rounded, since the slope of a table is a difference of times */
};

struct graph_table {
	uint32_t group; /* index */
	struct graph_text collective;
	bool stepped;
	uint32_t point, point_n; /* in points */
};

struct graph_group {
	struct graph_text name;
	int64_t size;
};

struct graph_storage {
	struct graph_text made_by; /* from def= */
	int64_t bytes;
	uint32_t def;
	bool cpu, input;
};

struct graph_comm { /* fields of a node that is a comm */
	struct graph_text collective;
	struct graph_text reduce; /* of a reduction: sum, avg, … */
	int64_t in_bytes;         /* of its operand */
	uint32_t group;           /* index */
};

struct graph_node {
	int64_t time; /* ns */
	uint32_t at;  /* offset of the line */
	enum graph_kind kind;
	struct graph_text name, target, out;
	uint32_t comm;                                             /* of a comm: its index in comms */
	uint32_t in, in_n, storage, storage_n, mutated, mutated_n; /* in ids */
};

struct graph {
	struct source *source;
	struct graph_text name;
	int64_t launch;     /* ns */
	double memory_rate; /* bytes a second; 0: not stated */
	VEC(struct graph_group) group;
	VEC(struct graph_table) table;
	VEC(struct graph_point) point;
	VEC(struct graph_storage) storage;
	VEC(struct graph_node) node;
	VEC(struct graph_comm) comm;
	VEC(uint32_t) id;
};

/* Returns true if a text of the source equals a word. */
bool graph_text_is(const char *text, struct graph_text t, const char *word);
/* Returns true if the source begins as a graph file of any version. */
bool graph_is(const struct source *s);
/* Reads a graph. Reports errors to d with line and field; returns false after one. */
bool graph_read(struct diag *d, struct source *s, struct graph *out);
void graph_free(struct graph *g);

#endif
