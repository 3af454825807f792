/* infer_rule: the shared parts of the rules of result types; for infer_type.c and the files beside it. */
#ifndef HIRC_IR_INFER_RULE_H
#define HIRC_IR_INFER_RULE_H
#include "ir/infer.h"

struct infer_result {
	enum dtype dtype;
	unsigned rank;
	expr_id extent[IR_MAX_LOGICAL];
	mesh_id mesh;   /* 0: that of the operands */
	uint8_t spread; /* axis 0 is spread over mesh axis spread - 1; 0: all are whole */
};

/* Returns the type of operand k; NULL for a number. */
const struct type *rule_operand_type(struct module *m, const struct infer_draft *f, unsigned k);
const struct domain *rule_operand_domain(struct module *m, const struct infer_draft *f, unsigned k);

/* `what, operand 2 is f32[3, 4]` */
void rule_report(struct module *m, struct diag *d, enum diagnostic code, const struct infer_draft *f,
                 unsigned k, const char *what);
/* `what: operand 2 is f32[3, 4], operand 1 is f32[4, 4]` */
void rule_report_pair(struct module *m, struct diag *d, enum diagnostic code, const struct infer_draft *f,
                      unsigned a, unsigned b, const char *what);

/* Shape and dtype of the result that a draft gives; false after reporting. */
bool rule_result(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
/* False after reporting that operands from number `from` on have several dtypes. */
bool rule_same_dtypes(struct module *m, struct diag *d, const struct infer_draft *f, unsigned from);
void rule_shape_of_operand(struct module *m, const struct infer_draft *f, unsigned k, struct infer_result *r);
/* axis= of a tensor with rank axes, `otherwise` by default; false after reporting. */
bool rule_axis(struct module *m, struct diag *d, const struct infer_draft *f, unsigned rank, int otherwise,
               unsigned *out);
/* An integer attribute; otherwise when it is absent. 0 after reporting. */
expr_id rule_attr_expr(struct module *m, struct diag *d, const struct infer_draft *f, const char *key,
                       expr_id otherwise);
/* Returns true if e is a number: a constant, or, while the module's params_count, an expression of params
 * that have values. */
bool rule_number(const struct module *m, expr_id e, int64_t *out);
bool rule_is_less(const struct module *m, expr_id a, expr_id b); /* as far as both are numbers */
/* False, reported, for an extent that overflowed. */
bool rule_fits(struct module *m, struct diag *d, const struct infer_draft *f, expr_id extent);

/* ---- infer_shape.c */
/* The shape that shape= gives, or that is stated. */
bool rule_shape_attr(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_reshape(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_permute(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_slice(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_cat(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);

/* ---- infer_experts.c */
bool rule_dispatch(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_combine(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);

/* ---- infer_index.c */
/* Returns true if operand k is of integers; reports it where not. what: `the indices must be integers`. */
bool rule_is_index(struct module *m, struct diag *d, const struct infer_draft *f, unsigned k,
                   const char *what);
bool rule_split(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_topk(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_take(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
bool rule_one_hot(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r);
/* Shape and dtype are right; tests if the dtypes are as wide as each other. */
bool rule_bitcast(struct module *m, struct diag *d, const struct infer_draft *f);

#endif
