/* chakra_build: builds a program from an execution trace.
 *
 *     COMP       mm  data_deps=… duration_micros=3        mm: … = extern "mm"(x) {time=3000}
 *     COMM_COLL  ag  comm_type=2 comm_size=64 pg_name=dp  ag: u8[512] = extern "ag"(mm) {kind=allgather, …}
 *                                                         `ag.wait`: … = extern "wait"(ag) {kind=wait, …}
 *
 * The operands of a node are the first results of the nodes in its data_deps and ctrl_deps, and its recorded
 * tensors. A tensor whose storage no earlier node makes is an input. A result whose storage exists already is
 * a view of it; the storage is written if the schema says so, or if it is not an argument. A node without
 * tensors has, if another needs it, a scalar without bytes as its result; a collective without tensors has
 * the bytes that it gives.
 *
 * If a trace has nodes of a device, the nodes of the host are kind=host and take no device time. */
#ifndef HIRC_IMPORT_CHAKRA_BUILD_H
#define HIRC_IMPORT_CHAKRA_BUILD_H
#include "import/chakra.h"
#include "ir/ir.h"

/* Builds the program of an ordered trace. Returns NULL after reporting. */
struct module *chakra_build(struct diag *d, const struct chakra *t);

#endif
