/* infer_rule: the parts that the rules of result types share; for infer_type.c and the files beside it. */
#ifndef HIRC_IR_INFER_RULE_H
#define HIRC_IR_INFER_RULE_H
#include "ir/infer.h"

struct infer_result {
	enum dtype dtype;
	unsigned rank;
	expr_id extent[IR_MAX_LOGICAL];
	mesh_id mesh;   /* 0: the operands' mesh */
	uint8_t spread; /* axis 0 is spread over mesh axis spread - 1; 0: no axis is spread */
};

/* Returns the type of operand k; NULL for a number. */
const struct type *rule_operand_type(struct module *m, const struct infer_draft *f, unsigned k);
const struct domain *rule_operand_domain(struct module *m, const struct infer_draft *f, unsigned k);

/* Reports `what, operand 2 is f32[3, 4]`. */
void rule_report(struct module *m, struct diag *d, enum diagnostic code, const struct infer_draft *f,
                 unsigned k, const char *what);
/* Reports `what: operand 2 is f32[3, 4], operand 1 is f32[4, 4]`. */
void rule_report_pair(struct module *m, struct diag *d, enum diagnostic code, const struct infer_draft *f,
                      unsigned a, unsigned b, const char *what);

/* Computes shape and dtype of the result of a draft. Returns false after reporting. */
bool rule_result(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
/* Returns false after reporting that the operands from number `from` on differ in dtype. */
bool rule_same_dtypes(struct module *m, struct diag *d, const struct infer_draft *f, unsigned from);
void rule_shape_of_operand(struct module *m, const struct infer_draft *f, unsigned k, struct infer_result *r);
/* Reads axis= for a tensor with `rank` axes; the default is `otherwise`. Returns false after reporting. */
bool rule_axis(struct module *m, struct diag *d, const struct infer_draft *f, unsigned rank, int otherwise,
               unsigned *out);
/* Returns an integer attribute, or `otherwise` if it is absent; 0 after reporting. */
expr_id rule_attr_expr(struct module *m, struct diag *d, const struct infer_draft *f, const char *key,
                       expr_id otherwise);
/* Returns true if e is a number: a constant or, while params_count of the module is set, an expression
 * of params that have values. */
bool rule_number(const struct module *m, expr_id e, int64_t *out);
/* Returns true if extents are the same, or may be: then types_check compares their values. */
bool rule_extents_agree(const struct module *m, expr_id a, expr_id b);
bool rule_is_less(const struct module *m, expr_id a, expr_id b); /* false if one is not a number */
/* Returns false after reporting that an extent overflowed. */
bool rule_fits(struct module *m, struct diag *d, const struct infer_draft *f, expr_id extent);

/* Returns true unless the extents are known to differ and the first is not 1. */
bool rule_may_broadcast(struct module *m, expr_id extent, expr_id to);

/* ---- infer_attention.c */
bool rule_sdpa(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_sdpa_backward(struct module *m, struct diag *d, const struct infer_draft *f,
                        struct infer_result *r);

/* ---- infer_shape.c */
/* Reads the shape from shape=, or from the stated type. */
bool rule_shape_attr(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_uniform(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_reshape(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_permute(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_slice(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_cat(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);

/* ---- infer_experts.c */
bool rule_dispatch(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_combine(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);

/* ---- infer_index.c */
/* Returns true if operand k is of integers, otherwise reports it. what: `the indices must be integers`. */
bool rule_is_index(struct module *m, struct diag *d, const struct infer_draft *f, unsigned k,
                   const char *what);
bool rule_split(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_topk(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_grouped(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_scan(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_put(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_take(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_one_hot(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
/* Checks that two dtypes have the same width. Shape and dtype are already right. */
bool rule_bitcast(struct module *m, struct diag *d, const struct infer_draft *f);

#endif
