/* exec_written: which elements of the outputs a run writes.
 *
 * A bit for each element of an output's buffer is set when a task, collective or message that writes it is
 * issued, in the first run: no data decides which statements run. So an element that nothing writes is known
 * whatever its bytes are, of every dtype and on every device. A product that is added to its buffer writes
 * nothing in this sense: unwritten elements stay so. Elements of a symmetric buffer may be written by
 * other ranks, which send their bits after the run. */
#ifndef HIRC_EXEC_EXEC_WRITTEN_H
#define HIRC_EXEC_EXEC_WRITTEN_H
#include "exec/exec_records.h"

/* Bits for the outputs of e's plan, none of them set but those of inputs. */
struct exec_written *exec_written_new(const struct exec *e);
void exec_written_free(struct exec_written *w); /* NULL is allowed */

/* Sets the bits of the elements that a record writes, once it was built. */
void exec_written_task(struct exec_written *w, const struct exec *e, const struct task_record *r);
void exec_written_collective(struct exec_written *w, const struct exec *e, uint32_t collective);
void exec_written_message(struct exec_written *w, const struct exec *e, uint32_t message);

/* Collective: adds the writes of other ranks to this rank's symmetric outputs. */
enum status exec_written_exchange(struct exec_written *w, const struct exec *e);
/* The bits of a buffer by element, the lowest bit of a word first; NULL: it is no output. */
const uint64_t *exec_written_bits(const struct exec_written *w, uint32_t buffer);

#endif
