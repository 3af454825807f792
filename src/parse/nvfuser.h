/* nvfuser: what the files that read %HostIrContainer share.
 *
 *     sema_nvfuser.c        order of the steps, statements
 *     sema_buffer.c         buffers and views
 *     sema_unit.c           HostUnits
 *     sema_communication.c  Communications, transfers, and what names them
 *     sema_collect.c        what the container holds: tensors, numbered statements
 *     sema_hirc.c           the section `Hirc 1 :`
 *     sema_printed.c        types from printed ids and TransformPrinter
 *     sema_alike.c          types of tensors that differ in their numbers alone */
#ifndef HIRC_PARSE_NVFUSER_H
#define HIRC_PARSE_NVFUSER_H
#include "ir/printed.h"
#include "parse/sema_internal.h"

/* A tensor of the container, by its name T0. */
struct nv_tensor {
	name_id name;
	name_id given; /* by `name T0 = X`; 0: none */
	ast_id node;   /* its first TENSOR; until nv_type the AST_REPEAT that defines it */
	ast_id size;   /* of its ALLOCATE; 0: none */
	ast_id block;  /* TRANSFORMS; 0: none */
	ast_id attrs;  /* ATTRS of `attr T0 {…}`; 0: none */
	ast_id init;   /* of `input T0 = …`; 0: none */
	uint8_t input, output;
	uint8_t reduce; /* enum reduce_op of its partial axes */
	uint8_t open;   /* attr layout=open */
	int8_t inout;   /* attr inout=…; -1: not said */
	mesh_id mesh;   /* attr mesh=…; 0: not said */
	type_id type;
	uint32_t number_at; /* its axis_n axis numbers, in reader.number */
	uint32_t named;     /* chain of axis numbers that selects name: entry of reader.named + 1; 0: none */
	bool again;         /* the next definition gets a name and number of its own */
	bool formal;        /* in a unit's lists: its type is that of what stands for it */
	value_id value;     /* once it is defined */
	region_id region;   /* that its definition stands in */
};

enum nv_issue { ISSUE_BY_TEXT, ISSUE_HERE, ISSUE_POST };

/* A Communication, transfer or EndCoalescing, by its number. */
struct nv_statement {
	int64_t number;
	ast_id node;    /* the COMM or COMM_REF that is met first */
	uint32_t count; /* how often it stands as a statement */
	name_id given;
	ast_id attrs;
	uint8_t issue; /* enum nv_issue */
	op_id op;      /* once it is defined */
};

struct nv_fact { /* of an index or stream handle, by its number */
	uint64_t number;
	name_id name;
	uint32_t at;
};

struct nv_named {
	int32_t number;
	uint32_t next; /* entry + 1 */
};

struct nv_pending { /* an operand that names a statement not met yet */
	uint32_t operand;
	uint32_t statement;
};

struct nv_mesh { /* a DeviceMesh{…} as it is written */
	uint32_t at, length;
	mesh_id mesh;
};

/* A HostUnit's text. Its tensors are its own; those of its lists stand for what it is posted with. */
struct nv_unit {
	name_id name;
	ast_id node;
	uint32_t first, n; /* its tensors in reader.tensor */
	bool posted;
};

enum { NV_ALIKE = 256 };

struct nv_reader {
	struct sema *s;
	struct nv_alike {           /* sema_alike.c: by a hash of the axes */
		ast_id node;        /* 0: none */
		uint32_t number_at; /* as in struct nv_tensor */
		type_id type;
		mesh_id mesh;
		bool io;
	} alike[NV_ALIKE];
	struct nv_repeat {         /* sema_alike.c: by the shape of the statement */
		int64_t statement; /* value.i of its AST_REPEAT; 0: none */
		uint32_t number_at;
		type_id type;
		mesh_id mesh;
		bool io;
	} repeat[NV_ALIKE];
	ast_id late; /* the AST_REPEAT that is collected; 0: none */
	VEC(struct nv_tensor) tensor;
	VEC(uint32_t) tensor_of; /* by name_id: entry + 1; not of units */
	VEC(uint32_t) local_of;  /* the same of units, the first there is */
	VEC(struct nv_unit) unit;
	uint32_t in_unit;                   /* entry + 1 of the unit that is read; 0: none */
	VEC(struct nv_statement) statement; /* sorted by number */
	VEC(struct nv_fact) index_name, index_kind, handle_name; /* sorted by number */
	VEC(struct nv_named) named;
	VEC(int32_t) number;
	VEC(struct nv_pending) pending;
	VEC(struct nv_mesh) mesh;
	VEC(uint8_t) given;                 /* by name_id: what has the name already */
	name_id program_name, program_mesh; /* of `attr program {…}`; 0: not said */
	uint32_t program_mesh_at;
	bool no_mesh; /* mesh=0 */
};

