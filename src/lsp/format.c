/* format: formats the text as `hirc fmt` does, as one edit of the lines that differ. */
#include "base/source.h"
#include "lsp/request.h"

cJSON *feature_format(struct request *r)
{
	const struct snapshot *x = r->snapshot;
	const char *old = x->source->text;
	uint32_t n = x->source->size, head = 0, tail = 0;
	struct buf text = {0};
	if (x->broken)
		return request_fail(r, REQUEST_FAILED, "a text with errors of syntax is not formatted: %s",
		                    x->message.n ? x->message.at[0].text : "");
	if (x->ast->surface == SURFACE_NVFUSER)
		return request_fail(r, REQUEST_FAILED,
		                    "the nvFuser surface is not formatted; `hirc compile FILE "
		                    "--stop-after=parse --dump=hir` converts it");
	ast_format(x->ast, &text);
	buf_puts(&text, "");
	cJSON *edits = cJSON_CreateArray();
	while (head < n && head < text.n && old[head] == text.at[head])
		head++;
	while (tail < n - head && tail < text.n - head && old[n - 1 - tail] == text.at[text.n - 1 - tail])
		tail++;
	while (head && old[head - 1] != '\n')
		head--;
	while (tail && old[n - tail - 1] != '\n')
		tail--;
	if (n != text.n || memcmp(old, text.at, n) != 0) {
		cJSON *edit = cJSON_CreateObject();
		text.at[text.n - tail] = '\0';
		cJSON_AddItemToObject(edit, "range", request_range(r, head, n - tail));
		cJSON_AddStringToObject(edit, "newText", text.at + head);
		cJSON_AddItemToArray(edits, edit);
	}
	buf_free(&text);
	return edits;
}
