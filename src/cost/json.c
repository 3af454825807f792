/* json: reads by cJSON, and finds the places of values in the text. */
#include "cost/json.h"
#include "base/arena.h"
#include "base/str.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef HIRC_HAVE_CJSON
#include <cJSON.h>

enum { MAX_MEMBERS = 64, MAX_WARNINGS = 20 };

bool json_parse(struct diag *d, struct source *s, const char *what, struct json *out)
{
	const char *end = s->text;
	*out = (struct json){d, s, what, NULL};
	out->root = cJSON_ParseWithLengthOpts(s->text, s->size + 1, &end, 1);
	if (out->root)
		return true;
	uint32_t at = (uint32_t)(end - s->text);
	diag_error(d, E_JSON, at < s->size ? at : s->size, "%s",
	           at < s->size ? "this is not JSON" : "the text ends in the middle of a value");
	return false;
}

void json_free(struct json *j)
{
	cJSON_Delete(j->root);
	j->root = NULL;
}

/* ---- places; the text is known to be JSON */

/* cJSON counts any control character as blank. */
static bool is_blank(char c)
{
	return c > 0 && c <= ' ';
}

static uint32_t skip_blanks(const char *text, uint32_t at)
{
	while (is_blank(text[at]))
		at++;
	return at;
}

static uint32_t skip_string(const char *text, uint32_t at)
{
	for (at++; text[at] != '"'; at++)
		at += text[at] == '\\';
	return at + 1;
}

/* Returns the offset after the value that begins here. */
static uint32_t skip_value(const char *text, uint32_t at)
{
	unsigned depth = 0;
	do {
		at = skip_blanks(text, at);
		char c = text[at];
		if (c == '"')
			at = skip_string(text, at);
		else if (strchr("[]{},:", c))
			at++;
		else
			while (text[at] && !is_blank(text[at]) && !strchr("[]{},:\"", text[at]))
				at++;
		depth += c == '[' || c == '{';
		depth -= c == ']' || c == '}';
	} while (depth);
	return at;
}

/* Returns the offset of a value, or of its key if `key` is set and it has one. */
static uint32_t locate_value(const struct json *j, const struct json_value *v, bool key)
{
	const char *text = j->s->text;
	if (!v->parent) /* cJSON skips a byte order mark */
		return skip_blanks(text, strncmp(text, "\xEF\xBB\xBF", 3) ? 0 : 3);
	uint32_t at = locate_value(j, v->parent, false);
	bool member = text[at] == '{';
	at = skip_blanks(text, at + 1);
	for (unsigned k = 0;; k++) {
		uint32_t name = at;
		if (member)
			at = skip_blanks(text, skip_blanks(text, skip_string(text, at)) + 1);
		if (k == v->index)
			return key ? name : at;
		at = skip_blanks(text, skip_blanks(text, skip_value(text, at)) + 1);
	}
}

/* Returns the offset of a value for a message. Messages beyond the limit are not shown and get no
 * offset, since a search for each would be slow in a large file. */
static uint32_t where(const struct json *j, const struct json_value *v, bool key)
{
	return diag_error_count(j->d) < DIAG_MAX_ERRORS ? locate_value(j, v, key) : DIAG_NOWHERE;
}

static void put_path(const struct json_value *v, struct buf *out)
{
	if (!v->parent)
		return;
	put_path(v->parent, out);
	if (cJSON_IsArray(v->parent->item))
		buf_printf(out, "[%u]", v->index);
	else
		buf_printf(out, "%s%s", out->n ? "." : "", v->item->string);
}

static bool refuse_at(const struct json *j, uint32_t at, const struct json_value *v, const char *format,
                      va_list args)
{
	struct buf text = {0}, path = {0};
	put_path(v, &path);
	buf_vprintf(&text, format, args);
	if (path.n)
		diag_error(j->d, E_CLUSTER_FIELD, at, "'%s' %s", path.at, text.at);
	else
		diag_error(j->d, E_CLUSTER_FIELD, at, "%s %s", j->what, text.at);
	buf_free(&text);
	buf_free(&path);
	return false;
}

bool json_refuse(const struct json *j, const struct json_value *v, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	refuse_at(j, where(j, v, false), v, format, args);
	va_end(args);
	return false;
}

/* ---- members */

static bool find_member(const struct json_value *in, const char *key, struct json_value *out)
{
	for (bool go = json_first(in, out); go; go = json_next(out))
		if (!strcmp(out->item->string, key))
			return true;
	return false;
}

bool json_refuse_member(const struct json *j, const struct json_value *in, const char *key,
                        const char *format, ...)
{
	struct json_value v;
	va_list args;
	va_start(args, format);
	if (find_member(in, key, &v))
		refuse_at(j, where(j, &v, false), &v, format, args);
	va_end(args);
	return false;
}

static bool member(const struct json *j, const struct json_value *in, const char *key, struct json_value *out)
{
	return find_member(in, key, out) || json_refuse(j, in, "has no '%s'", key);
}

bool json_has(const struct json_value *in, const char *key)
{
	struct json_value v;
	return find_member(in, key, &v);
}

