/* chakra_tensors: see chakra_tensors.h. */
#include "import/chakra_tensors.h"
#include "base/checked.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TENSOR_NUMBERS = 5, MOST_BYTES_LOG = 50 };

struct span {
	const char *at, *end;
};

struct lists {
	struct diag *d;
	const struct chakra *t;
	const struct chakra_node *n;
	const char *field;
	struct chakra_tensors *out;
};

/* ---- lists as Python prints them */

static void skip_blanks(struct span *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == ','))
		s->at++;
}

/* Removes the brackets around a list. Returns false if the text is not a list. */
static bool open_brackets(struct span *s)
{
	skip_blanks(s);
	while (s->at < s->end && s->end[-1] == ' ')
		s->end--;
	if (s->end - s->at < 2 || !(*s->at == '[' || *s->at == '('))
		return false;
	s->at++;
	s->end--;
	return true;
}

/* Reads the next item. Returns false at the end, and at an item without an end, which remains. */
static bool read_item(struct span *s, struct span *item)
{
	unsigned depth = 0;
	char quote = 0;
	skip_blanks(s);
	if (s->at >= s->end)
		return false;
	item->at = s->at;
	for (; s->at < s->end; s->at++) {
		char c = *s->at;
		if (quote) {
			if (c == '\\' && s->at + 1 < s->end)
				s->at++;
			else if (c == quote)
				quote = 0;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (c == '[' || c == '(' || c == '{') {
			depth++;
		} else if (c == ']' || c == ')' || c == '}') {
			depth -= depth > 0;
		} else if (c == ',' && !depth) {
			break;
		}
	}
	item->end = s->at;
	if (quote || depth)
		s->at = item->at;
	return !quote && !depth;
}

static bool parse_whole(struct span s, int64_t *out)
{
	char *stop;
	errno = 0;
	long long v = strtoll(s.at, &stop, 10);
	while (stop < s.end && *stop == ' ')
		stop++;
	if (stop != s.end || stop == s.at || errno)
		return false;
	*out = v;
	return true;
}

static bool has_prefix(struct span s, const char *word)
{
	if (s.at < s.end && (*s.at == '\'' || *s.at == '"'))
		s.at++;
	return (size_t)(s.end - s.at) >= strlen(word) && !strncmp(s.at, word, strlen(word));
}

/* ---- tensors */

static bool refuse_part(const struct lists *l, const char *part, const char *message)
{
	char field[32];
	snprintf(field, sizeof field, "%s.%s", l->field, part);
	return chakra_refuse(l->d, E_TRACE_FIELD, l->t, l->n, field, "%s", message);
}

/* Returns true if a text is one of the names of a dtype, `half float16`; a | in a name stands for a blank. */
static bool is_named(const char *from, const char *to, const char *names)
{
	for (const char *at = names; *at; at += *at == ' ') {
		const char *text = from;
		while (text < to && *at == (*text == ' ' ? '|' : *text))
			at++, text++;
		if (text == to && (!*at || *at == ' '))
			return true;
		at += strcspn(at, " ");
	}
	return false;
}

/* Reads the dtype in `Tensor(…)`. Returns false if hirc has no such dtype with this number of bytes. */
static bool read_dtype(struct span type, int64_t bytes, enum dtype *out)
{
	const char *from = type.at;
	while (from < type.end && *from != '(')
		from++;
	const char *name = from < type.end ? from + 1 : from, *to = name;
	while (to < type.end && *to != ')')
		to++;
	for (unsigned t = 0; t < DTYPE_COUNT; t++)
		if (dtype_bytes(t) == bytes && is_named(name, to, dtype_torch_names(t))) {
			*out = t;
			return true;
		}
	return false;
}

/* Reads the shape. If it does not have this number of elements, uses one axis of all elements. */
static void read_shape(struct span shape, int64_t elements, struct chakra_tensor *x)
{
	struct span item;
	int64_t count = 1;
	bool ok = elements && open_brackets(&shape);
	while (ok && read_item(&shape, &item)) {
		ok = x->rank < CHAKRA_MOST_DIMS && parse_whole(item, &x->dim[x->rank]) &&
		     x->dim[x->rank] > 0 && checked_mul(count, x->dim[x->rank], &count);
		x->rank += ok;
	}
	if (ok && count == elements && (x->rank || shape.end - shape.at == 0))
		return;
	x->rank = 1;
	x->dim[0] = elements;
}

/* Reads a tensor. *is: the value is a tensor. */
static bool read_tensor(const struct lists *l, struct span value, struct span shape, struct span type,
                        uint32_t argument, bool *is)
{
	struct chakra_tensor x = {.argument = argument, .dtype = DTYPE_U8};
	struct span item;
	int64_t v[TENSOR_NUMBERS];
	unsigned n = 0;
	*is = false;
	if (!open_brackets(&value))
		return true;
	while (n < TENSOR_NUMBERS && read_item(&value, &item))
		if (!parse_whole(item, &v[n++]))
			return true;
	if (n < TENSOR_NUMBERS)
		return true;
	*is = true;
	if (read_item(&value, &item))
		x.cpu = has_prefix(item, "cpu");
	if (v[3] < 0 || v[4] < 0 || v[4] > 1024 || !checked_mul(v[3], v[4], &x.bytes) ||
	    x.bytes >> MOST_BYTES_LOG)
		return refuse_part(l, "values", "a tensor has a negative size, or is too large");
	x.storage = v[1] > 0 ? (uint64_t)v[1] : 0;
	read_shape(shape, v[3], &x);
	if (!read_dtype(type, v[4], &x.dtype) && v[4] != 1)
		x.dim[x.rank++] = v[4];
	vec_push(&l->out->list, x);
	return true;
}

/* Reads one argument: a tensor, a list of tensors, or something else. */
static bool read_argument(const struct lists *l, struct span value, struct span shape, struct span type,
                          uint32_t argument)
{
	struct span one, one_shape, one_type = {0};
	bool is, list = has_prefix(type, "GenericList[") || has_prefix(type, "TensorList");
	if (type.at && !has_prefix(type, "Tensor") && !list)
		return true;
	if (!list && !read_tensor(l, value, shape, type, argument, &is))
		return false;
	if (!list && (is || type.at))
		return true;
	struct span types = type;
	while (types.at < types.end && *types.at != '[')
		types.at++;
	types.end -= types.at < types.end; /* remove its quote */
	if (!open_brackets(&value))
		return true;
	bool shaped = open_brackets(&shape), typed = open_brackets(&types);
	while (read_item(&value, &one)) {
		if (!shaped || !read_item(&shape, &one_shape))
			one_shape = (struct span){0};
		if (!typed || !read_item(&types, &one_type))
			one_type = (struct span){0};
		if (!read_tensor(l, one, one_shape, one_type, argument, &is))
			return false;
	}
	return true;
}

static struct span all_of(const char *text)
{
	return text ? (struct span){text, text + strlen(text)} : (struct span){0};
}

bool chakra_tensors(struct diag *d, const struct chakra *t, const struct chakra_node *n, const char *field,
                    const struct chakra_values *v, struct chakra_tensors *out)
{
	const struct lists l = {d, t, n, field, out};
	struct span values = all_of(v->values), shapes = all_of(v->shapes), types = all_of(v->types), value,
	            shape, type;
	if (!v->values)
		return true;
	if (!open_brackets(&values))
		return refuse_part(&l, "values", "this is no list");
	if (v->shapes && !open_brackets(&shapes))
		return refuse_part(&l, "shapes", "this is no list");
	if (v->types && !open_brackets(&types))
		return refuse_part(&l, "types", "this is no list");
	for (uint32_t k = 0; read_item(&values, &value); k++) {
		if (!read_item(&shapes, &shape))
			shape = (struct span){0};
		if (!read_item(&types, &type))
			type = (struct span){0};
		if (!read_argument(&l, value, shape, type, k))
			return false;
	}
	return values.at >= values.end || refuse_part(&l, "values", "a list does not end");
}
