/* chakra_tensors: finds the tensors among a node's arguments or results.
 *
 *     values  [[5, 9, 0, 32, 2, 'cuda:0'], 1, [[6, 9, 32, 32, 2, 'cuda:0'], …]]
 *     shapes  [[4, 8], [], [[32], …]]
 *     types   ['Tensor(c10::BFloat16)', 'Int', 'GenericList[Tensor(float),Tensor(float)]']
 *
 * The value of a tensor is a list: its id, id of its storage, offset, number of elements, bytes of an
 * element, device. */
#ifndef HIRC_IMPORT_CHAKRA_TENSORS_H
#define HIRC_IMPORT_CHAKRA_TENSORS_H
#include "base/dtype.h"
#include "import/chakra.h"
#include "ir/ir.h"

enum { CHAKRA_MOST_DIMS = IR_MAX_LOGICAL - 1 };

struct chakra_tensor {
	uint64_t storage;  /* id; 0: not stated */
	uint32_t argument; /* index of the argument */
	enum dtype dtype;
	int64_t bytes; /* of the tensor */
	unsigned rank;
	int64_t dim[IR_MAX_LOGICAL];
	bool cpu;
};

struct chakra_tensors {
	VEC(struct chakra_tensor) list;
};

/* Appends the tensors. field: `inputs` or `outputs`. */
bool chakra_tensors(struct diag *d, const struct chakra *t, const struct chakra_node *n, const char *field,
                    const struct chakra_values *v, struct chakra_tensors *out);

#endif
