/* json: values of a JSON text; errors name line and field.
 *
 *     f.json:7:18: error: 'links[0].alpha_ns' must be a whole number
 *
 * cJSON reads the text; where a value stands is looked up when a message needs it. Only there if hirc is
 * built with cJSON. Functions that return false have reported it, unless they say otherwise. */
#ifndef HIRC_COST_JSON_H
#define HIRC_COST_JSON_H
#include "base/diag.h"

struct cJSON;

struct json {
	struct diag *d;
	struct source *s; /* the source for messages of d */
	const char *what; /* it is, in messages: "the cluster" */
	struct cJSON *root;
};

struct json_value {
	const struct cJSON *item;
	const struct json_value *parent; /* NULL: this is the root; outlives the value */
	unsigned index;                  /* in the parent */
};

bool json_parse(struct diag *d, struct source *s, const char *what, struct json *out);
void json_free(struct json *j);
/* The text's one value, which must be an object. */
bool json_root(const struct json *j, struct json_value *out);

/* Members of an object; a missing one is an error. */
bool json_object(const struct json *j, const struct json_value *in, const char *key, struct json_value *out);
bool json_array(const struct json *j, const struct json_value *in, const char *key, unsigned most,
                struct json_value *out);
bool json_int(const struct json *j, const struct json_value *in, const char *key, int64_t least, int64_t most,
              int64_t *out);
/* Any number. */
bool json_decimal(const struct json *j, const struct json_value *in, const char *key, double *out);
bool json_text(const struct json *j, const struct json_value *in, const char *key, const char **out);
bool json_has(const struct json_value *in, const char *key);
/* Warns of members that are none of these (keys between blanks); false: one is there twice. */
bool json_known(const struct json *j, const struct json_value *in, const char *keys);

/* for (bool go = json_first(&array, &v); go; go = json_next(&v)) */
bool json_first(const struct json_value *in, struct json_value *out); /* false: it is empty */
bool json_next(struct json_value *v);                                 /* false: there is no other */
unsigned json_count(const struct json_value *v);
const char *json_key(const struct json_value *v); /* of a member */
/* Read a value itself. */
bool json_is_object(const struct json *j, const struct json_value *v);
bool json_as_int(const struct json *j, const struct json_value *v, int64_t least, int64_t most, int64_t *out);
/* An array of two numbers. */
bool json_pair(const struct json *j, const struct json_value *v, int64_t most_first, int64_t most_second,
               int64_t *first, int64_t *second);

/* `'links[0].alpha_ns' MESSAGE` at the value; returns false. */
bool json_refuse(const struct json *j, const struct json_value *v, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports an error as json_refuse does, at a member, which is there. */
bool json_refuse_member(const struct json *j, const struct json_value *in, const char *key,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
