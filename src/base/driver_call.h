/* driver_call: the kinds of calls to a GPU's driver, see driver_calls.def. */
#ifndef HIRC_BASE_DRIVER_CALL_H
#define HIRC_BASE_DRIVER_CALL_H

enum driver_call {
#define CALL(id, issue, node, meaning) CALL_##id,
#include "base/driver_calls.def"
#undef CALL
	CALL_COUNT
};

#endif