/* ---- sema_collect.c */
/* All tensors and numbered statements of the header and the body. */
void nv_collect(struct nv_reader *r, ast_id container);
/* In the unit that is read, else in the container, else in a unit. NULL: none. */
struct nv_tensor *nv_find_tensor(struct nv_reader *r, name_id name);
void nv_collect_node(struct nv_reader *r, ast_id node);
struct nv_statement *nv_find_statement(struct nv_reader *r, int64_t number);
/* The value of a key of a call or COMM; 0: absent. */
ast_id nv_key(struct nv_reader *r, ast_id call, const char *key);

/* ---- sema_hirc.c */
void nv_declarations(struct nv_reader *r, ast_id section); /* before the body is read */
void nv_facts(struct nv_reader *r, ast_id section);        /* what refers to tensors and statements */
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
               const char *message); /* reports; false */
/* The tensor that a statement's result is, and its value where that is bound: then it is written. */
bool nv_result(struct nv_reader *r, ast_id node, struct nv_tensor **t, value_id *bound);
value_id nv_define(struct nv_reader *r, struct nv_tensor *t, uint32_t at);
value_id nv_operand(struct nv_reader *r, ast_id node); /* 0 after reporting */
scalar_id nv_scalar(struct nv_reader *r, ast_id e);    /* 0 after reporting */
attrs_id nv_with_name(struct nv_reader *r, attrs_id attrs, const char *key, name_id value);
/* The keys of a call or attr line but those named, as attributes of an operation, which takes no others than
 * its own; OP_NONE takes any. */
attrs_id nv_attrs(struct nv_reader *r, enum op_kind kind, ast_id call, const char *const *but);

/* ---- sema_buffer.c */
void nv_allocate(struct nv_reader *r, ast_id stmt, ast_id target, ast_id call);
void nv_deallocate(struct nv_reader *r, ast_id stmt);
void nv_symmetric_view(struct nv_reader *r, ast_id stmt, ast_id target, ast_id call);
void nv_view(struct nv_reader *r, ast_id stmt, ast_id target, ast_id call, bool select);

/* ---- sema_unit.c */
void nv_collect_unit(struct nv_reader *r, ast_id node);
/* PostOnStream and LaunchKernel. */
void nv_post_unit(struct nv_reader *r, ast_id call, enum op_kind kind);

/* ---- sema_communication.c */
ast_id nv_need_key(struct nv_reader *r, ast_id comm, const char *key); /* 0 after reporting */
void nv_communication(struct nv_reader *r, ast_id comm);               /* that stands as a statement */
/* Wait, post and ShareMemHandles. */
void nv_naming_call(struct nv_reader *r, ast_id call, enum op_kind kind);
void nv_resolve_pending(struct nv_reader *r);

/* ---- sema_printed.c */
/* sema_extent of the extent in an ID, or in its `ex`. */
expr_id nv_extent(struct nv_reader *r, ast_id id, ast_id extent);
/* The tensor's type and axis numbers. Always gives a type; reports. */
void nv_type(struct nv_reader *r, struct nv_tensor *t);

/* ---- sema_alike.c */
/* Gives the tensor the type and axis numbers of one that was kept; false: none is like it. */
bool nv_alike_find(struct nv_reader *r, struct nv_tensor *t);
void nv_alike_keep(struct nv_reader *r, const struct nv_tensor *t);
/* The same of tensors that AST_REPEATs define: statement is value.i of that. 0: none. */
bool nv_alike_find_repeat(struct nv_reader *r, struct nv_tensor *t, int64_t statement);
void nv_alike_keep_repeat(struct nv_reader *r, const struct nv_tensor *t, int64_t statement);

#endif
