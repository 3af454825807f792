/* lsp_diagnostics: messages of parser, semantic step and check in the form of the protocol.
 *
 * A note with a place is related information; a note without one is a further line of its message. */
#include "lsp/lsp_checked.h"
#include "lsp/request.h"

enum { SEVERITY_ERROR = 1, SEVERITY_WARNING = 2 };

/* Returns the end of a message's underline. A message that marks one character underlines the whole word; one
 * over several lines underlines the first. */
static uint32_t end_of(const struct source *s, const struct snapshot_message *m)
{
	uint32_t word = symbols_name_end(s, m->at), end = m->at + m->length;
	if (m->length <= 1)
		end = word > m->at ? word : m->at + 1;
	if (end > s->size)
		end = s->size;
	const char *line = end > m->at ? memchr(s->text + m->at, '\n', end - m->at) : NULL;
	return line && line > s->text + m->at ? (uint32_t)(line - s->text) : end;
}

static void add_related(struct request *r, cJSON *diagnostic, const struct snapshot_message *note)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(diagnostic, "relatedInformation");
	if (!list)
		list = cJSON_AddArrayToObject(diagnostic, "relatedInformation");
	cJSON *json = cJSON_CreateObject();
	cJSON_AddItemToObject(json, "location",
	                      request_location(r, note->at, end_of(r->snapshot->source, note)));
	cJSON_AddStringToObject(json, "message", note->text);
	cJSON_AddItemToArray(list, json);
}

cJSON *feature_diagnostics(struct request *r)
{
	struct snapshot *x = r->snapshot;
	cJSON *json = cJSON_CreateObject(), *list;
	snapshot_check(x);
	cJSON_AddStringToObject(json, "uri", r->document->uri);
	cJSON_AddNumberToObject(json, "version", (double)r->document->version);
	list = cJSON_AddArrayToObject(json, "diagnostics");
	struct buf text = {0};
	for (uint32_t i = 0; i < x->message.n;) {
		const struct snapshot_message *m = &x->message.at[i++];
		bool somewhere = m->at != DIAG_NOWHERE;
		cJSON *one = cJSON_CreateObject();
		cJSON_AddItemToArray(list, one);
		cJSON_AddItemToObject(
		    one, "range",
		    request_range(r, somewhere ? m->at : 0, somewhere ? end_of(x->source, m) : 0));
		cJSON_AddNumberToObject(one, "severity",
		                        m->severity == DIAG_WARNING ? SEVERITY_WARNING : SEVERITY_ERROR);
		cJSON_AddStringToObject(one, "source", "hirc");
		cJSON_AddStringToObject(one, "code", m->number);
		text.n = 0;
		buf_puts(&text, m->text);
		for (; i < x->message.n && x->message.at[i].severity == DIAG_NOTE; i++) {
			if (x->message.at[i].at == DIAG_NOWHERE)
				buf_printf(&text, "\n%s", x->message.at[i].text);
			else
				add_related(r, one, &x->message.at[i]);
		}
		cJSON_AddStringToObject(one, "message", text.at);
	}
	buf_free(&text);
	return json;
}
