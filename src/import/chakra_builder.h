/* chakra_builder: statements of the program of a trace, one after the other.
 *
 *     builder_name_attr(b, "callee", …); builder_operand(b, k, v); builder_result(b, …); op = builder_end(b);
 */
#ifndef HIRC_IMPORT_CHAKRA_BUILDER_H
#define HIRC_IMPORT_CHAKRA_BUILDER_H
#include "import/chakra.h"
#include "import/chakra_tensors.h"
#include "ir/build.h"
#include "ir/ir.h"

#define NO_STORAGE UINT32_MAX

struct storage {
	uint64_t id;
	value_id value; /* the last one that has it; 0: none yet */
	uint32_t comm;  /* node + 1 of a collective that made that and is not waited for */
};

struct made { /* by node */
	op_id op;
	value_id value;   /* the value that those which need it read */
	bool needed;      /* others do */
	bool waits;       /* a collective that nothing has waited for */
	uint32_t storage; /* of a collective: of its results, in `of_results` */
};

struct builder {
	struct diag *d;
	const struct chakra *t;
	struct module *m;
	struct arena *scratch;
	struct made *made;
	struct storage *storage; /* by id */
	uint32_t storage_n;
	group_id *group;    /* by group of the trace; 0: not declared yet */
	bool timed, device; /* the trace has times of computations; it tells the device from the host */
	VEC(uint32_t) of_results;
	VEC(bool) taken;     /* by name: a tensor has it */
	VEC(uint32_t) seen;  /* by value: node + 1 that has it as an operand */
	VEC(uint32_t) place; /* by value: which operand */
	/* of the statement that is being made */
	VEC(struct ir_use) use;
	VEC(struct ir_use) read;
	VEC(struct attr) attr;
	VEC(int64_t) view, bytes, writes;
	int64_t read_bytes;
	bool viewed, sized;
};

/* Interned in the module. */
name_id builder_word(struct builder *b, const char *text);
/* A name of a tensor that no other has: the text, or with the node's id after it. */
name_id builder_name(struct builder *b, const char *text, uint64_t id);
/* Attributes of the statement that is being made. */
void builder_int(struct builder *b, const char *key, int64_t v);
void builder_name_attr(struct builder *b, const char *key, enum attr_kind kind, name_id v);
type_id builder_type(struct builder *b, enum dtype dtype, unsigned rank, const int64_t *dim);
/* Lists the tensors of a node, in place of the lists' contents. */
bool builder_tensors(struct builder *b, const struct chakra_node *n, struct chakra_tensors *in,
                     struct chakra_tensors *out);
/* The storages of all nodes, before the first statement is made. */
bool builder_storages(struct builder *b, struct chakra_tensors *in, struct chakra_tensors *out);
/* Returns the storage of an id; NO_STORAGE: none. */
uint32_t builder_storage(const struct builder *b, uint64_t id);
/* view: the operand; -1: it has bytes of its own. */
value_id builder_result(struct builder *b, type_id type, name_id name, int64_t view, int64_t bytes);
/* Returns the index of a value among the operands of node k. */
uint32_t builder_operand(struct builder *b, uint32_t k, value_id v);
/* Makes the statement, at the end of the program. */
op_id builder_end(struct builder *b);
type_id builder_tensor_type(struct builder *b, const struct chakra_tensor *x);
/* A result without bytes, for the order alone. */
value_id builder_token(struct builder *b, const struct chakra_node *n);
/* The wait for a collective, unless there was one. */
void builder_wait(struct builder *b, uint32_t k);
/* A storage that is there from the beginning, with the type of a tensor in it. */
void builder_input(struct builder *b, const struct chakra_tensor *x, uint32_t s);

#endif
