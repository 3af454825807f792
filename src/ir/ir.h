/* ir: the program, at fusion level and at host level, in one set of tables.
 *
 * Everything is a 32-bit id into a table of struct module; 0 is "none". Expressions, domains, types,
 * scalars, attributes and teams are hash-consed: equal things have equal ids. Tables only grow:
 * statements are moved and unlinked, but not freed before module_free. build.h adds statements and
 * values, edit.h moves and removes them.
 *
 * Sizes: expr 24, value 28, operand 12, op 52 bytes. */
#ifndef HIRC_IR_IR_H
#define HIRC_IR_IR_H
#include "base/arena.h"
#include "base/collective.h"
#include "base/diag.h"
#include "base/pointwise.h"
#include "base/reduction.h"
#include "base/str.h"
#include "base/vec.h"

enum {                            /* limits; exceeding one is an error with its name */
       IR_MAX_AXES = 64,          /* axes of one domain, including those of all transforms */
       IR_MAX_LOGICAL = 16,       /* logical axes of one tensor, including hidden ones */
       IR_MAX_MESH_AXES = 8,      /* axes of one mesh */
       IR_MAX_DEVICES = 65536,    /* devices of one mesh */
       IR_MAX_NESTING = 64,       /* nested loops and conditions */
       IR_MAX_OPERANDS = 1 << 18, /* operands of one statement; numbers of one attribute */
       IR_MAX_RESULTS = 256,      /* results of one statement */
       IR_OP_BITS = 29,           /* of an op_id; the largest source has fewer statements */
       IR_TYPE_BITS = 28,         /* of a type_id; a source has fewer types, since each takes a line */
};

typedef uint32_t expr_id, domain_id, type_id, value_id, op_id, region_id, mesh_id, group_id, param_id,
    index_id, handle_id, scalar_id, attrs_id, team_id, name_id;

/* ---- expressions (expr.h) */

enum expr_kind {
	EXPR_NONE,
	EXPR_CONST,      /* k */
	EXPR_PARAM,      /* k: param_id */
	EXPR_INDEX,      /* k: index_id of a loop */
	EXPR_RANK,       /* device id of this rank */
	EXPR_AXIS_INDEX, /* index of this rank along axis mesh_axis of mesh k */
	EXPR_DEVICE,     /* device of mesh k: index a along mesh_axis, along the others that of here */
	EXPR_STREAMS,    /* number of streams */
	EXPR_ADD,
	EXPR_SUB,
	EXPR_MUL,
	EXPR_DIV, /* exact division: a remainder is an error */
	EXPR_FLOOR_DIV,
	EXPR_CEIL_DIV,
	EXPR_MOD, /* result >= 0 */
	EXPR_MIN,
	EXPR_MAX,
	EXPR_EQ, /* conditions: 0 or 1 */
	EXPR_NE,
	EXPR_LT,
	EXPR_LE,
	EXPR_GT,
	EXPR_GE,
	EXPR_AND,
	EXPR_OR,
	EXPR_NOT, /* a */
	EXPR_KIND_COUNT
};

struct expr {              /* hashed and compared by its bytes: no padding */
	uint8_t kind;      /* enum expr_kind */
	uint8_t mesh_axis; /* EXPR_AXIS_INDEX, EXPR_DEVICE */
	uint16_t flags;    /* EXPR_HAS_… over the whole tree */
	expr_id a, b;      /* operands */
	uint32_t unused;
	int64_t k; /* constant, or an id */
};
enum { EXPR_HAS_PARAM = 1, EXPR_HAS_INDEX = 2, EXPR_HAS_RANK = 4 };
enum {
	DEFAULT_STREAMS = 4, /* value of EXPR_STREAMS for a rank without --streams */
	MAX_STREAMS = 4096,  /* largest value of --streams */
};

/* ---- meshes, groups, parameters, names of scalars */

struct mesh {
	name_id name;
	uint8_t rank; /* number of axes */
	name_id axis_name[IR_MAX_MESH_AXES];
	uint32_t size[IR_MAX_MESH_AXES];
	uint32_t device_count;
	const uint32_t *device; /* row-major, device_count ids */
	uint32_t max_device;
	uint32_t at; /* source offset */
};

struct group { /* a team that is not part of a mesh */
	name_id name;
	uint32_t size;
	team_id members; /* 0: members are not listed */
	attrs_id attrs;  /* times of collectives by bytes of the operand: {allgather=(bytes, ns, …)} */
	uint32_t at;
};

