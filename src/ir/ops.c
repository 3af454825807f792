/* ops: the table of ops.def, and look-ups in it. */
#include "ir/ir.h"
#include <string.h>

#define EXACT(n) (n), (n)
#define RANGE(lo, hi) (lo), (hi)
#define ANY 0, IR_MAX_OPERANDS

const struct op_info op_info[OP_KIND_COUNT] = {
    [OP_NONE] = {.id = "NONE", .hir = "", .nvfuser = "", .attributes = "", .meaning = ""},
#define OP_ROW(id, hir, nvfuser, attributes, meaning, form, min, max, traits)                                \
	[OP_##id] = {#id, hir, nvfuser, attributes, meaning, FORM_##form, min, max, traits},
#define OP_EXPAND(...) OP_ROW(__VA_ARGS__)
#define OP(id, hir, nvfuser, form, reads, traits, attributes, meaning)                                       \
	OP_EXPAND(id, hir, nvfuser, attributes, meaning, form, reads, traits)
#include "ir/ops.def"
#undef OP
#undef OP_EXPAND
#undef OP_ROW
};

enum op_kind op_by_hir(const char *mnemonic)
{
	for (unsigned k = 1; k < OP_KIND_COUNT; k++)
		if (op_info[k].hir[0] == mnemonic[0] && !strcmp(op_info[k].hir, mnemonic))
			return (enum op_kind)k;
	return OP_NONE;
}

enum op_kind op_by_nvfuser(const char *mnemonic)
{
	for (unsigned k = 1; k < OP_KIND_COUNT; k++)
		if (!strcmp(op_info[k].nvfuser, mnemonic))
			return (enum op_kind)k;
	return OP_NONE;
}

unsigned op_info_results(enum op_kind kind)
{
	switch (kind) {
	case OP_EXTERN:
	case OP_UNPACK:
	case OP_SPLIT:
		return 0;
	case OP_TOPK:
		return 2;
	case OP_DISPATCH:
		return 6;
	default:
		return 1;
	}
}

static const char *const reduce_names[] = {
    [REDUCE_SUM] = "sum", [REDUCE_PROD] = "prod", [REDUCE_MIN] = "min",
    [REDUCE_MAX] = "max", [REDUCE_AVG] = "avg",
};

const char *reduce_op_name(enum reduce_op r)
{
	return reduce_names[r];
}

enum reduce_op reduce_op_of(enum op_kind kind)
{
	switch (kind) {
	case OP_MAX:
		return REDUCE_MAX;
	case OP_MIN:
		return REDUCE_MIN;
	case OP_PROD:
		return REDUCE_PROD;
	case OP_MEAN:
		return REDUCE_AVG;
	default:
		return REDUCE_SUM;
	}
}

bool reduce_op_parse(const char *s, enum reduce_op *out)
{
	for (unsigned r = 0; r <= REDUCE_AVG; r++)
		if (!strcmp(s, reduce_names[r])) {
			*out = (enum reduce_op)r;
			return true;
		}
	return false;
}
