/* nvfuser: the structures and functions shared by the files that read %HostIrContainer.
 *
 *     sema_nvfuser.c        order of the steps, statements
 *     sema_stream.c         streams
 *     sema_buffer.c         buffers and views
 *     sema_loop_view.c      outputs that are views in a loop
 *     sema_unit.c           HostUnits
 *     sema_unit_extents.c   the scalars in their extents
 *     sema_communication.c  Communications, transfers, and statements that name them
 *     sema_device_axis.c    axes of which each device has one index
 *     sema_ring.c           peers of a CollectivePermute
 *     sema_experts.c        Dispatch and Combine
 *     sema_collect.c        tensors and numbered statements of the container
 *     sema_hirc.c           the section `Hirc 1 :`
 *     sema_spelling.c       operations that nvFuser spells in its own way
 *     sema_product.c        products with vectors, and with axes over the devices
 *     sema_function.c       names of operations, casts
 *     sema_reduction.c      reductions
 *     sema_parted.c         reductions that a schedule has parted
 *     sema_permute.c        the axes of a permute
 *     sema_ranges.c         pad and slice
 *     sema_cat.c            concatenations
 *     sema_iota.c           the numbers of a row
 *     sema_random.c         random numbers
 *     sema_varying.c        floats that differ by iteration
 *     sema_gather.c         those that take elements at indices
 *     sema_along.c          takeAlongAxis of several axes
 *     sema_attention.c      attention
 *     sema_sort.c           argsort
 *     sema_inner.c          layouts of values that are not printed
 *     sema_scaled.c         products of scaled matrices
 *     sema_welford.c        mean and squares, computed together
 *     sema_listing.c        the rule by which parallel axes are read
 *     sema_ranks.c          the mesh of a listing that prints none
 *     sema_own_inputs.c     inputs of which each device has its own
 *     sema_own_outputs.c    outputs of which each device has its own
 *     sema_printed.c        types from printed ids
 *     sema_transforms.c     domains from TransformPrinter
 *     sema_schedule.c       without the schedule of a kernel
 *     sema_order.c          the order in memory that Communications need
 *     sema_alike.c          types of tensors that differ only in their numbers */
#ifndef HIRC_PARSE_NVFUSER_H
#define HIRC_PARSE_NVFUSER_H
#include "ir/printed_cover.h"
#include "parse/sema_internal.h"

/* A tensor of the container, found by its name T0. */
struct nv_tensor {
	name_id name;
	name_id given;   /* name by `name T0 = X`; 0: none */
	ast_id node;     /* its first TENSOR; before nv_type, the AST_REPEAT that defines it */
	ast_id size;     /* size of its ALLOCATE; 0: none */
	ast_id devices;  /* of a later print, if the first one has none; 0: none */
	ast_id block;    /* TRANSFORMS; 0: none */
	ast_id schedule; /* the block as printed, if a kernel's schedule is taken out of it; 0: none */
	ast_id attrs;    /* ATTRS of `attr T0 {…}`; 0: none */
	ast_id init;     /* of `input T0 = …`; 0: none */
	uint8_t input, output;
	bool is_listed; /* it is one of the module's outputs already */
	uint8_t reduce; /* enum reduce_op for its partial axes */
	uint8_t open;   /* from `attr … layout=open` */
	int8_t inout;   /* from `attr … inout=…`; -1: not stated */
	mesh_id mesh;   /* from `attr … mesh=…`; 0: not stated */
	type_id type;
	uint32_t number_at; /* its axis_n axis numbers begin here in reader.number */
	name_id reshaped;   /* the tensor of which a view makes it; 0: none does */
	uint32_t named;     /* chain of the axis numbers that selects name, as an index into reader.named,
	                       + 1; 0: none */
	bool again;         /* the next definition gets its own name and number */
	bool alias;         /* it stands for the value of another tensor */
	bool followed;      /* it enters a reduction of terms that are each device's own */
	mesh_id differs;    /* each device of this mesh has its own, but no axis says so; 0: not found */
	mesh_id own;    /* an input or output of which each device of this mesh has its own; 0: another one */
	value_id whole; /* of such a tensor: the tensors of all devices; 0: another tensor */
	bool loop_view; /* an output that the loop being read defines as a view */
	bool random_state; /* of dropout: a uint64_t is read as i64 */
	bool permuted;     /* Set.Permute without dims= makes it */
	bool unsized;      /* its ALLOCATE has no size= */
	uint8_t received;  /* Communications that write it; at most 2 */
	bool sharded;      /* ShardByStream takes a block of it */
	uint32_t choice;   /* index + 1 in reader.choice; 0: its axes are read by themselves */
	uint8_t ways;      /* in which its axes can be read, as bits of enum printed_way */
	uint32_t unit;     /* index + 1 of its unit in reader.unit; 0: none */
	bool later;        /* its unit has other_extents: its type is read with the unit's statements */
	bool formal;       /* it is in a unit's lists: its type is the type of the tensor posted for it */
	value_id value;    /* 0: not defined yet */
	region_id region;  /* region of its definition */
};

