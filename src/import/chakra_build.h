/* chakra_build: the program of an execution trace.
 *
 *     COMP       mm  data_deps=… duration_micros=3        mm: … = extern "mm"(x) {time=3000}
 *     COMM_COLL  ag  comm_type=2 comm_size=64 pg_name=dp  ag: u8[512] = extern "ag"(mm) {kind=allgather, …}
 *                                                         `ag.wait`: … = extern "wait"(ag) {kind=wait, …}
 *
 * The operands of a node are, in data_deps and ctrl_deps alike, the first result of each node that it needs,
 * and its recorded tensors. A tensor whose storage no earlier node makes is there from the beginning. A result
 * whose storage is there already is a view of it, and written where the schema says so or where it is not an
 * argument. A node without tensors has a number without bytes as its result if it is needed; a collective
 * without tensors has the bytes that it gives.
 *
 * Where a trace has nodes of a device, those of the host are kind=host and take no time of it. */
#ifndef HIRC_IMPORT_CHAKRA_BUILD_H
#define HIRC_IMPORT_CHAKRA_BUILD_H
#include "import/chakra.h"
#include "ir/ir.h"

/* Builds a program of a trace in order; NULL after reporting. */
struct module *chakra_build(struct diag *d, const struct chakra *t);

#endif
