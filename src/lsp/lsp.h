/* lsp: the Language Server Protocol (3.17) over a pair of streams.
 *
 *     bytes → frame → queue of messages → server → a feature a request → bytes
 *
 * One thread: all that has come is read before the next message is answered, so that a request may be
 * cancelled and of several changes in a row only the last state is looked at. */
#ifndef HIRC_LSP_LSP_H
#define HIRC_LSP_LSP_H
#include "base/status.h"
#include "parse/sema.h"

/* Serves until the client ends it. STATUS_OK: by `exit` after `shutdown`; else STATUS_DIAGNOSTICS. */
enum status lsp_serve(int in, int out, const struct sema_options *options);

#endif