enum nv_issue { ISSUE_BY_TEXT, ISSUE_HERE, ISSUE_POST };

/* A Communication, transfer or EndCoalescing, found by its number. */
struct nv_statement {
	int64_t number;
	ast_id node;    /* the first COMM or COMM_REF with this number */
	uint32_t count; /* how often it occurs as a statement */
	name_id given;
	ast_id attrs;
	uint8_t issue; /* enum nv_issue */
	bool whole;    /* a transfer is of the whole buffer, not of the device's block */
	op_id op;      /* 0: not defined yet */
};

struct nv_fact { /* a fact about an index or stream handle, found by its number */
	uint64_t number;
	name_id name;
	uint32_t at;
};

struct nv_named {
	int32_t number;
	uint32_t next; /* index + 1 */
};

struct nv_pending { /* an operand that names a statement defined later */
	uint32_t operand;
	uint32_t statement;
};

struct nv_experts { /* a Dispatch, found by the name of its sources: its counts */
	name_id sources;
	value_id to, from;
};

struct nv_varying_number { /* a float that is a tensor without axes */
	name_id name;
	value_id value;
};

struct nv_mesh { /* a DeviceMesh{…} as it is written */
	uint32_t at, length;
	mesh_id mesh;
};

/* The text of a HostUnit. Its tensors are visible only in it. Those in its lists stand for the tensors that
 * it is posted with. */
struct nv_unit {
	name_id name;
	ast_id node;
	uint32_t first, n; /* its tensors, in reader.tensor */
	bool posted;
	bool own_counter; /* its axes are numbered anew: its tensors are read by its numbers */
	struct printed_numbers numbers;
	bool other_extents; /* scalars in its extents have other names than in those of the posted tensors */
};

struct nv_extent { /* a scalar of a unit, and the container's extent that it stands for */
	name_id name;
	expr_id as;
};

struct nv_extents {
	VEC(struct nv_extent) of;
};

enum { NV_ALIKE = 256 };

