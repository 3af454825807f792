/* element: see element.h. */
#include "element.h"
#include "rt/convert_bits.h"

#define AT(type) (((type *)at)[k])
#define AT_CONST(type) (((const type *)at)[k])

size_t element_bytes(enum element t)
{
	static const uint8_t bytes[] = {8, 4, 2, 2, 1, 1, 8, 8, 4, 4, 1, 1, 0};
	return bytes[t];
}

double element_load(enum element t, const void *at, size_t k)
{
	switch (t) {
	case ELEMENT_F64:
		return AT_CONST(double);
	case ELEMENT_F32:
		return AT_CONST(float);
	case ELEMENT_BF16:
		return bits_bf16_to_f32(AT_CONST(uint16_t));
	case ELEMENT_F16:
		return bits_f16_to_f32(AT_CONST(uint16_t));
	case ELEMENT_F8E4M3:
		return bits_f8e4m3_to_f32(AT_CONST(uint8_t));
	case ELEMENT_F8E5M2:
		return bits_f8e5m2_to_f32(AT_CONST(uint8_t));
	case ELEMENT_U64:
		return (double)AT_CONST(uint64_t);
	default:
		return (double)element_load_whole(t, at, k);
	}
}

void element_store(enum element t, void *at, size_t k, double x)
{
	switch (t) {
	case ELEMENT_F64:
		AT(double) = x;
		return;
	case ELEMENT_F32:
		AT(float) = (float)x;
		return;
	case ELEMENT_BF16:
		AT(uint16_t) = bits_f64_to_bf16(x);
		return;
	case ELEMENT_F16:
		AT(uint16_t) = bits_f64_to_f16(x);
		return;
	case ELEMENT_F8E4M3:
		AT(uint8_t) = bits_f64_to_f8e4m3(x);
		return;
	case ELEMENT_F8E5M2:
		AT(uint8_t) = bits_f64_to_f8e5m2(x);
		return;
	default:
		element_store_whole(t, at, k, (int64_t)x);
	}
}

int64_t element_load_whole(enum element t, const void *at, size_t k)
{
	switch (t) {
	case ELEMENT_I64:
	case ELEMENT_U64:
		return AT_CONST(int64_t);
	case ELEMENT_I32:
		return AT_CONST(int32_t);
	case ELEMENT_U32:
		return AT_CONST(uint32_t);
	case ELEMENT_I8:
		return AT_CONST(int8_t);
	case ELEMENT_U8:
		return AT_CONST(uint8_t);
	default:
		return 0;
	}
}

void element_store_whole(enum element t, void *at, size_t k, int64_t x)
{
	switch (element_bytes(t)) {
	case 8:
		AT(int64_t) = x;
		return;
	case 4:
		AT(uint32_t) = (uint32_t)x;
		return;
	case 1:
		AT(uint8_t) = (uint8_t)x;
		return;
	}
}
