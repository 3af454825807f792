/* server: the loop of a connection: queue, documents, and the table of methods. */
#include "lsp/frame.h"
#include "lsp/lsp.h"
#include "lsp/request.h"

enum { QUEUE_MAX = 1024 }; /* most messages read ahead */

enum stage { STAGE_NEW, STAGE_READY, STAGE_SHUT_DOWN };

struct server {
	struct frame_reader reader;
	int out;
	enum stage stage;
	bool exited, broken; /* broken: nobody reads the answers any more */
	enum document_columns columns;
	const struct sema_options *options;
	VEC(struct document *) document;
	VEC(cJSON *) queue;
	uint32_t queue_from; /* the first message that is not answered */
};

/* ---- answers */

/* Replaces bytes that are not UTF-8, which JSON cannot hold; the client may have put them into a program. */
static void clean_text(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c;) {
		unsigned n = *c < 0x80                 ? 1
		             : *c >= 0xf0 && *c < 0xf5 ? 4
		             : *c >= 0xe0 && *c < 0xf0 ? 3
		             : *c >= 0xc2 && *c < 0xe0 ? 2
		                                       : 0;
		unsigned k = n ? 1 : 0;
		while (k && k < n && (c[k] & 0xc0) == 0x80)
			k++;
		if (!n || k < n)
			*c++ = '?';
		else
			c += n;
	}
}

static void write_message(struct server *s, cJSON *message)
{
	cJSON_AddStringToObject(message, "jsonrpc", "2.0");
	char *text = cJSON_PrintUnformatted(message);
	cJSON_Delete(message);
	if (!text)
		return;
	clean_text(text);
	s->broken |= !frame_write(s->out, text, strlen(text));
	cJSON_free(text);
}

static cJSON *answer_to(const cJSON *id)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddItemToObject(json, "id", id ? cJSON_Duplicate(id, 1) : cJSON_CreateNull());
	return json;
}

static void put_error(struct server *s, const cJSON *id, enum request_error code, const char *message)
{
	cJSON *json = answer_to(id), *error = cJSON_AddObjectToObject(json, "error");
	cJSON_AddNumberToObject(error, "code", code);
	cJSON_AddStringToObject(error, "message", message);
	write_message(s, json);
}

static void put_result(struct server *s, const cJSON *id, cJSON *result)
{
	cJSON *json = answer_to(id);
	cJSON_AddItemToObject(json, "result", result);
	write_message(s, json);
}

static void put_notice(struct server *s, const char *method, cJSON *params)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "method", method);
	cJSON_AddItemToObject(json, "params", params);
	write_message(s, json);
}

/* ---- documents */

static const cJSON *member(const cJSON *json, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(json, key);
}

static uint32_t find_document(const struct server *s, const cJSON *params)
{
	const char *uri = cJSON_GetStringValue(member(member(params, "textDocument"), "uri"));
	uint32_t i = 0;
	while (i < s->document.n && (!uri || strcmp(s->document.at[i]->uri, uri) != 0))
		i++;
	return i;
}

static struct snapshot *take_snapshot(struct server *s, struct document *x)
{
	if (!x->snapshot)
		x->snapshot = snapshot_new(x->name, x->text.at, (uint32_t)x->text.n, s->options);
	return x->snapshot;
}

static struct request request_of(struct server *s, struct document *x, const cJSON *params)
{
	return (struct request){.params = params,
	                        .columns = s->columns,
	                        .document = x,
	                        .snapshot = take_snapshot(s, x),
	                        .options = s->options};
}

static void publish(struct server *s, struct document *x)
{
	struct request r = request_of(s, x, NULL);
	put_notice(s, "textDocument/publishDiagnostics", feature_diagnostics(&r));
	x->dirty = false;
}

static void set_version(struct document *x, const cJSON *item)
{
	const cJSON *version = member(item, "version");
	if (cJSON_IsNumber(version))
		x->version = version->valueint; /* cJSON has limited it to its type */
}

static void did_open(struct server *s, const cJSON *params)
{
	const cJSON *item = member(params, "textDocument");
	const char *uri = cJSON_GetStringValue(member(item, "uri"));
	const char *text = cJSON_GetStringValue(member(item, "text"));
	if (!uri || !text)
		return;
	uint32_t i = find_document(s, params);
	if (i == s->document.n)
		vec_push(&s->document, NULL);
	document_free(s->document.at[i]);
	s->document.at[i] = document_new(uri, text);
	set_version(s->document.at[i], item);
}

static void apply_change(struct server *s, struct document *x, const cJSON *json)
{
	const char *text = cJSON_GetStringValue(member(json, "text"));
	const cJSON *range = member(json, "range");
	struct position start, end;
	uint32_t from = 0, to = (uint32_t)x->text.n;
	if (!text)
		return;
	if (range) {
		if (!request_read_position(member(range, "start"), &start) ||
		    !request_read_position(member(range, "end"), &end))
			return;
		from = document_offset(x, s->columns, start);
		to = document_offset(x, s->columns, end);
		if (from > to)
			return;
	}
	document_replace(x, from, to, text);
}

