/* chakra_read: reads the messages of a trace, see chakra.h. Each message is checked before it is unpacked, so
 * that an error has an offset and a field. */
#include "base/str.h"
#include "import/chakra.h"
#include "import/chakra_groups.h"
#include "import/gunzip.h"
#include "import/wire.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#ifdef HIRC_HAVE_PROTOBUF
#include "chakra.pb-c.h"
#endif

enum { MOST_MICROS = 1000000000 }; /* longest duration, in units of 1000 us: eleven days */

bool chakra_refuse(struct diag *d, enum diagnostic code, const struct chakra *t, const struct chakra_node *n,
                   const char *field, const char *format, ...)
{
	struct buf text = {0};
	va_list args;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	char place[32] = "";
	if (n->at)
		snprintf(place, sizeof place, "byte %zu, ", n->at);
	diag_error(d, code, DIAG_NOWHERE, "'%s', %snode %" PRIu64 " (%s): %s%s%s", t->file, place, n->id,
	           n->name, field ? field : "", field ? ": " : "", text.at);
	buf_free(&text);
	return false;
}

/* Finds the length of the first message, and its place. */
static bool first_message(const char *data, size_t n, size_t *at, uint64_t *length)
{
	*at = 0;
	return wire_varint((const uint8_t *)data, at, n, length);
}

/* Tests the first message. Metadata begins with its version or an attribute, or is empty; a node begins with
 * its id, name or type. Texts have no control characters except blanks. */
bool chakra_is(const char *data, size_t n)
{
	size_t at;
	uint64_t length;
	if (gunzip_is(data, n))
		return true;
	if (!first_message(data, n, &at, &length))
		return false;
	if (length ? at == n || (data[at] != 0x0a && data[at] != 0x12)
	           : n < 3 || !data[1] || (data[2] != 0x08 && data[2] != 0x12 && data[2] != 0x18))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)data[i] < ' ' && !memchr("\t\n\v\f\r\033", data[i], 6))
			return true;
	return false;
}

bool chakra_has_group(const struct chakra *t, const char *name)
{
	for (uint32_t k = 0; k < t->group.n; k++)
		if (!strcmp(t->group.at[k].name, name))
			return true;
	return false;
}

void chakra_free(struct chakra *t)
{
	vec_free(&t->node);
	vec_free(&t->deps);
	vec_free(&t->group);
	vec_free(&t->members);
	arena_free(t->arena);
	*t = (struct chakra){0};
}

#ifdef HIRC_HAVE_PROTOBUF
struct reader {
	struct diag *d;
	struct chakra *t;
	const uint8_t *data;
	size_t size;
};

/* ---- texts */

/* Returns the length of the character at s; 0: it is invalid. The text ends with NUL. */
static size_t character(const char *s)
{
	const unsigned char *c = (const unsigned char *)s;
	size_t n = c[0] < 0x80 ? 1 : c[0] >= 0xc2 && c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
	if ((c[0] >= 0x80 && c[0] < 0xc2) || c[0] > 0xf4)
		return 0;
	for (size_t k = 1; k < n; k++)
		if ((c[k] & 0xc0) != 0x80)
			return 0;
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf0 && c[1] < 0x90) ||
	    (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return n;
}

/* Copies a text so that it can stand in backquotes and in a string: control characters, backquotes and bytes
 * that are not UTF-8 become _. */
static const char *sanitize_text(struct reader *r, const char *text)
{
	char *copy = arena_strndup(r->t->arena, text, strlen(text));
	for (size_t i = 0, n; copy[i]; i += n) {
		n = character(copy + i);
		if (!n || (unsigned char)copy[i] < ' ' || copy[i] == 0x7f || copy[i] == '`') {
			copy[i] = '_';
			n = 1;
		}
	}
	return copy;
}

static const char *text_of(struct reader *r, const char *text)
{
	return text && *text ? sanitize_text(r, text) : NULL;
}

static struct chakra_values values_of(struct reader *r, const Chakra__Values *v)
{
	if (!v)
		return (struct chakra_values){0};
	return (struct chakra_values){text_of(r, v->values), text_of(r, v->shapes), text_of(r, v->types)};
}

/* ---- attributes */

