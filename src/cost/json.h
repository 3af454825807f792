/* json: values of a JSON text; errors name line and field.
 *
 *     f.json:7:18: error: 'links[0].alpha_ns' must be a whole number
 *
 * cJSON reads the text. The place of a value is looked up only when a message needs it. This file is
 * built only with cJSON. A function that returns false has reported an error, unless its comment says
 * otherwise. */
#ifndef HIRC_COST_JSON_H
#define HIRC_COST_JSON_H
#include "base/diag.h"

struct cJSON;

struct json {
	struct diag *d;
	struct source *s; /* source of the text, for messages */
	const char *what; /* subject of messages: "the cluster" */
	struct cJSON *root;
};

struct json_value {
	const struct cJSON *item;
	const struct json_value *parent; /* NULL: this is the root; must outlive this value */
	unsigned index;                  /* place in the parent */
};

bool json_parse(struct diag *d, struct source *s, const char *what, struct json *out);
void json_free(struct json *j);
/* Reads the whole text, which must be an object. */
bool json_root(const struct json *j, struct json_value *out);

/* Read a member of an object. A missing one is an error. */
bool json_object(const struct json *j, const struct json_value *in, const char *key, struct json_value *out);
bool json_array(const struct json *j, const struct json_value *in, const char *key, unsigned most,
                struct json_value *out);
bool json_int(const struct json *j, const struct json_value *in, const char *key, int64_t least, int64_t most,
              int64_t *out);
/* Reads any number. */
bool json_decimal(const struct json *j, const struct json_value *in, const char *key, double *out);
bool json_text(const struct json *j, const struct json_value *in, const char *key, const char **out);
bool json_has(const struct json_value *in, const char *key);
/* Warns of members that are not among `keys`, which are separated by blanks. Returns false after
 * reporting that a member stands there twice. */
bool json_known(const struct json *j, const struct json_value *in, const char *keys);

/* for (bool go = json_first(&array, &v); go; go = json_next(&v)) */
bool json_first(const struct json_value *in, struct json_value *out); /* false: the array is empty */
bool json_next(struct json_value *v);                                 /* false: it was the last */
unsigned json_count(const struct json_value *v);
const char *json_key(const struct json_value *v); /* of a member */
/* Read the value itself. */
bool json_is_object(const struct json *j, const struct json_value *v);
bool json_as_int(const struct json *j, const struct json_value *v, int64_t least, int64_t most, int64_t *out);
/* Reads an array of two numbers. */
bool json_pair(const struct json *j, const struct json_value *v, int64_t most_first, int64_t most_second,
               int64_t *first, int64_t *second);

/* `'links[0].alpha_ns' MESSAGE` at the value; returns false. */
bool json_refuse(const struct json *j, const struct json_value *v, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports an error as json_refuse does, at a member, which is there. */
bool json_refuse_member(const struct json *j, const struct json_value *in, const char *key,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
