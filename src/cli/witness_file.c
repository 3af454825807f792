/* witness_file: see witness_file.h. */
#include "cli/witness_file.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json_put.h"
#include "base/source_read.h"
#include "cost/json.h"
#include "ir/number.h"
#include "ir/print.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint64_t witness_program(struct module *m)
{
	struct buf text = {0};
	struct ir_numbers *saved = ir_numbers_save(m);
	ir_print_hir(m, &text);
	ir_numbers_restore(m, saved);
	uint64_t h = hash_bytes(HASH_START, text.at, text.n);
	for (param_id p = 1; p < m->param.n; p++)
		h = hash_bytes(h, &m->param.at[p].value, sizeof m->param.at[p].value);
	buf_free(&text);
	return h;
}

/* ---- writing */

static void put_event(struct buf *b, const struct witness_event *e)
{
	buf_printf(b, "    {\"role\": \"%s\", \"rank\": %" PRId64 ", \"statement\": %u, \"indices\": [",
	           witness_role_name(e->role), e->rank, e->statement);
	for (unsigned k = 0; k < e->n; k++)
		buf_printf(b, "%s%" PRId64, k ? ", " : "", e->index[k]);
	buf_puts(b, "], \"text\": ");
	json_put_string(b, e->text);
	buf_puts(b, ", \"where\": ");
	json_put_string(b, e->where);
	buf_putc(b, '}');
}

bool witness_write(struct diag *d, const char *path, const struct witness_file *w)
{
	struct buf b = {0};
	buf_printf(&b,
	           "{\n  \"hirc_witness\": %d,\n  \"program\": \"%016" PRIx64 "\",\n  \"ranks\": %" PRId64
	           ",\n  \"streams\": %" PRId64 ",\n  \"kind\": \"%s\",\n  \"queue\": %" PRId64
	           ",\n  \"events\": [",
	           WITNESS_VERSION, w->program, w->ranks, w->streams, witness_kind_name(w->witness.kind),
	           w->witness.queue);
	for (uint32_t k = 0; k < w->witness.event.n; k++) {
		buf_puts(&b, k ? ",\n" : "\n");
		put_event(&b, &w->witness.event.at[k]);
	}
	buf_puts(&b, w->witness.event.n ? "\n  ]\n}\n" : "]\n}\n");
	bool ok = file_replace(path, &(struct file_part){b.at, b.n}, 1);
	if (!ok)
		diag_error(d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "--witness: cannot write '%s': %s", path,
		           strerror(errno));
	buf_free(&b);
	return ok;
}

/* ---- reading */

#ifdef HIRC_HAVE_CJSON

static bool read_program(const struct json *j, const struct json_value *root, uint64_t *out)
{
	const char *text;
	if (!json_text(j, root, "program", &text))
		return false;
	char *end;
	errno = 0;
	*out = strtoull(text, &end, 16);
	return (strlen(text) == 16 && !*end && !errno) ||
	       json_refuse_member(j, root, "program", "must be 16 hexadecimal digits");
}

static bool read_kind(const struct json *j, const struct json_value *root, enum witness_kind *out)
{
	const char *text;
	if (!json_text(j, root, "kind", &text))
		return false;
	for (unsigned k = 0; k < WITNESS_KIND_COUNT; k++)
		if (!strcmp(text, witness_kind_name((enum witness_kind)k))) {
			*out = (enum witness_kind)k;
			return true;
		}
	return json_refuse_member(j, root, "kind", "is not a kind of error: '%s'", text);
}

static bool read_role(const struct json *j, const struct json_value *v, enum witness_role *out)
{
	const char *text;
	if (!json_text(j, v, "role", &text))
		return false;
	for (unsigned r = 0; r < WITNESS_ROLE_COUNT; r++)
		if (!strcmp(text, witness_role_name((enum witness_role)r))) {
			*out = (enum witness_role)r;
			return true;
		}
	return json_refuse_member(j, v, "role", "is not a role: '%s'", text);
}

static bool read_event(const struct json *j, const struct json_value *v, struct witness_file *to)
{
	struct json_value list, index;
	struct witness_event e = {0};
	int64_t statement;
	const char *text, *where;
	if (!json_is_object(j, v) || !json_known(j, v, "role rank statement indices text where") ||
	    !read_role(j, v, &e.role) || !json_int(j, v, "rank", 0, INT32_MAX, &e.rank) ||
	    !json_int(j, v, "statement", 0, UINT32_MAX, &statement) ||
	    !json_array(j, v, "indices", IR_MAX_NESTING, &list) || !json_text(j, v, "text", &text) ||
	    !json_text(j, v, "where", &where))
		return false;
	for (bool go = json_first(&list, &index); go; go = json_next(&index))
		if (!json_as_int(j, &index, INT64_MIN, INT64_MAX, &e.index[e.n++]))
			return false;
	e.statement = (uint32_t)statement;
	e.text = mem_strdup(text);
	e.where = mem_strdup(where);
	vec_push(&to->witness.event, e);
	return true;
}

static bool read_all(const struct json *j, struct witness_file *to)
{
	struct json_value root, list, event;
	int64_t version;
	if (!json_root(j, &root) || !json_int(j, &root, "hirc_witness", 0, INT32_MAX, &version))
		return false;
	if (version != WITNESS_VERSION)
		return json_refuse_member(j, &root, "hirc_witness", "is %lld, this hirc reads version %d",
		                          (long long)version, WITNESS_VERSION);
	if (!json_known(j, &root, "hirc_witness program ranks streams kind queue events") ||
	    !read_program(j, &root, &to->program) || !json_int(j, &root, "ranks", 1, INT32_MAX, &to->ranks) ||
	    !json_int(j, &root, "streams", 0, INT32_MAX, &to->streams) ||
	    !read_kind(j, &root, &to->witness.kind) ||
	    !json_int(j, &root, "queue", 0, INT64_MAX, &to->witness.queue) ||
	    !json_array(j, &root, "events", WITNESS_MAX_EVENTS, &list))
		return false;
	for (bool go = json_first(&list, &event); go; go = json_next(&event))
		if (!read_event(j, &event, to))
			return false;
	return true;
}

bool witness_read(struct diag *d, const char *path, struct witness_file *out)
{
	struct source *s;
	struct json j = {0};
	bool ok = false;
	*out = (struct witness_file){0};
	if (source_read(d, path, &s) != STATUS_OK)
		return false;
	struct source *outer = diag_set_source(d, s);
	if (json_parse(d, s, "the witness", &j)) {
		ok = read_all(&j, out);
		json_free(&j);
	}
	diag_set_source(d, outer);
	source_free(s);
	if (!ok)
		witness_free(&out->witness);
	return ok;
}

#else

bool witness_read(struct diag *d, const char *path, struct witness_file *out)
{
	(void)out;
	diag_error(d, E_WITHOUT_LIBRARY, DIAG_NOWHERE,
	           "'%s' cannot be read: this hirc was built without cJSON", path);
	diag_note(d, DIAG_NOWHERE, "install libcjson-dev and build again");
	return false;
}

#endif
