/* exec_marks: see exec_marks.h. */
#include "exec/exec_marks.h"
#include "base/arena.h"
#include <stdlib.h>

struct marked { /* a marked statement and its place in the plan */
	const struct exec_mark *mark;
	bool *is;                      /* by instruction: it has marks */
	plan_reg loop[IR_MAX_NESTING]; /* index registers of the enclosing loops, the outermost first */
	unsigned loops;
};

struct exec_marks {
	const struct plan *p;
	unsigned n;
	enum rt_mark now;
	struct marked at[];
};

static bool comes_from(const struct plan *p, const struct plan_instruction *i, op_id op)
{
	if (i->statement == op || (i->code == PLAN_MESSAGE && i->c == op))
		return true;
	const struct plan_task *t = i->code == PLAN_TASK ? &p->task.at[i->a] : NULL;
	for (uint32_t k = 0; t && k < t->steps; k++)
		if (p->step.at[t->first + k].statement == op)
			return true;
	return false;
}

static void find_marked_code(const struct plan *p, struct marked *m)
{
	uint32_t first = p->code.n;
	for (uint32_t k = 0; k < p->code.n; k++) {
		m->is[k] = comes_from(p, &p->code.at[k], m->mark->op) && p->code.at[k].code != PLAN_FOR &&
		           p->code.at[k].code != PLAN_NEXT;
		first = m->is[k] && k < first ? k : first;
	}
	for (uint32_t k = 0; k < first; k++)
		if (p->code.at[k].code == PLAN_FOR && first < p->code.at[k].to && m->loops < IR_MAX_NESTING)
			m->loop[m->loops++] = p->code.at[k].a;
}

struct exec_marks *exec_marks_new(const struct plan *p, const struct exec_mark *list, unsigned n)
{
	if (!n)
		return NULL;
	struct exec_marks *m = mem_zalloc(sizeof *m + n * sizeof m->at[0]);
	m->p = p;
	m->n = n;
	for (unsigned k = 0; k < n; k++) {
		m->at[k].mark = &list[k];
		m->at[k].is = mem_zalloc(p->code.n + 1);
		find_marked_code(p, &m->at[k]);
	}
	return m;
}

void exec_marks_free(struct exec_marks *m)
{
	for (unsigned k = 0; m && k < m->n; k++)
		free(m->at[k].is);
	free(m);
}

static bool is_instance(const struct marked *m, const int64_t *reg)
{
	if (m->loops != m->mark->n)
		return false;
	for (unsigned k = 0; k < m->loops; k++)
		if (reg[m->loop[k]] != m->mark->index[k])
			return false;
	return true;
}

static void submit_mark(struct exec_marks *m, struct rt_engine *e, enum rt_mark mark)
{
	if (mark != m->now)
		rt_submit_mark(e, mark);
	m->now = mark;
}

void exec_marks_enter(struct exec_marks *m, struct rt_engine *e, uint32_t instruction, const int64_t *reg,
                      bool reversed)
{
	enum rt_mark mark = RT_MARK_NONE;
	for (unsigned k = 0; k < m->n && mark == RT_MARK_NONE; k++)
		if (m->at[k].is[instruction] && is_instance(&m->at[k], reg))
			mark = m->at[k].mark->mark;
	if (reversed && mark != RT_MARK_NONE)
		mark = mark == RT_MARK_AWAITED ? RT_MARK_HELD : RT_MARK_AWAITED;
	submit_mark(m, e, mark);
}

void exec_marks_leave(struct exec_marks *m, struct rt_engine *e)
{
	if (!m)
		return;
	m->now = RT_MARK_NONE;
	rt_submit_mark(e, RT_MARK_NONE);
}