bool json_root(const struct json *j, struct json_value *out)
{
	*out = (struct json_value){.item = j->root};
	return json_is_object(j, out);
}

bool json_is_object(const struct json *j, const struct json_value *v)
{
	return cJSON_IsObject(v->item) || json_refuse(j, v, "must be an object: { … }");
}

bool json_object(const struct json *j, const struct json_value *in, const char *key, struct json_value *out)
{
	return member(j, in, key, out) && json_is_object(j, out);
}

static bool is_array(const struct json *j, const struct json_value *v, unsigned most)
{
	if (!cJSON_IsArray(v->item))
		return json_refuse(j, v, "must be an array: [ … ]");
	if (json_count(v) > most)
		return json_refuse(j, v, "has %u entries (limit %u)", json_count(v), most);
	return true;
}

bool json_array(const struct json *j, const struct json_value *in, const char *key, unsigned most,
                struct json_value *out)
{
	return member(j, in, key, out) && is_array(j, out, most);
}

bool json_as_int(const struct json *j, const struct json_value *v, int64_t least, int64_t most, int64_t *out)
{
	double x = v->item->valuedouble;
	if (!cJSON_IsNumber(v->item) || (isfinite(x) && floor(x) != x))
		return json_refuse(j, v, "must be a whole number");
	if (!(x >= (double)least && x <= (double)most))
		return json_refuse(j, v, "is out of range (%lld to %lld)", (long long)least, (long long)most);
	*out = (int64_t)x;
	return true;
}

bool json_int(const struct json *j, const struct json_value *in, const char *key, int64_t least, int64_t most,
              int64_t *out)
{
	struct json_value v;
	return member(j, in, key, &v) && json_as_int(j, &v, least, most, out);
}

bool json_decimal(const struct json *j, const struct json_value *in, const char *key, double *out)
{
	struct json_value v;
	if (!member(j, in, key, &v))
		return false;
	if (!cJSON_IsNumber(v.item))
		return json_refuse(j, &v, "must be a number");
	*out = v.item->valuedouble;
	return true;
}

bool json_text(const struct json *j, const struct json_value *in, const char *key, const char **out)
{
	struct json_value v;
	if (!member(j, in, key, &v))
		return false;
	if (!cJSON_IsString(v.item))
		return json_refuse(j, &v, "must be text: \"…\"");
	*out = v.item->valuestring;
	return true;
}

bool json_pair(const struct json *j, const struct json_value *v, int64_t most_first, int64_t most_second,
               int64_t *first, int64_t *second)
{
	struct json_value x, y;
	if (!cJSON_IsArray(v->item) || json_count(v) != 2)
		return json_refuse(j, v, "must be two numbers: [ bytes, ns ]");
	json_first(v, &x);
	y = x;
	json_next(&y);
	return json_as_int(j, &x, 0, most_first, first) && json_as_int(j, &y, 0, most_second, second);
}

/* Returns true if `words`, separated by blanks, contains the word. */
static bool is_word(const char *words, const char *word)
{
	size_t n = strlen(word);
	for (const char *w = words; *w; w += strspn(w, " ")) {
		size_t length = strcspn(w, " ");
		if (length == n && !memcmp(w, word, n))
			return true;
		w += length;
	}
	return false;
}

static void suggest_words(struct diag *d, const char *words, const char *word)
{
	struct suggest s = suggest_start(word);
	char *copy = mem_strdup(words);
	for (char *rest = copy, *w; (w = strtok_r(rest, " ", &rest));)
		suggest_try(&s, w);
	diag_suggest(d, &s);
	free(copy);
}

bool json_known(const struct json *j, const struct json_value *in, const char *keys)
{
	struct json_value v, first;
	bool ok = true;
	if (json_count(in) > MAX_MEMBERS)
		return json_refuse(j, in, "has %u members (limit %d)", json_count(in), MAX_MEMBERS);
	for (bool go = json_first(in, &v); go; go = json_next(&v)) {
		if (find_member(in, json_key(&v), &first) && first.index != v.index) {
			diag_error(j->d, E_CLUSTER_FIELD, where(j, &v, true), "'%s' is there twice",
			           json_key(&v));
			ok = false;
		} else if (!is_word(keys, json_key(&v)) && diag_warning_count(j->d) < MAX_WARNINGS) {
			diag_warning(j->d, W_CLUSTER_KEY, where(j, &v, true), "unknown key '%s' is left out",
			             json_key(&v));
			suggest_words(j->d, keys, json_key(&v));
		}
	}
	return ok;
}

/* ---- walking */

bool json_first(const struct json_value *in, struct json_value *out)
{
	*out = (struct json_value){.item = in->item->child, .parent = in};
	return out->item != NULL;
}

bool json_next(struct json_value *v)
{
	if (!v->item->next)
		return false;
	v->item = v->item->next;
	v->index++;
	return true;
}

unsigned json_count(const struct json_value *v)
{
	return (unsigned)cJSON_GetArraySize(v->item);
}

const char *json_key(const struct json_value *v)
{
	return v->item->string;
}

#endif
