/* exec_marks: tells the engine `adversary` which instances of statements to hold, and which instances
 * they wait for. */
#ifndef HIRC_EXEC_EXEC_MARKS_H
#define HIRC_EXEC_EXEC_MARKS_H
#include "plan/plan.h"
#include "rt/queue.h"

/* An instance: a statement of this rank, with the indices of its loops, the outermost first. */
struct exec_mark {
	enum rt_mark mark;
	op_id op;
	unsigned n;
	int64_t index[IR_MAX_NESTING];
};

struct exec_marks;

/* Returns NULL if n is 0. *list must outlive the marks. */
struct exec_marks *exec_marks_new(const struct plan *p, const struct exec_mark *list, unsigned n);
void exec_marks_free(struct exec_marks *m); /* NULL is allowed */
/* Tells that the host reaches an instruction, and marks the work submitted there. reversed: holds the
 * awaited work, and waits for the held work. */
void exec_marks_enter(struct exec_marks *m, struct rt_engine *e, uint32_t instruction, const int64_t *reg,
                      bool reversed);
/* Tells that the host has issued the instruction's work. NULL is allowed. */
void exec_marks_leave(struct exec_marks *m, struct rt_engine *e);

#endif
