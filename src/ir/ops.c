/* ops: the table made from ops.def, and look-ups in it. */
#include "ir/ir.h"
#include <string.h>

#define EXACT(n) (n), (n)
#define RANGE(lo, hi) (lo), (hi)
#define ANY 0, IR_MAX_OPERANDS
#define NO_KEYS NULL, NULL
#define KEY(key) key, NULL
#define KEYS(first, second) first, second

const struct op_info op_info[OP_KIND_COUNT] = {
    [OP_NONE] = {.id = "NONE", .hir = "", .nvfuser = "", .attributes = "", .meaning = ""},
#define OP_ROW(id, hir, nvfuser, attributes, meaning, form, min, max, key0, key1, traits)                    \
	[OP_##id] = {#id, hir, nvfuser, attributes, meaning, {key0, key1}, FORM_##form, min, max, traits},
#define OP_EXPAND(...) OP_ROW(__VA_ARGS__)
#define OP(id, hir, nvfuser, form, reads, scalars, traits, attributes, meaning)                              \
	OP_EXPAND(id, hir, nvfuser, attributes, meaning, form, reads, scalars, traits)
#include "ir/ops.def"
#undef OP
#undef OP_EXPAND
#undef OP_ROW
};

static const char first_letter[OP_KIND_COUNT] = {
/* of hir */
#define OP(id, hir, ...) [OP_##id] = (hir)[0],
#include "ir/ops.def"
#undef OP
};

enum op_kind op_by_hir(const char *mnemonic)
{
	const char *end = first_letter + OP_KIND_COUNT;
	for (const char *at = first_letter; (at = memchr(at + 1, mnemonic[0], (size_t)(end - at - 1)));)
		if (!strcmp(op_info[at - first_letter].hir, mnemonic))
			return (enum op_kind)(at - first_letter);
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
	case OP_SDPA:
		return 2;
	case OP_SDPA_BACKWARD:
		return 3;
	case OP_DISPATCH:
		return 6;
	default:
		return 1;
	}
}

bool op_info_takes_results(enum op_kind kind, unsigned n)
{
	unsigned most = op_info_results(kind);
	return !most || n == most || (kind == OP_SDPA && n == 1);
}

bool op_info_takes_number(enum op_kind kind, unsigned k)
{
	return op_info[kind].max_reads &&
	       (op_info[kind].traits & TRAIT_POINTWISE || (kind == OP_PUT && k == 2));
}

bool op_pointwise(enum op_kind kind, enum pointwise *out)
{
	static const uint8_t operation[OP_KIND_COUNT] = {
	/* + 1; 0: it is not pointwise */
#define POINTWISE(id, ...) [OP_##id] = POINTWISE_##id + 1,
#include "base/pointwise.def"
#undef POINTWISE
	};
	if (operation[kind])
		*out = operation[kind] - 1;
	return operation[kind] != 0;
}

enum reduce_op reduce_op_of(enum op_kind kind)
{
	for (unsigned r = 0; r < REDUCE_COUNT; r++)
		if (reduce_operation(r) == kind)
			return r;
	return REDUCE_SUM;
}

enum op_kind reduce_operation(enum reduce_op r)
{
	static const uint8_t operation[] = {
#define REDUCTION(id, hir, operation, ...) [REDUCE_##id] = OP_##operation,
#include "base/reductions.def"
#undef REDUCTION
	};
	return operation[r];
}

enum op_kind collective_operation(enum collective c)
{
	static const uint8_t operation[] = {
#define COLLECTIVE(id, operation, ...) [COLLECTIVE_##id] = OP_##operation,
#include "base/collectives.def"
#undef COLLECTIVE
	};
	return operation[c];
}

bool op_collective(enum op_kind kind, enum collective *out)
{
	for (enum collective c = 0; kind != OP_NONE && c < COLLECTIVE_COUNT; c++)
		if (collective_operation(c) == kind) {
			*out = c;
			return true;
		}
	return false;
}

bool op_root_gives(enum op_kind kind)
{
	enum collective c;
	return op_collective(kind, &c) && collective_is_rooted(c) && !collective_is_to_root(c);
}

bool op_root_takes(enum op_kind kind)
{
	enum collective c;
	return op_collective(kind, &c) && collective_is_to_root(c);
}
