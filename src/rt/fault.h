/* fault: the faults that a task may find in its data, with their texts, the same on all devices. */
#ifndef HIRC_RT_FAULT_H
#define HIRC_RT_FAULT_H
#include <stdint.h>

/* X(name, number, text with value and limit). Kernels of a GPU write the number to memory that the host
 * reads; 0: none. */
#define RT_FAULTS(X)                                                                                         \
	X(DIVISION, 1, "integer division by zero")                                                           \
	X(POWER, 2, "zero to a negative integer power")                                                      \
	X(INDEX, 3, "index %lld is outside of the axis, which has extent %lld")                              \
	X(EXPERT, 4, "expert %lld is not below %lld, the number of experts")                                 \
	X(TOKEN, 5, "a row is of token %lld of this rank, which has %lld")                                   \
	X(EMPTY, 6, "mean of no integers")

#define RT_FAULT_ENUM(name, number, text) RT_FAULT_##name = number,
enum rt_fault { RT_FAULTS(RT_FAULT_ENUM) };
#undef RT_FAULT_ENUM

/* Writes the text into `why`, of RT_WHY_BYTES. value, limit: 0 if the text does not use them. */
void rt_fault_text(enum rt_fault fault, int64_t value, int64_t limit, char *why);

#endif