struct nv_reader {
	struct sema *s;
	struct nv_alike {           /* sema_alike.c: found by a hash of the axes */
		ast_id node;        /* 0: none */
		uint32_t number_at; /* as in struct nv_tensor */
		type_id type;
		mesh_id mesh;
		bool io;
	} alike[NV_ALIKE];
	struct nv_repeat {         /* sema_alike.c: found by the shape of the statement */
		int64_t statement; /* value.i of its AST_REPEAT; 0: none */
		uint32_t number_at;
		type_id type;
		mesh_id mesh;
		bool io;
	} repeat[NV_ALIKE];
	ast_id body; /* of the container */
	ast_id late; /* the AST_REPEAT that is being collected; 0: none */
	VEC(struct nv_tensor) tensor;
	VEC(uint32_t) tensor_of; /* by name_id: index + 1; tensors outside units */
	VEC(uint32_t) local_of;  /* by name_id: index + 1; the first one inside a unit */
	VEC(struct nv_unit) unit;
	VEC(ast_id) post;                   /* calls that post one */
	uint32_t in_unit;                   /* index + 1 of the unit that is being read; 0: none */
	VEC(struct nv_statement) statement; /* sorted by number */
	VEC(struct nv_fact) index_name, index_kind, handle_name; /* sorted by number */
	VEC(struct nv_named) named;
	VEC(int32_t) number;
	VEC(struct nv_pending) pending;
	VEC(struct nv_experts) experts;
	VEC(struct nv_mesh) mesh;
	VEC(struct nv_varying_number) varying; /* the last of a name counts */
	VEC(name_id) refused_dtype;
	VEC(uint8_t) given;                 /* by name_id: kinds of things that already have the name */
	name_id program_name, program_mesh; /* from `attr program {…}`; 0: not stated */
	uint32_t program_mesh_at;
	mesh_id all_ranks;               /* of a listing that prints no devices; 0: there is none */
	bool no_mesh;                    /* from mesh=0 */
	bool has_facts;                  /* there is a section `Hirc` */
	name_id axes;                    /* from `attr program {axes=…}`; 0: not stated */
	struct printed_tensor other_way; /* read in another way, with those alike; no axes: none */
	bool by_number;                  /* parallel axes are read by numbers (ir/printed_numbers.h) */
	struct printed_numbers numbers;  /* of the listing, if by_number */
	struct printed_choice *choice;   /* readings of its tensors; NULL: none */
	bool scheduled;                  /* the listing prints kernels' schedules, which are left out */
	bool told_dtype;                 /* a warning has said that a dtype is assumed */
	bool has_own_outputs;            /* some outputs are each device's own */
};

/* ---- sema_collect.c */
/* Collects all tensors and numbered statements of the header and the body. */
void nv_collect(struct nv_reader *r, ast_id container);
/* Looks in the unit that is being read, then in the container, then in the other units. NULL: none. */
struct nv_tensor *nv_find_tensor(struct nv_reader *r, name_id name);
/* Returns the domain of an operand, or NULL if it is no tensor of the listing. */
const struct domain *nv_find_domain(struct nv_reader *r, ast_id operand);
/* Notes the blocks of a TransformPrinter section. */
void nv_collect_blocks(struct nv_reader *r, ast_id section);
void nv_collect_node(struct nv_reader *r, ast_id node);
struct nv_statement *nv_find_statement(struct nv_reader *r, int64_t number);
/* Returns the value of a key in a call or COMM; 0: absent. */
ast_id nv_key(struct nv_reader *r, ast_id call, const char *key);

/* ---- sema_hirc.c */
void nv_declarations(struct nv_reader *r, ast_id section); /* lines that must be read before the body */
void nv_facts(struct nv_reader *r, ast_id section);        /* lines that refer to tensors and statements */
const struct nv_fact *nv_find_fact(const struct nv_fact *list, uint32_t n, uint64_t number);

/* ---- sema_nvfuser.c */
static inline struct op *nv_op(struct nv_reader *r, op_id op)
{
	return &r->s->m->op.at[op];
}
void nv_append(struct nv_reader *r, op_id op);
void nv_region(struct nv_reader *r, region_id g, ast_id body);
bool nv_is(struct nv_reader *r, ast_id id, enum ast_kind kind);
bool nv_is_name(struct nv_reader *r, ast_id id, const char *text);
bool nv_refuse(struct nv_reader *r, enum diagnostic code, ast_id node,
               const char *message); /* reports, returns false */
/* Returns true if a tensor is printed in an expression. */
bool nv_prints_tensor(struct nv_reader *r, ast_id e);
/* Finds the tensor that is a statement's result. *bound: its value if it is already defined, since it is
 * written then. */
