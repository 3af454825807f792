/* wire: tests if bytes are a Protocol Buffers message, and finds the place of an error.
 *
 *     struct wire_fault f;
 *     if (!wire_check(&chakra__node__descriptor, data, from, to, &f))
 *         … f.at, f.field, f.what                          data_deps: a number does not end
 *
 * A message that passes can be unpacked. Unknown fields need only be complete. */
#ifndef HIRC_IMPORT_WIRE_H
#define HIRC_IMPORT_WIRE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ProtobufCMessageDescriptor;

struct wire_fault {
	size_t at;         /* offset in data */
	const char *field; /* of the message or of one inside it; NULL: unknown */
	const char *what;
};

/* Reads a number of 7 bits a byte. Returns false if it does not end before `to`, or has more than 64 bits. */
bool wire_varint(const uint8_t *data, size_t *at, size_t to, uint64_t *out);
/* Checks the bytes [from, to) of data. Exists only if hirc is built with protobuf-c. */
bool wire_check(const struct ProtobufCMessageDescriptor *m, const uint8_t *data, size_t from, size_t to,
                struct wire_fault *out);

#endif
