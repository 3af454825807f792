/* chakra_builder: appends the statements of a trace's program.
 *
 *     builder_name_attr(b, "callee", …); builder_operand(b, k, v); builder_result(b, …); op =
 * builder_end(b); */
#ifndef HIRC_IMPORT_CHAKRA_BUILDER_H
#define HIRC_IMPORT_CHAKRA_BUILDER_H
#include "import/chakra.h"
#include "import/chakra_tensors.h"
#include "ir/build.h"
#include "ir/ir.h"

#define NO_STORAGE UINT32_MAX

struct storage {
	uint64_t id;
	value_id value; /* the last value with this storage; 0: none yet */
	uint32_t comm;  /* node + 1 of a collective that made that value and has not been waited for */
};

struct made { /* values made so far, by node */
	op_id op;
	value_id value;   /* the value that nodes which need this one read */
	value_id order;   /* read by nodes that only come after this one; 0: they read `value` */
	bool needed;      /* other nodes need it */
	bool ordered;     /* some come only after it: ctrl_deps of theirs name it */
	bool waits;       /* it is a collective that has not been waited for */
	uint32_t storage; /* the storages of a collective's results, in `of_results` */
};

struct builder {
	struct diag *d;
	const struct chakra *t;
	struct module *m;
	struct arena *scratch;
	struct made *made;
	struct storage *storage; /* by number of the storage */
	uint32_t storage_n;
	group_id *group;    /* by group of the trace; 0: not declared yet */
	bool timed, device; /* timed: the trace has times of computations; device: it distinguishes device
	                       and host */
	VEC(uint32_t) of_results;
	VEC(bool) taken;     /* by name: a tensor has this name */
	VEC(uint32_t) seen;  /* by value: node + 1 that last had it as an operand */
	VEC(uint32_t) place; /* by value: the index of that operand */
	/* the statement that is being made */
	VEC(struct ir_use) use;
	VEC(struct ir_use) read;
	VEC(struct attr) attr;
	VEC(int64_t) view, bytes, writes;
	int64_t read_bytes;
	bool viewed, sized;
};

/* Interns a word in the module. */
name_id builder_word(struct builder *b, const char *text);
/* Returns a unique name for a tensor: the text, if necessary with the node's id after it. */
name_id builder_name(struct builder *b, const char *text, uint64_t id);
/* Adds an attribute to the statement that is being made. */
void builder_int(struct builder *b, const char *key, int64_t v);
void builder_name_attr(struct builder *b, const char *key, enum attr_kind kind, name_id v);
type_id builder_type(struct builder *b, enum dtype dtype, unsigned rank, const int64_t *dim);
/* Lists the tensors of a node; replaces the contents of the lists. */
bool builder_tensors(struct builder *b, const struct chakra_node *n, struct chakra_tensors *in,
                     struct chakra_tensors *out);
/* Finds the storages of all nodes. Call it before the first statement is made. */
bool builder_storages(struct builder *b, struct chakra_tensors *in, struct chakra_tensors *out);
/* Returns the storage of an id; NO_STORAGE: none. */
uint32_t builder_storage(const struct builder *b, uint64_t id);
/* Adds a result. view: the operand it is a view of; -1: it has its own bytes. */
value_id builder_result(struct builder *b, type_id type, name_id name, int64_t view, int64_t bytes);
/* Returns the index of a value among the operands of node k. */
uint32_t builder_operand(struct builder *b, uint32_t k, value_id v);
/* Makes the statement and appends it to the program. */
op_id builder_end(struct builder *b);
type_id builder_tensor_type(struct builder *b, const struct chakra_tensor *x);
/* Makes a result without bytes, which only gives an order. */
value_id builder_token(struct builder *b, const char *name, uint64_t id);
/* Adds the wait for a collective, unless there was one. */
void builder_wait(struct builder *b, uint32_t k);
/* Adds an input for a storage that exists from the beginning, with the type of a tensor in it. */
void builder_input(struct builder *b, const struct chakra_tensor *x, uint32_t s);

#endif