/* Reads an integer of any type. Returns false if the attribute is none. */
static bool read_integer(const Chakra__Attribute *a, int64_t *out)
{
	double real = 0;
	uint64_t large = 0;
	switch (a->value_case) {
	case CHAKRA__ATTRIBUTE__VALUE_INT32_VAL:
		*out = a->int32_val;
		return true;
	case CHAKRA__ATTRIBUTE__VALUE_INT64_VAL:
		*out = a->int64_val;
		return true;
	case CHAKRA__ATTRIBUTE__VALUE_SINT32_VAL:
		*out = a->sint32_val;
		return true;
	case CHAKRA__ATTRIBUTE__VALUE_SINT64_VAL:
		*out = a->sint64_val;
		return true;
	case CHAKRA__ATTRIBUTE__VALUE_SFIXED32_VAL:
		*out = a->sfixed32_val;
		return true;
	case CHAKRA__ATTRIBUTE__VALUE_SFIXED64_VAL:
		*out = a->sfixed64_val;
		return true;
	case CHAKRA__ATTRIBUTE__VALUE_BOOL_VAL:
		*out = a->bool_val;
		return true;
	case CHAKRA__ATTRIBUTE__VALUE_UINT32_VAL:
		*out = a->uint32_val;
		return true;
	case CHAKRA__ATTRIBUTE__VALUE_FIXED32_VAL:
		*out = a->fixed32_val;
		return true;
	case CHAKRA__ATTRIBUTE__VALUE_UINT64_VAL:
		large = a->uint64_val;
		break;
	case CHAKRA__ATTRIBUTE__VALUE_FIXED64_VAL:
		large = a->fixed64_val;
		break;
	case CHAKRA__ATTRIBUTE__VALUE_DOUBLE_VAL:
	case CHAKRA__ATTRIBUTE__VALUE_FLOAT_VAL:
		real = a->value_case == CHAKRA__ATTRIBUTE__VALUE_DOUBLE_VAL ? a->double_val
		                                                            : (double)a->float_val;
		if (!(real >= -0x1p62 && real <= 0x1p62) || real != floor(real))
			return false;
		*out = (int64_t)real;
		return true;
	default:
		return false;
	}
	*out = (int64_t)large;
	return large <= INT64_MAX;
}

static bool read_whole(struct reader *r, const struct chakra_node *n, const Chakra__Attribute *a,
                       int64_t most, int64_t *out)
{
	int64_t v;
	if (!read_integer(a, &v) || v < 0 || v > most)
		return chakra_refuse(r->d, E_TRACE_FIELD, r->t, n, a->name,
		                     "a whole number from 0 to %" PRId64 " should stand here", most);
	*out = v;
	return true;
}

/* Names a group by its dimensions: involved_dim=[true, false, true] is dims_101. */
static const char *dims_name(struct reader *r, const Chakra__Bools *list)
{
	enum { MOST = 64 };
	char name[MOST + 6] = "dims_";
	for (size_t k = 0; k < list->n_values && k < MOST; k++)
		name[5 + k] = list->values[k] ? '1' : '0';
	return arena_strndup(r->t->arena, name, strlen(name));
}

static bool read_attribute(struct reader *r, struct chakra_node *n, const Chakra__Attribute *a)
{
	static const struct {
		const char *name;
		size_t at;
		int64_t most;
	} numbers[] = {
	    {"comm_size", offsetof(struct chakra_node, comm_size), INT64_MAX / 4096},
	    {"tensor_size", offsetof(struct chakra_node, tensor_size), INT64_MAX / 4096},
	    {"num_ops", offsetof(struct chakra_node, operations), INT64_MAX},
	    {"comm_src", offsetof(struct chakra_node, from), INT32_MAX},
	    {"comm_dst", offsetof(struct chakra_node, to), INT32_MAX},
	    {"comm_tag", offsetof(struct chakra_node, tag), INT64_MAX},
	    {"duration_ns", offsetof(struct chakra_node, time), MOST_MICROS * INT64_C(1000000)},
	};
	int64_t v = 0;
	for (unsigned k = 0; k < sizeof numbers / sizeof *numbers; k++)
		if (!strcmp(a->name, numbers[k].name))
			return read_whole(r, n, a, numbers[k].most, (int64_t *)((char *)n + numbers[k].at));
	if (!strcmp(a->name, "comm_type")) {
		if (!read_whole(r, n, a, CHAKRA_COLLECTIVE_COUNT - 1, &v))
			return false;
		n->collective = (int)v;
	} else if (!strcmp(a->name, "is_cpu_op")) {
		if (!read_whole(r, n, a, 1, &v))
			return false;
		n->on_host = (int)v;
	} else if (!strcmp(a->name, "pg_name")) {
		if (a->value_case == CHAKRA__ATTRIBUTE__VALUE_STRING_VAL)
			n->group = text_of(r, a->string_val);
		else if (read_whole(r, n, a, INT64_MAX, &v))
			n->group = arena_printf(r->t->arena, "%" PRId64, v);
		else
			return false;
	} else if (!strcmp(a->name, "involved_dim") && !n->group &&
	           a->value_case == CHAKRA__ATTRIBUTE__VALUE_BOOL_LIST) {
		n->group = dims_name(r, a->bool_list);
	} else if (!strcmp(a->name, "op_schema") && a->value_case == CHAKRA__ATTRIBUTE__VALUE_STRING_VAL) {
		n->schema = text_of(r, a->string_val);
	}
	return true;
}

/* ---- messages */

static void add_deps(struct chakra *t, const uint64_t *id, size_t n)
{
	for (size_t k = 0; k < n; k++)
		vec_push(&t->deps, id[k]);
}

