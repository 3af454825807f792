/* cluster: the figures of a machine, which the cost model turns into times.
 *
 *     {
 *       "version": 1, "name": "two", "launch_ns": 500,
 *       "device": {
 *         "name": "any", "devices": 1, "measured_ranks": 2, "memory_bytes": 8589934592, "memory_bytes_per_s": 10000000000,
 *         "flops_per_s": {"f32": 50000000000},
 *         "touch_bytes_ns": [[4096, 900], [1048576, 110000]],
 *         "products": [{"dtype": "f32", "m": 64, "n": 64, "k": 64, "ns": 21000}],
 *         "product_grids": [
 *           {"dtype": "bf16", "m": [16, 64], "n": [64, 256], "k": [64], "ns": [700, 1500, 1900, 5000],
 *            "far_bytes_ns": [[1048576, 0], [4194304, 200000]]}
 *         ],
 *         "functions": [{"op": "gelu", "dtype": "f32", "elements_per_s": 370000000}]
 *       },
 *       "transport": "shm",
 *       "links": [{"span": 2, "alpha_ns": 1000, "bytes_per_s": 4000000000, "shared": 1}],
 *       "collectives": [
 *         {"collective": "allreduce", "ranks": 2, "span": 2, "bytes_ns": [[8, 1500], [65536, 30000]]}
 *       ],
 *       "contention": {
 *         "compute_per_mille": 1000, "comm_per_mille": 1000,
 *         "collectives": [{"collective": "allreduce", "compute_per_mille": 1350, "comm_per_mille": 1100}]
 *       },
 *       "transports": [{"transport": "mixed", "links": [{"span": 2, "alpha_ns": 9000, "bytes_per_s":
 * 1000000000}]}]
 *     }
 *
 * links, collectives and contention belong to the first transport; `transports` has the same keys for
 * the others. Optional are the times of calls besides launch_ns (base/driver_calls.def), the device's
 * name, devices, measured_ranks, touch_bytes_ns, products, product_grids, functions, shared, transport, both collectives, contention and
 * transports. All numbers are whole. A key names its
 * unit; counts have none. The same figures give the same hash on every machine. */
#ifndef HIRC_COST_CLUSTER_H
#define HIRC_COST_CLUSTER_H
#include "base/arena.h"
#include "base/diag.h"
#include "base/driver_call.h"
#include "base/dtype.h"
#include "base/str.h"
#include "ir/ir.h"

enum {
	CLUSTER_VERSION = 1,
	CLUSTER_MAX_LINKS = 8,
	CLUSTER_MAX_TRANSPORTS = 8, /* besides the first */
	CLUSTER_MAX_TABLES = 4096,
	CLUSTER_MAX_POINTS = 1024, /* in one table */
	CLUSTER_MAX_PRODUCTS = 4096,
	CLUSTER_MAX_GRIDS = 64,
	CLUSTER_MAX_GRID = 16, /* extents of one axis */
	CLUSTER_MAX_FUNCTIONS = 4096,
	CLUSTER_MAX_EXTENT = INT32_MAX, /* extent of a product */
	CLUSTER_MAX_SPAN = 1 << 24,     /* devices */
	CLUSTER_MAX_BYTES = 4 << 20,    /* of a file */
};
#define CLUSTER_MAX_TIME ((int64_t)1000000000000000) /* ns, about eleven days */
#define CLUSTER_MAX_NUMBER ((int64_t)1 << 53)        /* JSON numbers are exact up to here */

/* Times by size; ascending, linear in between. */
struct cluster_point {
	int64_t size; /* bytes */
	int64_t time; /* ns */
};
struct cluster_points {
	const struct cluster_point *at;
	uint32_t n; /* 0: there is no table */
};

struct cluster_link {
	int64_t span;  /* devices d and e share the link if d / span == e / span */
	int64_t alpha; /* ns of a message without bytes */
	int64_t rate;  /* bytes a second, per device and direction */
	bool shared;   /* communications of a device on it have equal parts of its rate */
};

struct cluster_contention { /* see sched/contention.h */
	int64_t compute;    /* time of 1000 ns of compute while communication runs; 0: not stated */
	int64_t comm;       /* time of 1000 ns of communication while compute runs */
};