bool nv_result(struct nv_reader *r, ast_id node, struct nv_tensor **t, value_id *bound);
/* Gives a tensor's name and numbers to the value that an operation has made for it. */
void nv_settle(struct nv_reader *r, struct nv_tensor *t, value_id v);
/* Makes the tensor another name of a value, from here on. */
void nv_stand_for(struct nv_reader *r, struct nv_tensor *t, value_id v);
value_id nv_define(struct nv_reader *r, struct nv_tensor *t, uint32_t at);
value_id nv_operand(struct nv_reader *r, ast_id node); /* 0 after reporting */
scalar_id nv_scalar(struct nv_reader *r, ast_id e);    /* 0 after reporting */
attrs_id nv_with_name(struct nv_reader *r, attrs_id attrs, const char *key, name_id value);
/* Reads the keys of a call or attr line as attributes of an operation, without the keys listed in `but`. A
 * key that the operation does not take is an error; OP_NONE takes any. */
attrs_id nv_attrs(struct nv_reader *r, enum op_kind kind, ast_id call, const char *const *but);

/* ---- sema_buffer.c */
void nv_allocate(struct nv_reader *r, ast_id stmt, ast_id target, ast_id call);
/* Appends an ALLOCATE that the listing does not have. Returns the buffer for which the tensor stands. */
value_id nv_make_buffer(struct nv_reader *r, struct nv_tensor *t, uint32_t at);
/* Returns the first statement in a tree that defines a tensor; 0: none. written: not counting ALLOCATE. */
ast_id nv_find_definition(struct nv_reader *r, ast_id tree, name_id name, bool written);
/* Makes buffers of the outputs that a loop or condition defines. nvFuser prints no ALLOCATE for them. */
void nv_allocate_outputs(struct nv_reader *r, ast_id stmt);
/* Makes a buffer of a tensor that only the listing of another device defines. Returns false if it is none. */
bool nv_allocate_elsewhere(struct nv_reader *r, struct nv_tensor *t, uint32_t at);
/* Makes a buffer of the output of a Communication if another one writes it, too: nvFuser prints a Gather, Reduce or
 * SendRecv for each receiver. Returns 0 if no other does. */
value_id nv_allocate_received(struct nv_reader *r, struct nv_tensor *t, uint32_t at);
/* Returns true if the tensor is no input and no statement but an ALLOCATE defines it. */
bool nv_is_undefined(struct nv_reader *r, const struct nv_tensor *t);
void nv_deallocate(struct nv_reader *r, ast_id stmt);
/* Moves the Deallocates between a Communication and its Wait, which was just read, after the Wait. nvFuser's
 * Communication keeps its buffers until it is over. */
void nv_deallocate_after_wait(struct nv_reader *r, op_id wait);
/* Notes what a statement tells about the memory of its tensors. */
void nv_buffer_collect(struct nv_reader *r, ast_id stmt);
/* Returns true if stream splits do not cut the tensor's memory by default: of inputs and outputs, and of a buffer of which
 * ShardByStream takes blocks. A size= tells more. */
bool nv_is_whole(const struct nv_tensor *t);
void nv_symmetric_view(struct nv_reader *r, ast_id stmt, ast_id target, ast_id call);
void nv_view(struct nv_reader *r, ast_id stmt, ast_id target, ast_id call, bool select);

/* ---- sema_loop_view.c */
/* Marks the outputs that a loop defines as views. */
void nv_loop_views_begin(struct nv_reader *r, ast_id loop);
/* Defines them after the loop as the views of its last iteration. */
void nv_loop_views_end(struct nv_reader *r, ast_id loop);

/* ---- sema_unit.c */
void nv_collect_unit(struct nv_reader *r, ast_id node);
/* Returns the operation of PostOnStream and LaunchKernel; OP_NONE for other calls. */
enum op_kind nv_post_kind(struct nv_reader *r, ast_id call);
/* Returns the unit that such a call posts. NULL: the listing has no text of it. */
struct nv_unit *nv_posted_unit(struct nv_reader *r, ast_id call);
/* Reads PostOnStream and LaunchKernel. */
void nv_post_unit(struct nv_reader *r, ast_id call, enum op_kind kind);