static bool read_node(struct reader *r, const Chakra__Node *x, size_t at)
{
	struct chakra *t = r->t;
	struct chakra_node n = {.id = x->id,
	                        .at = at,
	                        .collective = -1,
	                        .comm_size = -1,
	                        .tensor_size = -1,
	                        .operations = -1,
	                        .from = -1,
	                        .to = -1,
	                        .tag = -1,
	                        .on_host = -1};
	n.name =
	    x->name && *x->name ? sanitize_text(r, x->name) : arena_printf(t->arena, "node.%" PRIu64, x->id);
	if (x->type <= CHAKRA_INVALID || x->type >= CHAKRA_KINDS)
		return chakra_refuse(r->d, E_TRACE_FIELD, t, &n, "type",
		                     "%d is no type of a node; known are 1 to %d", (int)x->type,
		                     CHAKRA_KINDS - 1);
	if (x->duration_micros > MOST_MICROS * (uint64_t)1000)
		return chakra_refuse(r->d, E_TRACE_FIELD, t, &n, "duration_micros",
		                     "%" PRIu64 " us is too long: more than eleven days", x->duration_micros);
	n.kind = (enum chakra_kind)x->type;
	n.time = (int64_t)x->duration_micros * 1000;
	n.in = values_of(r, x->inputs);
	n.out = values_of(r, x->outputs);
	n.dep = t->deps.n;
	add_deps(t, x->data_deps, x->n_data_deps);
	n.data_n = t->deps.n - n.dep;
	add_deps(t, x->ctrl_deps, x->n_ctrl_deps);
	n.dep_n = t->deps.n - n.dep;
	for (size_t k = 0; k < x->n_attr; k++)
		if (!read_attribute(r, &n, x->attr[k]))
			return false;
	if (strstr(n.name, "process_group:init") && n.in.values && !chakra_groups(r->d, t, &n))
		return false;
	vec_push(&t->node, n);
	return true;
}

static bool damaged(struct reader *r, size_t at, const char *what, uint32_t which, const char *field,
                    const char *message)
{
	char number[16] = "";
	if (which)
		snprintf(number, sizeof number, " %u", which);
	diag_error(r->d, E_TRACE_DAMAGED, DIAG_NOWHERE, "'%s', byte %zu: %s%s: %s%s%s", r->t->file, at, what,
	           number, field ? field : "", field ? ": " : "", message);
	return false;
}

/* Reads the attribute by which hirc export says that times contain contention. */
static bool read_metadata(struct reader *r, size_t at, size_t n, const uint8_t *data)
{
	Chakra__Metadata *x = chakra__metadata__unpack(NULL, n, data);
	int64_t v = 0;
	bool ok = true;
	if (!x)
		return damaged(r, at, "the first message", 0, NULL, "it cannot be read");
	for (size_t k = 0; ok && k < x->n_attr; k++) {
		if (strcmp(x->attr[k]->name, "contended"))
			continue;
		ok = read_integer(x->attr[k], &v) && v >= 0 && v <= 1;
		r->t->contended = ok && v;
	}
	chakra__metadata__free_unpacked(x, NULL);
	return ok || damaged(r, at, "the first message", 0, "contended",
	                     "a whole number from 0 to 1 should stand here");
}

/* Reads the message at *at; number 0 is the metadata, the others are nodes. */
static bool read_message(struct reader *r, uint32_t which, size_t *at)
{
	const ProtobufCMessageDescriptor *m =
	    which ? &chakra__node__descriptor : &chakra__metadata__descriptor;
	const char *what = which ? "message of a node, number" : "the first message";
	size_t start = *at;
	uint64_t length;
	struct wire_fault f;
	if (!wire_varint(r->data, at, r->size, &length))
		return damaged(r, start, what, which, NULL, "its length does not end");
	if (length > r->size - *at) {
		char text[96];
		snprintf(text, sizeof text, "it should have %" PRIu64 " bytes, and the file has %zu more",
		         length, r->size - *at);
		return damaged(r, start, what, which, NULL, text);
	}
	size_t from = *at;
	*at += (size_t)length;
	if (!wire_check(m, r->data, from, *at, &f))
		return damaged(r, f.at, what, which, f.field, f.what);
	if (!which)
		return read_metadata(r, start, (size_t)length, r->data + from);
	Chakra__Node *x = chakra__node__unpack(NULL, (size_t)length, r->data + from);
	if (!x)
		return damaged(r, start, what, which, NULL, "it cannot be read");
	bool ok = read_node(r, x, start);
	chakra__node__free_unpacked(x, NULL);
	return ok;
}

bool chakra_read(struct diag *d, const char *name, const char *data, size_t n, struct chakra *out)
{
	struct reader r = {.d = d, .t = out, .data = (const uint8_t *)data, .size = n};
	bool ok = true;
	*out = (struct chakra){.file = name, .arena = arena_new()};
	size_t at = 0;
	for (uint32_t which = 0; ok && (at < r.size || !which); which++)
		ok = read_message(&r, which, &at);
	if (!ok)
		chakra_free(out);
	return ok;
}
#else
bool chakra_read(struct diag *d, const char *name, const char *data, size_t n, struct chakra *out)
{
	(void)data, (void)n;
	*out = (struct chakra){0};
	diag_error(d, E_WITHOUT_LIBRARY, DIAG_NOWHERE,
	           "'%s' is an execution trace, and hirc is built without protobuf-c", name);
	diag_note(d, DIAG_NOWHERE, "tools/install-deps installs it; then configure the build anew");
	return false;
}
#endif
