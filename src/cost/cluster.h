/* cluster: the figures of a machine, which the cost model turns into times.
 *
 *     {
 *       "version": 1, "name": "two", "launch_ns": 500,
 *       "device": {
 *         "name": "any", "memory_bytes": 8589934592, "memory_bytes_per_s": 10000000000,
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
 *       "links": [{"span": 2, "alpha_ns": 1000, "bytes_per_s": 4000000000}],
 *       "collectives": [
 *         {"collective": "allreduce", "ranks": 2, "span": 2, "bytes_ns": [[8, 1500], [65536, 30000]]}
 *       ],
 *       "contention": {"compute_per_mille": 1000, "comm_per_mille": 1000},
 *       "transports": [{"transport": "mixed", "links": [{"span": 2, "alpha_ns": 9000, "bytes_per_s":
 * 1000000000}]}]
 *     }
 *
 * links, collectives and contention are of the first transport, transports has those of others, with the same
 * keys. The name of the device, touch_bytes_ns, products, product_grids, functions, transport,
 * collectives, contention and transports may be left out. All numbers are whole; keys name their unit, counts
 * have none. The same figures give the same hash on every machine. */
#ifndef HIRC_COST_CLUSTER_H
#define HIRC_COST_CLUSTER_H
#include "base/arena.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "base/str.h"
#include "ir/ir.h"

enum {
	CLUSTER_VERSION = 1,
	CLUSTER_MAX_LINKS = 8,
	CLUSTER_MAX_TRANSPORTS = 8, /* besides the first */
	CLUSTER_MAX_TABLES = 4096,
	CLUSTER_MAX_POINTS = 1024, /* of one table */
	CLUSTER_MAX_PRODUCTS = 4096,
	CLUSTER_MAX_GRIDS = 64,
	CLUSTER_MAX_GRID = 16, /* extents of one axis */
	CLUSTER_MAX_FUNCTIONS = 4096,
	CLUSTER_MAX_EXTENT = INT32_MAX, /* of a product */
	CLUSTER_MAX_SPAN = 1 << 24,     /* devices */
	CLUSTER_MAX_BYTES = 4 << 20,    /* of a file */
};
#define CLUSTER_MAX_TIME ((int64_t)1000000000000000) /* ns: eleven days */
#define CLUSTER_MAX_NUMBER ((int64_t)1 << 53)        /* up to here numbers of JSON are exact */

/* Times by size; ascending, linear in between. */
struct cluster_point {
	int64_t size; /* bytes */
	int64_t time; /* ns */
};
struct cluster_points {
	const struct cluster_point *at;
	uint32_t n; /* 0: not stated */
};

struct cluster_link {
	int64_t span;  /* devices that share it: d and e do if d / span == e / span */
	int64_t alpha; /* ns of a message without bytes */
	int64_t rate;  /* bytes a second, of each device, in each direction */
};

struct cluster_table {
	enum collective collective;
	int64_t ranks, span; /* of teams of so many ranks; the smallest link that all share has this span */
	struct cluster_points points; /* by bytes of the larger buffer of a rank */
};

struct cluster_product { /* a matmul [m, k] x [k, n] */
	enum dtype dtype;
	int64_t m, n, k;
	int64_t time; /* ns */
};

/* Products of all combinations of extents. */
struct cluster_grid {
	enum dtype dtype; /* one grid each */
	struct cluster_extents {
		const int64_t *at; /* ascending */
		uint32_t n;        /* 1 or more */
	} axis[3];                 /* m, n, k */
	const int64_t *time;       /* ns, by m, then n, then k */
	/* Extra time of products that read and write so many bytes, if all of them are touched before the
	 * first comes again; n 0: as touch says. */
	struct cluster_points far;
};

/* The rate of an operation that computes one result, or reads one operand, after the other. */
struct cluster_function {
	enum op_kind op;
	enum dtype dtype; /* of the first operand */
	int64_t rate;     /* elements a second, of data that caches hold */
};

/* Times of data between devices, by one transport. */
struct cluster_network {
	const char *transport;           /* its name; NULL: not stated */
	int64_t compute_per_mille;       /* time of compute while communication runs, of 1000 without */
	int64_t comm_per_mille;          /* and the other way round */
	const struct cluster_link *link; /* by span, ascending; each divides the next */
	const struct cluster_table *table;
	uint32_t link_n, table_n;
};

struct cluster {
	struct arena *arena;
	const char *name;
	const char *device;              /* name of one; NULL: not stated */
	struct cluster_network network;  /* of the transport in use */
	struct cluster_network *other;   /* of other transports; of the arena */
	int64_t launch;                  /* ns that the host takes to issue a statement */
	int64_t memory;                  /* bytes of a device */
	int64_t memory_rate;             /* bytes a second, read or written */
	int64_t flops_rate[DTYPE_COUNT]; /* a second, of products; 0: not stated */
	struct cluster_points touch;     /* of statements that only read and write: by the bytes of both */
	const struct cluster_product *product;
	const struct cluster_grid *grid;
	const struct cluster_function *function;
	uint32_t product_n, grid_n, function_n, other_n;
};

/* The figures of a file; NULL after reporting. */
struct cluster *cluster_read(struct diag *d, struct source *s);
/* The figures that come with hirc; NULL: none has the name. */
struct cluster *cluster_builtin(const char *name);
#define CLUSTER_BUILTIN_LIST(between) "cpu" between "h100" between "h200"
#define CLUSTER_BUILTINS CLUSTER_BUILTIN_LIST(", ")
void cluster_free(struct cluster *c); /* NULL is allowed */
/* Makes the figures of a transport those of the cluster; its own are another's then. False: it states figures
 * of transports, and of this one none, so that nothing has changed. */
bool cluster_use_transport(struct cluster *c, const char *transport);
/* Returns true if the operation computes a value at a time, so that a cluster has its rate. */
bool cluster_has_rate(enum op_kind kind);
/* As cluster_read reads it. */
void cluster_write(const struct cluster *c, struct buf *out);
/* Hashes all figures, and the names of all transports but the first. */
uint64_t cluster_hash(const struct cluster *c);

/* Entries of its table. */
size_t cluster_grid_size(const struct cluster_grid *g);

#endif