struct recording {    /* the machine on which the program's times were recorded */
	name_id name; /* 0: not stated */
	attrs_id attrs;
	uint32_t at;
};

struct param {
	name_id name; /* 0 or iN: the file uses the scalar without defining it */
	bool has_value;
	bool set_by_user; /* by -D */
	int64_t value;
	expr_id meaning; /* expression from -D or an Index definition, substituted at use; 0: none */
	int32_t number;  /* N of iN in nvFuser's surface; -1: not allotted */
	uint32_t at;
};

struct index {          /* a loop's index */
	name_id name;   /* 0: unnamed, prints as iN */
	int32_t number; /* -1: not allotted */
	bool by_name;   /* nvFuser's surface prints the name; set by print_order_make */
};

struct handle { /* a stream handle */
	name_id name;
	int32_t number; /* N of 0xN; -1: not allotted */
};

/* ---- domains and types (domain.h) */

enum axis_kind { AXIS_ITER, AXIS_REDUCE, AXIS_PARTIAL };
enum axis_place {
	PLACE_NONE,
	PLACE_SERIAL, /* a host loop that is not stream-parallel */
	PLACE_STREAM,
	PLACE_MESH
};

struct axis {
	uint8_t kind;      /* enum axis_kind */
	uint8_t place;     /* enum axis_place */
	uint8_t mesh_axis; /* PLACE_MESH: axis of the type's mesh, 0 the outermost */
	uint8_t rf;        /* made by a split reduction (nvFuser's rfactor) */
	uint8_t reduce;    /* AXIS_PARTIAL: the pending enum reduce_op */
	uint8_t unused[3];
	expr_id extent; /* canonical (expr_canon) */
};

enum xform_kind { XFORM_SPLIT_OUTER, XFORM_SPLIT_INNER, XFORM_MERGE, XFORM_SWIZZLE1D };

struct xform {
	uint8_t kind;      /* enum xform_kind */
	uint8_t in[2];     /* consumed axes; [1] for merge only */
	uint8_t out[2];    /* new axes, outer first; [1] for splits only */
	uint8_t mesh_axis; /* swizzle1d */
	uint8_t unused[2];
	expr_id factor; /* splits: extent of the outer (SPLIT_OUTER) or inner half */
};

/* Axes 0 … logical_n-1 are the logical ones in this order: visible axes (iter, broadcast), then hidden
 * axes (partial, then reduce). Each transform appends its outputs. */
struct domain {
	uint8_t axis_n, xform_n;
	uint8_t logical_n; /* visible and hidden */
	uint8_t rank;      /* visible logical axes: the rank of the tensor */
	uint8_t loop_n, alloc_n;
	const struct axis *axis;
	const struct xform *xform;
	const uint8_t *loop;       /* axes of the loop domain, outermost first */
	const uint8_t *alloc;      /* axes of the allocation domain, outermost in memory first */
	const uint8_t *contiguous; /* by allocation position: contiguity, 1 is t and 0 is f */
};

enum memory { MEMORY_GLOBAL, MEMORY_LOCAL, MEMORY_SYMMETRIC };

struct type {
	uint8_t dtype;  /* enum dtype */
	uint8_t memory; /* enum memory; default: views are local, other values global */
	uint16_t unused;
	mesh_id mesh; /* 0: none */
	domain_id domain;
};

/* ---- values, operands, statements */

enum {                 /* value flags */
       VALUE_OPEN = 1, /* the program states no layout; propagate-shardings chooses one */
       VALUE_INPUT = 2,
       VALUE_OUTPUT = 4,
       VALUE_INOUT = 8,
};

struct value {
	type_id type : IR_TYPE_BITS;
	uint32_t flags : 4; /* VALUE_… */
	op_id def;          /* the statement that defines it; 0 for program inputs */
	uint32_t
	    first_use;     /* first operand index in the chain of uses (reads, writes, definition); 0: none */
	name_id name;      /* 0: unnamed, prints as TN */
	int32_t number;    /* N of TN; -1: not allotted */
	int32_t axis_base; /* first axis number; -1: none; <= -2: list in axis_ids at -(axis_base + 2) */
	uint32_t at;       /* source offset of the definition */
};

_Static_assert(sizeof(struct value) == 28, "programs of a million statements should stay small");

