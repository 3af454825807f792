/* pointwise: see pointwise.h. */
#include "base/pointwise.h"
#include <stdint.h>

static const struct {
	const char *name;
	int8_t operands;
	uint8_t class;
} operations[POINTWISE_COUNT] = {
#define POINTWISE(id, hir, operands, class, ...) [POINTWISE_##id] = {#hir, operands, CLASS_##class},
#include "base/pointwise.def"
#undef POINTWISE
};

const char *pointwise_name(enum pointwise op)
{
	return op < POINTWISE_COUNT ? operations[op].name : "?";
}

int pointwise_operands(enum pointwise op)
{
	return operations[op].operands;
}

enum pointwise_class pointwise_class(enum pointwise op)
{
	return operations[op].class;
}
