/* p2p: turns permutes in loops into sends and receives.
 *
 *     T <- collective_permute(X, axis=x, send_peer=to, recv_peer=from) as c
 *     wait(c)
 *  →
 *     if to == axis_index(x) {
 *       T <- collective_permute(X, axis=x, send_peer=to, recv_peer=from) as c
 *       wait(c)                                        a copy: no rank sends
 *     } else {
 *       share_mem_handles(r, s)
 *       send(X, peer=device(x, to)) as s               put: after the recv
 *       recv(T, peer=device(x, from)) as r
 *       wait(r)
 *     }
 *     …
 *     if to != axis_index(x) { wait(s) }               at the end of the block, or before X is
 *                                                      written or freed, or the stream is set
 *
 * In a program that has messages already, permutes stay: ranks match messages in the order of issue. */
#ifndef HIRC_PASS_P2P_H
#define HIRC_PASS_P2P_H
#include "pass/pass.h"

enum p2p_order { P2P_NO, P2P_GET, P2P_PUT };

/* Rewrites every permute in the body of a loop. */
void p2p_from_permutes(struct module *m, struct pass_context *cx, enum p2p_order order);

#endif
