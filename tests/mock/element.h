/* element: converts numbers in memory to doubles or integers and back, for the mock's arithmetic. */
#ifndef HIRC_MOCK_ELEMENT_H
#define HIRC_MOCK_ELEMENT_H
#include <stddef.h>
#include <stdint.h>

enum element {
	ELEMENT_F64,
	ELEMENT_F32,
	ELEMENT_BF16,
	ELEMENT_F16,
	ELEMENT_F8E4M3,
	ELEMENT_F8E5M2,
	ELEMENT_I64,
	ELEMENT_U64,
	ELEMENT_I32,
	ELEMENT_U32,
	ELEMENT_I8,
	ELEMENT_U8,
	ELEMENT_NONE /* an unknown type */
};

size_t element_bytes(enum element t);
/* Loads element k. Integers of 64 bits are rounded to doubles. */
double element_load(enum element t, const void *at, size_t k);
void element_store(enum element t, void *at, size_t k, double x); /* rounded to nearest even */
/* For integers only. Stores keep the low bits. */
int64_t element_load_whole(enum element t, const void *at, size_t k);
void element_store_whole(enum element t, void *at, size_t k, int64_t x);

static inline int element_is_whole(enum element t)
{
	return t >= ELEMENT_I64;
}

#endif