/* ---- sema_unit_extents.c */
/* Finds the units with other scalars in their extents than the tensors that are posted for theirs. */
void nv_find_other_extents(struct nv_reader *r);
/* Lists these scalars of a unit that a call posts, with their extents in the container. */
void nv_list_extents(struct nv_reader *r, ast_id call, const struct nv_unit *u, struct nv_extents *out);
/* Defines them in the unit that is being read, reads the types of its tensors, and frees the list. */
void nv_define_extents(struct nv_reader *r, const struct nv_unit *u, struct nv_extents *list);

/* ---- sema_communication.c */
ast_id nv_need_key(struct nv_reader *r, ast_id comm, const char *key); /* 0 after reporting */
void nv_communication(struct nv_reader *r, ast_id comm);               /* one that stands as a statement */
/* Reads Wait, post and ShareMemHandles. */
void nv_naming_call(struct nv_reader *r, ast_id call, enum op_kind kind);
void nv_resolve_pending(struct nv_reader *r);
/* Reports a key of a Communication that is not in a list, which ends with NULL, and returns false. */
bool nv_check_keys(struct nv_reader *r, ast_id comm, const char *const *known);

/* ---- sema_device_axis.c */
/* Returns the operand of a reduction by a team, of which `result` is the type: `from`, or its reduction along a device axis. */
value_id nv_reduced_operand(struct nv_reader *r, const struct nv_statement *x, ast_id comm, team_id team,
                            value_id from, type_id result);
/* Returns the result of a Reduce: `result`, or the root's block of it. */
value_id nv_root_block(struct nv_reader *r, ast_id comm, value_id from, value_id result);
/* Returns the operand of a Broadcast, of which `result` is the type: `from`, or the root's block of it. */
value_id nv_sent_block(struct nv_reader *r, ast_id comm, value_id from, type_id result);
/* Returns the block of a transfer's buffer that a device has: a view, unless the device has the whole buffer. */
value_id nv_device_block(struct nv_reader *r, uint32_t at, value_id buffer);

/* ---- sema_ring.c */
/* Puts the device's index into peers that are printed for one device. mesh: of the result. */
void nv_ring_peers(struct nv_reader *r, team_id team, mesh_id mesh, expr_id *send, expr_id *recv);

/* ---- sema_experts.c */
void nv_dispatch(struct nv_reader *r, ast_id comm);
void nv_combine(struct nv_reader *r, ast_id comm);

/* Returns true if a call is HirAliasSelect( T0, axis = iS1{8}, index = i ), or select likewise. */
bool nv_is_select(struct nv_reader *r, ast_id call);

/* ---- sema_function.c */
/* Returns the operation that nvFuser gives another name here, or a suffix; OP_NONE: none. */
enum op_kind nv_function(const char *name, unsigned operands);
/* Reads nvFuser's name of a dtype, with or without its underscores and `_t`, as the names of casts have them. */
bool nv_dtype_word(const char *word, enum dtype *out);
/* Gives a tensor that is printed without a dtype the dtype of the cast that makes it, `__float2half(T0…)`. */
void nv_take_cast(struct nv_reader *r, ast_id expr, struct nv_tensor *result);

/* ---- sema_spelling.c */
/* Turns an expression as nvFuser spells it into one of ops.def. result: NULL: none or several. Returns false after
 * reporting. */
bool nv_spelling(struct nv_reader *r, ast_id expr, struct nv_tensor *result);
/* Takes the number out of double(2), everywhere in an expression. */
void nv_unwrap_numbers(struct nv_reader *r, ast_id id);
/* Reads cat( T0…, T1…, 0 ), before its operands are read. */
void nv_cat(struct nv_reader *r, ast_id call);
void nv_rename_call(struct nv_reader *r, ast_id call, const char *name);
/* Removes the arguments after the first. */
void nv_keep_first(struct nv_reader *r, ast_id call);
bool nv_is_int(struct nv_reader *r, ast_id id, int64_t value);
/* Add nodes to the tree: one with the place of another, a number, a copy in no list; and the last child, or key=value, of a call.
 */
