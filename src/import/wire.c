/* wire: see wire.h. */
#include "import/wire.h"

bool wire_varint(const uint8_t *data, size_t *at, size_t to, uint64_t *out)
{
	uint64_t v = 0;
	for (unsigned k = 0; k < 10 && *at < to; k++) {
		uint8_t byte = data[(*at)++];
		if (k == 9 && byte > 1)
			return false;
		v |= (uint64_t)(byte & 0x7f) << (7 * k);
		if (!(byte & 0x80)) {
			*out = v;
			return true;
		}
	}
	return false;
}

#ifdef HIRC_HAVE_PROTOBUF
#include <protobuf-c/protobuf-c.h>

enum { WIRE_VARINT, WIRE_8_BYTES, WIRE_LENGTH, WIRE_4_BYTES = 5 };

static bool fault(struct wire_fault *out, size_t at, const char *field, const char *what)
{
	*out = (struct wire_fault){at, field, what};
	return false;
}

static unsigned kind_of(ProtobufCType t)
{
	switch (t) {
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_FLOAT:
		return WIRE_4_BYTES;
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return WIRE_8_BYTES;
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
	case PROTOBUF_C_TYPE_MESSAGE:
		return WIRE_LENGTH;
	default:
		return WIRE_VARINT;
	}
}

/* Checks one number at *at. */
static bool check_number(unsigned kind, const uint8_t *data, size_t *at, size_t to, const char *field,
                         struct wire_fault *out)
{
	size_t from = *at, width = kind == WIRE_4_BYTES ? 4 : 8;
	uint64_t ignored;
	if (kind == WIRE_VARINT)
		return wire_varint(data, at, to, &ignored) ||
		       fault(out, from, field, "a number does not end, or has more than 64 bits");
	if (to - from < width)
		return fault(out, from, field, "a number is cut off");
	*at += width;
	return true;
}

/* Checks the bytes of a field that has a length. */
static bool check_bytes(const ProtobufCFieldDescriptor *f, const uint8_t *data, size_t from, size_t to,
                        struct wire_fault *out)
{
	if (f->type == PROTOBUF_C_TYPE_MESSAGE)
		return wire_check(f->descriptor, data, from, to, out);
	for (size_t at = from; kind_of(f->type) != WIRE_LENGTH && at < to;)
		if (!check_number(kind_of(f->type), data, &at, to, f->name, out))
			return false;
	return true;
}

bool wire_check(const ProtobufCMessageDescriptor *m, const uint8_t *data, size_t from, size_t to,
                struct wire_fault *out)
{
	for (size_t at = from; at < to;) {
		size_t start = at;
		uint64_t tag, length;
		if (!wire_varint(data, &at, to, &tag))
			return fault(out, start, NULL, "the number of a field does not end");
		if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
			return fault(out, start, NULL, "a field has a number that no field can have");
		const ProtobufCFieldDescriptor *f =
		    protobuf_c_message_descriptor_get_field(m, (unsigned)(tag >> 3));
		unsigned kind = tag & 7;
		const char *name = f ? f->name : NULL;
		bool packed = f && f->label == PROTOBUF_C_LABEL_REPEATED && kind_of(f->type) != WIRE_LENGTH;
		if (kind != WIRE_VARINT && kind != WIRE_8_BYTES && kind != WIRE_LENGTH &&
		    kind != WIRE_4_BYTES)
			return fault(out, start, name, "a field is of no kind that is in use");
		if (f && kind != kind_of(f->type) && !(packed && kind == WIRE_LENGTH))
			return fault(out, start, name, "this field is of another kind");
		if (kind != WIRE_LENGTH) {
			if (!check_number(kind, data, &at, to, name, out))
				return false;
			continue;
		}
		size_t here = at;
		if (!wire_varint(data, &at, to, &length))
			return fault(out, here, name, "a length does not end");
		if (length > to - at)
			return fault(out, here, name, "this field is longer than the message that holds it");
		if (f && !check_bytes(f, data, at, at + (size_t)length, out))
			return false;
		at += (size_t)length;
	}
	return true;
}
#endif