enum role {
	ROLE_DEF,       /* value_id: a fresh value or view */
	ROLE_READ,      /* value_id */
	ROLE_WRITE,     /* value_id: a bound value */
	ROLE_FREE,      /* value_id: it is deallocated */
	ROLE_SCALAR,    /* scalar_id */
	ROLE_STATEMENT, /* op_id: a statement that a wait, post or share_mem_handles names */
	ROLE_HANDLE,    /* handle_id */
};

struct operand {
	uint32_t id;           /* by role */
	uint32_t next_use;     /* operand index: next use of the same value; 0: none */
	op_id op : IR_OP_BITS; /* the statement it belongs to */
	uint32_t role : 3;     /* enum role */
};

struct scalar {       /* a scalar operand: an index expression or a literal */
	expr_id expr; /* 0: literal */
	double literal;
};

enum op_kind {
	OP_NONE,
#define OP(id, ...) OP_##id,
#include "ir/ops.def"
#undef OP
	OP_KIND_COUNT
};

enum {                     /* op flags */
       OP_ASYNC = 1,       /* a Communication: it has a number, and a wait ends it */
       OP_STREAM_LOOP = 2, /* FOR: stream-parallel */
       OP_DEAD = 4,        /* it is in no region */
       OP_GROUPED = 8,     /* a Communication in a coalescing group; the end of the group ends it */
       OP_FILE = 16,       /* IF: the file of some ranks; outputs of the program may be defined in it */
};

/* Order of operands: DEF*, then the positional operands (READ, SCALAR, STATEMENT, HANDLE, FREE), then
 * WRITE*. `Y <- f(X)` has no DEF; `allocate` has one; a send reads and a receive writes its buffer. The
 * SCALARs are: for set_stream and synchronize the index, unless it is a HANDLE; for shard_by_stream and
 * select the index; for send and recv the peer; for `for` start and stop; for `if` the condition; for
 * rooted collectives the root; for collective_permute send_peer and recv_peer; for allocate none. */
struct op {
	uint16_t kind; /* enum op_kind */
	uint16_t flags;
	uint32_t operand;        /* index of the first operand */
	uint32_t operand_n : 22; /* number of operands, all roles */
	uint32_t def_n : 10;
	attrs_id attrs;
	team_id team;     /* for collectives */
	region_id region; /* for: body; if: the then block; its sibling is the else block */
	region_id parent; /* 0: unlinked */
	op_id prev, next;
	name_id name;   /* name c of `as c` */
	int32_t number; /* number of the Communication; -1: not allotted */
	uint32_t at;    /* source offset, or DIAG_NOWHERE */
	uint32_t order; /* scratch memory of the running pass */
};

struct region {
	op_id first, last;
	op_id owner;       /* for, if; 0: the program's body */
	region_id sibling; /* of a then block: its else block */
	index_id index;    /* index of the loop */
};

/* ---- attributes: interned lists of key = value */

enum attr_kind { ATTR_INT, ATTR_FLOAT, ATTR_NAME, ATTR_STRING, ATTR_EXPR, ATTR_INTS, ATTR_EXPRS };

struct attr {
	name_id key;
	uint8_t kind; /* enum attr_kind */
	uint32_t n;   /* ATTR_INTS, ATTR_EXPRS: length */
	union {
		int64_t i;
		double f;
		name_id name; /* ATTR_NAME, ATTR_STRING */
		expr_id expr;
		const int64_t *ints;
		const expr_id *exprs;
	} u;
};

struct attrs {
	uint32_t n;
	const struct attr *at; /* sorted by the order in which the user gave them */
};

/* A team: one or more slices, each an ordered list of devices. A rank uses the slice that contains it. */
struct team {
	uint32_t slice_n, device_n;
	const uint32_t *start;  /* slice_n + 1 positions in device */
	const uint32_t *device; /* device_n ids */
};

struct input {
	value_id value;
	attrs_id attrs;     /* {storage=3} */
	name_id init;       /* random, iota, zeros, full, file; 0: random by name */
	attrs_id init_args; /* seed=, value=, path= */
	expr_id ranks;      /* true on the ranks that have it; 0: all ranks of its mesh */
};

struct input_param { /* a param that the program lists among its inputs */
	param_id param;
	uint32_t before; /* number of tensors that are listed before it */
};

struct assumption { /* a divides b; checked when the params are known */
	expr_id divisor, dividend;
	uint32_t at;
};

struct cons; /* hash-cons tables, see module.c */

struct module {
	struct arena *arena;
	struct names *names;   /* owned, except in a copy */
	struct source *source; /* not owned; NULL: none */
	struct cons *cons;