ast_id nv_node(struct nv_reader *r, enum ast_kind kind, ast_id like, const char *name);
ast_id nv_node_expr(struct nv_reader *r, ast_id like, expr_id e); /* a name that stands for it */
ast_id nv_node_int(struct nv_reader *r, ast_id like, int64_t value);
ast_id nv_node_copy(struct nv_reader *r, ast_id of);
void nv_node_append(struct nv_reader *r, ast_id parent, ast_id child);
void nv_node_key(struct nv_reader *r, ast_id call, const char *key, ast_id value);

/* ---- sema_product.c */
/* Read matmul( T0…, T1… ) and linear( T0…, T1…, T2… ) with operands that those of ops.def do not take. */
void nv_matmul(struct nv_reader *r, ast_id call, ast_id first, ast_id second, const struct nv_tensor *result);
void nv_linear(struct nv_reader *r, ast_id call, ast_id first, ast_id weight, const struct nv_tensor *result);

/* ---- sema_reduction.c */
/* Returns false if a word is no op= of a reduction. */
bool nv_reduce_op(const char *word, enum reduce_op *op);
/* Makes scan(T0…, axis=1) of a scan with dim=. Returns false after reporting. */
bool nv_scan(struct nv_reader *r, ast_id call, const struct nv_tensor *result);
/* Makes sum(T0…, axis=1) of a reduction. Returns false after reporting. */
bool nv_reduction(struct nv_reader *r, ast_id call, struct nv_tensor *result);

/* ---- sema_parted.c */
/* Gives the operand of a reduction the axes that a kernel's schedule has made. Returns false after reporting. */
bool nv_part_operand(struct nv_reader *r, ast_id call, const struct nv_tensor *result, enum reduce_op op);

/* ---- sema_ranges.c */
/* Read a call that lists the ranges of all axes. Return false after reporting. */
bool nv_pad(struct nv_reader *r, ast_id call, ast_id widths);
bool nv_slice(struct nv_reader *r, ast_id call, ast_id ranges);

/* ---- sema_permute.c */
/* Gives Set.Permute( T0 ) its dims=. Returns false after reporting. */
bool nv_permute(struct nv_reader *r, ast_id call, const struct nv_tensor *result);
/* Marks the tensor that Set.Permute without dims=, or a view, makes. */
void nv_permute_collect(struct nv_reader *r, ast_id targets, ast_id call);

/* ---- sema_iota.c */
/* Returns false after reporting extents that are not those of the result. tuple: {4, 8}. */
bool nv_check_extents(struct nv_reader *r, ast_id tuple, const struct nv_tensor *result);

/* Returns false after reporting the name of a dtype that is not that of the result. */
bool nv_check_dtype(struct nv_reader *r, ast_id stated, const struct nv_tensor *result);

/* Gives iota(length, start, step, dtype) the form that it has here, with the statement of its row before it. Returns false
 * after reporting. */
bool nv_iota(struct nv_reader *r, ast_id call, const struct nv_tensor *result);

/* Likewise for eye(rows, dtype). */
bool nv_eye(struct nv_reader *r, ast_id call, const struct nv_tensor *result);

/* Adds the statement of a part of a call before that. type 0: it is left out. term: a name that no program has. *out: a
 * node with the name. Returns false after reporting. */
bool nv_term(struct nv_reader *r, ast_id call, type_id type, const char *term, ast_id *out);
/* Makes the call left sign number, where left is the tensor of a name or an operation on it. */
void nv_make_binary(struct nv_reader *r, ast_id node, const char *sign, ast_id left, ast_id number);

/* ---- sema_random.c */
/* Returns true for rng_uniform, rng_uniform_range, rng_normal_standard and rng_normal_general. */
bool nv_is_random(const char *name);
/* Likewise for a call of these. */
bool nv_random(struct nv_reader *r, ast_id call, const struct nv_tensor *result);

