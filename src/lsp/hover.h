/* hover: parts of the text shown at a place. */
#ifndef HIRC_LSP_HOVER_H
#define HIRC_LSP_HOVER_H
#include "lsp/request.h"

/* Puts a tensor that has a value: its type, shape, bytes, each rank's part, and its definition. */
void hover_tensor(struct request *r, uint32_t symbol, struct buf *out);

#endif