	VEC(struct expr) expr;
	VEC(struct mesh) mesh;
	VEC(struct group) group;
	VEC(struct param) param;
	VEC(struct index) index;
	VEC(struct handle) handle;
	VEC(struct domain) domain;
	VEC(struct type) type;
	VEC(struct value) value;
	VEC(struct operand) operand;
	VEC(struct scalar) scalar;
	VEC(struct op) op;
	VEC(struct region) region;
	VEC(struct attrs) attrs;
	VEC(struct team) team;
	VEC(struct input) input; /* in the order of the program */
	VEC(struct input_param) input_param;
	VEC(value_id) output; /* in the order of the program */
	VEC(struct assumption) assumption;
	VEC(int32_t) axis_ids; /* lists of axis numbers that dumps state, see number_axes.h */

	int64_t file_ranks; /* ranks that have a file, if groups do not list their members; otherwise 0 */
	struct recording recording;
	bool copied;          /* copy of another module, which owns the names */
	bool deallocates;     /* the file that was read deallocates buffers */
	bool params_count;    /* rules of types use the values of params: types_check */
	bool names_meet;      /* a tensor has the same name as a number; set by ir_number */
	name_id name;         /* of the program */
	mesh_id default_mesh; /* `on MESH`; 0: none */
	region_id body;
};

struct module *module_new(struct names *names);
/* Copies a program with its ids, to try changes on the copy. m must outlive it. */
struct module *module_copy(const struct module *m);
void module_free(struct module *m);
/* Returns the bytes of all tables, for --stats and the benchmark. */
size_t module_bytes(const struct module *m);
/* Returns the number of ranks that the program needs: the largest device of any mesh or team + 1. */
int64_t module_ranks(const struct module *m);
/* Returns true if a rank is in no mesh and no team, so that it runs no statement. Without meshes only rank 0 has work. */
bool module_rank_is_idle(const struct module *m, int64_t rank);
/* Returns true if the file of a rank has the input. */
bool module_has_input(const struct module *m, uint32_t input, int64_t rank);

/* ---- access */

static inline struct op *ir_op(struct module *m, op_id id)
{
	return &m->op.at[id];
}
static inline struct value *ir_value(struct module *m, value_id id)
{
	return &m->value.at[id];
}
static inline struct operand *ir_operand(struct module *m, op_id id, unsigned k)
{
	return &m->operand.at[m->op.at[id].operand + k];
}
static inline const struct type *ir_type(const struct module *m, type_id id)
{
	return &m->type.at[id];
}
static inline const struct domain *ir_domain(const struct module *m, domain_id id)
{
	return &m->domain.at[id];
}
static inline const struct mesh *ir_mesh(const struct module *m, mesh_id id)
{
	return &m->mesh.at[id];
}
static inline const struct type *value_type(const struct module *m, value_id v)
{
	return &m->type.at[m->value.at[v].type];
}
static inline const struct domain *value_domain(const struct module *m, value_id v)
{
	return &m->domain.at[value_type(m, v)->domain];
}
static inline const struct team *ir_team(const struct module *m, team_id id)
{
	return &m->team.at[id];
}

/* Returns the id of the k-th operand with a role, or 0. */
uint32_t op_operand_id(const struct module *m, op_id op, enum role role, unsigned k);
unsigned op_role_count(const struct module *m, op_id op, enum role role);
#define op_def(m, op, k) op_operand_id((m), (op), ROLE_DEF, (k))
#define op_read(m, op, k) op_operand_id((m), (op), ROLE_READ, (k))
#define op_write(m, op, k) op_operand_id((m), (op), ROLE_WRITE, (k))
/* Returns the buffer of a send or recv. */
static inline value_id op_transfer_buffer(const struct module *m, op_id op)
{
	return m->op.at[op].kind == OP_SEND ? op_read(m, op, 0) : op_write(m, op, 0);
}
/* Returns the k-th value that the statement produces: its DEF or, if it has none, its WRITE. */
value_id op_result(const struct module *m, op_id op, unsigned k);
unsigned op_result_count(const struct module *m, op_id op);
/* Returns the expression of the k-th scalar operand; 0 if it is a literal or absent. */
expr_id op_scalar_expr(const struct module *m, op_id op, unsigned k);
/* Returns an attribute by key; NULL if it is absent. */
const struct attr *op_attr(const struct module *m, op_id op, const char *key);
const struct attr *attrs_find(const struct module *m, attrs_id attrs, const char *key);
/* Returns the group that a recorded communication names; 0: none. */
group_id op_group(const struct module *m, op_id op);
int64_t op_attr_int(const struct module *m, op_id op, const char *key, int64_t otherwise);
bool op_attr_is_true(const struct module *m, op_id op,
                     const char *key); /* key=true or a number other than 0 */