/* ---- sema_gather.c */
/* Likewise for a call that takes elements at indices. *read: it is one. */
bool nv_gather(struct nv_reader *r, ast_id call, bool *read);

/* Reads takeAlongAxis and torchGather of tensors of several axes. Returns false if the call is another one. */
bool nv_take(struct nv_reader *r, ast_id targets, ast_id call);

/* ---- sema_along.c */
/* Reads takeAlongAxis(a, b, dim). Returns true. */
bool nv_along(struct nv_reader *r, ast_id targets, ast_id call, ast_id a, ast_id b, ast_id dim);

/* ---- sema_attention.c */
/* Reads sdpa with nvFuser's keys, and sdpa_bwd. Returns false if the call is neither. */
bool nv_attention(struct nv_reader *r, ast_id targets, ast_id call);
/* Marks the tensors that are states of random numbers. */
void nv_attention_collect(struct nv_reader *r, ast_id targets, ast_id call);

/* Appends `t = kind(from)`, or a write of the bound value; from 0: the number 0. */
void nv_append_result(struct nv_reader *r, struct nv_tensor *t, value_id bound, enum op_kind kind,
                      value_id from, uint32_t at);

/* ---- sema_inner.c */
/* Gives the values that the listing does not print their layouts, where these follow from their neighbours. */
void nv_close_layouts(struct nv_reader *r);

/* ---- sema_scaled.c */
/* Reads ScaledMmaOp, and GroupedMmaOp with scales. Returns false if the call is another one. */
bool nv_scaled(struct nv_reader *r, ast_id targets, ast_id call);
/* Makes a reduction of mma(T0…, T1…). Returns false after reporting. */
bool nv_mma(struct nv_reader *r, ast_id call, struct nv_tensor *result);

/* ---- sema_sort.c */
/* Reads argsort. Returns false if the call is another one. */
bool nv_argsort(struct nv_reader *r, ast_id targets, ast_id call);

/* ---- sema_welford.c */
/* Reads Welford. Returns false if the call is another one. */
bool nv_welford(struct nv_reader *r, ast_id targets, ast_id call);

/* ---- sema_listing.c */
void nv_read_types(struct nv_reader *r, enum printed_way way);
/* Reads the whole program in one way, without messages. Returns true if it has no errors. */
bool nv_has_no_errors(struct nv_reader *r, enum sema_paired paired);
/* Returns the ways among which some tensor, read by itself, leaves a choice. */
unsigned nv_list_ways(const struct nv_reader *r);
void nv_types(struct nv_reader *r); /* of all tensors */
/* Returns the numbers that the counter of a tensor's axes gave. */
struct printed_numbers *nv_numbers_of(struct nv_reader *r, const struct nv_tensor *t);
/* Returns the tensor that prints the reductions of a result: a ShardByStream prints none, but its operand does. */
const struct nv_tensor *nv_printed_reductions(struct nv_reader *r, const struct nv_tensor *result);

/* ---- sema_cover.c */
/* Reads the tensors by all numbers, if these leave one or two readings that have no errors. all: the program
 * says that they do. */
bool nv_read_by_cover(struct nv_reader *r, bool all);

/* ---- sema_ranks.c */
/* Finds the mesh of a listing that prints no devices. */
void nv_ranks(struct nv_reader *r);

/* ---- sema_own_inputs.c */
/* Finds the inputs of which each device has its own. */
void nv_own_inputs(struct nv_reader *r);
/* Defines the tensors of all devices as one value, t->whole, and returns it. */
value_id nv_define_whole(struct nv_reader *r, struct nv_tensor *t, uint32_t at);
/* Appends the select of the device's block of t->whole, for which the tensor stands from here on. */
void nv_take_block(struct nv_reader *r, struct nv_tensor *t, uint32_t at);

/* ---- sema_own_outputs.c */
/* Finds the outputs of which each device has its own. */
void nv_own_outputs(struct nv_reader *r);
/* Makes buffers of such outputs that a statement defines and no ALLOCATE does. */
void nv_allocate_own_outputs(struct nv_reader *r, ast_id stmt);

