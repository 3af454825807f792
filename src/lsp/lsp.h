/* lsp: a server for the Language Server Protocol (3.17) over a pair of streams.
 *
 *     bytes → frame → queue of messages → server → a feature a request → bytes
 *
 * There is one thread. It reads all available messages before it answers the next one. So a request can be
 * cancelled, and after several changes in a row only the last state is read. */
#ifndef HIRC_LSP_LSP_H
#define HIRC_LSP_LSP_H
#include "base/status.h"
#include "parse/sema.h"

/* Serves until the client ends it. Returns STATUS_OK after `shutdown` and `exit`, otherwise
 * STATUS_DIAGNOSTICS. */
enum status lsp_serve(int in, int out, const struct sema_options *options);

#endif