/* Reads the reduction that op= states. Returns false if none does. */
bool op_attr_reduce(const struct module *m, op_id op, enum reduce_op *out);
name_id op_backend(const struct module *m, op_id op); /* the communicator that backend= names; 0: none */

/* region_each(m, o, r) statement: loops over the statements of a region. The statement may unlink o. */
#define region_each(m, o, r)                                                                                 \
	for (op_id o = (m)->region.at[r].first, o##_next; o && (o##_next = (m)->op.at[o].next, 1);           \
	     o = o##_next)

/* ---- the op table */

enum { /* traits */
       TRAIT_POINTWISE = 1 << 0,
       TRAIT_LINEAR = 1 << 1, /* keeps a pending sum, see infer_keeps_partial */
       TRAIT_BOOL = 1 << 2,   /* result is bool */
       TRAIT_AXES = 1 << 3,   /* has a rule of its own in infer_axes */
       TRAIT_VIEWLIKE = 1 << 4,
       TRAIT_REDUCTION = 1 << 5,
       TRAIT_CONTRACTION = 1 << 6,
       TRAIT_RESHARD = 1 << 7,
       TRAIT_COLLECTIVE = 1 << 8,
       TRAIT_ROOTED = 1 << 9,
       TRAIT_REDUCES = 1 << 10,
       TRAIT_P2P = 1 << 11,
       TRAIT_ASYNC = 1 << 12,
       TRAIT_MEMORY = 1 << 13,
       TRAIT_VIEW = 1 << 14,   /* the result shares its operand's storage */
       TRAIT_OPAQUE = 1 << 15, /* the program must state the types of results */
       TRAIT_REAL = 1 << 16,   /* computed in floats, also for integer operands */
};
enum op_form {
	FORM_CALL,
	FORM_COMM,
	FORM_PERMUTE_COMM,
	FORM_P2P,
	FORM_HOST,
	FORM_ALLOC,
	FORM_VIEW,
	FORM_CONTROL
};

enum { OP_MAX_SCALARS = 2 };

struct op_info {
	const char *id, *hir, *nvfuser;
	const char *attributes; /* allowed keys, separated by blanks; "*": any */
	const char *meaning;
	const char *scalar[OP_MAX_SCALARS]; /* keys of the scalar operands in their order; NULL: end */
	uint8_t form;                       /* enum op_form */
	uint32_t min_reads, max_reads;
	uint32_t traits;
};
extern const struct op_info op_info[OP_KIND_COUNT];
static inline uint32_t op_traits(const struct module *m, op_id op)
{
	return op_info[m->op.at[op].kind].traits;
}
/* Returns the number of results of a kind of statements; 0: any number. */
unsigned op_info_results(enum op_kind kind);
/* Returns true if a statement may have n results: a second one of sdpa may be left out. */
bool op_info_takes_results(enum op_kind kind, unsigned n);
/* Returns true if operand k, of tensors and numbers, may be a number. */
bool op_info_takes_number(enum op_kind kind, unsigned k);
/* Find a kind by its mnemonic in the concise or nvFuser's surface; OP_NONE if there is none. */
enum op_kind op_by_hir(const char *mnemonic);
enum op_kind op_by_nvfuser(const char *mnemonic);

/* Finds the pointwise operation of a kind of statements. Returns false for other kinds, and for cast and full. */
bool op_pointwise(enum op_kind kind, enum pointwise *out);

/* Returns the operator of a reduction, which is also the one that stays pending over a spread axis; for
 * a contraction sum. */
enum reduce_op reduce_op_of(enum op_kind kind);
/* Returns the operation that reduces axes by an operator. */
enum op_kind reduce_operation(enum reduce_op r);
/* Returns the operation of a collective; OP_NONE for a barrier. */
enum op_kind collective_operation(enum collective c);
/* Finds the collective of an operation. Returns false for collective_permute and for other operations. */
bool op_collective(enum op_kind kind, enum collective *out);
/* Return true if an operation is a collective whose root sends to the other members, or receives from
 * them. */
bool op_root_gives(enum op_kind kind), op_root_takes(enum op_kind kind);

#endif