/* ---- sema_printed.c */
/* Reads the printed loop domain of a tensor. */
bool nv_ids(struct nv_reader *r, const struct nv_tensor *t, mesh_id mesh, struct printed_tensor *out);
/* Returns true if the tensor is printed without a dtype, as by older versions. */
bool nv_lacks_dtype(const struct nv_reader *r, const struct nv_tensor *t);
/* Reads an ID as an axis. */
bool nv_read_id(struct nv_reader *r, ast_id id, mesh_id mesh, struct axis *out);
/* Reads the parallel type of an ID or swizzle. */
bool nv_read_place(struct nv_reader *r, ast_id id, const char *text, mesh_id mesh, struct axis *a);
/* Returns the pending reduction of a partial axis. */
uint8_t nv_pending_reduction(struct nv_reader *r, const struct nv_tensor *t, const struct axis *a,
                             mesh_id mesh);
/* Calls sema_extent for the extent in an ID, or for the one in its `ex`. */
expr_id nv_extent(struct nv_reader *r, ast_id id, ast_id extent);
/* Finds the tensor's type and axis numbers. It always sets a type, after reporting errors. */
void nv_type(struct nv_reader *r, struct nv_tensor *t);

/* ---- sema_transforms.c */
/* Returns the line of a tensor's block that begins with a word: logical, allocation, contiguity. 0: there is none. */
ast_id nv_block_line(struct nv_reader *r, const struct nv_tensor *t, const char *what);
/* Makes the domain of a tensor with a block, and the numbers of its axes. Returns 0 after reporting. */
domain_id nv_block_domain(struct nv_reader *r, const struct nv_tensor *t, const struct printed_tensor *p,
                          int32_t *number);

/* ---- sema_stream.c */
/* Reads the definition of a stream, target. */
void nv_get_current_stream(struct nv_reader *r, ast_id stmt, ast_id target);
/* Reads a statement that takes one stream. */
void nv_stream_call(struct nv_reader *r, ast_id call, enum op_kind kind);

/* ---- sema_varying.c */
/* Reads a float that differs by iteration or rank. Returns false if it is none; true, too, after reporting. */
bool nv_varying(struct nv_reader *r, ast_id target, ast_id expr);
/* Returns a name that stands for a value. */
ast_id nv_node_value(struct nv_reader *r, ast_id like, value_id value);
/* Rounds such floats to the dtype of the tensors in an expression. Those of a call for random numbers stay doubles. */
void nv_round_varying(struct nv_reader *r, ast_id expr);
/* Puts a number rounded to a dtype in the place of each such float in an expression. */
void nv_round_numbers(struct nv_reader *r, ast_id e, enum dtype dtype);

/* ---- sema_schedule.c */
/* Returns true for the place of an axis that is parallel in a kernel: threadIdx.x, US. */
bool nv_is_kernel_place(const char *text);
/* Returns a copy of an axis, as a serial one if it is parallel in the kernel. */
ast_id nv_serial_axis(struct nv_reader *r, ast_id id);
/* Takes kernels' schedules out of the tensors that have blocks, and warns. */
void nv_unschedule(struct nv_reader *r);

/* ---- sema_order.c */
/* Gives the tensors of Communications the order in memory that these need, and warns. */
void nv_orders(struct nv_reader *r);

/* ---- sema_alike.c */
/* Gives the tensor the type and axis numbers of a similar one. Returns false if there is none. */
bool nv_alike_find(struct nv_reader *r, struct nv_tensor *t);
void nv_alike_keep(struct nv_reader *r, const struct nv_tensor *t);
/* The same for tensors that AST_REPEATs define. statement: value.i of the AST_REPEAT, 0: none. */
bool nv_alike_find_repeat(struct nv_reader *r, struct nv_tensor *t, int64_t statement);
void nv_alike_keep_repeat(struct nv_reader *r, const struct nv_tensor *t, int64_t statement);

#endif