static void did_change(struct server *s, const cJSON *params)
{
	uint32_t i = find_document(s, params);
	const cJSON *json;
	if (i == s->document.n)
		return;
	cJSON_ArrayForEach(json, member(params, "contentChanges")) apply_change(s, s->document.at[i], json);
	set_version(s->document.at[i], member(params, "textDocument"));
}

/* Removes the diagnostics of a document that is closed. */
static void did_close(struct server *s, const cJSON *params)
{
	uint32_t i = find_document(s, params);
	if (i == s->document.n)
		return;
	cJSON *none = cJSON_CreateObject();
	cJSON_AddStringToObject(none, "uri", s->document.at[i]->uri);
	cJSON_AddArrayToObject(none, "diagnostics");
	put_notice(s, "textDocument/publishDiagnostics", none);
	document_free(s->document.at[i]);
	s->document.at[i] = s->document.at[--s->document.n];
}

/* ---- the connection */

static cJSON *capabilities(struct server *s)
{
	cJSON *json = cJSON_CreateObject(), *c = cJSON_AddObjectToObject(json, "capabilities");
	cJSON_AddStringToObject(c, "positionEncoding", s->columns == COLUMNS_UTF8 ? "utf-8" : "utf-16");
	cJSON *sync = cJSON_AddObjectToObject(c, "textDocumentSync");
	cJSON_AddTrueToObject(sync, "openClose");
	cJSON_AddNumberToObject(sync, "change", 2); /* incremental */
	static const char *const simple[] = {"hoverProvider",          "definitionProvider",
	                                     "referencesProvider",     "documentHighlightProvider",
	                                     "documentSymbolProvider", "documentFormattingProvider"};
	for (unsigned i = 0; i < sizeof simple / sizeof *simple; i++)
		cJSON_AddTrueToObject(c, simple[i]);
	cJSON_AddTrueToObject(cJSON_AddObjectToObject(c, "renameProvider"), "prepareProvider");
	static const char *const triggers[] = {"@", "(", "[", ",", "="};
	cJSON_AddItemToObject(cJSON_AddObjectToObject(c, "completionProvider"), "triggerCharacters",
	                      cJSON_CreateStringArray(triggers, sizeof triggers / sizeof *triggers));
	cJSON *tokens = cJSON_AddObjectToObject(c, "semanticTokensProvider");
	cJSON_AddItemToObject(tokens, "legend", feature_tokens_legend());
	cJSON_AddTrueToObject(tokens, "full");
	cJSON *info = cJSON_AddObjectToObject(json, "serverInfo");
	cJSON_AddStringToObject(info, "name", "hirc");
	return json;
}

static void initialize(struct server *s, const cJSON *id, const cJSON *params)
{
	const cJSON *general = member(member(params, "capabilities"), "general"), *encoding;
	cJSON_ArrayForEach(encoding,
	                   member(general, "positionEncodings")) if (cJSON_IsString(encoding) &&
	                                                             !strcmp(encoding->valuestring, "utf-8"))
	    s->columns = COLUMNS_UTF8;
	s->stage = STAGE_READY;
	put_result(s, id, capabilities(s));
}

static const struct method {
	const char *name;
	cJSON *(*feature)(struct request *r);
	bool position; /* it needs params.position */
} methods[] = {
    {"textDocument/hover", feature_hover, true},
    {"textDocument/definition", feature_definition, true},
    {"textDocument/references", feature_references, true},
    {"textDocument/documentHighlight", feature_highlight, true},
    {"textDocument/prepareRename", feature_prepare_rename, true},
    {"textDocument/rename", feature_rename, true},
    {"textDocument/completion", feature_complete, true},
    {"textDocument/documentSymbol", feature_outline, false},
    {"textDocument/formatting", feature_format, false},
    {"textDocument/semanticTokens/full", feature_tokens, false},
};

static void answer(struct server *s, const cJSON *id, const struct method *m, const cJSON *params)
{
	uint32_t i = find_document(s, params);
	struct position at;
	if (i == s->document.n) {
		put_error(s, id, REQUEST_INVALID_PARAMS, "the document is not open");
		return;
	}
	if (m->position && !request_read_position(member(params, "position"), &at)) {
		put_error(s, id, REQUEST_INVALID_PARAMS, "params.position is missing");
		return;
	}
	struct request r = request_of(s, s->document.at[i], params);
	if (m->position)
		r.offset = document_offset(r.document, s->columns, at);
	cJSON *result = m->feature(&r);
	if (r.error) {
		cJSON_Delete(result);
		put_error(s, id, r.error, r.message.at);
	} else {
		put_result(s, id, result ? result : cJSON_CreateNull());
	}
	buf_free(&r.message);
}

