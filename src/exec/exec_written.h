/* exec_written: records which elements of the outputs a run writes.
 *
 * Each element of an output's buffer has a bit. It is set when a task, collective or message that writes
 * the element is issued in the first run; later runs are the same, since no data decides which
 * statements run. So unwritten elements are found for every dtype and on every device, whatever bytes
 * they contain. A product that is added to its buffer does not count as a write. Other ranks may write
 * to a symmetric buffer; they send their bits after the run. */
#ifndef HIRC_EXEC_EXEC_WRITTEN_H
#define HIRC_EXEC_EXEC_WRITTEN_H
#include "exec/exec_records.h"

/* Makes the bits for the outputs of e's plan. Only the bits of inputs are set. */
struct exec_written *exec_written_new(const struct exec *e);
void exec_written_free(struct exec_written *w); /* NULL is allowed */

/* Sets the bits of the elements that a record writes. The record must be complete. */
void exec_written_task(struct exec_written *w, const struct exec *e, const struct task_record *r);
void exec_written_collective(struct exec_written *w, const struct exec *e, uint32_t collective);
void exec_written_message(struct exec_written *w, const struct exec *e, uint32_t message);

/* Collective: adds the writes of other ranks to this rank's symmetric outputs. */
enum status exec_written_exchange(struct exec_written *w, const struct exec *e);
/* Returns the bits of a buffer by element, the lowest bit of a word first; NULL if it is no output. */
const uint64_t *exec_written_bits(const struct exec_written *w, uint32_t buffer);

#endif
