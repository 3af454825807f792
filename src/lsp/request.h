/* request: the input of a feature, and its way to answer. */
#ifndef HIRC_LSP_REQUEST_H
#define HIRC_LSP_REQUEST_H
#include "lsp/document.h"
#include "lsp/snapshot.h"
#include <cJSON.h>

enum request_error {
	REQUEST_OK = 0,
	REQUEST_PARSE_ERROR = -32700,
	REQUEST_INVALID = -32600,
	REQUEST_METHOD_NOT_FOUND = -32601,
	REQUEST_INVALID_PARAMS = -32602,
	REQUEST_NOT_INITIALIZED = -32002,
	REQUEST_CANCELLED = -32800,
	REQUEST_FAILED = -32803,
};

struct request {
	const cJSON *params;
	enum document_columns columns;
	struct document *document; /* the document in params.textDocument */
	struct snapshot *snapshot; /* of the document */
	const struct sema_options *options;
	uint32_t offset;          /* the offset of params.position, if the method has one */
	enum request_error error; /* set by request_fail */
	struct buf message;       /* its text */
};

/* Sets the error. Always returns NULL. */
cJSON *request_fail(struct request *r, enum request_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes a range of the request's document. */
cJSON *request_range(struct request *r, uint32_t from, uint32_t to);
/* Makes {uri, range}. */
cJSON *request_location(struct request *r, uint32_t from, uint32_t to);
bool request_read_position(const cJSON *json, struct position *out);

/* ---- the features; each returns its result, or NULL by request_fail */
cJSON *feature_hover(struct request *r);
cJSON *feature_definition(struct request *r);
cJSON *feature_references(struct request *r);
cJSON *feature_highlight(struct request *r);
cJSON *feature_prepare_rename(struct request *r);
cJSON *feature_rename(struct request *r);
cJSON *feature_outline(struct request *r);
cJSON *feature_format(struct request *r);
cJSON *feature_complete(struct request *r);
cJSON *feature_tokens(struct request *r);

/* Makes the names of the kinds that feature_tokens uses, for the answer to `initialize`. */
cJSON *feature_tokens_legend(void);
/* Makes the parameters of `publishDiagnostics` for a document. */
cJSON *feature_diagnostics(struct request *r);

#endif
