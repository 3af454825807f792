/* request: makes answers that several features need. */
#include "lsp/request.h"

cJSON *request_fail(struct request *r, enum request_error error, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	r->error = error;
	r->message.n = 0;
	buf_vprintf(&r->message, format, args);
	va_end(args);
	return NULL;
}

static cJSON *position(struct request *r, uint32_t offset)
{
	struct position p = document_position(r->document, r->columns, offset);
	cJSON *json = cJSON_CreateObject();
	cJSON_AddNumberToObject(json, "line", p.line);
	cJSON_AddNumberToObject(json, "character", p.character);
	return json;
}

cJSON *request_range(struct request *r, uint32_t from, uint32_t to)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddItemToObject(json, "start", position(r, from));
	cJSON_AddItemToObject(json, "end", position(r, to));
	return json;
}

cJSON *request_location(struct request *r, uint32_t from, uint32_t to)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "uri", r->document->uri);
	cJSON_AddItemToObject(json, "range", request_range(r, from, to));
	return json;
}

static bool natural(const cJSON *json, uint32_t *out)
{
	if (!cJSON_IsNumber(json) || !(json->valuedouble >= 0))
		return false;
	*out = json->valuedouble < INT32_MAX ? (uint32_t)json->valuedouble : INT32_MAX;
	return true;
}

bool request_read_position(const cJSON *json, struct position *out)
{
	return natural(cJSON_GetObjectItemCaseSensitive(json, "line"), &out->line) &&
	       natural(cJSON_GetObjectItemCaseSensitive(json, "character"), &out->character);
}