static void request(struct server *s, const cJSON *id, const char *method, const cJSON *params)
{
	if (!strcmp(method, "initialize") && s->stage == STAGE_NEW) {
		initialize(s, id, params);
		return;
	}
	if (s->stage != STAGE_READY) {
		bool early = s->stage == STAGE_NEW;
		put_error(s, id, early ? REQUEST_NOT_INITIALIZED : REQUEST_INVALID,
		          early ? "`initialize` comes first" : "after `shutdown` only `exit` comes");
		return;
	}
	if (!strcmp(method, "initialize")) {
		put_error(s, id, REQUEST_INVALID, "`initialize` comes once");
		return;
	}
	if (!strcmp(method, "shutdown")) {
		s->stage = STAGE_SHUT_DOWN;
		put_result(s, id, cJSON_CreateNull());
		return;
	}
	for (unsigned i = 0; i < sizeof methods / sizeof *methods; i++)
		if (!strcmp(methods[i].name, method)) {
			answer(s, id, &methods[i], params);
			return;
		}
	struct buf text = {0};
	buf_printf(&text, "hirc lsp has no method '%.100s'", method);
	put_error(s, id, REQUEST_METHOD_NOT_FOUND, text.at);
	buf_free(&text);
}

static void notice(struct server *s, const char *method, const cJSON *params)
{
	if (!strcmp(method, "exit"))
		s->exited = true;
	if (s->stage != STAGE_READY)
		return;
	if (!strcmp(method, "textDocument/didOpen"))
		did_open(s, params);
	else if (!strcmp(method, "textDocument/didChange"))
		did_change(s, params);
	else if (!strcmp(method, "textDocument/didClose"))
		did_close(s, params);
}

static void handle_message(struct server *s, const cJSON *message)
{
	const char *method = cJSON_GetStringValue(member(message, "method"));
	const cJSON *id = member(message, "id");
	if (member(message, "cancelled"))
		put_error(s, id, REQUEST_CANCELLED, "cancelled");
	else if (method && id)
		request(s, id, method, member(message, "params"));
	else if (method)
		notice(s, method, member(message, "params"));
	else if (!cJSON_IsObject(message) || (!member(message, "result") && !member(message, "error")))
		put_error(s, id, REQUEST_INVALID, "neither a request nor a notification");
}

/* ---- the queue */

/* Cancels a waiting request; when its turn comes, it is answered with an error. */
static void cancel(struct server *s, const cJSON *id)
{
	for (uint32_t i = s->queue_from; id && i < s->queue.n; i++)
		if (cJSON_Compare(member(s->queue.at[i], "id"), id, 1) && member(s->queue.at[i], "method") &&
		    !member(s->queue.at[i], "cancelled"))
			cJSON_AddTrueToObject(s->queue.at[i], "cancelled");
}

/* Reads the available input. Returns false if the stream is over. */
static bool receive_messages(struct server *s, bool wait)
{
	while (s->queue.n - s->queue_from < QUEUE_MAX) {
		const char *body;
		size_t n;
		enum frame_status status = frame_next(&s->reader, wait, &body, &n);
		wait = false;
		if (status == FRAME_END && !s->reader.ended)
			put_error(s, NULL, REQUEST_INVALID, "a message of such a length is not read");
		if (status == FRAME_NONE || status == FRAME_END)
			return status == FRAME_NONE;
		cJSON *json = status == FRAME_BODY ? cJSON_ParseWithLength(body, n) : NULL;
		const char *method = cJSON_GetStringValue(member(json, "method"));
		if (!json) {
			put_error(s, NULL, REQUEST_PARSE_ERROR,
			          status == FRAME_BAD ? "a header without Content-Length"
			                              : "this is not JSON");
		} else if (method && !strcmp(method, "$/cancelRequest")) {
			cancel(s, member(member(json, "params"), "id"));
			cJSON_Delete(json);
		} else {
			/* only this file may set this mark */
			cJSON_DeleteItemFromObjectCaseSensitive(json, "cancelled");
			vec_push(&s->queue, json);
		}
	}
	return true;
}

static struct document *find_dirty(struct server *s)
{
	for (uint32_t i = 0; i < s->document.n; i++)
		if (s->document.at[i]->dirty)
			return s->document.at[i];
	return NULL;
}

static void handle_next(struct server *s)
{
	cJSON *message = s->queue.at[s->queue_from++];
	handle_message(s, message);
	cJSON_Delete(message);
	if (s->queue_from == s->queue.n)
		s->queue_from = s->queue.n = 0;
}

enum status lsp_serve(int in, int out, const struct sema_options *options)
{
	struct server s = {.reader.fd = in, .out = out, .options = options};
	bool more = true;
	while (!s.exited && !s.broken) {
		struct document *dirty = s.stage == STAGE_READY ? find_dirty(&s) : NULL;
		if (more)
			more = receive_messages(&s, s.queue_from == s.queue.n && !dirty);
		if (s.queue_from < s.queue.n)
			handle_next(&s);
		else if (dirty)
			publish(&s, dirty);
		else if (!more)
			break;
	}
	for (uint32_t i = 0; i < s.document.n; i++)
		document_free(s.document.at[i]);
	for (uint32_t i = s.queue_from; i < s.queue.n; i++)
		cJSON_Delete(s.queue.at[i]);
	vec_free(&s.document);
	vec_free(&s.queue);
	frame_free(&s.reader);
	return s.exited && s.stage == STAGE_SHUT_DOWN ? STATUS_OK : STATUS_DIAGNOSTICS;
}
