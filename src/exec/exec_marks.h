/* exec_marks: which instances of statements the engine `adversary` holds, and for which it holds them. */
#ifndef HIRC_EXEC_EXEC_MARKS_H
#define HIRC_EXEC_EXEC_MARKS_H
#include "plan/plan.h"
#include "rt/queue.h"

/* A statement of this rank, in the iteration of these indices, the outermost loop first. */
struct exec_mark {
	enum rt_mark mark;
	op_id op;
	unsigned n;
	int64_t index[IR_MAX_NESTING];
};

struct exec_marks;

/* NULL where n is 0. *list outlives it. */
struct exec_marks *exec_marks_new(const struct plan *p, const struct exec_mark *list, unsigned n);
void exec_marks_free(struct exec_marks *m); /* NULL is allowed */
/* The host reaches an instruction: marks the work submitted there. reversed: waits for the held work instead,
 * and holds the other. */
void exec_marks_enter(struct exec_marks *m, struct rt_engine *e, uint32_t instruction, const int64_t *reg,
                      bool reversed);
/* It has issued all. NULL is allowed. */
void exec_marks_leave(struct exec_marks *m, struct rt_engine *e);

#endif