struct cluster_table {
	enum collective collective;
	int64_t ranks, span;          /* size of the team; span of the smallest link that joins it */
	struct cluster_points points; /* by bytes of the larger buffer of a rank */
};

struct cluster_product { /* a matmul [m, k] x [k, n] */
	enum dtype dtype;
	int64_t m, n, k;
	int64_t time; /* ns */
};

/* Measured times of the products of all combinations of three lists of extents. */
struct cluster_grid {
	enum dtype dtype; /* at most one grid a dtype */
	struct cluster_extents {
		const int64_t *at; /* ascending extents */
		uint32_t n;        /* 1 or more */
	} axis[3];                 /* m, n, k */
	const int64_t *time;       /* ns; index over m, then n, then k */
	/* Extra time by the bytes that products touch, when all of these are touched before the first
	 * comes again. n 0: use `touch`. */
	struct cluster_points far;
};

/* The rate of an operation that computes one result (or reads one operand) at a time. */
struct cluster_function {
	enum op_kind op;
	enum dtype dtype; /* of the first operand */
	int64_t rate;     /* elements a second, when the data is in the caches */
};

/* Transfer times between devices with one transport. */
struct cluster_network {
	const char *transport;     /* NULL: not stated */
	int64_t compute_per_mille; /* time of 1000 ns of compute while communication runs */
	int64_t comm_per_mille;    /* time of 1000 ns of communication while compute runs */
	struct cluster_contention contention[COLLECTIVE_COUNT]; /* of collectives that state their own */
	const struct cluster_link *link; /* by span, ascending; each span divides the next */
	const struct cluster_table *table;
	uint32_t link_n, table_n;
};

struct cluster {
	struct arena *arena;
	const char *name;
	int64_t sharers;                /* ranks of the program on a device, set by cost_new; 0: one */
	bool replayed;                  /* a graph is replayed: `node` has the times of calls */
	const char *device;             /* name of the device; NULL: not stated */
	struct cluster_network network; /* of the transport in use */
	struct cluster_network *other;  /* of the other transports; in the arena */
	int64_t issue[CALL_COUNT];      /* ns that the host takes for a call; 0: not stated */
	int64_t node[CALL_COUNT];       /* ns of a call as a node of a replayed graph; 0: not stated */
	int64_t devices; /* devices that ranks use in turn, see cost_share.c; 0: each rank has its own */
	int64_t measured_ranks;          /* ranks that worked on a device when it was measured; 0: one */
	int64_t memory;                  /* bytes of a device */
	int64_t memory_rate;             /* bytes a second, read or written */
	int64_t flops_rate[DTYPE_COUNT]; /* operations a second, of products; 0: not stated */
	struct cluster_points
	    touch; /* time of statements that only read and write, by all bytes read and written */
	const struct cluster_product *product;
	const struct cluster_grid *grid;
	const struct cluster_function *function;
	uint32_t product_n, grid_n, function_n, other_n;
};

/* Reads the figures of a file. Returns NULL after reporting an error. */
struct cluster *cluster_read(struct diag *d, struct source *s);
/* Returns the built-in figures of this name; NULL if there are none. */
struct cluster *cluster_builtin(const char *name);
#define CLUSTER_BUILTIN_LIST(between) "cpu" between "h100" between "h200"
#define CLUSTER_BUILTINS CLUSTER_BUILTIN_LIST(", ")
void cluster_free(struct cluster *c); /* NULL is allowed */
/* Makes a transport the one in use; the former one moves to the others. Returns false, with nothing
 * changed, if the cluster states figures of transports but none of this one. */
bool cluster_use_transport(struct cluster *c, const char *transport);
/* Returns true if the operation computes one element at a time, so that the cluster may state its rate. */
bool cluster_has_rate(enum op_kind kind);
/* Returns the key of a call's time in a cluster file. in_graph: as a node; NULL: it is no node. */
const char *cluster_call_key(enum driver_call call, bool in_graph);
/* Writes the form that cluster_read reads. */
void cluster_write(const struct cluster *c, struct buf *out);
/* Hashes all figures, and the names of all transports except the first. */
uint64_t cluster_hash(const struct cluster *c);

/* Returns the number of times in a grid. */
size_t cluster_grid_size(const struct cluster_grid *g);

#endif
